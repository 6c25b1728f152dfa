"""Command-line options for a device: the old word goes on working after the conversion."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.flow import Flow, Use
from cuda2npu.rewrite.flow.cells import Cell, option_name
from cuda2npu.rewrite.insertion import place_after, space_before_argument
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import argument, dotted, string_value

RULE = "NPU011"
EXEC = "NPU019"
# Rules that convert an option's default or choices -> the words that they replace.
WORDS = {"NPU003": ("cuda", "npu"), "NPU301": ("nccl", "hccl")}
_DEVICE = re.compile(r"(?:torch_)?device(?:_type)?")
_NUMBERS = ("int", "float", "bool")
# Methods of str that are given to type= and after which the word is still the old one.
_TEXT = ("str.lower", "str.strip", "str.casefold")
LOADS_ITSELF = (2, 5)  # the first torch that imports the backends that are installed: release notes of 2.5
_WORD = re.compile(r"[a-z]+")
_BACKENDS = ("gloo", "mpi", "ucc")  # of torch.distributed, beside nccl


class DeviceOption(Codemod):
    """Lets ``--device cuda`` mean the NPU, so that scripts and notes that pass it stay right."""

    def finish(self) -> None:
        for attribute in self.names.attributes.get("add_argument", ()):
            call = self.names.parents[attribute]
            if isinstance(call, cst.Call) and call.func is attribute:
                words = self.converted_words(call) or self.words_of(call)
                if words is not None and argument(call, None, "action") is None:
                    self.accept(call, *words)
        for call in self.names.nodes(cst.Call):
            run = isinstance(call.func, cst.Name) and call.func.value == "exec" and call.args
            if run and not isinstance(call.args[0].value, (cst.SimpleString, cst.ConcatenatedString)):
                self.follow_exec(call)

    def follow_exec(self, call: cst.Call) -> None:
        """``exec(open("configurator.py").read())`` may set the device anew, from a command line."""
        words = dict(self.converted_variables(self.spans[call].start))
        statement = self.names.parents[call]
        if isinstance(statement, cst.Expr) and words:
            place = place_after(self.unit, statement)
            lines = (f'{name} = {name}.replace("{old}", "{new}")' for name, (old, new) in words.items())
            text = place.wrap(place.break_line.join(lines))
            self.unit.replace(EXEC, Span(place.offset, place.offset), text, at=call, npu=False, site=False)

    def converted_variables(self, before: int) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield the variables of the module that are given a converted word before the offset ``before``."""
        for change, place in zip(self.unit.changes, self.unit.places):
            assign = self.names.parents.get(place)
            if change.applied and change.rule in WORDS and isinstance(assign, cst.Assign):
                target = assign.targets[0].target
                is_global = self.names.scope_at(assign) is self.names.top
                if isinstance(target, cst.Name) and is_global and change.start < before:
                    yield target.value, WORDS[change.rule]

    def converted_words(self, call: cst.Call) -> tuple[str, str] | None:
        """Return the old and the new word, if this option's default or choices have been converted."""
        start, end = self.spans[call]
        for change in self.unit.changes:
            if change.applied and change.rule in WORDS and start <= change.start < end:
                return WORDS[change.rule]
        return None

    def words_of(self, call: cst.Call) -> tuple[str, str] | None:
        """Return the words for an option that has no default to convert, but takes a device or a backend.

        What is done with the value has moved, so the old word has to move with it.
        """
        name = option_name(call)
        if name is None:
            return None
        changes = any(change.applied for change in self.unit.changes)
        cell = Cell("member", name)
        if name in self.unit.index.held:
            return None
        if self.is_torchs_device(name, call):
            return WORDS["NPU003"]
        for flow, rule in ((self.unit.devices, "NPU003"), (self.unit.backends, "NPU301")):
            use = flow.of_cell(cell)
            if use is Use.PROVEN and changes:
                return WORDS[rule]
            if use is Use.NAMED and self.is_called_so(name, flow) and self.takes(call, rule):
                return WORDS[rule]
        return None

    def is_torchs_device(self, name: str, call: cst.Call) -> bool:
        """Whether an option is called ``--device`` and nothing says that its device isn't torch's.

        Whoever takes the value, here or in another file, knows the new word from now on.
        """
        if _DEVICE.fullmatch(name) is None or not self.unit.uses_torch:
            return False
        if any(argument(call, None, part) is not None for part in ("choices", "nargs", "action")):
            return False  # the old word among the choices would have been converted
        default = argument(call, None, "default")
        text = string_value(default.value) if default is not None else None
        return default is None or text is None or "npu" not in text

    def is_called_so(self, name: str, flow: Flow) -> bool:
        """Whether an option's name, or that of the parameter that it is given to, tells what it is."""
        if flow.topic.names(name):
            return True
        others = (self.unit.devices, self.unit.backends)
        return name not in self.unit.index.shared and not any(each.topic.names(name) for each in others)

    def takes(self, call: cst.Call, rule: str) -> bool:
        """Whether an option that is called like a device or a backend takes the old word.

        Its value is used in another file. So its help has to name the word, or, for a backend, another
        file has to choose one of torch.distributed's; what it has for a default and choices may not
        belong to something else.
        """
        (old, new), ours = WORDS[rule], self.unit.uses_torch
        if rule == "NPU301":
            ours = ours or not self.unit.uses_foreign
            if not self.may_be_distributed(call):
                return False
        choices = argument(call, None, "choices")
        if choices is not None and isinstance(choices.value, (cst.List, cst.Tuple, cst.Set)):
            return False  # the old word would have been converted
        about = argument(call, None, "help")
        words = _WORD.findall(self.spans.text(about).lower()) if about is not None else []
        if new in words:
            return False  # both are known here
        return ours and (old in words or (rule == "NPU301" and self.unit.index.chooses_backend))

    def may_be_distributed(self, call: cst.Call) -> bool:
        """Whether the default of a backend leaves open that it is one of torch.distributed's."""
        default = argument(call, None, "default")
        text = string_value(default.value) if default is not None else None
        return not text or any(backend in text for backend in _BACKENDS)

    def accept(self, call: cst.Call, old: str, new: str) -> None:
        """Let the option's ``type=`` turn the old word into the new one."""
        convert = f'name.replace("{old}", "{new}")'
        given = argument(call, None, "type")
        if given is None:
            end = self.spans.whole(call.args[-1].value).end
            new = f"type=lambda name: {convert}"
            self.write(call, Span(end, end), f",{space_before_argument(self.unit, call, new)}{new}")
        elif isinstance(given.value, cst.Name) and given.value.value == "str":
            self.write(call, self.spans[given.value], f"lambda name: {convert}")
        elif "torch.device" in self.names.qualified(given.value):
            make = self.spans.text(given.value)
            self.write(call, self.spans[given.value], f"lambda name: {make}({convert})")
        elif dotted(given.value) in _TEXT:
            make = self.spans.text(given.value)
            after = convert.replace("name.", f"{make}(name).", 1)
            self.write(call, self.spans[given.value], f"lambda name: {after}")
        elif new in self.spans.text(given.value) or self.holds_back(given.value):
            return  # done before, or it still compares with the old word
        elif isinstance(given.value, (cst.Lambda, cst.Call)):
            self.write(
                call, self.spans[given.value], f"lambda name: ({self.spans.text(given.value)})({convert})"
            )
        elif dotted(given.value) not in (None, *_NUMBERS):
            self.write(
                call, self.spans[given.value], f"lambda name: {self.spans.text(given.value)}({convert})"
            )

    def holds_back(self, convert: cst.BaseExpression) -> bool:
        """Whether a function of this file, which is given to ``type=``, has changes that are only offered."""
        bindings = self.names.lookup(convert) if isinstance(convert, cst.Name) else ()
        bodies = [self.spans[b.node] for b in bindings if isinstance(b.node, (cst.FunctionDef, cst.ClassDef))]
        bodies.append(self.spans[convert])
        offered = (change.start for change in self.unit.changes if not change.applied)
        return any(body.start <= start < body.end for start in offered for body in bodies)

    def write(self, call: cst.Call, span: Span, after: str) -> None:
        # Before it loads by itself nobody else may know the new word.
        npu = self.unit.version < LOADS_ITSELF
        self.unit.replace(RULE, span, after, at=call, npu=npu, site=False)
