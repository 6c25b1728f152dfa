"""What is recorded of a step: modules in place, shared, called again; containers; odd tensors; optimizers."""

from __future__ import annotations

import dataclasses
import math
from collections import namedtuple
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from cuda2npu.verify.capture.recorder import Recorder  # noqa: E402
from cuda2npu.verify.capture.settings import Settings  # noqa: E402
from cuda2npu.verify.records import Header, Kind, Record  # noqa: E402
from cuda2npu.verify.store import Capture, CaptureError, Writer  # noqa: E402

Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Result:
    logits: torch.Tensor
    extra: list


class Returns(nn.Module):
    """Returns what it is given a function for."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


@pytest.fixture
def record(tmp_path):
    """Return a function that records one step of what it is given, and returns the capture's records."""

    def run(work, **settings) -> list[Record]:
        writer = Writer(tmp_path / "capture", Header("test", "cpu"))
        with Recorder(writer, Settings(**settings)) as recorder:
            recorder.begin_step()
            work()
            recorder.end_step()
        return Capture(tmp_path / "capture").records(0)

    return run


def of_kind(records: list[Record], kind: Kind) -> dict[str, Record]:
    return {f"{r.key.name}/{r.key.call}/{r.key.path}": r for r in records if r.key.kind is kind}


def tensor_of(tmp_path: Path, record: Record) -> torch.Tensor:
    found = Capture(tmp_path / "capture").tensor(0, record)
    assert found is not None
    return found


def test_what_a_module_in_place_overwrites_is_kept_as_it_was(record, tmp_path):
    x = torch.tensor([[-1.0, 2.0]])
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(inplace=True))
    nn.init.eye_(net[0].weight)
    records = record(lambda: net(x))
    outputs = of_kind(records, Kind.OUTPUT)
    assert tensor_of(tmp_path, outputs["Sequential.0/0/"]).tolist() == [[-1, 2]]
    assert tensor_of(tmp_path, outputs["Sequential.1/0/"]).tolist() == [[0, 2]]
    assert outputs["Sequential/0/"].same_as == outputs["Sequential.1/0/"].order
    assert of_kind(records, Kind.INPUT)["Sequential.1/0/0"].same_as == outputs["Sequential.0/0/"].order


def test_a_sum_in_place_makes_another_input(record):
    relu, net = nn.ReLU(), nn.Linear(2, 2)

    def work():
        out = net(torch.ones(1, 2))
        out += 1
        relu(out).sum().backward()

    records = record(work)
    assert of_kind(records, Kind.INPUT)["ReLU/0/0"].same_as is None
    assert "ReLU/0/0" in of_kind(records, Kind.INPUT_GRADIENT)
    assert "Linear/0/" in of_kind(records, Kind.OUTPUT_GRADIENT)


def test_gradients_are_those_of_autograd(record, tmp_path):
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    x = torch.randn(2, 3, requires_grad=True)
    held = []

    def work():
        hidden = net[1](net[0](x))
        hidden.retain_grad()
        held.append(hidden)
        net[2](hidden).sum().backward()

    gradients = of_kind(record(work), Kind.OUTPUT_GRADIENT)
    assert torch.equal(tensor_of(tmp_path, gradients["Tanh/0/"]), held[0].grad)
    assert not x._backward_hooks  # a leaf keeps no hook behind the step


def test_shared_modules_and_several_calls(record):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = self.b = nn.Linear(2, 2)

        def forward(self, x):
            return self.a(self.b(x))

    outputs = of_kind(record(lambda: Net()(torch.ones(1, 2))), Kind.OUTPUT)
    assert list(outputs) == ["Net.a/0/", "Net.a/1/", "Net/0/"]


def test_roots_of_one_class_and_losses_made_anew(record):
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)

    def work():
        for _ in range(2):
            nn.MSELoss()(second(first(torch.ones(1, 2))), torch.ones(1, 2))

    outputs = of_kind(record(work), Kind.OUTPUT)
    assert set(outputs) == {f"{n}/{i}/" for n in ("Linear", "Linear#2", "MSELoss") for i in (0, 1)}


