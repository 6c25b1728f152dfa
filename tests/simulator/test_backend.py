"""The C++ backend: what holds on a real device holds on the simulated one, and results are the CPU's."""

from __future__ import annotations

import copy
import io
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn
F = torch.nn.functional

pytestmark = pytest.mark.npu

MISMATCH = "Expected all tensors to be on the same device, but found at least two devices, npu:0 and "


def backend() -> Any:
    return torch.ops.cuda2npu_sim


def npu(*size: int) -> Any:
    return torch.ones(*size, device="npu")


def cpu(*size: int) -> Any:
    return torch.ones(*size)


@contextmanager
def refused(message: str, kind: type[Exception] = RuntimeError) -> Iterator[None]:
    with pytest.raises(kind) as caught:
        yield
    assert message in str(caught.value), str(caught.value)


def counts() -> dict[str, int]:
    lines = backend().operator_counts().splitlines()
    return {name: int(count) for name, count in (line.split() for line in lines)}


# Devices


def test_devices_are_counted_and_chosen() -> None:
    assert backend().device_count() == 8
    assert torch.empty(1, device="npu").device == torch.device("npu:0")
    backend().set_device(3)
    try:
        assert backend().current_device() == 3
        assert torch.empty(1, device="npu").device == torch.device("npu:3")
        assert torch.empty(1, device="npu:1").device == torch.device("npu:1")
    finally:
        backend().set_device(0)


def test_each_thread_has_its_current_device() -> None:
    seen = []

    def work() -> None:
        seen.append(backend().current_device())
        backend().set_device(2)
        seen.append(backend().current_device())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0, 2]
    assert backend().current_device() == 0


@pytest.mark.parametrize("where", ["tensor", "set_device", "memory", "stream", "generator"])
def test_an_invalid_ordinal_is_refused(where: str) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "tensor": lambda: torch.empty(1, device="npu:8"),
        "set_device": lambda: backend().set_device(8),
        "memory": lambda: backend().memory_allocated(-1),
        "stream": lambda: torch.Stream(device="npu:8"),
        "generator": lambda: torch.randn(1, device="npu:8", generator=torch.Generator("npu")),
    }
    with refused("Invalid NPU device ordinal"):
        calls[where]()


def child(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"from cuda2npu.simulator.build import load\n{code}"],
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_environment_sets_the_number_of_devices() -> None:
    done = child("print(load().device_count())", CUDA2NPU_SIM_DEVICES="2")
    assert done.stdout == "2\n", done.stderr


def test_a_number_of_devices_that_is_none_is_refused() -> None:
    done = child("load()", CUDA2NPU_SIM_DEVICES="many")
    assert "CUDA2NPU_SIM_DEVICES must be a whole number from 0 to 64, not 'many'" in done.stderr
    assert done.returncode == 1


# Device mismatches

MISMATCHES: dict[str, Callable[[], Any]] = {
    "add": lambda: npu(3) + cpu(3),
    "add, other way": lambda: cpu(3) + npu(3),
    "in-place": lambda: npu(3).add_(cpu(3)),
    "in-place on the CPU": lambda: cpu(3).add_(npu(3)),
    "in-place on a CPU number": lambda: torch.tensor(1.0).add_(torch.tensor(1.0, device="npu")),
    "out=": lambda: torch.add(npu(3), npu(3), out=cpu(3)),
    "cat": lambda: torch.cat([npu(3), cpu(3)]),
    "where": lambda: torch.where(cpu(3) > 0, npu(3), npu(3)),
    "masked_fill": lambda: npu(3).masked_fill(cpu(3) > 0, 0.0),
    "index on the CPU": lambda: cpu(3)[torch.zeros(1, dtype=torch.long, device="npu")],
    "index_put": lambda: npu(3).index_put_((torch.tensor([0]),), cpu(1)),
    "linear": lambda: nn.Linear(3, 3).to("npu")(cpu(3)),
    "convolution": lambda: nn.Conv2d(3, 3, 1).to("npu")(cpu(1, 3, 4, 4)),
    "bias of a convolution": lambda: F.conv2d(npu(1, 3, 4, 4), npu(3, 3, 1, 1), cpu(3)),
    "batch norm": lambda: nn.BatchNorm1d(4).to("npu")(cpu(2, 4)),
    "layer norm": lambda: nn.LayerNorm(4).to("npu")(cpu(2, 4)),
    "embedding": lambda: nn.Embedding(4, 4).to("npu")(torch.tensor([1])),
    "LSTM": lambda: nn.LSTM(3, 3).to("npu")(cpu(1, 1, 3)),
    "loss": lambda: F.cross_entropy(npu(2, 3), torch.tensor([0, 1])),
    "set_": lambda: npu(3).set_(cpu(3)),
    "set_ to a storage": lambda: npu(3).set_(cpu(3).untyped_storage()),
}


