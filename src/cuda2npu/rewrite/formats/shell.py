"""Shell scripts: the variables and options that the converted Python code reads, and NVIDIA's programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from cuda2npu.rewrite.change import FileResult
from cuda2npu.rewrite.formats import installation
from cuda2npu.rewrite.formats.mention import mention
from cuda2npu.rewrite.formats.text_file import TextFile, blank
from cuda2npu.rewrite.formats.variables import Place, rename_variables
from cuda2npu.settings import Settings

_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch")
_SHEBANG = re.compile(rb"#!.*\b(?:ba|da|z|k)?sh\b")
# NAME=value, as a command of its own, behind export or env, or before a command.
_SET = re.compile(
    r"""(?:^|(?<=[\s;&|(`{]))(?P<name>[A-Z][A-Z0-9_]*)=(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s;&|)`]*)""", re.M
)
_READ = re.compile(r"(?<!\\)\$\{?(?P<name>[A-Z][A-Z0-9_]*)\b")
_UNSET = re.compile(r"\bunset[ \t]+(?P<name>[A-Z][A-Z0-9_]*)\b")
# --dist-backend nccl, --device=cuda:0
_OPTION = re.compile(
    r"--[\w-]*(?:(?P<backend>backend)|device)(?:=|[ \t]+)(?P<quote>[\"']?)(?P<word>nccl|cuda)(?::\d+)?"
    r"(?P=quote)(?=[\s;&|)\\]|$)"
)
# env_cfg.dist_cfg.backend=nccl, trainer.device=cuda: with a dot it is no variable of the shell.
_OVERRIDE = re.compile(
    r"(?<=\s)\+{0,2}\w+(?:\.\w+)*\.\w*(?:(?P<backend>backend)|device)=(?P<word>nccl|cuda)(?::\d+)?(?=[\s;&|)\\]|$)"
)
_VALUE = re.compile(r"(?:[A-Z0-9_]=|--[\w-]+[= ])$")
_HERE = re.compile(r"<<-?[ \t]*(?P<quote>[\"']?)(?P<word>\w+)(?P=quote)")
# nvidia-smi that nothing reads the output of: alone on its line, or under watch.
_SHOWN = re.compile(
    r"^[ \t]*(?:(?:sudo[ \t]+)?watch[ \t]+(?:-\S+[ \t]+(?:[\d.]+[ \t]+)?)*)?(?P<program>nvidia-smi)[ \t]*"
    r"(?:;|&&[ \t]*\\?)?[ \t]*\r?$",
    re.M,
)
# A program: its bare name anywhere, or its path where a command begins.
_PROGRAM = (
    r"(?:(?<![\w./=-])|(?:^|[;&|(`])[ \t]*(?:sudo[ \t]+|time[ \t]+)?[\w./$-]*/)(?P<name>{name})(?![\w.=/-])"
)
# A command, over the lines that end with a backslash.
_COMMAND = re.compile(r"(?:\\\r?\n|[^\n;|&])+")
_CONTAINER = re.compile(r"(?:^|[\s(`])(?:nvidia-)?(?:docker|podman)[ \t]")
_CONTAINER_OPTION = re.compile(r"(?<=\s)(?:(--gpus)(?=[=\s])|(--runtime)[= \t]nvidia\b)")

DEVICE = "NPU003"
BACKEND = "NPU301"
SHOWN = "NPU617"


def is_shell(path: str, data: bytes) -> bool:
    """Whether a file is a shell script, by its name or its first line."""
    return path.endswith(_SUFFIXES) or _SHEBANG.match(data) is not None


def convert(data: bytes, path: str, settings: Settings) -> FileResult | None:
    """Rename the variables and option values in a shell script; None if there is nothing to say."""
    file = TextFile.read(data, path, settings)
    if file is None:
        return mention(data, path, settings)
    if file.is_skipped:
        return file.skipped()
    look_at(file, file.text)
    return file.result()


def look_at(file: TextFile, text: str, more: Iterable[Place] = ()) -> None:
    """Convert the shell commands of a file.

    :param text: the file's text, with all blanked out that is no shell command.
    :param more: variables that the file sets by other means.
    """
    commands = _Commands(file, text)
    rename_variables(file, [*commands.places(), *more])
    commands.look_at_options()
    commands.look_at_programs()
    commands.look_at_containers()
    installation.look_at(file, commands.expanded)


class _Commands:
    def __init__(self, file: TextFile, text: str) -> None:
        self.file = file
        self.code = _code_only(text)
        self.expanded = _code_only(text, expanded=True)

    def places(self) -> Iterator[Place]:
        for match in _SET.finditer(self.code):
            yield Place(match["name"], match.start("name"), match["value"].strip("\"'"))
        for pattern, text in ((_READ, self.expanded), (_UNSET, self.code)):
            for match in pattern.finditer(text):
                yield Place(match["name"], match.start("name"), None)

    def look_at_options(self) -> None:
        """The values of options and settings that the converted program reads as a device or a backend."""
        for match in chain(_OPTION.finditer(self.code), _OVERRIDE.finditer(self.code)):
            backend = match["backend"] is not None
            if backend == (match["word"] == "nccl"):
                after = "hccl" if backend else "npu"
                self.file.replace(BACKEND if backend else DEVICE, match.start("word"), match["word"], after)

    def look_at_programs(self) -> None:
        """Programs of NVIDIA's: one that only shows the cards has a counterpart, the rest is reported."""
        shown = set()
        for match in _SHOWN.finditer(self.code):
            shown.add(match.start("program"))
            self.file.replace(SHOWN, match.start("program"), match["program"], "npu-smi info")
        for rule, row in self.file.rows("command"):
            name = re.compile(_PROGRAM.format(name=re.escape(row.name)), re.M)
            for match in name.finditer(self.expanded):
                if match.start("name") not in shown:
                    self.file.report(rule.code, *match.span("name"), note=row.note)

    def look_at_containers(self) -> None:
        """Containers that are started with NVIDIA's cards."""
        notes = {row.name: (rule, row) for rule, row in self.file.rows("config_setting")}
        for command in _COMMAND.finditer(self.code):
            if not _CONTAINER.search(command[0]):
                continue
            for match in _CONTAINER_OPTION.finditer(self.code, command.start(), command.end()):
                rule, row = notes[match[1] or match[2]]
                self.file.report(rule.code, match.start(), match.end(), note=row.note)
        for match in re.finditer(r"(?<![\w./-])nvidia-docker2?(?![\w.-])", self.code):
            rule, row = notes["nvidia-docker"]
            self.file.report(rule.code, match.start(), match.end(), note=row.note)


def _code_only(text: str, expanded: bool = False) -> str:
    """Return the text with comments, quoted words that aren't values, and here-documents blanked out.

    What stands there may be for another shell, another program, or a person.

    :param expanded: keep what the shell expands variables in: double quotes, and here-documents whose
        end isn't quoted.
    """
    out = []
    until, keep = "", False  # the end of the here-document that the line is in
    for line in text.splitlines(keepends=True):
        if until:
            out.append(line if keep else blank(line))
            until = "" if line.strip() == until else until
            continue
        begins = _without_quoted(line, expanded=False).find("<<")
        here = _HERE.match(line, begins) if begins >= 0 else None
        until, keep = (here["word"], expanded and not here["quote"]) if here else ("", False)
        out.append(_without_quoted(line, expanded))
    return "".join(out)


def _without_quoted(line: str, expanded: bool) -> str:
    """Blank out the comment of a line, and what is quoted but no value of ``NAME=`` or ``--option``."""
    out = list(line)
    quote, opened = "", 0
    position = 0
    while position < len(line):
        character = line[position]
        if character == "\\" and quote != "'":
            position += 2
            continue
        if quote:
            if character == quote:
                kept = _VALUE.search(line[:opened]) or (expanded and quote == '"')
                if not kept:
                    out[opened : position + 1] = blank(line[opened : position + 1])
                quote = ""
        elif character in "\"'":
            quote, opened = character, position
        elif character == "#" and (position == 0 or line[position - 1].isspace()):
            out[position:] = blank(line[position:])
            break
        position += 1
    if quote and not expanded:  # a text of several lines
        out[opened:] = blank(line[opened:])
    return "".join(out)
