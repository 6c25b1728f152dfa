"""Names that get a device in one file of a project and are used as one in another.

Inside one file values are followed exactly. Between files a name is the link: what is called ``where`` and
set to "cuda" here, and given to ``.to(settings.where)`` there, is called like a device from then on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_LITERAL = re.compile(rb"""["'](?:cuda(?::\d+)?|nccl)["']""")
# What stands before it in: where = "cuda", where: str = "cuda", {"where": "cuda"}, Settings(where="cuda")
_GIVEN = re.compile(rb"""(\w+)["']?[ \t]*(?::[ \t]*[\w.]+[ \t]*)?[=:][ \t]*\Z""")
_OPTION = re.compile(rb"""add_argument\([^()]*?["']--([\w-]+)["'][^()]*\Z""")
# What returns one of the two is asked for a device: return "cuda:0", return f"cuda:{i}", return "cpu"
_DEF = re.compile(rb"^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)", re.M)
_RETURNS = re.compile(rb"""\breturn[ \t]+(?:torch\.device\()?f?["'](cuda|cpu)(?::[^"'\n]*)?["']""")
_WINDOW = 400  # bytes before a literal that are looked at
# .to(settings.where), device=cfg["where"], torch.device(WHERE)
_PLACED = re.compile(
    rb"""(?:\.to\(|\b(?:device|map_location|backend)[ \t]*=|\b(?:torch\.device|init_process_group)\()[ \t]*"""
    rb"""((?:\w+\.)*\w+)(?:\[["'](\w+)["']\])?(?![\w.(\[])"""
)


@dataclass
class SharedNames:
    """Collects, file by file, the names that are given a device and those that are used as one."""

    given: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    results: set[str] = field(default_factory=set)

    def look_at(self, data: bytes, imported: Iterable[str]) -> None:
        """Note what one file says.

        :param imported: names that the file imports from other files of the project.
        """
        for literal in _LITERAL.finditer(data):
            before = data[max(literal.start() - _WINDOW, 0) : literal.start()]
            given = _GIVEN.search(before, max(len(before) - 80, 0))
            if given is not None:
                self.given.add(given[1].decode())
            option = _OPTION.search(before, max(before.rfind(b"add_argument("), 0))
            if option is not None:
                self.given.add(option[1].decode().replace("-", "_"))
        self._look_at_results(data)
        own = set(imported)
        for match in _PLACED.finditer(data):
            path, key = match[1].decode(), match[2]
            if key is not None:
                self.used.add(key.decode())
            elif "." in path or path in own:
                self.used.add(path.rpartition(".")[2])

    def _look_at_results(self, data: bytes) -> None:
        """A function that returns both a GPU and the CPU chooses a device, whatever it is called."""
        found: dict[bytes, set[bytes]] = {}
        starts = [(match.start(), match[2]) for match in _DEF.finditer(data)] if b"cuda" in data else []
        for match in _RETURNS.finditer(data) if starts else ():
            before = [name for start, name in starts if start < match.start()]
            if before:
                found.setdefault(before[-1], set()).add(match[1])
        self.results.update(name.decode() + "()" for name, kinds in found.items() if len(kinds) == 2)

    @property
    def names(self) -> frozenset[str]:
        """The names that hold devices across files, and with ``()`` the functions that return them."""
        return frozenset(self.given & self.used) | frozenset(self.results)
