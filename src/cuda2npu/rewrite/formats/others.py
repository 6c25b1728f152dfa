"""Converts a file that isn't Python by what it is; what no format is for is looked through for CUDA words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Callable

from cuda2npu.messages import say
from cuda2npu.rewrite.change import FileResult
from cuda2npu.rewrite.formats import configuration, dockerfile, makefile, native, requirements, shell
from cuda2npu.rewrite.formats.configuration import Format
from cuda2npu.rewrite.formats.ini_file import Ini
from cuda2npu.rewrite.formats.json_file import Json
from cuda2npu.rewrite.formats.mention import MAX_SIZE, may_mention_cuda, mention
from cuda2npu.rewrite.formats.text_file import TextFile
from cuda2npu.rewrite.formats.toml_file import Toml
from cuda2npu.rewrite.formats.yaml_file import Yaml
from cuda2npu.rewrite.held import VARIABLE, keys_left
from cuda2npu.settings import Settings

_CONFIGURATIONS: Mapping[str, Format] = {
    "yaml": Yaml(),
    "yml": Yaml(),
    "json": Json(),
    "toml": Toml(),
    "ini": Ini(),
    "cfg": Ini(),
}
_REQUIREMENTS = re.compile(
    r"(?:.*/)?(?:[^/]*requirements[^/]*|constraints)\.(?:txt|in)|(?:.*/)?requirements/[^/]+\.txt", re.I
)
# .env, prod.env, .env.local, and direnv's .envrc, which is a script.
_VARIABLES = re.compile(
    r"(?:.*/)?(?:[^/]*\.env|\.envrc|env\.(?:sample|example|dist)"
    r"|[^/]*\.env\.(?!(?:ya?ml|json|toml|ini|cfg)$)[\w-]+)"
)
_TEMPLATE = re.compile(r".*\.(?:j2|jinja2?|tmpl|template|tpl)", re.I)
_DATA = (".json", ".jsonc", ".json5")


def may_concern(path: str) -> bool:
    """Whether a file of this name is code or a configuration, and not data."""
    known = native.is_native(path) or _look_at(path) is not None or _configuration(path) is not None
    return known or shell.is_named_so(path) or may_mention_cuda(path)


def held(data: bytes, path: str, settings: Settings, uses_torch: bool) -> frozenset[str]:
    """Return the names whose values stay in a file: see :mod:`cuda2npu.rewrite.held`."""
    found: set[str] = set()
    if b"DEVICE" in data and VARIABLE.search(text := data.decode("utf-8", "replace")):
        found |= shell.used_otherwise(text)
    is_configuration = _configuration(path) is not None or _TEMPLATE.fullmatch(path) is not None
    if is_configuration and (b"cuda" in data or b"nccl" in data):
        result = convert(data, path, settings, uses_torch)
        found.update(keys_left(result) if result is not None else ())
    return frozenset(found)


def convert(
    data: bytes,
    path: str,
    settings: Settings,
    uses_torch: bool = True,
    held: frozenset[str] = frozenset(),
) -> FileResult | None:
    """Convert the bytes of a file that isn't Python; None if there is nothing to say about it.

    :param data: the first :data:`MAX_SIZE` bytes, and one more where there are more.
    :param path: path relative to the tree that is converted, with forward slashes.
    :param uses_torch: whether the Python code beside it works with torch.
    :param held: names whose values stay elsewhere in the project, so that here they only may be offered.
    """
    if native.is_native(path):
        return native.convert(data, path, settings)
    if len(data) > MAX_SIZE:
        if path.lower().endswith(_DATA):
            return None
        return mention(data[:MAX_SIZE], path, settings, reason=say("first_megabyte", settings.lang))
    look_at = _look_at(path)
    if look_at is None and shell.is_shell(path, data) and not _TEMPLATE.fullmatch(path):
        return shell.convert(data, path, settings, uses_torch, held)
    kind = _configuration(path)
    if look_at is None and (kind is None or not configuration.is_concerned(data)):
        return mention(data, path, settings)
    file = TextFile.read(data, path, settings)
    if file is None:
        return mention(data, path, settings, reason=say("not_utf_8", settings.lang))
    file.uses_torch, file.held = uses_torch, held
    if kind is not None:
        file.has_comments(kind.comments)
    if file.is_skipped:
        return file.skipped()
    if look_at is not None:
        look_at(file)
        return file.result()
    assert kind is not None
    return configuration.convert(file, kind, uses_torch)


def _configuration(path: str) -> Format | None:
    """Return how to read a configuration of this name."""
    return _CONFIGURATIONS.get(path.rpartition(".")[2].lower())


def _look_at(path: str) -> Callable[[TextFile], None] | None:
    """Return what converts a file of this name that is neither a shell script nor a configuration."""
    if dockerfile.is_dockerfile(path):
        return dockerfile.look_at_file
    if makefile.is_makefile(path):
        return makefile.look_at_file
    if _REQUIREMENTS.fullmatch(path):
        return requirements.look_at_file
    if _VARIABLES.fullmatch(path):
        return shell.look_at_variables
    return None
