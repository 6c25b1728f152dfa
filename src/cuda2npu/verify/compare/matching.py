"""Which record of one capture belongs to which of another, within a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cuda2npu.verify.records import Key, Kind, Record


class Step:
    """The records of one step of one capture, by key and by order."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.by_key: dict[Key, Record] = {}
        for record in records:
            self.by_key.setdefault(record.key, record)
        self._by_order = {record.order: record for record in records}
        self._names = {record.key.name for record in records}

    def origin(self, record: Record) -> Record:
        """Return the record that holds the tensor: itself, or the one that it is the same as."""
        seen = {record.order}
        while record.same_as is not None:
            earlier = self._by_order.get(record.same_as)
            if earlier is None or earlier.order in seen:
                return record
            seen.add(earlier.order)
            record = earlier
        return record

    def has(self, name: str) -> bool:
        """Whether a module or parameter of this name was recorded."""
        return name in self._names

    def calls(self, kind: Kind, name: str) -> int:
        """Return how many times the module was called."""
        return len({key.call for key in self.by_key if key.kind is kind and key.name == name})


@dataclass(frozen=True)
class Pair:
    """What belongs together; of ``reference`` and ``candidate`` one may be missing."""

    key: Key
    order: int
    reference: Record | None
    candidate: Record | None
    benchmark: Record | None = None
    repeat: Record | None = None

    @property
    def record(self) -> Record:
        """The candidate's record, or the reference's where the candidate lacks it."""
        found = self.candidate or self.reference
        assert found is not None
        return found


def pairs(reference: Step, candidate: Step, benchmark: Step | None, repeat: Step | None) -> list[Pair]:
    """Return all pairs in the reference's order; what it lacks stands where the candidate has it."""
    places: dict[Key, tuple[int, int]] = {key: (record.order, -1) for key, record in reference.by_key.items()}
    last = -1
    for key, record in candidate.by_key.items():
        if key in reference.by_key:
            last = reference.by_key[key].order
        else:
            places[key] = (last, record.order)
    return [
        Pair(
            key,
            places[key][0] if places[key][1] < 0 else places[key][1],
            reference.by_key.get(key),
            candidate.by_key.get(key),
            benchmark.by_key.get(key) if benchmark else None,
            repeat.by_key.get(key) if repeat else None,
        )
        for key in sorted(places, key=places.__getitem__)
    ]


def why_unmatched(pair: Pair, reference: Step, candidate: Step) -> str:
    """Say what the likely reason is that one side lacks a record."""
    side, other = ("candidate", candidate) if pair.candidate is None else ("reference", reference)
    have = reference if pair.candidate is None else candidate
    key = pair.key
    if not other.has(key.name):
        if key.kind in (Kind.GRADIENT, Kind.PARAMETER):
            return (
                f"not in the {side}: the parameter has no gradient there, is frozen, or is called otherwise"
            )
        return f"not in the {side}: the module is called otherwise there, was replaced, or isn't called"
    calls = have.calls(key.kind, key.name), other.calls(key.kind, key.name)
    if key.call >= calls[1]:
        return f"not in the {side}: the module is called {calls[1]} times there, {calls[0]} times here"
    if key.kind in (Kind.INPUT_GRADIENT, Kind.OUTPUT_GRADIENT):
        return f"not in the {side}: no gradient arrives there: detached, or requires_grad differs"
    paths = _paths(other.by_key, key)
    return f"not in the {side}: {key.kind.value} {key.path or '(whole)'} isn't there, but {', '.join(paths)}"


def _paths(keys: Mapping[Key, Record], like: Key) -> list[str]:
    found = (
        k.path or "(whole)" for k in keys if (k.kind, k.name, k.call) == (like.kind, like.name, like.call)
    )
    return list(found)[:4] or ["nothing of the kind"]
