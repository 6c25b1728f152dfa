"""What is recorded, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """What a capture records.

    :param tensors: whether tensors are written; without them statistics are, as for large models.
    :param full_steps: so many first steps have their tensors written, later ones their statistics.
    :param steps: optimizer steps. A script is ended after so many; one that never trains is a single step,
        which lasts as long as it does.
    :param depth: of the modules that are recorded, 0 for the model alone; None for all.
    :param pattern: regular expression, searched for in the names of modules and parameters; "" for all.
    :param weights: whether the weights before the first step are written.
    :param inventory: whether the operators of the first step are listed.
    :param dropout: False makes all probabilities of dropout 0, as a GPU and an NPU draw other masks.
    :param seed: of torch's generators, before the model is built and again before its inputs are; a script
        sets its own.
    :param like: a capture whose weights are taken, by name, and by a model its inputs, too.
    :param resume: whether the steps that are there already are kept, and the others added.
    """

    tensors: bool = True
    full_steps: int = 1
    steps: int = 1
    depth: int | None = None
    pattern: str = ""
    weights: bool = True
    inventory: bool = True
    dropout: bool = True
    seed: int = 0
    like: str = ""
    resume: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return what a header holds, and what reaches the process that records."""
        return asdict(self)


def settings_from_json(found: Mapping[str, Any]) -> Settings:
    """Return the settings that :meth:`Settings.as_json` wrote."""
    return Settings(**found)
