"""Import statements whose names come from torch.cuda, or move together with it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.codemods.conditions import may_move_import
from cuda2npu.codemods.in_house import InHouse
from cuda2npu.rewrite.insertion import place_after
from cuda2npu.rewrite.scopes import Binding
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted
from cuda2npu.rewrite.unit import ImportPlan, Mapping, Unit, is_in_house

# What ends an item of a list in brackets: its comma, and the comment on its line.
_ITEM_END = re.compile(r"[ \t]*,?(?:[ \t]*#[^\r\n]*|[ \t]*(?=\)))?")


def importable(name: str) -> str:
    """Return ``name`` as an import statement must spell it: torch.npu is an attribute and no module."""
    if name == "torch.npu" or name.startswith("torch.npu."):
        return "torch_npu.npu" + name[len("torch.npu") :]
    return name


@dataclass(frozen=True)
class Move:
    """An imported name that moves: ``from module import name as local``."""

    binding: Binding
    alias: cst.ImportAlias
    module: str
    name: str
    local: str
    mapping: Mapping

    @property
    def text(self) -> str:
        """The name as it stands in the new import statement."""
        return self.name if self.name == self.local else f"{self.name} as {self.local}"


class Imports(Codemod):
    """Moves imports to torch_npu, and plans what each imported name is called afterwards."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.in_house = InHouse(unit)
        self.bindings = {binding.node: binding for binding in self.names.imports}
        for binding in self.names.imports:
            if isinstance(binding.node, cst.ImportFrom) and binding.kind == "import":
                self.follow_star(binding)

    def follow_star(self, binding: Binding) -> None:
        """A name that a star import of another file brings: it moves as that file's own import does."""
        mapping = self.mapping_of(binding.target or "")
        if mapping is not None and mapping.to and mapping.name == binding.target:
            self.unit.plans[binding] = ImportPlan(binding.name, mapping.to)

    # import torch.cuda, import torch.cuda.amp as amp

    def visit_Import(self, node: cst.Import) -> None:
        for alias in node.names:
            binding = self.bindings[alias]
            name = dotted(alias.name) or ""
            mapping = self.mapping_of(name) or self.in_house.whole_module(binding, name)
            if mapping is None:
                self.keep_harmless(alias, dotted(alias.name) or "")
            elif not mapping.to:
                self.stays(alias, mapping)
            elif alias.asname is None and is_in_house(mapping.to):
                self.move_in_house(alias, mapping)
            elif alias.asname is None:
                self.move_plain(node, alias, mapping)
            else:
                self.move_aliased(node, alias, mapping)

    def move_in_house(self, alias: cst.ImportAlias, mapping: Mapping) -> None:
        """``import corp.gpu``, if all that the file takes from it is in another module now."""
        moved = self.in_house.whole_module(self.bindings[alias], mapping.name)
        if moved is None:
            return  # the module of the counterpart is imported beside it, where that is used
        code, note = mapping.rule.code, mapping.row.remark
        if self.unit.replace(code, self.spans[alias.name], moved.to, at=alias, npu=False, note=note):
            self.unit.imported.add(moved.to)

    def move_plain(self, node: cst.Import, alias: cst.ImportAlias, mapping: Mapping) -> None:
        """``import torch.cuda`` binds the name torch, which has to stay bound."""
        span = self.spans[alias.name]
        code, note = mapping.rule.code, mapping.row.remark
        if len(node.names) > 1 or not self.torch_is_imported_before(alias):
            self.unit.replace(code, span, "torch", at=alias.name, note=note)
        elif self.unit.replace(code, span, "torch_npu", at=alias.name, npu=False, note=note):
            self.unit.replaced_by_npu.add(self.bindings[alias])

    def torch_is_imported_before(self, alias: cst.ImportAlias) -> bool:
        binding = self.bindings[alias]
        others = binding.scope.bindings["torch"]
        return any(
            b.order < binding.order and b.block is binding.block and b.target == "torch" for b in others
        )

    def move_aliased(self, node: cst.Import, alias: cst.ImportAlias, mapping: Mapping) -> None:
        binding = self.bindings[alias]
        if not self.all_uses_follow(binding):
            self.add_npu_import(node, binding, mapping)
            return
        span, to = self.spans[alias.name], importable(mapping.to)
        code, note, group = mapping.rule.code, mapping.row.remark, f"import:{self.spans[node].start}"
        if self.unit.replace(code, span, to, at=alias, npu=False, note=note, group=group):
            self.unit.plans[binding] = ImportPlan(binding.name, mapping.to)

    # from torch.cuda import …

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        module = node.module
        if module is None or node.relative:
            return
        if isinstance(node.names, cst.ImportStar):
            if self.mapping_of(dotted(module) or "") is not None:
                self.unit.report("NPU121", node)
            return
        moves = [move for alias in node.names if (move := self.move_of(node, alias)) is not None]
        if moves:
            self.rewrite(node, module, node.names, moves)

    def move_of(self, node: cst.ImportFrom, alias: cst.ImportAlias) -> Move | None:
        binding = self.bindings[alias]
        target = binding.target or ""
        mapping = self.mapping_of(target) or self.in_house.whole_module(binding, target)
        if mapping is None:
            self.keep_harmless(alias, target)
            return None
        if not mapping.to or mapping.name != binding.target:
            self.stays(alias, mapping)
            return None
        if binding.target in self.unit.catalog.modules and not self.all_uses_follow(binding):
            self.add_npu_import(node, binding, mapping)
            return None
        module, _, name = importable(mapping.to).rpartition(".")
        if not module:
            return None  # a whole package, which is imported beside this one, where it is used
        local = binding.name
        if alias.asname is None and name != local and self.can_rename(binding, name):
            local = name
        return Move(binding, alias, module, name, local, mapping)

    def rewrite(
        self,
        node: cst.ImportFrom,
        module: cst.BaseExpression,
        aliases: Sequence[cst.ImportAlias],
        moves: list[Move],
    ) -> None:
        """Edit one statement in place; names that go elsewhere get statements of their own behind it."""
        groups: dict[str, list[Move]] = defaultdict(list)
        for move in moves:
            groups[move.module].append(move)
        stays = len(moves) < len(aliases)
        # What stays keeps its statement; else torch's own names do, so that torch is imported first.
        home = (
            "" if stays else "torch" if "torch" in groups else max(groups, key=lambda key: len(groups[key]))
        )
        group = f"import:{self.spans[node].start}"
        if len(groups) == 1 and not stays:
            done = self.rewrite_in_place(node, module, home, moves, group)
        else:
            done = self.split(node, module, aliases, home, groups, group)
        if done:
            for move in moves:
                self.unit.plans[move.binding] = ImportPlan(move.local, move.mapping.to)

    def rewrite_in_place(
        self, node: cst.ImportFrom, module: cst.BaseExpression, home: str, moves: list[Move], group: str
    ) -> bool:
        """All names go to one module: change its name, and those of the names that differ."""
        notes = [move.mapping.row.remark for move in moves if move.mapping.row.remark.en]
        rule, note = moves[0].mapping.rule.code, notes[0] if notes else None
        if not self.unit.replace(rule, self.spans[module], home, at=node, npu=False, note=note, group=group):
            return False
        for move in moves:
            if move.name != dotted(move.alias.name):
                span = self.spans[move.alias.name] if move.alias.asname else self.spans[move.alias]
                text = move.name if move.alias.asname else move.text
                self.unit.replace(rule, span, text, at=node, npu=False, group=group, site=False)
        return True

    def split(
        self,
        node: cst.ImportFrom,
        module: cst.BaseExpression,
        aliases: Sequence[cst.ImportAlias],
        home: str,
        groups: dict[str, list[Move]],
        group: str,
    ) -> bool:
        """Leave the names of one module in the statement; the others get statements behind it."""
        moves = [move for members in groups.values() for move in members]
        rule = moves[0].mapping.rule.code
        place = place_after(self.unit, node)
        others = [
            f"from {name} import {', '.join(move.text for move in members)}"
            for name, members in groups.items()
            if name != home
        ]
        after = self.edited(node, module, aliases, home, groups.get(home, []), moves)
        if place.inline:
            after += "".join(place.wrap(statement) for statement in others)
        span = Span(self.spans[module].start, self.end_of(node, aliases))
        if not self.unit.replace(rule, span, after, at=node, npu=False, group=group):
            return False
        if not place.inline:
            for statement in others:
                at = Span(place.offset, place.offset)
                self.unit.replace(
                    rule, at, place.wrap(statement), at=node, npu=False, group=group, site=False
                )
        return True

    def edited(
        self,
        node: cst.ImportFrom,
        module: cst.BaseExpression,
        aliases: Sequence[cst.ImportAlias],
        home: str,
        here: list[Move],
        moves: list[Move],
    ) -> str:
        """Return the text from the module's name to the end of the list, layout and comments kept."""
        gone = {move.alias for move in moves if move not in here}
        edits = [(self.spans[module], home)] if home else []
        edits += [
            (self.spans[move.alias], move.text) for move in here if move.name != dotted(move.alias.name)
        ]
        edits += [(span, "") for span in self.removed(node, aliases, gone)]
        start, end = self.spans[module].start, self.end_of(node, aliases)
        out, at = "", start
        for span, text in sorted(edits):
            out += self.unit.text[at : span.start] + text
            at = span.end
        return out + self.unit.text[at:end]

    def removed(
        self, node: cst.ImportFrom, aliases: Sequence[cst.ImportAlias], gone: set[cst.ImportAlias]
    ) -> list[Span]:
        """Return what to delete so that the list reads well without the aliases in ``gone``."""
        kept = [index for index, alias in enumerate(aliases) if alias not in gone]
        last = kept[-1] if kept else -1
        spans = [
            Span(self.spans[alias].start, self.spans[aliases[index + 1]].start)
            for index, alias in enumerate(aliases)
            if alias in gone and index < last
        ]
        if last + 1 < len(aliases):
            spans.append(self.tail(node, aliases, last))
        return spans

    def tail(self, node: cst.ImportFrom, aliases: Sequence[cst.ImportAlias], last: int) -> Span:
        """Return what to delete where no alias behind the one with the index ``last`` is kept."""
        text, end = self.unit.text, self.spans[aliases[-1]].end
        if node.lpar is None:
            return Span(self.spans[aliases[last]].end, end)
        start = self.spans[aliases[last + 1]].start
        line_before = len(text[:start].rstrip())
        found = _ITEM_END.match(text, end)
        end = found.end() if found else end
        if text[end] != ")":
            return Span(line_before, end)
        # The bracket closes on the line of the last name; it must not get behind a comment.
        return Span(line_before - 1, end) if text[line_before - 1] == "," else Span(start, end)

    def end_of(self, node: cst.ImportFrom, aliases: Sequence[cst.ImportAlias]) -> int:
        return self.spans[node.rpar].end if node.rpar is not None else self.spans[aliases[-1]].end

    # What the moves depend on

    def mapping_of(self, name: str) -> Mapping | None:
        if name.partition(".")[0] not in self.unit.catalog.roots:
            return None
        mapping = self.unit.mapping(name)
        return mapping if mapping is not None and may_move_import(self.unit, mapping) else None

    def all_uses_follow(self, binding: Binding) -> bool:
        """Whether the target has everything that this file takes from an imported module."""
        for name in self.names.references(binding):
            mapping = self.unit.mapping(self.names.chain(name, binding.target or ""))
            if mapping is not None and mapping.rule.codemod == "symbol" and not mapping.to:
                return False
        return True

    def keep_harmless(self, alias: cst.ImportAlias, name: str) -> None:
        """An import that can stay, because every build of torch has the module."""
        mapping = self.unit.mapping(name) if name.startswith("torch") else None
        if mapping is not None and mapping.rule.codemod == "harmless":
            self.unit.keep(alias, mapping.row.note, mapping.rule.code)

    def add_npu_import(self, node: cst.Import | cst.ImportFrom, binding: Binding, mapping: Mapping) -> None:
        """Keep an import for the uses that can't follow, and import the counterpart beside it."""
        module, _, name = importable(mapping.to).rpartition(".")
        place = place_after(self.unit, node)
        if not self.names.is_free(name):
            return
        statement = place.wrap(f"from {module} import {name}")
        span = Span(place.offset, place.offset)
        if self.unit.replace(mapping.rule.code, span, statement, at=node, npu=False, site=False):
            self.unit.plans[binding] = ImportPlan(name, mapping.to)
        self.unit.keep(binding.node, "import-still-needed", mapping.rule.code)

    def stays(self, alias: cst.ImportAlias, mapping: Mapping) -> None:
        """An imported name without a counterpart: it is reported where it is used, or else here."""
        if self.names.references(self.bindings[alias]):
            self.unit.keep(alias, "import-still-needed", mapping.rule.code)
        else:
            self.unit.report_missing(alias, mapping)

    def can_rename(self, binding: Binding, name: str) -> bool:
        """Whether every place that reads the imported name is in sight, so that it can be renamed."""
        return (
            len(binding.scope.bindings[binding.name]) == 1
            and binding.scope.kind != "class"  # a member, which objects of the class are asked for
            and self.names.is_free(name)
            and self.unit.path not in self.unit.index.exports
            and not (binding.scope.kind == "module" and binding.name in self.unit.index.borrowed)
            and not self.is_exported(binding.name)
        )

    def is_exported(self, name: str) -> bool:
        """Whether ``name`` stands in a string that is nothing but the name, as in ``__all__``."""
        strings = self.names.nodes(cst.SimpleString)
        return any(string.evaluated_value == name for string in strings)
