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
        own = set(imported)
        for match in _PLACED.finditer(data):
            path, key = match[1].decode(), match[2]
            if key is not None:
                self.used.add(key.decode())
            elif "." in path or path in own:
                self.used.add(path.rpartition(".")[2])

    @property
    def names(self) -> frozenset[str]:
        """The names that hold devices across files."""
        return frozenset(self.given & self.used)
