"""Dotted names of torch: torch.cuda.* and the rest that the catalogue's rows map."""

from __future__ import annotations

import re
from typing import NamedTuple

import libcst as cst

from cuda2npu.catalog.rules import Text
from cuda2npu.codemods.arguments import adapt_arguments, refused_argument
from cuda2npu.codemods.base import Codemod
from cuda2npu.codemods.conditions import HANDLED, applies
from cuda2npu.codemods.in_house import InHouse
from cuda2npu.rewrite.scopes import Binding
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted
from cuda2npu.rewrite.unit import Mapping, Unit, is_in_house

# Names that exist only once torch_npu has been imported; torch.OutOfMemoryError isn't one of them.
_NEEDS_NPU = re.compile(r"torch\b.*(?:npu|hccl)|torch_npu\b", re.I)


# Rules about values that are None on the NPU: how bad that is depends on what is done with them.
NONE_ON_NPU = {"NPU113", "NPU508"}


class Meaning(NamedTuple):
    """What a chain may stand for: the binding of its first name, that name's target, the mapping."""

    binding: Binding
    target: str
    mapping: Mapping


class Symbol(Codemod):
    """Replaces the dotted names that have a counterpart, and reports those that have none."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.roots = self._names_that_reach_rows()
        self.in_house = InHouse(unit)

    def _names_that_reach_rows(self) -> set[str]:
        """Names by which something that rows are about may be reached: a cheap test before the exact one."""
        known = self.unit.catalog.roots
        roots = {b.name for b in self.names.imports if (b.target or "").partition(".")[0] in known}
        for assign in self.names.nodes(cst.Assign):
            if isinstance(assign.value, (cst.Attribute, cst.Name, cst.IfExp)):
                roots.update(t.target.value for t in assign.targets if isinstance(t.target, cst.Name))
        return roots

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if not self.is_chain_end(node):
            return
        chain = [node]
        while isinstance(chain[-1].value, cst.Attribute):
            chain.append(chain[-1].value)
        root = chain[-1].value
        if isinstance(root, cst.Name) and root.value in self.roots:
            self.handle(root, chain[::-1])

    def visit_Name(self, node: cst.Name) -> None:
        if node.value in self.roots and self.is_chain_end(node):
            self.handle(node, [])

    def handle(self, root: cst.Name, attributes: list[cst.Attribute]) -> None:
        """Deal with one chain: ``root``, and the attributes taken from it, the innermost first."""
        meanings = self.meanings(root, attributes)
        if not meanings or root in self.unit.claimed:
            return
        _, target, mapping = meanings[0]
        if not applies(self.unit, mapping, attributes[-1] if attributes else root):
            return
        taken = attributes[: max(mapping.name.count(".") - target.count("."), 0)]
        part = taken[-1] if taken else root
        if mapping.rule.codemod == "harmless":
            self.unit.keep(part, mapping.row.note, mapping.rule.code)
        elif not mapping.to:
            self.leave(part, mapping)
        else:
            call = self.call_of(attributes, part)
            refused = refused_argument(call, mapping.row) if call is not None else None
            if call is not None and refused is not None:
                self.refuse(call, part, refused, mapping)
                return
            if call is None and mapping.row.positional:
                self.report_hidden_calls(part, mapping)
            group = f"call:{self.spans[part].start}" if call is not None else ""
            moved = self.move(root, taken, meanings[0], group)
            if moved and call is not None:
                adapt_arguments(self.unit, call, mapping, group)

    def refuse(self, call: cst.Call, part: cst.CSTNode, arg: cst.Arg, mapping: Mapping) -> None:
        """Report a call with an argument that the counterpart lacks, a user's under the user's rule."""
        rule, note = self.unit.catalog.rules["NPU123"], mapping.row.note
        end = self.spans[call if arg is call.args[-1] else arg].end
        text = self.spans.text(arg.value)
        text = f"{arg.keyword.value}={text}" if arg.keyword is not None else text
        remark = Text(text, text)
        code = rule.code
        if mapping.rule.file:
            code, note = mapping.rule.code, note if note.en else rule.advice
            remark = Text(f"{rule.summary.en}: {text}", f"{rule.summary.zh}：{text}")
        span = Span(self.spans[part].start, end)
        self.unit.report(code, arg, span=span, note=note, remark=remark, severity=rule.severity)

    def report_hidden_calls(self, part: cst.Name | cst.Attribute, mapping: Mapping) -> None:
        """``partial(GradScaler, …)``, ``super().__init__(…)``: positions that mean something else now."""
        arg = self.names.parents[part]
        owner = self.names.parents.get(arg)
        calls: list[cst.Call] = []
        offset = 0
        if isinstance(arg, cst.Arg) and isinstance(owner, cst.Call):
            is_partial = (dotted(owner.func) or "").rpartition(".")[2] == "partial"
            calls, offset = [owner] if is_partial and owner.args[0] is arg else [], 1
        elif isinstance(arg, cst.Arg) and isinstance(owner, cst.ClassDef):
            calls = [call for call in self.names.nodes(cst.Call) if self.initialises(call, owner)]
        for call in calls:
            given = [arg for arg in call.args if arg.keyword is None]
            if len(given) - offset > min(mapping.row.positional):
                self.unit.report("NPU123", call, note=mapping.row.note)

    def initialises(self, call: cst.Call, owner: cst.ClassDef) -> bool:
        """Whether ``call`` calls the base's ``__init__`` in the class ``owner``."""
        is_init = isinstance(call.func, cst.Attribute) and call.func.attr.value == "__init__"
        return is_init and self.names.enclosing(call, cst.ClassDef) is owner

    def leave(self, part: cst.Name | cst.Attribute, mapping: Mapping) -> None:
        """Report a name that has no counterpart, unless it only names a type that is asked for."""
        if self.is_type_check(part):
            self.unit.keep(part, "type-check", mapping.rule.code)
            return
        if any(name.startswith("torch_npu.") for name in self.names.qualified(part)):
            self.unit.keep(part, "npu-branch", mapping.rule.code)  # extension = NpuExtension, in a branch
            return
        severity = self.severity_of_none(part) if mapping.rule.code in NONE_ON_NPU else None
        self.unit.report_missing(part, mapping, severity)

    def is_type_check(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` is, or is part of, the second argument of isinstance."""
        for parent in self.names.ancestors(node):
            call = self.names.parents.get(parent)
            if isinstance(parent, cst.Arg) and isinstance(call, cst.Call):
                name = call.func.value if isinstance(call.func, cst.Name) else ""
                return name in ("isinstance", "issubclass") and call.args[0] is not parent
            if not isinstance(parent, (cst.Element, cst.Tuple)):
                return False
        return False

    def meanings(self, root: cst.Name, attributes: list[cst.Attribute]) -> list[Meaning]:
        """Return what the chain may stand for, as far as a rule of this codemod is about it."""
        names = [attribute.attr.value for attribute in attributes]
        found = []
        for binding in self.names.lookup(root):
            for target in sorted(self.names.targets(binding)):
                mapping = self.unit.mapping(".".join([target, *names]))
                if mapping is not None and mapping.rule.codemod in HANDLED:
                    found.append(Meaning(binding, target, mapping))
        return found

    def call_of(self, attributes: list[cst.Attribute], part: cst.CSTNode) -> cst.Call | None:
        """Return the call whose function is exactly the mapped name."""
        parent = self.names.parents[part]
        return parent if isinstance(parent, cst.Call) and parent.func is part else None

    def move(self, root: cst.Name, taken: list[cst.Attribute], meaning: Meaning, group: str) -> bool:
        """Write the counterpart; return whether the code calls it afterwards."""
        mapping = meaning.mapping
        old = [root.value, *(attribute.attr.value for attribute in taken)]
        new = self.new_name(root, meaning)
        if new is None:
            users = is_in_house(mapping.to) or is_in_house(mapping.name)
            code = mapping.rule.code if users else "NPU122"
            self.unit.report(code, taken[-1] if taken else root, note=mapping.row.note)
            return False
        if new == old:
            return True
        while len(old) > 1 and len(new) > 1 and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        nodes: list[cst.Name] = [root, *(attribute.attr for attribute in taken)][: len(old)]
        span = Span(self.spans[root].start, self.spans[nodes[-1]].end)
        note, code = mapping.row.remark, mapping.rule.code
        npu = _NEEDS_NPU.match(mapping.to) is not None
        part = taken[-1] if taken else root
        if self.unit.text[span.start : span.end] == ".".join(old) or len(old) != len(new):
            done = self.unit.replace(code, span, ".".join(new), at=part, npu=npu, note=note, group=group)
        else:  # comments or line breaks stand between the names: only the names themselves are replaced
            group = group or f"chain:{span.start}"
            done, site = True, True
            for node, text in zip(nodes, new):
                if done and node.value != text:
                    at = self.spans[node]
                    done = self.unit.replace(
                        code, at, text, at=part, npu=npu, note=note, group=group, site=site
                    )
                    site = False  # the others are parts of the same change
        if done and is_in_house(mapping.to):
            self.in_house.import_beside(meaning.binding, mapping.to, code)
        return done

    def new_name(self, root: cst.Name, meaning: Meaning) -> list[str] | None:
        """Return the parts of the counterpart as this file can reach it; None if it can't."""
        binding, target, mapping = meaning
        if is_in_house(mapping.to):
            return self.in_house.new_name(root, binding, target, mapping.to)
        plan = self.unit.plans.get(binding)
        local, now = (plan.local, plan.target) if plan is not None else (root.value, target)
        if binding.kind == "assign":  # the assigned value is a chain of its own, and moves as one
            moved = self.unit.mapping(target)
            now = moved.to if moved is not None and moved.to else target
        wanted, base = _canonical(mapping.to), _canonical(now)
        if wanted == base:
            return [local]
        if wanted.startswith(f"{base}."):
            return [local, *wanted[len(base) + 1 :].split(".")]
        top, _, rest = mapping.to.partition(".")
        reachable = self.unit.name_of(top, root)
        return [reachable, *rest.split(".")] if reachable is not None else None


def _canonical(name: str) -> str:
    """Return one spelling for the two names of the same module."""
    return "torch.npu" + name[len("torch_npu.npu") :] if (name + ".").startswith("torch_npu.npu.") else name
