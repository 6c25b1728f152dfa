"""What error came into a module's call, so that it isn't blamed for what it inherited."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cuda2npu.verify.compare.thresholds import DRIFT
from cuda2npu.verify.records import Key, Kind, Record

GRADIENTS = (Kind.INPUT_GRADIENT, Kind.OUTPUT_GRADIENT, Kind.GRADIENT, Kind.PARAMETER)
# Gradients of less than a hundredth of the largest count less; so do all smaller parameters of a module.
_MATTERS = {False: 100.0, True: 1.0}


class Error(NamedTuple):
    """How far a tensor is off.

    :param relative: norm of the error / norm of the reference.
    :param gain: distance of its scale from 1, as :func:`.case.gain` finds it.
    """

    relative: float = 0.0
    gain: float = 0.0


NONE = Error()


class Flow:
    """The errors as they came, and where each call of the present step began."""

    def __init__(self) -> None:
        self._backward = NONE  # of all steps: momentum keeps errors, and weights hold their sum
        self._weights = NONE
        self._parameters: dict[str, Error] = {}  # by the module that has them
        self._forward: list[Error] = []
        self.forward = 0.0  # the largest relative error of a forward pass, in all steps
        self.begin_step()

    def begin_step(self, records: Sequence[Record] = ()) -> None:
        """Forget the forward pass of the last step; what its gradients did to the weights stays.

        :param records: the reference's, of the step that begins.
        """
        self._sizes: dict[str, float] = {}
        for record in records:
            self._sizes[_family(record.key)] = max(self._sizes.get(_family(record.key), 0.0), _size(record))
        self._weights = Error(DRIFT * self._backward.relative, DRIFT * self._backward.gain)
        self._forward = []
        self.forward = max(self.forward, self._weights.relative)
        self._began: dict[tuple[str, int], int] = {}
        self._open: dict[str, int] = {}
        self._outputs = 0
        self.failed = False

    def before(self, key: Key) -> Error:
        """Return the largest errors that could reach what is recorded under the key."""
        if key.kind is Kind.OUTPUT:
            began = self._began.get((key.name, key.call), 0)
            return _largest((*self._forward[began:], *self._weights_of(key.name)))
        if key.kind is Kind.INPUT:
            parent = key.name.rpartition(".")[0]
            while parent and parent not in self._open:
                parent = parent.rpartition(".")[0]
            return _largest((*self._forward[self._open.get(parent, 0) :], self._weights))
        if key.kind in GRADIENTS:
            return _largest((*self._forward, self._weights, self._backward))
        return _largest((*self._forward, self._weights))

    def add(self, key: Key, error: Error | None, reference: Record | None = None) -> None:
        """Take in what a record showed.

        :param error: None if nothing could be measured.
        :param reference: the reference's record that holds the tensor.
        """
        if key.kind is Kind.INPUT and (key.name, key.call) not in self._began:
            self._began[key.name, key.call] = self._open[key.name] = len(self._forward)
        self._outputs += key.kind in (Kind.OUTPUT, Kind.OUTPUT_GRADIENT)
        if error is None:
            return
        if key.kind in (Kind.INPUT, Kind.OUTPUT):
            self._forward.append(error)
            self.forward = max(self.forward, error.relative)
        elif key.kind is Kind.PARAMETER:
            module = key.name.rpartition(".")[0]
            weighed = self._weighed(key, error, reference)
            self._parameters[module] = _largest((self._parameters.get(module, NONE), weighed))
        elif key.kind in GRADIENTS:
            self._backward = _largest((self._backward, self._weighed(key, error, reference)))

    def _weighed(self, key: Key, error: Error, reference: Record | None) -> Error:
        """Return an error for what it can do to others.

        A gradient that is zero in exact arithmetic, as that of a bias before BatchNorm, is nothing but error,
        and yet moves nothing.
        """
        largest = self.largest(key)
        if reference is None or not largest:
            return error
        share = min(1.0, _MATTERS[key.kind is Kind.PARAMETER] * _size(reference) / largest)
        return Error(min(error.relative, 1.0) * share, min(error.gain, 1.0) * share)

    def _weights_of(self, name: str) -> Iterator[Error]:
        """Yield the errors of a module's weights: those that began as 0 are off as their gradient was."""
        yield self._weights
        for module, error in self._parameters.items():
            if module == name or module.startswith(name + "."):
                yield error

    def largest(self, key: Key) -> float:
        """Return the largest root mean square among the reference's gradients of this kind in this step."""
        return self._sizes.get(_family(key), 0.0)

    @property
    def drift(self) -> float:
        """Relative error that the weights have from the steps before."""
        return self._weights.relative

    @property
    def depth(self) -> int:
        """Number of outputs so far, at least 1."""
        return max(self._outputs, 1)


def _family(key: Key) -> str:
    """Return what a tensor's size is measured by: gradients of a kind, and the parameters of a module."""
    return key.name.rpartition(".")[0] if key.kind is Kind.PARAMETER else f"{key.kind.value}:"


def _size(record: Record) -> float:
    """Return the root of the mean square."""
    norm = record.statistics.norm if record.statistics else None
    return (norm or 0.0) / math.sqrt(max(math.prod(record.shape or ()), 1))


def _largest(errors: Iterable[Error]) -> Error:
    relative, gain = 0.0, 0.0
    for error in errors:
        relative, gain = max(relative, error.relative), max(gain, error.gain)
    return Error(relative, gain)
