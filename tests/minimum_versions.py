"""The oldest versions that ``pyproject.toml`` declares, as constraints: ``make test-minimum``.

Tools of developers stay as they are; what a user installs is taken at its minimum. So are polars'
tables, which users bring: scikit-learn 1.6 does not see the names of columns in those of polars 2.
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
TOOLS = {"bench", "dev", "docs", "experiments"}


def constraints(project: dict) -> list[str]:
    """``name==version`` for every ``name>=version`` that users install."""
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"]]
    wanted += [name for name in extras.get("dev", []) if name.startswith("polars")]
    for name, needed in extras.items():
        if name not in TOOLS:
            wanted += needed
    found = {}
    for requirement in wanted:
        match = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement)
        if match:
            found[match[1]] = f"{match[1]}=={match[2]}"
        elif not requirement.startswith("sarlearn["):
            raise ValueError(f"No minimum in {requirement!r}: write name>=version.")
    if "dask" in found:  # a package of its own, of the same version
        found["distributed"] = found["dask"].replace("dask", "distributed")
    return sorted(found.values())


if __name__ == "__main__":
    print("\n".join(constraints(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"])))
