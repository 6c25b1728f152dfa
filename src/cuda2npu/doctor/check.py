"""The vocabulary of the doctor: a check, its state, and what it says in two languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Union

from cuda2npu.doctor.messages import MESSAGES


class State(str, Enum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True)
class Text:
    """A text in both languages that isn't in the table of messages, but in that of error codes."""

    en: str
    zh: str

    def in_language(self, lang: str) -> str:
        """Return the text in ``en`` or ``zh``."""
        return self.zh if lang == "zh" else self.en


@dataclass(frozen=True)
class Message:
    """A message of :data:`.messages.MESSAGES` with its values; a value may be one itself."""

    key: str
    values: Mapping[str, object] = field(default_factory=dict)

    def in_language(self, lang: str) -> str:
        """Return the text in ``en`` or ``zh``."""
        values = {
            name: value.in_language(lang) if isinstance(value, (Message, Text)) else value
            for name, value in self.values.items()
        }
        english, chinese = MESSAGES[self.key]
        return (chinese if lang == "zh" else english).format(**values)


Said = Union[Message, Text]


def message(key: str, **values: object) -> Message:
    """Return the message ``key`` with ``values``."""
    return Message(key, values)


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    :param name: the same in every language, for scripts that read the JSON.
    :param found: what was found.
    :param advice: what to do; a line of it that begins with ``$`` is a command.
    """

    name: str
    state: State
    found: Said
    advice: Said | None = None


def ok(name: str, found: Said) -> Check:
    """Return a check that found nothing wrong."""
    return Check(name, State.OK, found)


def warning(name: str, found: Said, advice: Said) -> Check:
    """Return a check that found something that may be wrong, or can't be told."""
    return Check(name, State.WARNING, found, advice)


def fault(name: str, found: Said, advice: Said) -> Check:
    """Return a check that found something that won't work."""
    return Check(name, State.FAULT, found, advice)
