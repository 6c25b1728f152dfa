"""Where two runs part first, and whose code or kernel it is."""

from __future__ import annotations

from collections.abc import Sequence

from cuda2npu.verify.comparison import Divergence, Row, Verdict
from cuda2npu.verify.records import Kind, Record
from cuda2npu.verify.store import Capture

REASONS = {
    "output": (
        "Its output is off ({message}), but what it was given and what its submodules returned agree.",
        "其输出有偏差（{message}），而它的输入和子模块的输出一致。",
    ),
    "setting": (
        "The module itself is not as in the reference: {message}.",
        "该模块本身与参考不同：{message}。",
    ),
    "between": (
        "What it gives to {child} is off ({message}), but all that was computed before agrees: it is "
        "computed in its own code, before the call of {child}.",
        "它传给 {child} 的输入有偏差（{message}），而此前的结果都一致："
        "问题在它自身代码中、调用 {child} 之前。",
    ),
    "script": (
        "What is given to {child} is off ({message}), but all that was computed before agrees: it is "
        "computed in the code that calls it.",
        "传给 {child} 的输入有偏差（{message}），而此前的结果都一致：问题在调用它的代码中。",
    ),
    "backward": (
        "The gradient with respect to {tensor} is off ({message}), but the forward pass and the gradients "
        "that arrived earlier agree: it is its backward.",
        "对 {tensor} 的梯度有偏差（{message}），而前向结果和先到达的梯度都一致：问题在其反向计算。",
    ),
    "parameter_gradient": (
        "The gradient of the parameter {tensor} is off ({message}), but the gradient of its output agrees.",
        "参数 {tensor} 的梯度有偏差（{message}），而其输出的梯度一致。",
    ),
    "optimizer": (
        "The parameter {tensor} is off after the optimizer's step ({message}), but its gradient agrees.",
        "优化器更新后参数 {tensor} 有偏差（{message}），而其梯度一致。",
    ),
    "buffer": (
        "The buffer {tensor} is off at the end of the step ({message}), but the module's inputs agree.",
        "步末缓冲区 {tensor} 有偏差（{message}），而该模块的输入一致。",
    ),
    "value": (
        "The {tensor} is off ({message}), but all that was computed before agrees.",
        "{tensor} 有偏差（{message}），而此前的结果都一致。",
    ),
}


def first_divergence(rows: Sequence[Row], candidate: Capture) -> Divergence | None:
    """Return where the two part first, in the order of execution.

    Rows judge the error that a module adds, so the first that fails didn't inherit its error.

    :param rows: of all steps, in order.
    """
    row = next((row for row in rows if row.verdict is Verdict.FAIL), None)
    if row is None:
        return None
    return _Blame(row, candidate.records(row.step)).divergence()


class _Blame:
    """Finds who computed what a row is about."""

    def __init__(self, row: Row, records: Sequence[Record]) -> None:
        self.row = row
        self.records = records
        self.modules: dict[str, Record] = {}
        for record in records:
            if record.module and (record.source or record.key.name not in self.modules):
                self.modules[record.key.name] = record

    def divergence(self) -> Divergence:
        row, kind = self.row, self.row.key.kind
        if row.rule == "mode":
            return self._of(row.key.name, "setting")
        if kind is Kind.OUTPUT:
            return self._of(row.key.name, "output")
        if kind is Kind.INPUT:
            parent = self._parent(row.key.name)
            if parent:
                return self._of(parent, "between", source=row.source, child=row.key.name)
            return self._of("", "script", source=row.source, child=row.key.name)
        if kind is Kind.OUTPUT_GRADIENT:
            consumer = self._consumer()
            return self._of(consumer, "backward", tensor=f"the output of {row.key.name}")
        if kind is Kind.INPUT_GRADIENT:
            return self._of(row.key.name, "backward", tensor=f"the input of {row.key.name}")
        if kind is Kind.GRADIENT:
            return self._of(self._owner(), "parameter_gradient", tensor=row.key.name)
        if kind is Kind.BUFFER:
            return self._of(self._parent(row.key.name), "buffer", tensor=row.key.name)
        if kind is Kind.PARAMETER:
            return self._of("optimizer", "optimizer", tensor=row.key.name)
        return self._of(kind.value.replace("_", " "), "value", tensor=kind.value.replace("_", " "))

    def _of(self, name: str, reason: str, source: str = "", **values: str) -> Divergence:
        record = self.modules.get(name)
        english, chinese = REASONS[reason]
        values["message"] = self.row.message
        return Divergence(
            step=self.row.step,
            name=name,
            module=record.module if record else "",
            source=source or (record.defined or record.source if record else self.row.source),
            reason=english.format(**values),
            reason_zh=chinese.format(**values),
        )

    def _parent(self, name: str) -> str:
        name = name.rpartition(".")[0]
        while name and name not in self.modules:
            name = name.rpartition(".")[0]
        return name

    def _consumer(self) -> str:
        """Return the module whose input was the tensor, the innermost and last; else the module around."""
        key = self.row.key
        own = next(
            (
                record
                for record in self.records
                if record.key.kind is Kind.OUTPUT
                and (record.key.name, record.key.call, record.key.path) == (key.name, key.call, key.path)
            ),
            None,
        )
        if own is not None:
            same = {own.order} | ({own.same_as} if own.same_as is not None else set())
            takers = [
                r
                for r in self.records
                if r.key.kind is Kind.INPUT and r.same_as in same and r.order > own.order
            ]
            if takers:
                return max(takers, key=lambda r: (r.order, r.key.name.count("."))).key.name
        return self._parent(key.name) or key.name

    def _owner(self) -> str:
        """Return the module that has the parameter."""
        return self._parent(self.row.key.name)