@pytest.mark.parametrize("case", list(MISMATCHES))
def test_a_cpu_tensor_among_npu_tensors_is_refused(case: str) -> None:
    with refused(MISMATCH + "cpu!"):
        MISMATCHES[case]()


def test_the_message_names_operator_and_argument() -> None:
    with refused("npu:0 and cpu! (when checking argument for argument other in method aten::add)"):
        npu(3) + cpu(3)


def test_two_npu_devices_are_refused() -> None:
    with refused(MISMATCH + "npu:1!"):
        npu(3) + torch.ones(3, device="npu:1")


def test_a_cpu_number_passes() -> None:
    assert (npu(3) * torch.tensor(2.0)).tolist() == [2, 2, 2]
    assert (torch.tensor(2.0) * npu(3)).device.type == "npu"
    assert npu(3).masked_fill(npu(3) > 0, torch.tensor(5.0)).tolist() == [5, 5, 5]


def test_a_cpu_index_passes() -> None:
    x = torch.arange(4, device="npu")
    assert x[torch.tensor([0, 2])].tolist() == [0, 2]
    assert x[x.cpu() > 2].device.type == "npu"
    x[torch.tensor([1])] = 9
    assert x.tolist() == [0, 9, 2, 3]


def test_cpu_lengths_pass() -> None:
    scores = torch.randn(5, 1, 4).log_softmax(-1)
    arguments = torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])
    loss = F.ctc_loss(scores.to("npu"), *arguments)
    assert loss.item() == F.ctc_loss(scores, *arguments).item()


def test_a_generator_of_the_cpu_is_refused() -> None:
    with refused("Expected a 'npu' device type for generator but found 'cpu'"):
        torch.randn(2, device="npu", generator=torch.Generator())


def test_a_generator_of_the_npu_draws_for_no_tensor_of_the_cpu() -> None:
    for draw in (torch.randn, torch.rand):
        with refused("Expected a 'cpu' device type for generator but found 'npu'"):
            draw(2, generator=torch.Generator("npu"))
    torch.randn(2, device="npu", generator=torch.Generator("npu"))


def test_more_than_a_card_has_is_refused_before_the_host_is_asked() -> None:
    with refused("NPU out of memory. Tried to allocate"):
        torch.empty(1 << 42, device="npu")


# One memory: views, in-place, resizing


def test_views_share_memory() -> None:
    x = torch.zeros(2, 3, device="npu")
    x[0].fill_(1)
    x.t()[0, 1] = 5
    x.view(3, 2).mul_(2)
    x.unfold(1, 2, 1)[1, 1, 1] = 7
    assert x.tolist() == [[2, 2, 2], [10, 0, 7]]
    assert x.view(-1).data_ptr() == x.data_ptr()
    assert x[1].data_ptr() == x.data_ptr() + 3 * 4
    assert x[1].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def test_arguments_of_one_memory_overlap_for_the_kernel() -> None:
    x = torch.arange(4.0, device="npu")
    with refused("unsupported operation"):
        torch.add(x[:3], 1, out=x[1:])


def test_is_set_to_compares_memory() -> None:
    x = npu(3)
    assert x.is_set_to(x[:])
    assert not x.is_set_to(x.clone())


