"""Configurations: values of device and backend keys, environment variables and well-known settings, by key.

A format gives its values with their places, and an outline of its text; what is decided about a value is
the same for all formats.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import NamedTuple

from cuda2npu.catalog.rules import Row, Rule
from cuda2npu.rewrite.change import FileResult
from cuda2npu.rewrite.formats import dockerfile, requirements
from cuda2npu.rewrite.formats.comments import Comments
from cuda2npu.rewrite.formats.text_file import TextFile, without_comments
from cuda2npu.rewrite.formats.variables import Place, rename_variables
from cuda2npu.rewrite.held import plain

DEVICE = "NPU610"
BACKEND = "NPU611"
LEFT = "NPU615"
NOT_READ = "NPU616"

_DEVICES = re.compile(r"cuda(?::\d+)?(?:, ?cuda(?::\d+)?)*")
_BACKEND = re.compile(r"nccl|(?:\w+:\w+,)*cuda:nccl(?:,\w+:\w+)*")
_VARIABLE = re.compile(r"(?P<name>[A-Z][A-Z0-9_]*)(?:=(?P<value>.*))?", re.S)
_WORDS_OF_CUDA = {"cuda", "nvidia"}  # packages, too, but in a configuration they are torch's devices
# Keys of uv, Poetry and PDM that hold an address of packages.
_ADDRESSES = ("url", "index-url", "extra-index-url", "find-links")
_YAML = (".yaml", ".yml")
# The name of a model or a data set on a hub: NVIDIA made it, and it runs anywhere.
# A configuration with one of these has values for the NPU already, beside those for CUDA.
_NPU = re.compile(r"npu(?::\d+)?|hccl|(?:\w+:\w+,)*npu:hccl(?:,\w+:\w+)*", re.I)
_NPU_VARIABLE = re.compile(r"\b(?:ASCEND|HCCL)_[A-Z]")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MODEL = re.compile(r"nvidia/[\w.-]+", re.I)
_READS = re.compile(r"\$\{?$|\benv\.$")  # $NAME, ${NAME}, ${{ env.NAME }}
# A device or a backend that is a key; cuda: true is a mere switch.
_KEY = re.compile(
    r"(?<![\w.:/-])[\"']?\b(?P<word>cuda|nccl)[\"']?[ \t]*(?::(?=\s|$)|(?<=[\"'\s]):|=)"
    r"(?P<switch>[ \t]*[\"']?(?:true|false|yes|no|on|off|null|none|[01]\b(?!\.))\b)?",
    re.I | re.M,
)
_KEY_CPU = re.compile(r"(?<![\w.-])cpu[\"']?[ \t]*[:=]")
_SECTION = re.compile(
    r"^[ \t]*\[{1,2}(?:[^\[\]\n]*\.)?[ \t]*[\"']?(?P<word>cuda|nccl)[\"']?[ \t]*(?:\.[^\[\]\n]*)?\]", re.M
)
_NAMES = ("name", "id", "key", "enum")
_LOOKED_UP = re.compile(r"\$\{[^{}\n]*\$\{([\w.]+)\}|\$\{([\w.]+)\}\.(?:ya?ml|json|toml|cfg|ini|py)\b")
# Without one of these words there is nothing to decide, and the file isn't parsed.
_CONCERNED = re.compile(
    rb"cuda|nccl|nvidia|cudnn|nvtx|gpu|flash_attention|requires|dependencies|[/+.-]cu\d", re.I
)


class UnreadableError(ValueError):
    """The text isn't what its name says; the message is the reason, with the line."""


@dataclass(frozen=True)
class Value:
    """A string, number or other plain value of a configuration.

    :param keys: the keys that lead to it, from the outermost; an item of a list has the list's.
    :param text: what it says, which stands like that between ``start`` and ``end``.
    :param key_start: where the innermost key stands; -1 if that isn't known.
    :param group: a number that the members of one mapping share.
    :param twice: whether a key above it stands twice in its mapping.
    """

    keys: tuple[str, ...]
    text: str
    start: int
    end: int
    key_start: int = -1
    group: int = 0
    twice: bool = False