def test_a_scripted_module(record):
    net = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    outputs = of_kind(record(lambda: net(torch.ones(1, 2))), Kind.OUTPUT)
    assert list(outputs) == ["RecursiveScriptModule/0/"]


def test_a_trace_is_the_same_while_it_is_recorded(record):
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    traced = [torch.jit.trace(net, torch.ones(1, 2))]
    record(lambda: traced.append(torch.jit.trace(net, torch.ones(1, 2))))
    before, during = ([node.kind() for node in each.inlined_graph.nodes()] for each in traced)
    assert during == before


def test_transforms_of_functions_are_left_alone(record):
    net = nn.Linear(2, 1)
    found = []
    records = record(lambda: found.append(torch.func.vmap(net)(torch.ones(3, 2))))
    assert found[0].shape == (3, 1)
    assert {r.note for r in of_kind(records, Kind.OUTPUT).values()} == {"within a transform of torch.func"}


def test_a_module_made_within_a_call_has_a_name(record):
    net = Returns(lambda x: nn.Softmax(-1)(x))
    assert "Returns.Softmax/0/" in of_kind(record(lambda: net(torch.ones(1, 2))), Kind.OUTPUT)


@pytest.mark.parametrize(
    ("make", "paths"),
    [
        (lambda x: {"logits": x, "none": None}, ["logits", "none"]),
        (lambda x: Result(x, [x, 3]), ["logits", "extra.0", "extra.1"]),
        (lambda x: Pair(x, (x, True)), ["first", "second.0", "second.1"]),
        (lambda x: None, [""]),
        (lambda x: x.max(1), ["0", "1"]),
        (
            lambda x: torch.nn.utils.rnn.pack_sequence([x]),
            ["data", "batch_sizes", "sorted_indices", "unsorted_indices"],
        ),
        (lambda x: (), []),
    ],
    ids=["dict", "dataclass", "named tuple", "None", "structseq", "PackedSequence", "nothing"],
)
def test_containers(record, make, paths):
    records = record(lambda: Returns(make)(torch.ones(2, 3)))
    assert [r.key.path for r in records if r.key.kind is Kind.OUTPUT] == paths


def test_an_object_that_is_not_looked_into_says_so(record):
    (found,) = of_kind(record(lambda: Returns(lambda: object())()), Kind.OUTPUT).values()
    assert found.dtype == "object"
    assert "not looked into" in found.note


def test_named_arguments(record):
    inputs = of_kind(record(lambda: Returns(lambda x, *, scale: x)(torch.ones(1), scale=2.5)), Kind.INPUT)
    assert inputs["Returns/0/scale"].value == 2.5
    assert inputs["Returns/0/0"].shape == (1,)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor(3.0),
        torch.empty(0, 4),
        torch.arange(6).reshape(2, 3).t(),
        torch.tensor([True, False]),
        torch.randn(3, dtype=torch.bfloat16),
        torch.randn(2, 4)[:, ::2],
        torch.tensor([1 + 2j, 3.0]),
        torch.tensor([1 + 2j, 3.0], dtype=torch.complex128).conj(),
        torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
        torch.ones(1).expand(5),
    ],
    ids=[
        "0-dim",
        "empty",
        "int",
        "bool",
        "bf16",
        "strided",
        "complex64",
        "conj",
        "channels_last",
        "expanded",
    ],
)
def test_tensors_of_all_sorts(record, tmp_path, tensor):
    (found,) = of_kind(record(lambda: Returns(lambda x: None)(tensor)), Kind.INPUT).values()
    assert (found.dtype, found.shape) == (str(tensor.dtype)[6:], tuple(tensor.shape))
    stored = tensor_of(tmp_path, found)
    if tensor.is_complex():
        stored = torch.view_as_complex(stored)
    assert torch.equal(stored, tensor.resolve_conj())