def test_in_place_and_out_return_the_argument_itself() -> None:
    x, out = npu(3), npu(3)
    assert x.add_(1) is x
    assert torch.add(x, x, out=out) is out
    values, indices = npu(1), torch.zeros(1, dtype=torch.long, device="npu")
    assert torch.max(x, 0, keepdim=True, out=(values, indices))[0] is values


def test_out_is_resized() -> None:
    out = torch.empty(0, device="npu")
    torch.add(npu(2, 3), 1, out=out)
    assert out.tolist() == [[2, 2, 2], [2, 2, 2]]
    assert out.untyped_storage().nbytes() == 24
    assert out.untyped_storage().device == torch.device("npu:0")


def test_resize_keeps_values_and_views() -> None:
    x = torch.arange(4.0, device="npu:1")
    view = x[2:]
    x.resize_(1000)
    assert x[:4].tolist() == [0, 1, 2, 3]
    x[2] = 9
    assert view.tolist() == [9, 3]
    assert x.untyped_storage().device == torch.device("npu:1")


def test_a_storage_can_be_emptied_and_filled_again() -> None:
    before = backend().memory_allocated(0)
    x = npu(1000)
    x.untyped_storage().resize_(0)
    assert backend().memory_allocated(0) == before
    x.untyped_storage().resize_(4000)
    assert x.fill_(2).sum().item() == 2000


def test_set_takes_the_memory_of_another() -> None:
    x = torch.arange(6.0, device="npu")
    y = torch.empty(0, device="npu").set_(x.untyped_storage(), 2, (2, 2), (2, 1))
    assert y.tolist() == [[2, 3], [4, 5]]
    y.zero_()
    assert x.sum().item() == 1
    assert npu(3).set_(x).data_ptr() == x.data_ptr()
    assert x.set_().numel() == 0


def test_cpu_alias_is_no_copy() -> None:
    x = torch.zeros(3, device="npu:2")
    alias = backend().cpu_alias(x)
    alias[1] = 4
    assert alias.device.type == "cpu"
    assert x.tolist() == [0, 4, 0]
    assert backend().cpu_alias(alias).data_ptr() == alias.data_ptr()


def test_memory_that_comes_from_elsewhere_is_taken() -> None:
    x = npu(3)
    y = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    y.add_(1)
    assert y.device == x.device
    assert x.tolist() == [2, 2, 2]


def test_a_view_in_inference_mode_is_what_its_base_is() -> None:
    def are_inference_tensors(x: Any) -> list[bool]:
        complex_ = x.to(torch.cfloat)
        with torch.inference_mode():
            views = [x.view(3, 2), x[0], x.t(), x.view(torch.int32), x.unfold(1, 2, 1)]
            views += [torch.view_as_real(complex_), torch.ones_like(x).view(3, 2)]
        x.add_(1)  # would be refused if a view had made it an inference tensor
        return [view.is_inference() for view in views]

    assert are_inference_tensors(npu(2, 3)) == are_inference_tensors(cpu(2, 3))


def test_conjugate_and_negative_views() -> None:
    x = torch.tensor([1 + 2j, 3 - 1j])
    y = x.to("npu")
    assert y.conj().is_conj()
    for f in (
        lambda t: t.conj().resolve_conj(),
        lambda t: t.conj() + 1,
        lambda t: t.conj().imag * 2,
        lambda t: t.conj() @ t,
        lambda t: t.conj().clone(),
    ):
        assert torch.equal(f(x), f(y).cpu())


# Copies


def test_copies_between_devices_convert_and_broadcast() -> None:
    x = torch.zeros(2, 3)
    x.copy_(npu(3).to(torch.int32))
    assert x.sum().item() == 6
    y = torch.zeros(2, 3, device="npu:1")
    y.copy_(npu(3), non_blocking=True)
    y[0].copy_(torch.tensor([5, 6, 7]))
    assert y.tolist() == [[5, 6, 7], [1, 1, 1]]
    assert y.to("npu:2").device == torch.device("npu:2")


