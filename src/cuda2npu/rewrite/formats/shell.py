"""Shell scripts: the variables and options that the converted Python code reads, and NVIDIA's programs."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import chain

from cuda2npu.rewrite.change import FileResult
from cuda2npu.rewrite.formats import installation, shell_text, shell_variables
from cuda2npu.rewrite.formats.mention import mention
from cuda2npu.rewrite.formats.shell_text import ShellText
from cuda2npu.rewrite.formats.text_file import TextFile, blank
from cuda2npu.rewrite.formats.variables import Place, rename_variables
from cuda2npu.rewrite.held import plain
from cuda2npu.settings import Settings

# Where all that is converted is written as in bash. Scripts of other shells are only looked through.
_SUFFIXES = (".sh", ".bash", ".zsh", ".ksh", ".slurm", ".sbatch")
_SHEBANG = re.compile(rb"#!.*\b(?:ba|da|z|k)?sh\b")
# --dist-backend nccl, --device=cuda:0
_OPTION = re.compile(
    r"(?<![\w-])--[\w-]*(?:(?P<backend>backend)|device)(?:=|[ \t]+)"
    r"(?P<quote>[\"']?)(?P<word>nccl|cuda)(?::\d+)?(?P=quote)(?=[\s;&|)\\\"']|$)"
)
# env_cfg.dist_cfg.backend=nccl, trainer.device=cuda, and behind a Python program device=cuda
_OVERRIDE = re.compile(
    r"(?<=\s)\+{0,2}(?P<path>\w[\w.]*\.)?\w*(?:(?P<backend>backend)|device)=(?P<word>nccl|cuda)(?::\d+)?"
    r"(?=[\s;&|)\\\"']|$)"
)
# What starts Python code, so that its options are those of the converted program.
_PYTHON = re.compile(
    r"(?<![\w.-])(?:python[\d.]*|pypy3?|torchrun|accelerate|deepspeed)(?=[\s)\"']|$)|torch\.distributed"
    r"|\.py(?=[\s\"']|$)|\$\{?\w*(?:python|PYTHON)",
)
# A variable that holds words for a command: ARGS="--a b", ARGS=(--a b)
_WORDS = re.compile(r"(?<![\w-])(?P<name>[A-Za-z_]\w*)\+?=(?:\([^()]*\)|\"[^\"]*\"|'[^']*'|[^\s;&|()\"']+)")
# A variable that holds a device, and that is what it is called.
_DEVICE = re.compile(
    r"(?:^|(?<=[\s;&|(`{]))(?P<name>(?:[A-Z][A-Z0-9_]*_)?DEVICE)=(?P<quote>[\"']?)"
    r"(?:\$\{(?P=name):?-)?(?P<word>cuda)(?::\d+)?\}?(?P=quote)(?=[\s;&|)]|$)",
    re.M,
)
# nvidia-smi that nothing reads the output of: alone on its line, or under watch.
_SHOWN = re.compile(
    r"(?:(?:sudo[ \t]+)?watch[ \t]+(?:-\S+[ \t]+(?:[\d.]+[ \t]+)?)*)?"
    r"(?P<program>nvidia-smi)[ \t]*;?[ \t]*\r?$",
    re.M,
)
_GOES_ON = re.compile(r"(?:\\|[|&(`{])[ \t]*\r?\n(?:[ \t]*\r?\n)*\Z")
# Blocks, whose output may go elsewhere. A word that only looks like the begin of one does no harm.
_BLOCK = re.compile(
    r"(?:^|(?<=[\s;&|(]))(?:(?P<begin>if|do|case|\{)(?=\s)|(?P<end>fi|done|esac|\})(?=[\s;&|)]|$))", re.M
)
# A program: its bare name anywhere, or its path where a command begins.
_PROGRAM = (
    r"(?:(?<![\w./=-])|(?:^|[;&|(`])[ \t]*(?:sudo[ \t]+|time[ \t]+)?[\w./$-]*/)(?P<name>{name})(?![\w.=/-])"
)
# A command, over the lines that end with a backslash.
_COMMAND = re.compile(r"(?:\\\r?\n|[^\n;|&])+")
# It serves the NPU already.
_SERVES_NPU = re.compile(r"\b(?:ASCEND|HCCL)_[A-Z]+|(?i:device\w*(?:=|[ \t]+)[\"']?npu\b)")
_DEVICE_NAME = re.compile(r"\b(?:[A-Z][A-Z0-9_]*_)?DEVICE\b")
_ANY_READ = re.compile(r"\$\{?(\w+)")
# How a variable is set, and read as a whole word.
_SETS = re.compile(r"[ \t]*(?:[?:]|::)?=(?!=)|[ \t]+cuda\b")
_HANDS_ON = re.compile(r"(?:^|[\s\"'=(])\$?\$[{(]?\Z")
_HANDED_ON = re.compile(r"(?::?[-=][\w:]*)?[)}]?(?=[\s\"';)&|\\]|$)")
# What it is handed to: an option or a variable for a device, or a command that shows it.
_FOR_DEVICE = re.compile(
    r"(?:(?<!-D)\bdevice|_device|-device)[\w-]*(?:=|[ \t]+|:[ \t]*)[\"']?\$?\$[{(]?\Z|\b(?:echo|printf)\b",
    re.I,
)
# DEVICE=cuda make, DEVICE=cuda . other.sh: other programs that read it.
_NATIVE = r"\./(?!\S+\.(?:py|sh)\b)\S+"
_OTHER_PROGRAM = re.compile(
    r"=[\"']?[\w:]*[\"']?[ \t]+(?:[A-Z_]+=\S*[ \t]+)*"
    rf"(?:make|cmake|ninja|docker|podman|source|\.|{_NATIVE})(?=\s|$)"
)
_RUNS_OTHERS = re.compile(rf"^[ \t]*(?:make|cmake|ninja|docker[ -]compose|{_NATIVE})(?=\s|$)", re.M)
_COMPARES = re.compile(r"\[|\btest\b|\bcase\b|\bif\w*\b")
_NEAR = 120  # characters around a word that are looked at
_CONTAINER = re.compile(r"(?:^|[\s(`])(?:nvidia-)?(?:docker|podman)[ \t]")
_CONTAINER_OPTION = re.compile(r"(?<=\s)(?:(--gpus)(?=[=\s])|(--runtime)[= \t]nvidia\b)")

DEVICE = "NPU003"
BACKEND = "NPU301"
SHOWN = "NPU617"


def is_shell(path: str, data: bytes) -> bool:
    """Whether a file is a shell script, by its first line or, where that says nothing, by its name."""
    if data.startswith(b"#!"):
        return _SHEBANG.match(data) is not None
    return is_named_so(path)


def is_named_so(path: str) -> bool:
    """Whether a file is a shell script by its name."""
    return path.lower().endswith(_SUFFIXES)


def convert(
    data: bytes,
    path: str,
    settings: Settings,
    uses_torch: bool = True,
    held: frozenset[str] = frozenset(),
) -> FileResult | None:
    """Rename the variables and option values in a shell script; None if there is nothing to say."""
    file = TextFile.read(data, path, settings)
    if file is None:
        return mention(data, path, settings)
    if file.is_skipped:
        return file.skipped()
    file.uses_torch, file.held = uses_torch, held
    look_at(file, [(0, len(file.text))], file.text)
    return file.result()


def look_at_variables(file: TextFile) -> None:
    """Convert a file of variables, such as ``.env``: each of its lines stands for itself."""
    lines = [match.span() for match in re.finditer(r"[^\n]+\n?", file.text)]
    look_at(file, lines, re.sub(r"^[ \t]*#.*", lambda match: blank(match[0]), file.text, flags=re.M))


def look_at(
    file: TextFile,
    spans: Sequence[tuple[int, int]],
    text: str,
    more: Iterable[Place] = (),
    devices: Iterable[tuple[str, int]] = (),
) -> None:
    """Convert the shell commands of a file.

    :param spans: where they stand; each is a script of its own.
    :param text: the file's text without the comments that it has elsewhere.
    :param more: variables that the file sets or reads by other means.
    :param devices: variables that the file sets to ``cuda`` by other means, and where that word stands.
    """
    commands = _Commands(file, _views(file.text, spans, text), {start for start, _ in spans})
    commands.look(more, devices)
    installation.look_at(file, commands.text.expanded)


def _views(text: str, spans: Iterable[tuple[int, int]], uncommented: str) -> ShellText:
    nothing = blank(text)
    views = [list(nothing), list(nothing), list(uncommented), list(nothing)]
    for start, end in spans:
        for view, part in zip(views, shell_text.read(text[start:end])):
            view[start:end] = part
    return ShellText(*map("".join, views))


def _name_of(option: str) -> str:
    """Return the name of the option, or of the setting, that a text such as ``--device=cuda`` gives."""
    return plain(re.split(r"[= \t]", option.lstrip("+"))[0]).rpartition(".")[2]


def used_otherwise(text: str) -> set[str]:
    """Return the variables for a device that a text compares or makes names of, or gives to other programs.

    Where they are only set, handed on as an option for a device, or shown, the new word does the same.
    """
    found = set()
    for match in _DEVICE_NAME.finditer(text):
        before = text[max(0, match.start() - _NEAR) : match.start()].rpartition("\n")[2]
        after = text[match.end() : match.end() + _NEAR].partition("\n")[0]
        if before.lstrip().startswith(("#", "//")):
            continue
        is_set = _SETS.match(after) is not None and not before.endswith(("$", "${", "$("))
        if is_set:
            is_fine = _OTHER_PROGRAM.search(after) is None
        elif before.endswith(("export ", "ARG ")):
            is_fine = _RUNS_OTHERS.search(text, match.end()) is None or before.endswith("ARG ")
        else:
            is_read = _HANDS_ON.search(before) and _HANDED_ON.match(after)
            is_fine = (
                bool(is_read) and not _COMPARES.search(before) and _FOR_DEVICE.search(before) is not None
            )
        if not is_fine:
            found.add(match[0])
    return found


class _Commands:
    def __init__(self, file: TextFile, text: ShellText, begins: Collection[int]) -> None:
        self.file = file
        self.begins = begins
        self.text = text
        file.serves_npu = _SERVES_NPU.search(text.uncommented) is not None

    def look(self, more: Iterable[Place], devices: Iterable[tuple[str, int]]) -> None:
        """Look at all; a script that serves the NPU already has commands for GPUs that are to stay."""
        rename_variables(self.file, [*shell_variables.places(self.text), *more], self.is_followed)
        self.look_at_options()
        self.look_at_devices(devices)
        self.look_at_programs()
        self.look_at_containers()

    def is_followed(self, name: str, places: set[int]) -> bool:
        """Whether these are all the uses of a variable, but for what is said to a person."""
        text = self.text.uncommented
        return all(
            match.start() in places or shell_variables.is_said(text, match.start())
            for match in re.finditer(rf"\b{name}\b", text)
        )

    def look_at_options(self) -> None:
        """The values of options and settings that the converted program reads as a device or a backend."""
        for match in chain(_OPTION.finditer(self.text.code), _OVERRIDE.finditer(self.text.code)):
            backend, word = match["backend"] is not None, match["word"]
            is_plain = "path" in match.re.groupindex and match["path"] is None
            if backend != (word == "nccl"):
                continue
            if (backend and not is_plain) or self.is_for_python(match.start()):
                code, after = (BACKEND, "hccl") if backend else (DEVICE, "npu")
                unsafe = self.file.waits(_name_of(match[0]))
                self.file.replace(code, match.start("word"), word, after, unsafe=unsafe)

    def is_for_python(self, at: int) -> bool:
        """Whether a word stands in a command that starts Python code, or in a variable that one gets."""
        index = bisect(self.starts, at) - 1
        start, end = self.commands[index]
        first = self.first_python[index]
        if start <= first < at < end:
            return True
        words = bisect(self.python_words, (at, at)) - 1
        return words >= 0 and at < self.python_words[words][1]

    @cached_property
    def commands(self) -> list[tuple[int, int]]:
        """Where the commands are."""
        return [match.span() for match in _COMMAND.finditer(self.text.code)]

    @cached_property
    def starts(self) -> list[int]:
        """Where the commands begin."""
        return [start for start, _ in self.commands]

    @cached_property
    def first_python(self) -> list[int]:
        """Where each command names Python code, or -1."""
        launchers = {
            match["name"]
            for match in _WORDS.finditer(self.text.code)
            if _PYTHON.search(self.text.code, match.end("name"), match.end())
        }
        found = []
        for start, end in self.commands:
            named = _PYTHON.search(self.text.code, start, end)
            read = (m for m in _ANY_READ.finditer(self.text.expanded, start, end) if m[1] in launchers)
            places = [match.start() for match in (named, next(read, None)) if match is not None]
            found.append(min(places, default=-1))
        return found

    @cached_property
    def python_words(self) -> list[tuple[int, int]]:
        """The values of variables that commands that start Python code get."""
        read = set()
        for (_, end), first in zip(self.commands, self.first_python):
            if first >= 0:
                read.update(_ANY_READ.findall(self.text.expanded, first, end))
        return [match.span() for match in _WORDS.finditer(self.text.code) if match["name"] in read]

    def look_at_devices(self, more: Iterable[tuple[str, int]]) -> None:
        """Variables that hold a device, where the file does nothing with them but hand them on."""
        found = ((match["name"], match.start("word")) for match in _DEVICE.finditer(self.text.code))
        for name, at in chain(found, more):
            if name not in self.compared:
                self.file.replace(DEVICE, at, "cuda", "npu", unsafe=self.file.waits(name))

    @cached_property
    def compared(self) -> Collection[str]:
        """Variables for a device that the file compares or makes names of, and not only hands on."""
        return used_otherwise(self.text.uncommented)

    def look_at_programs(self) -> None:
        """Programs of NVIDIA's: one that only shows the cards has a counterpart, the rest is reported."""
        shown = set()
        for match in _SHOWN.finditer(self.text.outside):
            if not self.file.serves_npu and self.is_on_its_own(match.start()):
                shown.add(match.start("program"))
                self.file.replace(SHOWN, match.start("program"), match["program"], "npu-smi info")
        for rule, row in self.file.rows("command"):
            name = re.compile(_PROGRAM.format(name=re.escape(row.name)), re.M)
            for match in name.finditer(self.text.code):
                if match.start("name") not in shown:
                    self.file.report(rule.code, *match.span("name"), note=row.note)

    def is_on_its_own(self, start: int) -> bool:
        """Whether a command begins its line, outside of blocks, and the line before doesn't go on to it."""
        if start in self.begins:
            return True
        before = self.text.outside[max(0, start - _NEAR) : start]
        begins_line = start == 0 or self.file.text[start - 1] == "\n"
        return begins_line and not _GOES_ON.search(before) and self.depth_at(start) == 0

    def depth_at(self, start: int) -> int:
        """Return in how many blocks a place is."""
        positions, depths = self.blocks
        index = bisect(positions, start) - 1
        return depths[index] if index >= 0 else 0

    @cached_property
    def blocks(self) -> tuple[list[int], list[int]]:
        """Where blocks begin and end, and how many are open from there."""
        positions, depths, depth = [], [], 0
        text = self.text.outside
        for match in _BLOCK.finditer(text):
            if match["end"] is not None:
                before = text[max(0, match.start() - _NEAR) : match.start()].rstrip(" \t")
                if before and before[-1] not in "\n;&|":
                    continue
            depth += 1 if match["begin"] is not None else -1
            positions.append(match.start())
            depths.append(depth)
        return positions, depths

    def look_at_containers(self) -> None:
        """Containers that are started with NVIDIA's cards."""
        code = self.text.code
        notes = {row.name: (rule, row) for rule, row in self.file.rows("config_setting")}
        for command in _COMMAND.finditer(code):
            if not _CONTAINER.search(command[0]):
                continue
            for match in _CONTAINER_OPTION.finditer(code, command.start(), command.end()):
                rule, row = notes[match[1] or match[2]]
                self.file.report(rule.code, match.start(), match.end(), note=row.note)
        for match in re.finditer(r"(?<![\w./-])nvidia-docker2?(?![\w.-])", code):
            rule, row = notes["nvidia-docker"]
            self.file.report(rule.code, match.start(), match.end(), note=row.note)