def test_a_sparse_tensor_is_its_values(record, tmp_path):
    tensor = torch.tensor([[0.0, 2.0]]).to_sparse()
    (found,) = of_kind(record(lambda: Returns(lambda x: None)(tensor)), Kind.INPUT).values()
    assert tensor_of(tmp_path, found).tolist() == [2.0]
    assert "sparse" in found.note


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_statistics_leave_out_what_is_not_finite(record, dtype):
    tensor = torch.tensor([1.0, -2.0, math.nan, math.inf, -math.inf], dtype=dtype)
    (found,) = of_kind(record(lambda: Returns(lambda x: None)(tensor), tensors=False), Kind.INPUT).values()
    numbers = found.statistics
    assert (numbers.minimum, numbers.maximum, numbers.mean, numbers.nan, numbers.inf) == (-2, 1, -0.5, 1, 2)
    assert numbers.norm == pytest.approx(math.sqrt(5))
    assert found.tensor is None


def test_the_numbers_of_a_device_are_those_of_the_host():
    from cuda2npu.verify.capture.statistics import _from_row, _on_device, measure

    for tensor in (torch.randn(50), torch.tensor([1.0, math.nan, math.inf]), torch.tensor([math.nan])):
        ours, theirs = (vars(each) for each in (measure(tensor), _from_row(_on_device(tensor).tolist())))
        for name, value in ours.items():
            assert theirs[name] == (value if value is None else pytest.approx(value, rel=1e-5)), name


def test_inference_mode_and_no_grad(record):
    net = nn.Linear(2, 2).eval()

    def work():
        with torch.no_grad():
            net(torch.ones(1, 2))
        with torch.inference_mode():
            net(torch.ones(1, 2))

    outputs = of_kind(record(work), Kind.OUTPUT)
    assert list(outputs) == ["Linear/0/", "Linear/1/"]
    assert not outputs["Linear/0/"].training


@pytest.mark.parametrize("reentrant", [True, False])
def test_what_a_checkpoint_computes_again_keeps_its_names(record, reentrant):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

        def forward(self, x):
            return checkpoint(self.block, x, use_reentrant=reentrant)

    net = Net()
    records = record(lambda: net(torch.ones(1, 2, requires_grad=True)).sum().backward())
    assert {r.key.name.split(".")[0] for r in records if r.module} == {"Net"}
    assert "Net.block.0/1/" in of_kind(records, Kind.OUTPUT)
    assert len(of_kind(records, Kind.LOSS)) == 1


def test_an_optimizers_step(record, tmp_path):
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD([{"params": [net.weight]}, {"params": [net.bias], "lr": 0.5}], lr=0.1)

    def work():
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()

    records = record(work)
    rates = of_kind(records, Kind.LEARNING_RATE)
    assert [r.value for r in rates.values()] == [0.1, 0.5]
    assert tensor_of(tmp_path, of_kind(records, Kind.GRADIENT)["Linear.weight/0/"]).tolist() == [[1, 1]]
    assert torch.equal(tensor_of(tmp_path, of_kind(records, Kind.PARAMETER)["Linear.bias/0/"]), net.bias)


def test_a_gradient_that_is_missing_is_recorded_as_missing(record):
    net = nn.Linear(2, 1)
    records = record(lambda: torch.optim.SGD(net.parameters(), lr=0.1).step())
    assert {r.dtype for r in of_kind(records, Kind.GRADIENT).values()} == {"NoneType"}


def test_closures(record):
    net = nn.Linear(2, 1)
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = net(torch.ones(1, 2)).square().sum()
        loss.backward()
        return loss

    records = record(lambda: optimizer.step(closure))
    assert len(of_kind(records, Kind.LOSS)) > 1
    assert {r.dtype for r in of_kind(records, Kind.GRADIENT).values()} == {"float32"}


def test_a_gradient_scaler_that_skips_the_step(record):
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

    def work():
        loss = net(torch.full((1, 2), math.inf)).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    records = record(work)
    assert {r.note for r in of_kind(records, Kind.PARAMETER).values()} == {
        "the gradient scaler skipped the step"
    }
    assert "factor" in of_kind(records, Kind.LOSS)["/0/"].note