def test_pinned_memory() -> None:
    x = torch.ones(3).pin_memory()
    assert x.is_pinned()
    assert torch.empty(0, pin_memory=True).is_pinned()
    assert not torch.ones(3).is_pinned()
    assert not npu(3).is_pinned()
    assert x.to("npu", non_blocking=True).sum().item() == 3
    with refused("only dense CPU tensors can be pinned"):
        npu(3).pin_memory()
    with refused("Only dense CPU tensors can be pinned"):
        torch.empty(3, device="npu", pin_memory=True)


def test_deepcopy_and_checkpoints() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)).to("npu:1")
    copied = copy.deepcopy(model)
    assert copied[0].weight.device == torch.device("npu:1")
    assert copied[0].weight.data_ptr() != model[0].weight.data_ptr()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    for where in ("cpu", "npu:2", None):
        file.seek(0)
        state = torch.load(file, map_location=where)
        assert state["0.weight"].device == torch.device(where or "npu:1")
        assert torch.equal(state["0.weight"].cpu(), model[0].weight.cpu())


def test_printing() -> None:
    assert repr(torch.ones(2, device="npu:3")) == "tensor([1., 1.], device='npu:3')"


# Results equal the CPU's to the last bit


class Cells(nn.Module):
    def __init__(self, kind: type) -> None:
        super().__init__()
        self.cell = kind(6, 5)

    def forward(self, x: Any) -> Any:
        state = None
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
        return state[0] if isinstance(state, tuple) else state


class Packed(nn.Module):
    def __init__(self, kind: type) -> None:
        super().__init__()
        self.layer = kind(6, 5, batch_first=True)

    def forward(self, x: Any) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([7, 4, 2]), batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0]


def convolutions() -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.Dropout(0.3),
        nn.MaxPool2d(2),
        nn.ConvTranspose2d(4, 4, 2, groups=2),
        nn.GroupNorm(2, 4),
        nn.Flatten(),
        nn.Linear(64, 3),
    )


def transformer() -> Any:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), 2)


MODELS: dict[str, Callable[[], Any]] = {
    "CNN": lambda: nn.Sequential(nn.Unflatten(1, (1, 7)), convolutions()),
    "transformer": transformer,
    "LSTM": lambda: nn.LSTM(6, 5, 2, batch_first=True, dropout=0.2, bidirectional=True),
    "LSTM with projection": lambda: nn.LSTM(6, 5, batch_first=True, proj_size=3),
    "GRU": lambda: nn.GRU(6, 5, 2, batch_first=True, bidirectional=True),
    "RNN": lambda: nn.RNN(6, 5, 2, batch_first=True),
    "packed LSTM": lambda: Packed(nn.LSTM),
    "packed GRU": lambda: Packed(nn.GRU),
    "LSTMCell": lambda: Cells(nn.LSTMCell),
    "GRUCell": lambda: Cells(nn.GRUCell),
}


def train(model: Any, x: Any, device: str, autocast: bool = False) -> tuple[list[float], list[Any]]:
    torch.manual_seed(1)
    model = copy.deepcopy(model).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=autocast):
            result = model(x.to(device))
        result = result[0] if isinstance(result, tuple) else result
        loss = result.float().square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [parameter.detach().cpu() for parameter in model.parameters()]


@pytest.mark.parametrize("name", list(MODELS))
def test_training_equals_the_cpu(name: str) -> None:
    model, x = MODELS[name](), torch.randn(3, 7, 6)
    losses, weights = train(model, x, "cpu")
    npu_losses, npu_weights = train(model, x, "npu")
    assert npu_losses == losses
    assert all(map(torch.equal, npu_weights, weights))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(4, 3)
        self.head = nn.Linear(3, 4, bias=False)
        self.head.weight = self.embedding.weight


