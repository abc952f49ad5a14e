"""What is installed, and what may be: ``python .ci/dependencies.py lowest | lock | sbom``.

``lowest [EXTRA ...]``  the oldest versions that pyproject.toml allows of the dependencies (and of these extras)
``lock [EXTRA ...]``    what pip would install for the package with these extras here, with hashes, for
                        ``pip install --require-hashes -r``; it holds for this platform and version of Python
``sbom``                a CycloneDX document of the package and of the dependencies that are installed
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
NAME = "tableformats"


def project() -> dict[str, object]:
    try:
        import tomllib
    except ImportError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef]

    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def requirements(extras: list[str]) -> Iterator[Requirement]:
    """The requirements of the package and of the extras, whose own extras are entered."""
    found = project()
    optional: dict[str, list[str]] = found["optional-dependencies"]  # type: ignore[assignment]
    seen: set[str] = set()
    texts = [*found["dependencies"], *(text for extra in extras for text in optional[extra])]  # type: ignore[misc]
    while texts:
        one = Requirement(texts.pop(0))
        if one.name == NAME:
            texts += [text for extra in sorted(one.extras - seen) for text in optional[extra]]
            seen |= one.extras
        elif one.marker is None or one.marker.evaluate({"extra": ""}):
            yield one


def lowest(extras: list[str]) -> str:
    """``name==version`` a line: of several lower bounds of a name the highest, with its extras."""
    bounds: dict[str, Version] = {}
    options: dict[str, set[str]] = {}
    for one in requirements(extras):
        for given in one.specifier:
            if given.operator in (">=", "=="):
                bounds[one.name] = max(bounds.get(one.name, Version("0")), Version(given.version))
        options.setdefault(one.name, set()).update(one.extras)
        if one.name not in bounds:
            raise SystemExit(f"{one.name} has no lower bound")
    return "\n".join(
        f"{name}{'[' + ','.join(sorted(options[name])) + ']' if options[name] else ''}=={bounds[name]}"
        for name in sorted(bounds)
    )


def lock(extras: list[str]) -> str:
    """A line for each distribution, with the hash of the file that pip chose."""
    asked = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        pip = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed"]
        # Files that lie about here may be others than the registry's.
        subprocess.run([*pip, "--report", str(report), "--find-links", folder, asked], check=True)
        found = json.loads(report.read_text())
    environment = found["environment"]
    where = f"Python {environment['python_version']}, {environment['sys_platform']}, {environment['platform_machine']}"
    lines = [f"# Made by .ci/dependencies.py lock {' '.join(extras)}, for {where}."]
    for one in sorted(found["install"], key=lambda one: canonical(one["metadata"]["name"])):
        name, version = canonical(one["metadata"]["name"]), one["metadata"]["version"]
        if name == NAME:
            continue
        digest = one["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if digest is None:
            raise SystemExit(f"pip knows no hash of {name}")
        lines.append(f"{name}=={version} --hash=sha256:{digest}")
    return "\n".join(lines)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def sbom() -> str:
    """CycloneDX 1.5 in JSON: the package, what it needs and what these need, as they are installed here."""
    waiting, components, edges = [NAME], {}, {}
    while waiting:
        name = canonical(waiting.pop())
        if name in components:
            continue
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # an optional one
            continue
        needs = [Requirement(text) for text in found.requires or ()]
        wanted = [one.name for one in needs if one.marker is None or one.marker.evaluate({"extra": ""})]
        components[name] = component(name, found)
        edges[name] = sorted({canonical(one) for one in wanted})
        waiting += wanted
    own = components.pop(NAME)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {"timestamp": datetime.now(timezone.utc).strftime("%FT%TZ"), "component": own},
        "components": [components[name] for name in sorted(components)],
        "dependencies": [
            {
                "ref": own["purl"] if name == NAME else components[name]["purl"],
                "dependsOn": [components[one]["purl"] for one in ends if one in components],
            }
            for name, ends in sorted(edges.items())
        ],
    }
    return json.dumps(document, indent=1)


def component(name: str, found: metadata.Distribution) -> dict[str, object]:
    purl = f"pkg:pypi/{name}@{found.version}"
    said = found.metadata.get("License-Expression") or found.metadata.get("License")
    one = {"type": "library", "bom-ref": purl, "name": name, "version": found.version, "purl": purl}
    return {**one, "licenses": [{"license": {"name": said.splitlines()[0][:100]}}]} if said else one


def main() -> None:
    commands = {"lowest": lowest, "lock": lock, "sbom": lambda _: sbom()}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        raise SystemExit(__doc__)
    print(commands[sys.argv[1]](sys.argv[2:]))


if __name__ == "__main__":
    main()
