"""Pictures of what the project draws, by a headless Chromium: ``python -m tests.docs.pictures [--write DIRECTORY]``.

A table is written that has all that the page of ``tableformats report`` shows. The page is photographed on light and on
dark, wide and narrow, and what notebooks show of each object beside it. Without ``--write`` the pictures go to a
temporary directory, to be looked at. With it, those go to the directory that pages of ``docs/`` show. Needs the extra
``[plot]`` (for Pillow) and ``chromium``, or another browser of that kind by ``--browser``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tableformats as tf
from tableformats.inspect.diff import diff
from tableformats.inspect.pictures.report import report_page

FILTER = "day >= DATE '2024-03-20' AND country = 'BR' AND amount > 99"
SHOTS = {"light": ("light", 1000), "dark": ("dark", 1000), "narrow": ("light", 420)}
KEPT = {"report-light", "report-dark", "plan-light"}
"""What ``--write`` keeps: the pictures that pages of ``docs/`` show."""
SCHEMES = {"dark": 0, "light": 1}  # Blink's setting
MOST_BYTES = 150_000


def write_table(location: Path, format: str = "delta") -> tf.Table:
    """90 days of orders: most in one file a day, some days in small pieces, some rows deleted."""
    randomness = np.random.default_rng(7)
    properties = {"delta.enableDeletionVectors": "true"} if format == "delta" else None
    first = orders(randomness, 0, 10)
    table = tf.create_table(location, first.schema, format=format, partition_by=["country"], properties=properties)
    for day in range(0, 90, 2):
        table.append(orders(randomness, day, 40 * int(randomness.integers(1, 60))))
    table.delete("country = 'DE' AND order_id % 7 = 0")
    table.alter.add_columns({"channel": "string"})
    return table


def orders(randomness: np.random.Generator, day: int, rows: int) -> pa.Table:
    """Rows of one day. Only ``amount`` is spread alike over all files."""
    return pa.table(
        {
            "order_id": pa.array(np.arange(rows) + day * 10_000),
            "day": pa.array([dt.date(2024, 1, 1) + dt.timedelta(days=day)] * rows),
            "country": pa.array(randomness.choice(["BR", "DE", "IN", "JP"], rows, p=[0.5, 0.3, 0.15, 0.05])),
            "amount": pa.array(randomness.random(rows).round(4) * 100),
            "comment": pa.array([f"order {i} of {day}" for i in range(rows)]),
        }
    )


def notebook_pages(table: tf.Table) -> dict[str, Any]:
    """What a notebook shows, by name."""
    scan = table.scan(FILTER)
    plan = scan.plan()
    versions = table.history()["version"].to_pylist()
    return {
        **{"table": table, "snapshot": table.snapshot(), "scan": scan, "plan": plan, "funnel": plan.report},
        **{
            "schema": table.schema,
            "health": table.health(),
            "diff": diff(table.snapshot(versions[2]), table.snapshot()),
        },
        **{"detail": table.detail(), "clustering": table.clustering(), "column": table.clustering("day")[0]},
        **{"diagnosis": scan.diagnose(), "changes": table.changes(versions[0])},
        "commit": table.append(orders(np.random.default_rng(1), 90, 40)),
    }


def cell(html: str) -> str:
    """A page on which ``html`` stands as in a notebook, whose own style it takes."""
    style = (
        ":root{color-scheme:light dark}body{margin:1em;background:#fff;color:#111;font:13px sans-serif}"
        "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}"
    )
    return f'<!DOCTYPE html><meta charset="utf-8"><style>{style}</style>{html}'


def photograph(browser: str, page: str, target: Path, scheme: str, width: int) -> None:
    """Write a picture of the whole of ``page``, in few colours."""
    from PIL import Image, ImageChops

    with tempfile.TemporaryDirectory() as folder:
        source, raw = Path(folder, "page.html"), Path(folder, "raw.png")
        source.write_text(page, "utf-8")
        command = [browser, "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"]
        command += [f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", f"--window-size={width},6000"]
        command += [f"--user-data-dir={folder}/profile", f"--screenshot={raw}", source.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        picture = Image.open(raw).convert("RGB")
        paper = Image.new("RGB", picture.size, picture.getpixel((0, picture.height - 1)))
        box = ImageChops.difference(picture, paper).getbbox() or (0, 0, 1, 1)
        used = picture.crop((0, 0, picture.width, min(picture.height, box[3] + 20)))
        used.quantize(96, Image.Quantize.MAXCOVERAGE).save(target, optimize=True)
    if target.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{target} has {target.stat().st_size:,} bytes, more than {MOST_BYTES:,}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="write those that docs/ shows into this directory")
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--table", help="a location: photograph the page of this table instead")
    parser.add_argument("--where", default=FILTER)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        table = tf.open_table(chosen.table) if chosen.table else write_table(Path(folder, "orders"))
        where = None if chosen.table and chosen.where == FILTER else chosen.where
        pages = {"report": report_page(table.scan(where), table.history(500)).replace(folder, "/data")}
        if not chosen.table:
            pages |= {
                name: cell(value._repr_html_().replace(folder, "/data"))
                for name, value in notebook_pages(table).items()
            }
        target = chosen.write or Path(tempfile.mkdtemp(prefix="pictures-"))
        target.mkdir(parents=True, exist_ok=True)
        for name, page in pages.items():
            for shot, (scheme, width) in SHOTS.items():
                if chosen.write is None or f"{name}-{shot}" in KEPT:
                    photograph(chosen.browser, page, target / f"{name}-{shot}.png", scheme, width)
                    print(target / f"{name}-{shot}.png")


if __name__ == "__main__":
    sys.exit(main())
