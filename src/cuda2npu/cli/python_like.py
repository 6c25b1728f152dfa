"""Commands that run a script, and leave all words behind it alone."""

from __future__ import annotations

import click


class LikePython(click.Command):
    """Leaves all words behind the script, or behind ``-m MODULE``, to the script, as python does."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Read the options, and separate the script's words from them."""
        takes_value = {name for option in self.params if _has_value(option) for name in option.opts}
        position = 0
        while position < len(args) and args[position].startswith("-") and args[position] != "--":
            if args[position] == "-m":
                args.insert(position + 2, "--")
                break
            position += 2 if args[position] in takes_value else 1
        return super().parse_args(context, args)


def _has_value(option: click.Parameter) -> bool:
    return isinstance(option, click.Option) and not option.is_flag