class Format:
    """A kind of file: how to read it, and where it has comments."""

    comments = Comments()

    def values(self, text: str) -> Iterable[Value]:
        """Yield the values of a text.

        :raises UnreadableError: if it isn't of this kind.
        """
        raise NotImplementedError

    def records(self, text: str) -> Sequence[tuple[int, int]]:
        """Return where a text holds data and texts for people, and no settings, in order."""
        return ()

    def outline(self, text: str) -> Sequence[object]:
        """Return everything that a reader of the text gets, keys and values, one after the other.

        :raises UnreadableError: if it isn't of this kind.
        """
        raise NotImplementedError


def is_concerned(data: bytes) -> bool:
    """Whether anything in the file can be about CUDA or about what is installed."""
    return _CONCERNED.search(data) is not None


def convert(file: TextFile, kind: Format, uses_torch: bool = True) -> FileResult | None:
    """Convert a configuration; None if there is nothing to say.

    :param uses_torch: whether the program that reads it works with torch. Where that isn't known, a
        device or a backend may be another library's, which knows no "npu".
    """
    try:
        file.records = kind.records(file.text)
        values = list(kind.values(file.text))
        outline = kind.outline(file.text)
    except (UnreadableError, RecursionError) as error:
        if file.records:
            return file.result()
        return file.unreadable(NOT_READ, str(error))
    _Decisions(file, values, uses_torch).look()
    if any(change.applied for change in file.changes) and not _is_faithful(file, kind, outline):
        file.changes.clear()
        file.dealt_with.clear()
        file.kept.clear()
        return file.unreadable(NOT_READ, "")
    return file.result()


def _is_faithful(file: TextFile, kind: Format, before: Sequence[object]) -> bool:
    """Whether the changed text reads as the original does, but for what was to be changed."""
    try:
        after = kind.outline(file.changed_text())
    except (UnreadableError, RecursionError):
        return False
    if len(before) != len(after):
        return False
    expected = Counter((change.before, change.after) for change in file.changes if change.applied)
    for old, new in zip(before, after):
        if old == new:
            continue
        if not isinstance(old, str):
            return False
        fitting = [
            pair for pair in expected if old.replace(*pair) == new and expected[pair] >= old.count(pair[0])
        ]
        made = max(fitting, key=lambda pair: len(pair[0]), default=None)  # of cuda and cuda:0 the longer one
        if made is None:
            return False
        expected[made] -= old.count(made[0])
    return not any(expected.values())


class _Wanted(NamedTuple):
    """What is to become of a value."""

    code: str
    after: str


class _Setting(NamedTuple):
    """What a row about a setting asks for: ``above.key=text``; a name with a slash is a key as a whole."""

    above: str
    key: str
    text: str

    @classmethod
    def of(cls, row: Row) -> _Setting:
        path, _, text = row.name.partition("=")
        above, _, key = ("", "", path) if "/" in path else path.rpartition(".")
        return cls(above, key, text)


