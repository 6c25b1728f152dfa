"""Commands that install packages: pip, uv and conda in scripts and Dockerfiles."""

from __future__ import annotations

import re

from cuda2npu.rewrite.formats import requirements
from cuda2npu.rewrite.formats.text_file import TextFile

# The command, and its words over lines that end with a backslash.
_INSTALL = re.compile(
    r"\b(?:(?P<conda>conda|mamba|micromamba)|pip[\d.]*)[ \t]+(?:-\S+[ \t]+)*(?:install|create|download)\b"
    r"(?P<words>(?:\\\r?\n|[^\n;|&])*)"
)
_WORD = re.compile(r"[^\s\"'\\]+")
_QUOTE = "'"
_CHANNEL = {"-c", "--channel"}
_FILES = {"-r", "--requirement", "-n", "--name", "-p", "--prefix", "-t", "--target", "--python"}


def look_at(file: TextFile, text: str) -> None:
    """Report what CUDA packages and indexes commands ask for.

    :param text: the file's text, with all blanked out that is no shell command, and single-quoted words.
    """
    for match in _INSTALL.finditer(text):
        before = ""
        for word in _WORD.finditer(file.text, match.start("words"), match.end("words")):
            if text[word.start()].isspace() and file.text[word.start() - 1] != _QUOTE:
                continue  # a comment
            if match["conda"] and before in _CHANNEL:
                requirements.look_at_channel(file, word.start(), word[0])
            elif "://" in word[0]:
                requirements.look_at_url(file, word.start(), word[0])
            elif not word[0].startswith(("-", "$")) and before not in _FILES:
                requirements.look_at_requirement(file, word.start(), word[0])
            before = word[0]