def test_a_module_keeps_its_parameters_when_it_moves() -> None:
    model = Tied()
    before = model.head.weight
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model.to("npu")
    assert model.head.weight is model.embedding.weight is before
    model.head(model.embedding(torch.tensor([1], device="npu"))).sum().backward()
    value = before.detach().clone()
    optimizer.step()
    assert before.grad is not None
    assert before.grad.device.type == "npu"
    assert not torch.equal(before, value)
    assert model.cpu().head.weight is model.embedding.weight is before


def test_data_of_another_kind_is_refused() -> None:
    with refused("incompatible tensor type"):
        torch.ones(2).data = torch.ones(2).to_sparse().to("npu")
    with refused("incompatible tensor type"):
        npu(2).data = torch.ones(2).to_sparse()


def test_training_with_autocast_equals_the_cpu() -> None:
    model, x = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)), torch.randn(3, 7, 6)
    assert train(model, x, "npu", autocast=True)[0] == train(model, x, "cpu", autocast=True)[0]


def test_gradients_through_a_layer_that_was_changed_are_refused() -> None:
    layer = nn.GRU(3, 3).to("npu")
    result = layer(npu(2, 1, 3).requires_grad_())[0].sum()
    with torch.no_grad():
        layer.weight_ih_l0.add_(1)
    with refused("modified by an inplace operation"):
        result.backward()


def test_second_derivatives_of_a_recurrent_layer() -> None:
    x = torch.randn(2, 1, 3, dtype=torch.double, device="npu", requires_grad=True)
    cell = nn.GRUCell(3, 3).double().to("npu")
    assert torch.autograd.gradgradcheck(lambda x: cell(x[0]), (x,))


def test_gradients_of_a_convolution() -> None:
    x = torch.randn(1, 2, 4, 4, dtype=torch.double, device="npu", requires_grad=True)
    weight = torch.randn(2, 2, 3, 3, dtype=torch.double, device="npu", requires_grad=True)
    assert torch.autograd.gradcheck(F.conv2d, (x, weight))
    assert torch.autograd.gradgradcheck(F.conv2d, (x, weight))


def test_attention_takes_the_cpu_kernel() -> None:
    q = torch.randn(2, 2, 8, 16)
    backend().reset_operator_counts()
    result = F.scaled_dot_product_attention(*[q.to("npu")] * 3, is_causal=True)
    assert torch.equal(result.cpu(), F.scaled_dot_product_attention(q, q, q, is_causal=True))
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in counts()


def test_the_fast_path_of_a_padded_transformer() -> None:
    model, x = transformer().eval(), torch.randn(2, 5, 6)
    mask = torch.arange(5) >= torch.tensor([[5], [3]])
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nested tensors are a prototype, says torch
        expected = model(x, src_key_padding_mask=mask)
        result = model.to("npu")(x.to("npu"), src_key_padding_mask=mask.to("npu"))
    assert torch.equal(result.cpu(), expected)


OPERATORS: dict[str, Callable[[Any], Any]] = {
    "mean of half": lambda t: t.half().mean(),
    "topk": lambda t: t.topk(2).values,
    "unique": lambda t: torch.unique((t * 2).long()),
    "nonzero": lambda t: (t > 0).nonzero(),
    "einsum": lambda t: torch.einsum("ij,kj->ik", t, t),
    "svd": torch.linalg.svdvals,
    "fft": lambda t: torch.fft.rfft(t).abs(),
    "scatter": lambda t: torch.zeros_like(t).scatter_(1, t.argsort(1), t),
    "interpolate": lambda t: F.interpolate(t[None, None], scale_factor=2, mode="bilinear"),
    "split": lambda t: torch.cat(t.split([2, 3], 1)[::-1], 1),
    "foreach": lambda t: torch._foreach_mul([t, t + 1], 2.0)[1],
    "bincount": lambda t: torch.bincount((t > 0).long().flatten()),
    "triu_indices": lambda t: torch.triu_indices(3, 3, device=t.device),
    "randperm": lambda t: torch.randperm(9, device=t.device),
    "bernoulli": lambda t: torch.bernoulli(torch.full_like(t, 0.5)),
    "vmap": lambda t: torch.vmap(lambda row: row.softmax(0))(t),
    "jvp": lambda t: torch.func.jvp(lambda x: (x * x).sum(), (t,), (t,))[1],
    "hessian": lambda t: torch.func.hessian(lambda x: (x**3).sum())(t[0]),
}