class _Decisions:
    def __init__(self, file: TextFile, values: Sequence[Value], uses_torch: bool) -> None:
        self.file = file
        self.values = values
        self.uses_torch = uses_torch
        self.patterns = file.catalog.keys
        self._known: dict[tuple[str, str], bool] = {}
        self._rows: dict[str, list[tuple[Rule, Row]]] = {}
        self.foreign = {value.group for value in values if value.group and self.is_library(value.text)}
        self.top = {value.keys[0]: value.text for value in values if value.keys}
        self.is_infrastructure = (
            self._matches_path(self.patterns["infrastructure"]) or self._is_kubernetes() or self.is_conda
        )

    @property
    def knows_npu(self) -> bool:
        """Whether the file has values for the NPU beside those for CUDA, which then stay."""
        words = (_NPU.fullmatch(word) for value in self.values for word in (value.text, *value.keys[-1:]))
        return any(words) or _NPU_VARIABLE.search(self.without_comments) is not None

    def look(self) -> None:
        if self._matches_path(self.patterns["recorded"]):
            self.file.records = [(0, len(self.file.text))]
            return
        self.file.serves_npu = self.knows_npu
        self.look_at_values()
        self.look_at_variables()
        self.look_at_settings()
        self.look_at_packages()

    # Values that change

    def look_at_values(self) -> None:
        """A value that stands in one place of the file but under several keys changes if all agree."""
        by_place: dict[tuple[int, int], list[Value]] = {}
        for value in self.values:
            by_place.setdefault((value.start, value.end), []).append(value)
        for (start, end), uses in by_place.items():
            wanted = {self.wanted(use) for use in uses}
            if wanted == {None}:
                continue
            first = next(item for item in wanted if item is not None)
            is_device = first.code in (DEVICE, BACKEND)
            if (
                len(wanted) > 1
                or any(use.twice for use in uses)
                or (is_device and any(self.names_more(use) for use in uses))
            ):
                self.file.report(LEFT, start, end)
            else:
                names = [plain(use.keys[-1]) for use in uses if use.keys]
                unsafe = is_device and (not self.uses_torch or self.file.waits(*names))
                self.file.replace(first.code, start, uses[0].text, first.after, unsafe=unsafe)

    def names_more(self, value: Value) -> bool:
        """Whether a device or a backend is also the name of something else that the file has or leads to."""
        word = "nccl" if "nccl" in value.text else "cuda"
        return word in self.names_of_things or value.keys[-1] in self.inside_of_names

    @cached_property
    def names_of_things(self) -> frozenset[str]:
        """The devices and backends that are keys, sections, names of items, or words of a schema."""
        text = self.without_comments
        is_table = _KEY_CPU.search(text) is not None
        found = {match["word"] for match in _KEY.finditer(text) if is_table or not match["switch"]}
        found |= {match["word"] for match in _SECTION.finditer(text)}
        found |= {value.text for value in self.values if value.keys and value.keys[-1] in _NAMES}
        return frozenset(word.partition(":")[0] for word in found)

    @cached_property
    def inside_of_names(self) -> frozenset[str]:
        """The keys whose values other values are looked up by, or files named after: ${lrs.${device}}."""
        found = (match[1] or match[2] for match in _LOOKED_UP.finditer(self.file.text))
        return frozenset(name.rpartition(".")[2] for name in found)

    def wanted(self, value: Value) -> _Wanted | None:
        if not value.keys:
            return None
        for rule, row in self.settings(value):
            if row.to:
                return _Wanted(rule.code, row.to)
        if self.is_infrastructure:
            return None
        if value.group in self.foreign or any(self.is_library(key) for key in value.keys[:-1]):
            return None  # xgboost: {device: cuda}; {engine: onnxruntime, device: cuda}
        if _DEVICES.fullmatch(value.text) and self.is_key(value, "device"):
            return _Wanted(DEVICE, value.text.replace("cuda", "npu"))
        if _BACKEND.fullmatch(value.text) and self.is_key(value, "backend"):
            return _Wanted(BACKEND, value.text.replace("cuda:", "npu:").replace("nccl", "hccl"))
        return None

    # Settings that a person decides about

    def look_at_settings(self) -> None:
        for value in self.values:
            if not self.is_infrastructure and _MODEL.fullmatch(value.text):
                self.file.dealt_with.append((value.start, value.end))
            for rule, row in self.settings(value):
                if not row.to:
                    self._report(value, rule, row)
            if self.is_infrastructure and value.keys and value.keys[-1].lower() in ("image", "base_image"):
                dockerfile.report_image(self.file, value.text, value.start)

    def _report(self, value: Value, rule: Rule, row: Row) -> None:
        """Report a setting, from its key to its value where they stand on one line."""
        start = value.key_start if value.key_start >= 0 else value.start
        if "\n" in self.file.text[start : value.end]:
            start = value.start
        self.file.report(rule.code, start, value.end, note=row.note)

    # Environment variables

    def look_at_variables(self) -> None:
        """A variable is renamed where it is set and read; one that a script in the file sets, too, stays."""
        by_name: dict[str, list[Place]] = {}
        for place in self.variables():
            by_name.setdefault(place.name, []).append(place)
        for name, places in by_name.items():
            if name not in self.file.catalog.rows:
                continue
            others = self._other_uses(name, {place.start for place in places})
            is_shared = None in others or any(place.start in self.shared_places for place in places)
            if is_shared and self.file.catalog.rows[name][1].to:
                for place in places:
                    self.file.report(LEFT, place.start, place.start + len(name))
            else:
                rename_variables(self.file, [*places, *(use for use in others if use is not None)])

    def _other_uses(self, name: str, known: set[int]) -> list[Place | None]:
        """Return where else the text reads a variable, and None for each use of another kind."""
        uses: list[Place | None] = []
        code = self.without_comments
        for match in re.finditer(rf"\b{name}\b", self.file.text):
            line = self.file.text[self.file.text.rfind("\n", 0, match.start()) + 1 : match.start()]
            if match.start() not in known and code.startswith(name, match.start()):
                uses.append(Place(name, match.start(), None) if _READS.search(line) else None)
        return uses

    @cached_property
    def shared_places(self) -> frozenset[int]:
        """Where keys stand that an alias brings into a mapping that isn't one of variables."""
        seen, shared = set(), set()
        for value in self.values:
            if value.key_start in seen and not self.names("environment", ("", *value.keys)[-2]):
                shared.add(value.key_start)
            seen.add(value.key_start)
        return frozenset(shared - {-1})

    def variables(self) -> Iterator[Place]:
        """Yield the variables that maps, lists and name-value pairs below a key such as ``env`` set."""
        seen = set()
        pairs = {(v.group, v.keys[-1]): v for v in self.values if v.keys and v.keys[-1] in ("name", "value")}
        for value in self.values:
            place = self._variable(value, pairs)
            if place is not None and place.start not in seen:
                seen.add(place.start)
                yield place

    def _variable(self, value: Value, pairs: dict[tuple[int, str], Value]) -> Place | None:
        key, above = ("", "", *value.keys)[-1], ("", "", *value.keys)[-2]
        if value.twice:
            return None
        if self.names("environment", above) and value.key_start >= 0 and key not in ("name", "value"):
            return Place(key, value.key_start, value.text)
        if self.names("environment", above) and key == "name":
            other = pairs.get((value.group, "value"))
            return Place(value.text, value.start, other.text if other is not None else None)
        match = _VARIABLE.fullmatch(value.text) if self.names("environment", key) else None
        return Place(match["name"], value.start, match["value"]) if match is not None else None

    # Packages

    def look_at_packages(self) -> None:
        """What pyproject.toml, setup.cfg and conda's environment.yml ask to install."""
        name = self.file.path.rpartition("/")[2].lower()
        if name not in ("pyproject.toml", "setup.cfg") and not self.is_conda:
            return
        for value in self.values:
            kind = _package_kind(name, value)
            if kind == "requirement" and requirements.is_url(value.text):
                requirements.look_at_url(self.file, value.start, value.text)
            elif kind == "requirement":
                package = value.text.rpartition("::")[2]  # conda-forge::cupy
                requirements.look_at_requirement(self.file, value.end - len(package), package)
            elif kind == "url":
                requirements.look_at_url(self.file, value.start, value.text)
            elif kind == "channel":
                requirements.look_at_channel(self.file, value.start, value.text)
            elif kind == "key" and value.key_start >= 0:
                requirements.look_at_pinned(self.file, value.key_start, value.keys[-1], value.text)

    # Keys and paths

    @cached_property
    def without_comments(self) -> str:
        return without_comments(self.file.text)

    def is_library(self, word: str) -> bool:
        """Whether a word names a library with devices of its own."""
        return word.lower() in self.file.catalog.foreign - _WORDS_OF_CUDA

    def is_key(self, value: Value, kind: str) -> bool:
        return self.names(kind, value.keys[-1])

    def names(self, kind: str, key: str) -> bool:
        """Whether a key is one that holds ``kind``; asked once for each key, for data has thousands alike."""
        known = self._known.get((kind, key))
        if known is None:
            known = any(fnmatchcase(_plain(key), pattern) for pattern in self.patterns[kind])
            self._known[kind, key] = known
        return known

    def settings(self, value: Value) -> Iterator[tuple[Rule, Row]]:
        """Yield the rows, such as ``runtime=nvidia``, ``trainer.gpus`` or ``nvidia.com/*``, about a value."""
        above, key = ("", "", *(key.lower().replace("-", "_") for key in value.keys))[-2:]
        if key not in self._rows:
            rows = self.file.rows("config_setting")
            self._rows[key] = [(rule, row) for rule, row in rows if fnmatchcase(key, _Setting.of(row).key)]
        for rule, row in self._rows[key]:
            wanted = _Setting.of(row)
            if wanted.above in ("", above) and (not wanted.text or fnmatchcase(value.text, wanted.text)):
                yield rule, row

    def _matches_path(self, patterns: Iterable[str]) -> bool:
        path = self.file.path.lower()
        tails = [path[at + 1 :] for at in (-1, *(m.start() for m in re.finditer("/", path)))]
        return any(fnmatchcase(tail, pattern) for tail in tails for pattern in patterns)

    def _is_kubernetes(self) -> bool:
        version, kind = self.top.get("apiVersion", ""), self.top.get("kind", "")
        return re.fullmatch(r"(?:[\w.-]+/)?v\d\w*", version) is not None and kind[:1].isupper()

    @property
    def is_conda(self) -> bool:
        """Whether it says what conda is to install or build: many an RL program has an environment.yaml."""
        if not self.file.path.lower().endswith(_YAML):
            return False
        lists = "dependencies" in self.top and ("channels" in self.top or "name" in self.top)
        is_named = "conda" in self.file.path.lower() or "environment" in self.file.path.lower()
        installs = lists or (is_named and not {"dependencies", "channels"}.isdisjoint(self.top))
        return installs or ("package" in self.top and not {"build", "requirements"}.isdisjoint(self.top))


