"""The command ``ls``: the tables of a catalog."""

from __future__ import annotations

import click

from .options import form_options, pairs
from .output import print_json, print_records, print_table, rows_of

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
@click.option("--limit", metavar="N", type=click.IntRange(min=0), help="List at most N tables.")
@form_options
def ls(
    as_json: bool,
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
    if as_json or form == "json":
        print_json({"catalog": catalog, "tables": records})
    elif form != "table":
        print_records(form, records, found.column_names)
    elif records:
        print_table(["identifier", "format"], [(r["identifier"], r["format"]) for r in records])
    else:
        click.echo("No tables")


CATALOG_COMMANDS = (ls,)