@pytest.mark.parametrize("name", list(OPERATORS))
def test_operators_equal_the_cpu(name: str) -> None:
    x = torch.randn(4, 5)
    torch.manual_seed(5)
    expected = OPERATORS[name](x)
    torch.manual_seed(5)
    result = OPERATORS[name](x.to("npu:1"))
    assert result.device == torch.device("npu:1")
    assert torch.equal(result.cpu(), expected)


# Sparse tensors


@pytest.mark.parametrize("layer", ["Embedding", "EmbeddingBag"])
@pytest.mark.parametrize("optimizer", ["SGD", "SparseAdam", "Adagrad"])
def test_sparse_gradients(layer: str, optimizer: str) -> None:
    indices = torch.tensor([[1, 2, 2], [4, 9, 0]])
    original = getattr(nn, layer)(10, 4, sparse=True)

    def train(device: str) -> Any:
        model = copy.deepcopy(original).to(device)
        steps = getattr(torch.optim, optimizer)(model.parameters(), lr=0.1)
        for _ in range(2):
            steps.zero_grad()
            model(indices.to(device)).square().sum().backward()
            assert model.weight.grad.is_sparse
            assert model.weight.grad.device == torch.device(device)
            steps.step()
        return model.weight.detach().cpu()

    assert torch.equal(train("npu:1"), train("cpu"))


def test_sparse_tensors() -> None:
    x = torch.eye(3, device="npu").to_sparse()
    assert (x + x).to_dense().sum().item() == 6
    assert (x @ npu(3, 1)).tolist() == [[1], [1], [1]]
    assert x.to("npu:1").coalesce().indices().device == torch.device("npu:1")
    assert torch.equal(x.cpu().to_dense(), torch.eye(3))
    x.mul_(2)
    assert x.to_dense().sum().item() == 6


@pytest.mark.parametrize("layout", ["to_sparse_csr", "to_mkldnn"])
def test_layouts_that_are_not_simulated_say_so(layout: str) -> None:
    with refused("the simulated NPU has no tensors of layout", NotImplementedError):
        getattr(npu(3, 3), layout)()


# Autocast, generators, events


def test_autocast() -> None:
    layer, x = nn.Linear(3, 3).to("npu"), npu(2, 3)
    with torch.autocast("npu", dtype=torch.float16):
        assert layer(x).dtype == torch.float16
        assert layer(x).softmax(-1).dtype == torch.float32
        assert nn.Linear(3, 3)(cpu(3)).dtype == torch.float32
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            assert kind(3, 3).to("npu")(npu(1, 2, 3))[0].dtype == torch.float16
        with refused("unsafe to autocast"):
            F.binary_cross_entropy(npu(3), npu(3))
    with torch.autocast("npu", dtype=torch.float16), torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.float16


def test_generators() -> None:
    generator = torch.Generator("npu:1").manual_seed(3)
    assert generator.device == torch.device("npu:1")
    first = torch.rand(3, device="npu:1", generator=generator)
    state = generator.get_state()
    second = torch.rand(3, device="npu:1", generator=generator)
    generator.set_state(state)
    assert torch.equal(torch.rand(3, device="npu:1", generator=generator), second)
    assert torch.equal(torch.rand(3, generator=torch.Generator().manual_seed(3)), first.cpu())


def test_the_default_generator_is_the_cpus() -> None:
    torch.manual_seed(7)
    expected = torch.randn(3), torch.randn(3)
    torch.manual_seed(7)
    assert torch.equal(torch.randn(3, device="npu:4").cpu(), expected[0])
    assert torch.equal(torch.randn(3), expected[1])


