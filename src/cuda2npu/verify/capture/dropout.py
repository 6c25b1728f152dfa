"""Dropout without effect: two devices draw other masks, and what follows could not be compared."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn import functional

_BY_NAME = {  # function -> the parameter that is its probability
    **dict.fromkeys(("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"), "p"),
    "feature_alpha_dropout": "p",
    "scaled_dot_product_attention": "dropout_p",
    "multi_head_attention_forward": "dropout_p",
}
_POSITIONS = {"scaled_dot_product_attention": 4}  # it is built in, and has no signature


@contextlib.contextmanager
def no_dropout() -> Iterator[None]:
    """Make the probability 0 in the functions of torch, by which its modules drop out, too."""
    module: Any = functional
    before = {name: getattr(module, name) for name in _BY_NAME}
    for name, parameter in _BY_NAME.items():
        setattr(module, name, _without(before[name], name, parameter))
    runs = {cls: cls.forward for cls in (nn.RNN, nn.LSTM, nn.GRU)}
    for cls, run in runs.items():
        cls.forward = _without_in_rnn(run)
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(module, name, function)
        for cls, run in runs.items():
            cls.forward = run


def _without(function: Any, name: str, parameter: str) -> Any:
    position = _POSITIONS.get(name)
    if position is None:
        position = list(inspect.signature(function).parameters).index(parameter)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if len(args) > position:
            args = (*args[:position], 0.0, *args[position + 1 :])
        else:
            kwargs[parameter] = 0.0
        return function(*args, **kwargs)

    return called


def _without_in_rnn(forward: Any) -> Any:
    @functools.wraps(forward)
    def called(self: torch.nn.RNNBase, *args: Any, **kwargs: Any) -> Any:
        before, self.dropout = self.dropout, 0.0
        try:
            return forward(self, *args, **kwargs)
        finally:
            self.dropout = before

    return called
