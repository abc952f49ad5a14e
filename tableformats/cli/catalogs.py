"""The command ``ls``: the tables of a catalog."""

from __future__ import annotations

import click

from .options import form_options, limit_option, pairs
from .output import echo, print_table, show
from .values import rows_of

__all__ = ["CATALOG_COMMANDS"]


@click.command()
@click.argument("catalog")
@click.argument("namespace", required=False)
@click.option(
    "--property",
    "properties",
    metavar="K=V",
    multiple=True,
    callback=pairs,
    help="A property of the catalog, such as uri. Without any, the configuration has them. Can be repeated.",
)
@limit_option("tables")
@form_options
def ls(
    form: str,
    catalog: str,
    namespace: str | None,
    properties: dict[str, str],
    limit: int | None,
) -> None:
    """List the tables of CATALOG, or those directly in NAMESPACE."""
    from ..catalog.listing import list_tables

    given = {**properties, "name": catalog} if properties else catalog
    found = list_tables(given, namespace, limit=limit)
    records = rows_of(found)

    def text() -> None:
        if records:
            print_table(["identifier", "format"], [(r["identifier"], r["format"]) for r in records])
        else:
            echo("No tables")

    show(form, "ls", {"catalog": catalog, "tables": records}, text, records, found.column_names)


CATALOG_COMMANDS = (ls,)