def test_streams_and_events() -> None:
    stream = torch.Stream(device="npu:1")
    assert stream.device == torch.device("npu:1")
    start, end = (torch.Event(device="npu", enable_timing=True) for _ in range(2))
    start.record()
    time.sleep(0.01)
    end.record()
    end.synchronize()
    assert end.query()
    assert 10 <= start.elapsed_time(end) < 5000
    npu(3).record_stream(stream)


# Memory


def test_memory_is_counted_for_each_device() -> None:
    before = backend().memory_allocated(5)
    backend().reset_peak_memory(5)
    x = torch.ones(1000, device="npu:5")
    y = x[10:].view(-1)
    assert backend().memory_allocated(5) == before + 4000
    z = x + 1
    assert backend().memory_allocated(5) == before + 8000
    del x, z
    assert backend().memory_allocated(5) == before + 4000
    del y
    assert backend().memory_allocated(5) == before
    assert backend().max_memory_allocated(5) == before + 8000
    backend().reset_peak_memory(5)
    assert backend().max_memory_allocated(5) == before


def test_memory_of_a_training_is_given_back() -> None:
    before = backend().memory_allocated(0)
    train(convolutions(), torch.randn(2, 1, 7, 6), "npu")
    assert backend().memory_allocated(0) == before


# Operators and their counts


def test_operators_are_counted_by_name() -> None:
    x = npu(2, 3)
    backend().reset_operator_counts()
    assert counts() == {}
    x + x
    x.add(1)
    x.half()
    F.conv2d(npu(1, 1, 3, 3), npu(1, 1, 2, 2))
    nn.LSTM(3, 3).to("npu")(npu(1, 1, 3))
    x.t().contiguous().cpu()
    found = counts()
    assert (found["aten::add"], found["aten::convolution"], found["aten::lstm"]) == (2, 1, 1)
    assert found["aten::copy_"] == 2  # half() and contiguous(), not cpu()
    assert "aten::view" not in found


def test_operators_of_other_libraries() -> None:
    library = torch.library.Library("for_test", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.define("nowhere(Tensor x) -> Tensor")
    library.impl("double", lambda x: x * 2, "CPU")
    backend().reset_operator_counts()
    assert torch.ops.for_test.double(npu(2)).tolist() == [2, 2]
    assert torch.ops.for_test.double(npu(2)).device.type == "npu"
    assert counts()["for_test::double"] == 2
    with refused(
        "Could not run 'for_test::nowhere' with arguments from the 'npu' backend", NotImplementedError
    ):
        torch.ops.for_test.nowhere(npu(2))


# Threads, tracing


def test_backward_makes_the_device_current() -> None:
    seen: list[int] = []

    class Look(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            seen.append(torch.empty(1, device="npu").device.index)
            return gradient

    def work() -> None:
        x = torch.ones(2, device="npu:3", requires_grad=True)
        Look.apply(x).sum().backward()

    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [3, 3]
    assert backend().current_device() == 0


def test_threads_compute_at_the_same_time() -> None:
    results = []

    def work(seed: int) -> None:
        x = torch.full((50, 50), float(seed), device=f"npu:{seed % 8}")
        for _ in range(50):
            x = (x @ torch.eye(50, device=x.device)).clone()
        results.append((seed, x.mean().item()))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(seed, float(seed)) for seed in range(8)]


def test_forked_workers() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=1)
    assert [batch.to("npu").sum().item() for (batch,) in loader] == [6, 22]


@pytest.mark.parametrize("kind", ["trace", "script"])
def test_torchscript(kind: str) -> None:
    model, x = convolutions().eval().to("npu"), torch.randn(2, 1, 7, 6, device="npu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated, and still in use
        compiled = torch.jit.trace(model, x) if kind == "trace" else torch.jit.script(model)
    result = compiled(x)
    assert torch.equal(result, model(x))
    result.sum().backward()
    assert model[0].weight.grad.device.type == "npu"


def test_a_traced_recurrent_layer() -> None:
    layer = nn.LSTM(3, 3).to("npu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(layer, npu(1, 1, 3))
    assert torch.equal(traced(npu(2, 1, 3))[0], layer(npu(2, 1, 3))[0])