def _plain(key: str) -> str:
    return _CAPITAL.sub("_", key).lower().lstrip("-").replace("-", "_").rpartition(".")[2]


def _package_kind(file_name: str, value: Value) -> str:
    """Return what a value says about packages: it is a requirement, a channel of conda, or its key is one."""
    keys = value.keys
    if file_name == "pyproject.toml":
        if keys[:1] == ("tool",) and keys[-1] in _ADDRESSES:
            return "url"
        if keys[:2] == ("tool", "poetry") and len(keys) >= 4 and "dependencies" in keys[2:]:
            return "key" if keys[-2] == "dependencies" else ""
        listed = keys in (("project", "dependencies"), ("build-system", "requires"))
        if keys[:1] == ("tool",) and keys[1:2] and keys[1] in ("uv", "pdm", "hatch"):
            listed = keys[-1].endswith("dependencies") or keys[-2] == "dev-dependencies"
        grouped = keys[:-1] in (("project", "optional-dependencies"), ("dependency-groups",))
        return "requirement" if listed or grouped else ""
    if file_name == "setup.cfg":
        listed = keys[:2] in (("options", "install_requires"), ("options", "setup_requires"))
        return "requirement" if listed or keys[:1] == ("options.extras_require",) else ""
    if keys == ("channels",):
        return "channel"
    return "requirement" if keys in (("dependencies",), ("dependencies", "pip")) else ""
