"""The options that commands share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Callable, TypeVar

import click

from cuda2npu.settings import DEFAULT_SOC, DEFAULT_TORCH, INTERPOLATE, SOCS

Command = TypeVar("Command", bound=Callable[..., Any])


def _if_given(context: click.Context, option: click.Parameter, values: Sequence[str]) -> Sequence[str] | None:
    return values or None  # None lets pyproject.toml decide


def _codes(context: click.Context, option: click.Parameter, values: Sequence[str]) -> Sequence[str] | None:
    return tuple(code.strip().upper() for value in values for code in value.split(",")) or None


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))  # those of the machine may not all be ours
    except AttributeError:
        return os.cpu_count() or 1


def language(command: Command) -> Command:
    """Add ``--lang``."""
    return click.option("--lang", type=click.Choice(("en", "zh")), help="Language of messages.")(command)


def rules(command: Command) -> Command:
    """Add ``--rules``."""
    return click.option(
        "--rules", multiple=True, metavar="FILE", callback=_if_given, help="Further rules, a TOML file."
    )(command)


def format_of(*formats: str) -> Callable[[Command], Command]:
    """Add ``--format``; the first format is the default."""
    return click.option(
        "--format", "form", type=click.Choice(formats), default=formats[0], help="How to print it."
    )


def target(command: Command) -> Command:
    """Add ``--torch`` and ``--soc``."""
    return _all(
        command,
        click.option("--torch", metavar="VERSION", help=f"Target PyTorch, as {DEFAULT_TORCH} (the default)."),
        click.option("--soc", type=click.Choice(SOCS), help=f"Target chip; default {DEFAULT_SOC}."),
    )


def selection(command: Command) -> Command:
    """Add ``--select`` and ``--ignore``."""
    return _all(
        command,
        click.option(
            "--select", multiple=True, metavar="CODES", callback=_codes, help="Only these rules: NPU1,NPU203."
        ),
        click.option("--ignore", multiple=True, metavar="CODES", callback=_codes, help="Not these rules."),
    )


def paths_and_rules(command: Command) -> Command:
    """Add ``--exclude``, ``--rules``, ``--jobs``, ``--lang`` and ``--quiet``."""
    return _all(
        command,
        click.option(
            "--exclude",
            multiple=True,
            metavar="PATTERN",
            callback=_if_given,
            help="Don't convert these files, as in .gitignore.",
        ),
        rules,
        click.option(
            "--jobs", "-j", type=click.IntRange(min=1), default=_cores, metavar="N", help="Worker processes."
        ),
        language,
        click.option("--quiet", "-q", is_flag=True, help="Say nothing but what failed."),
    )


def what_to_convert(command: Command) -> Command:
    """Add the options of every command that converts, named as :func:`.config.settings` takes them."""
    return _all(
        command,
        target,
        selection,
        click.option(
            "--unsafe/--no-unsafe", default=None, help="Apply changes that may alter numerics, too."
        ),
        click.option(
            "--interpolate",
            type=click.Choice(INTERPOLATE),
            help="What --unsafe makes of resizing in a mode that the chip lacks; default cpu.",
        ),
        paths_and_rules,
        click.option(
            "--report", type=click.Path(path_type=Path), metavar="DIR", help="Leave report and patch there."
        ),
    )


def _all(command: Command, *options: Callable[[Command], Command]) -> Command:
    """Add options, listed in this order in the help."""
    return reduce(lambda decorated, option: option(decorated), reversed(options), command)
