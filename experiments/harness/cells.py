"""A cell: the smallest piece of an experiment, named by everything that decides its result."""

import hashlib
import importlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

Fields = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One measurement: the module that makes it, and the fields that decide it.

    Two cells with the same name are the same measurement, whichever configuration asks for it.
    """

    module: str
    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        study = self.module.removeprefix("experiments.")
        return f"{study} {json.dumps(dict(self.fields), sort_keys=True)}"


def seed_from(*parts: Any) -> int:
    """A seed in [0, 2**32) from names: the same on every machine, whatever ran before.

    Examples
    --------
    >>> seed_from("labels", "talk-comp", "article") == seed_from("labels", "talk-comp", "article")
    True
    >>> seed_from("labels", "talk-comp", 1) == seed_from("labels", "talk-comp", 2)
    False
    """
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:4], "big")


@dataclass(frozen=True)
class Experiment:
    """A section of the configuration, with the module that knows what its settings mean.

    A module has ``cells(settings)``, the fields of every cell in the order in which they are to
    run, and ``measure(**fields)``, which gives the results of one as a flat dictionary.
    """

    name: str
    module: str
    settings: Fields

    def load(self) -> ModuleType:
        return importlib.import_module(self.module)

    def cells(self) -> list[Cell]:
        """Every cell once, in the order in which they are to run."""
        cells = [Cell(self.module, fields) for fields in self.load().cells(self.settings)]
        return list({cell.name: cell for cell in cells}.values())


@dataclass(frozen=True)
class Configuration:
    """A grid: its name, the file it came from, and its experiments in order."""

    name: str
    path: Path
    experiments: list[Experiment] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def only(self, names: Iterable[str]) -> "Configuration":
        """The same grid with some of its experiments."""
        wanted = list(names)
        known = [experiment.name for experiment in self.experiments]
        for name in wanted:
            if name not in known:
                raise ValueError(
                    f"{self.path.name} has no experiment {name!r}; it has {', '.join(known)}."
                )
        chosen = [e for e in self.experiments if not wanted or e.name in wanted]
        return Configuration(self.name, self.path, chosen)


def load_configuration(path: Path) -> Configuration:
    """Read a grid from TOML: one section per experiment.

    ``module`` is the module that measures it, where that is not the section's name: a module beside
    the file, or a dotted name from anywhere.
    """
    with path.open("rb") as stream:
        content = tomllib.load(stream)
    experiments = []
    for name, section in content.items():
        if not isinstance(section, dict):
            raise ValueError(f"{path.name}: {name!r} is not a section [{name}] of an experiment.")
        settings = dict(section)
        module = settings.pop("module", name)
        if "." not in module:
            module = f"experiments.{path.absolute().parent.name}.{module}"
        experiments.append(Experiment(name, module, settings))
    if not experiments:
        raise ValueError(f"{path.name} holds no experiment: add a section, [three_attributes] say.")
    return Configuration(path.stem, path, experiments)