def test_depth_and_pattern(record):
    net = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.ReLU())
    x = torch.ones(1, 2)
    names = {r.key.name for r in record(lambda: net(x), depth=1) if r.module}
    assert names == {"Sequential", "Sequential.0", "Sequential.1"}
    assert {r.key.name for r in record(lambda: net(x), pattern=r"\.0\.0$") if r.module} == {"Sequential.0.0"}


def test_dropout_can_be_left_out(record, tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(4, 4, 2, dropout=0.5, batch_first=True)
            self.attention = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            x, _ = self.rnn(x)
            return nn.functional.dropout(self.drop(self.attention(x, x, x)[0]), 0.5, self.training)

    net, x = Net(), torch.randn(2, 3, 4)
    state = torch.get_rng_state()
    outputs = of_kind(record(lambda: net(x), dropout=False), Kind.OUTPUT)
    assert torch.equal(torch.get_rng_state(), state)
    with torch.no_grad():
        found = tensor_of(tmp_path, outputs["Net.attention/0/0"])
        assert torch.allclose(found, net.eval()(x), atol=1e-6)
    assert nn.functional.dropout(torch.ones(1000)).min() == 0


def test_recording_leaves_nothing_behind(tmp_path):
    before = (nn.Module.__call__, torch.autograd.backward, torch.amp.GradScaler.step)
    from torch.optim.optimizer import _global_optimizer_pre_hooks as hooks

    count = len(hooks)
    recorder = Recorder(Writer(tmp_path, Header("", "cpu")), Settings())

    def work():
        with recorder:
            recorder.begin_step()
            Returns(lambda: 1 / 0)()

    with pytest.raises(ZeroDivisionError):
        work()
    assert (nn.Module.__call__, torch.autograd.backward, torch.amp.GradScaler.step) == before
    assert len(hooks) == count
    assert Capture(tmp_path).steps == []


def test_the_graph_is_not_kept_alive(tmp_path):
    import weakref

    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())  # whose output the graph holds
    with Recorder(Writer(tmp_path, Header("", "cpu")), Settings()) as recorder:
        recorder.begin_step()
        out = net(torch.ones(1, 2))
        ref = weakref.ref(out)
        del out
        assert ref() is None
        recorder.end_step()


def test_weights_come_from_another_capture(tmp_path):
    first, second = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    nn.init.constant_(first.weight, 3)
    for net, folder, like in ((first, "a", ""), (second, "b", str(tmp_path / "a"))):
        with Recorder(Writer(tmp_path / folder, Header("", "cpu")), Settings(like=like)) as recorder:
            recorder.begin_step()
            net(torch.randn(4, 2))
            recorder.end_step()
    assert second.weight.tolist() == [3, 3]
    assert Capture(tmp_path / "b").weights()["BatchNorm1d.running_mean"].tolist() == [0, 0]
    other = nn.BatchNorm1d(5)
    recorder = Recorder(Writer(tmp_path / "c", Header("", "cpu")), Settings(like=str(tmp_path / "a")))
    with pytest.raises(CaptureError, match=r"BatchNorm1d.weight is \[2\] there and \[5\] here"), recorder:
        other(torch.randn(4, 5))


def test_a_resumed_capture_keeps_what_is_there(tmp_path):
    net = nn.Linear(2, 2)

    def run(steps: int, resume: bool) -> None:
        writer = Writer(tmp_path, Header("", "cpu"))
        with Recorder(writer, Settings(steps=steps, resume=resume)) as recorder:
            for _ in range(steps):
                recorder.begin_step()
                net(torch.ones(1, 2))
                recorder.end_step()

    run(1, False)
    written = (tmp_path / "step-000000" / "records.jsonl").stat().st_mtime_ns
    run(3, True)
    assert Capture(tmp_path).steps == [0, 1, 2]
    assert (tmp_path / "step-000000" / "records.jsonl").stat().st_mtime_ns == written
    assert len(Capture(tmp_path).records(2)) == len(Capture(tmp_path).records(0))
