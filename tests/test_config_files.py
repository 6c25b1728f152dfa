"""Configurations: values of device and backend keys, variables and settings; the rest byte for byte."""

from __future__ import annotations

import codecs
import configparser
import json
import sys
import time

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuda2npu.rewrite.change import FileResult, Status, apply
from cuda2npu.rewrite.formats import yaml_file
from cuda2npu.rewrite.formats.others import convert, may_concern
from cuda2npu.settings import Settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def run(text: str | bytes, path: str = "train.yaml", **options: object) -> FileResult:
    data = text.encode() if isinstance(text, str) else text
    result = convert(data, path, Settings(**options)) or FileResult(path, Status.UNCHANGED)  # type: ignore[arg-type]
    assert result.status is not Status.FAILED
    applied = [change for change in result.changes if change.applied]
    if applied:  # what the report says is what is written
        bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        assert bom + apply(result.text, applied).encode() == result.data
    return result


def changed(text: str, path: str = "train.yaml", **options: object) -> str:
    result = run(text, path, **options)
    return result.data.decode() if result.status is Status.CHANGED else text


def rules(result: FileResult) -> list[str]:
    return [finding.rule for finding in result.findings]


# --- values by key


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.yaml", "device: cuda\n", "device: npu\n"),
        ("a.yml", "train: {device: 'cuda:1', other: 1}", "train: {device: 'npu:1', other: 1}"),
        ("a.yaml", 'map_location:   "cuda"   # where\r\n', 'map_location:   "npu"   # where\r\n'),
        ("a.yaml", "teacher-device: !!str cuda\n", "teacher-device: !!str npu\n"),
        ("a.yaml", "devices:\n  - cuda:0\n  - cuda:1\n", "devices:\n  - npu:0\n  - npu:1\n"),
        ("a.yaml", "devices: cuda:0,cuda:1\n", "devices: npu:0,npu:1\n"),
        (
            "a.yaml",
            "dist_params:\n  backend: nccl\n  port: 1\n",
            "dist_params:\n  backend: hccl\n  port: 1\n",
        ),
        ("a.yaml", "backend: cpu:gloo,cuda:nccl\n", "backend: cpu:gloo,npu:hccl\n"),
        ("a.yaml", "a: 1\n---\ndevice: cuda\n...\n---\ndevice: cuda\n", None),
        ("a.json", '{"train.device": "cuda", "x": [1, {"deviceType": "cuda"}]}', None),
        ("a.toml", "device = 'cuda'\n[x.y]\nmodel = { device = \"cuda\" }\n", None),
        ("a.toml", 'devices = [\n  "cuda:0", # one\n  "cuda:1",\n]\n', None),
        ("a.toml", '[[run]]\ndevice = "cuda"\n[[run]]\ndevice = "cpu"\n', None),
        (
            "a.ini",
            "[a]\ndevice : cuda\n; cuda\n[b]\nbackend=nccl",
            "[a]\ndevice : npu\n; cuda\n[b]\nbackend=hccl",
        ),
        ("a.cfg", "[a]\r\nDevice = cuda:0\r\n", "[a]\r\nDevice = npu:0\r\n"),
    ],
)
def test_devices_and_backends_follow(path, before, after):
    after = after if after is not None else before.replace("cuda", "npu")
    assert changed(before, path) == after
    assert changed(after, path) == after


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "cuda: true\ncudnn_benchmark: true\nrun_name: cuda:0-baseline  # keep\n"),
        ("a.yaml", "device: cuda_fast\ndevice_note: cuda is best\nbackend: cuda\n"),
        ("a.yaml", "device: |\n  cuda\n"),
        ("a.yaml", "? [device, cuda]\n: cuda\n"),
        ("a.yaml", "cuda:\n  kind: device\n"),
        ("a.json", '["cuda", {"device": "cuda"}]'),
        ("a.json", '{"device": "c\\u0075da"}'),
        ("a.toml", 'text = """\ndevice = "cuda"\n"""\n# device = "cuda"\n'),
        ("a.ini", "[a]\ntext = b\n  device = cuda\n"),
        (".github/workflows/a.yml", "device: cuda\n"),
        (".vscode/launch.json", '{"device": "cuda"}'),
        ("docker-compose.yml", "services: {a: {device: cuda}}\n"),
        ("pod.yaml", "apiVersion: v1\nkind: Pod\ndevice: cuda\n"),
        ("pyproject.toml", '[tool.x]\ndevice = "cuda"\n'),
    ],
)
def test_what_is_something_else_stays_and_is_named(path, text):
    result = run(text, path)
    assert result.status is Status.UNCHANGED
    assert rules(result) == ([] if "\\u" in text else ["NPU903"])


def test_what_was_dealt_with_is_not_named_again():
    result = run("device: cuda\nuse: cuda\n# cuda\n")
    assert [finding.message[-3:] for finding in result.findings] == [": 2"]


# --- anchors, duplicate keys


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: &d cuda\ndevice: *d\n", None),
        ("device: &d cuda\nmap_location: *d\n", "device: &d npu\nmap_location: *d\n"),
        ("base: &b {device: cuda}\nrun:\n  <<: *b\n", "base: &b {device: npu}\nrun:\n  <<: *b\n"),
        ("x: &e {CUDA_LAUNCH_BLOCKING: 1}\nenv: *e\n", "x: &e {ASCEND_LAUNCH_BLOCKING: 1}\nenv: *e\n"),
        ("device: cuda\ndevice: cpu\n", None),
        ("a: {device: cuda}\na: {device: cpu}\n", None),
    ],
)
def test_a_value_that_other_places_share(before, after):
    result = run(before)
    assert changed(before) == (after or before)
    if after is None:
        assert "NPU615" in rules(result)


def test_duplicate_keys_in_json():
    result = run('{"device": "cuda", "device": "cuda"}', "a.json")
    assert (result.status, rules(result)) == (Status.UNCHANGED, ["NPU615", "NPU615"])


def test_aliases_that_multiply_or_lead_back_take_no_time():
    bomb = "a0: &a0 {device: cuda}\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 40))
    assert changed(bomb) == bomb.replace("cuda", "npu")
    assert changed("a: &a\n  device: cuda\n  b: *a\n") == "a: &a\n  device: npu\n  b: *a\n"


# --- what can't be read


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("a.yaml", "a:\n\tdevice: cuda\n", "line 2"),
        ("a.yaml", "{{ if x }}\ndevice: cuda\n", "a template"),
        ("a.yaml", "device: cuda\n{% if x %}\n", "in a template"),
        ("a.yaml", "device: cuda\nname: {{ name }}\n", "line 2: a template"),
        ("a.yaml", "device: [cuda\n", "line"),
        ("a.yaml", "device: cuda\nx: \x07\n", ""),
        ("a.json", '{"device": "cuda", // here\n}', "line 1"),
        ("a.json", "[" * 100_000 + '"cuda"', ""),
        ("a.yaml", "[" * 100_000 + "cuda", ""),
        ("a.toml", "device = cuda\n", ""),
        ("a.toml", 'device = "cuda"\ndevice = "cuda"\n', ""),
        ("a.ini", "device = cuda\n", "section"),
        ("a.ini", "[a]\ndevice = cuda\ndevice = cuda\n", "already exists"),
    ],
)
def test_a_file_that_can_not_be_read_is_left_and_reported_with_the_reason(path, text, reason):
    result = run(text, path)
    assert (result.status, rules(result)) == (Status.UNCHANGED, ["NPU616"])
    assert reason in result.findings[0].message


@pytest.mark.parametrize("text", ["{{ x }}\n", "\ta: [\n", "a: {{ x }}\nrequires: gpu\n"])
def test_a_file_that_can_not_be_read_and_has_no_cuda_word_is_none_of_our_business(text):
    assert run(text).findings == ()


def test_expressions_of_workflows_are_no_template():
    text = "env:\n  CUDA_VISIBLE_DEVICES: ${{ matrix.cards }}\n"
    assert changed(text, ".github/workflows/a.yml") == text.replace("CUDA_", "ASCEND_RT_")


@pytest.mark.parametrize(
    "data",
    [
        "# 设备\ndevice: cuda\n".encode("gbk"),
        "device: cuda\n".encode("utf-16"),
        b"device: cuda\n\xff\xfe\n",
    ],
)
def test_other_encodings_are_only_mentioned(data):
    result = run(data)
    assert (result.status, rules(result)) == (Status.UNCHANGED, ["NPU903"])


@pytest.mark.parametrize(
    "path", ["a.yaml", "a.json", "a.toml", "a.ini", "requirements.txt", "Dockerfile", "Makefile"]
)
@pytest.mark.parametrize(
    "data", [b"", b"\0cuda\0", b"\n\n", codecs.BOM_UTF8, b"cuda", b"\r", b"'\"\\", b"{{", b"&a *b"]
)
def test_no_content_is_a_crash(path, data):
    assert run(data, path).status is Status.UNCHANGED


def test_bom_line_ends_and_the_missing_newline_stay():
    data = codecs.BOM_UTF8 + "# 中文\r\ndevice: cuda\r\nb: 1".encode()
    assert run(data).data == data.replace(b"cuda", b"npu")


# --- variables


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "compose.yaml",
            "environment:\n  - CUDA_VISIBLE_DEVICES=0\n",
            "environment:\n  - ASCEND_RT_VISIBLE_DEVICES=0\n",
        ),
        (
            "compose.yaml",
            "environment:\n  - CUDA_VISIBLE_DEVICES\n",
            "environment:\n  - ASCEND_RT_VISIBLE_DEVICES\n",
        ),
        ("a.yaml", "env:\n  CUDA_VISIBLE_DEVICES: '0,1'\n", "env:\n  ASCEND_RT_VISIBLE_DEVICES: '0,1'\n"),
        (
            "a.yaml",
            "env:\n  - name: NCCL_SOCKET_IFNAME\n    value: eth0\n",
            "env:\n  - name: HCCL_SOCKET_IFNAME\n    value: eth0\n",
        ),
        ("a.json", '{"env": {"CUDA_LAUNCH_BLOCKING": "1"}}', '{"env": {"ASCEND_LAUNCH_BLOCKING": "1"}}'),
        ("a.toml", '[env]\nCUDA_LAUNCH_BLOCKING = "1"\n', '[env]\nASCEND_LAUNCH_BLOCKING = "1"\n'),
        ("a.ini", "[env]\nCUDA_LAUNCH_BLOCKING = 1\n", "[env]\nASCEND_LAUNCH_BLOCKING = 1\n"),
    ],
)
def test_environment_variables_follow(path, before, after):
    assert changed(before, path) == after
    assert changed(after, path) == after


def test_what_reads_a_variable_follows():
    text = (
        "env: # CUDA_VISIBLE_DEVICES\n  CUDA_VISIBLE_DEVICES: 0\n"
        "run: |\n  a $CUDA_VISIBLE_DEVICES ${CUDA_VISIBLE_DEVICES:-0}\nif: ${{ env.CUDA_VISIBLE_DEVICES }}\n"
    )
    first, rest = text[:30], text[30:]
    assert changed(text) == first + rest.replace("CUDA_", "ASCEND_RT_")


def test_a_variable_that_a_script_in_the_file_sets_too_stays():
    text = "env:\n  CUDA_VISIBLE_DEVICES: 0\nrun: |\n  export CUDA_VISIBLE_DEVICES=1\n"
    result = run(text)
    assert (result.status, rules(result)) == (Status.UNCHANGED, ["NPU615", "NPU903"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("env:\n  CUDA_VISIBLE_DEVICES: '3,1'\n", ["NPU602"]),
        ("env:\n  - name: CUDA_VISIBLE_DEVICES\n    value: '3,1'\n", ["NPU602"]),
        ("environment:\n  - NVIDIA_VISIBLE_DEVICES=all\n", ["NPU602"]),
        ("env:\n  NCCL_DEBUG: INFO\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\n", ["NPU602", "NPU603"]),
        ("env:\n  FORCE_CUDA: 1\nrun: unset FORCE_CUDA\n", ["NPU603", "NPU903"]),
        ("table:\n  CUDA_VISIBLE_DEVICES: 0\n", ["NPU903"]),
    ],
)
def test_variables_that_do_not_carry_over(text, expected):
    result = run(text)
    assert (result.status, rules(result)) == (Status.UNCHANGED, expected)


# --- settings


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.yaml", "trainer: {accelerator: gpu, devices: 8}\n", ["NPU614"]),
        ("a.yaml", "resources: {gpus: 8}\n", []),
        ("compose.yaml", "deploy:\n  devices:\n    - driver: nvidia\n      count: 1\n", ["NPU621"]),
        ("compose.yaml", "image: nvidia/cuda:12.1.0-base\n", ["NPU620"]),
        ("pod.yaml", "apiVersion: v1\nkind: Pod\nlimits:\n  nvidia.com/gpu: 1\n", ["NPU621"]),
        (
            "environment.yml",
            "channels: [nvidia]\ndependencies:\n  - pytorch-cuda=11.8\n  - pip:\n    - cupy-cuda11x\n",
            ["NPU631", "NPU631", "NPU630"],
        ),
    ],
)
def test_settings_for_gpus_are_reported(path, text, expected):
    result = run(text, path)
    assert (result.status, rules(result)) == (Status.UNCHANGED, expected)
    assert all(finding.advice for finding in result.findings)


def test_the_attention_changes_only_when_asked():
    text = '{"attn_implementation": "flash_attention_2"}'
    assert changed(text, "a.json") == text
    assert [change.applied for change in run(text, "a.json").changes] == [False]
    assert changed(text, "a.json", unsafe=True) == '{"attn_implementation": "sdpa"}'


# --- selection


@pytest.mark.parametrize(
    "text",
    [
        "device: cuda  # cuda2npu: ignore\n",
        "# cuda2npu: ignore[NPU610]\ndevice: cuda\n",
        "# cuda2npu: skip-file\ndevice: cuda\n",
    ],
)
def test_comments_switch_rules_off(text):
    result = run(text)
    assert (changed(text), rules(result)) == (text, [])


def test_a_suppression_of_another_rule_does_nothing():
    assert changed("device: cuda  # cuda2npu: ignore[NPU4]\n").startswith("device: npu ")


def test_rules_are_selected():
    text = "device: cuda\nbackend: nccl\n"
    assert changed(text, select=("NPU611",)) == "device: cuda\nbackend: hccl\n"
    assert changed(text, ignore=("NPU611",)) == "device: npu\nbackend: nccl\n"


def test_chinese():
    assert "设备" in run("device: cuda\n", lang="zh").changes[0].message


def test_keys_of_ones_own(tmp_path):
    (tmp_path / "own.toml").write_text('[keys]\ndevice = ["where"]\n')
    assert changed("where: cuda\n", rules=(str(tmp_path / "own.toml"),)) == "where: npu\n"


# --- the command line


def test_a_configuration_alone_on_the_command_line(tmp_path, write, cli):
    write(tmp_path, {"config.yaml": "device: cuda\n", "Dockerfile": "FROM nvidia/cuda:12.1.0-base\n"})
    ran = cli("convert", tmp_path / "config.yaml", "--diff", "--quiet", "--unsafe")
    assert "-device: cuda\n+device: npu\n" in ran.out
    ran = cli("check", tmp_path / "Dockerfile")
    assert (ran.code, "NPU620" in ran.out) == (1, True)
    write(tmp_path, {"train.py": "import torch\n"})
    cli("convert", tmp_path, "--in-place")
    assert (tmp_path / "config.yaml").read_text() == "device: npu\n"
    again = cli("convert", tmp_path, "--diff", "--quiet")
    assert again.out == ""


def test_a_change_that_is_only_offered_is_in_the_report(tmp_path, write, cli):
    write(tmp_path, {"requirements.txt": "torch\n"})
    assert "NPU632" in cli("check", tmp_path).out
    cli("convert", tmp_path, "--in-place", "--unsafe")
    assert (tmp_path / "requirements.txt").read_text() == "torch\ntorch_npu==2.7.1.*\n"


def test_data_above_the_limit_is_not_read(tmp_path, write, cli):
    write(tmp_path, {"data.json": '{"device": "cuda", "x": "%s"}' % ("x" * (1 << 20))})
    assert cli("check", tmp_path).out == ""


# --- nothing else changes

KEYS = st.sampled_from(
    ["device", "run_name", "backend", "map_location", "use_cuda", "env", "dist-backend", "x y", "名"]
)
WORDS = st.sampled_from(
    ["cuda", "cuda:0", "nccl", "cuda:0-x", "npu-x", "a: b", "#x", "it's", '"', "\\", "[", "中", "", " cuda"]
)
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        WORDS | st.integers(0, 9) | st.booleans(),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
        max_leaves=8,
    ),
    min_size=1,
    max_size=4,
)


def expected(tree: object, key: str = "") -> object:
    """What the conversion of a tree has to read as."""
    if isinstance(tree, dict):
        return {name: expected(value, name) for name, value in tree.items()}
    if isinstance(tree, list):
        return [expected(item, key) for item in tree]
    if tree in ("cuda", "cuda:0") and key in ("device", "map_location"):
        return str(tree).replace("cuda", "npu")
    return "hccl" if tree == "nccl" and key in ("backend", "dist-backend") else tree


@pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=TREES, flow=st.booleans(), quote=st.sampled_from([None, "'", '"']))
def test_yaml_reads_the_same_but_for_what_was_intended(monkeypatch, loader, tree, flow, quote):
    monkeypatch.setattr(yaml_file, "_Loader", loader)
    text = yaml.safe_dump(
        tree, default_flow_style=flow, default_style=quote, allow_unicode=True, sort_keys=False
    )
    if "{{" not in text:
        assert yaml.safe_load(changed(text)) == expected(tree)


@settings(max_examples=150, deadline=None)
@given(TREES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_json_reads_the_same_but_for_what_was_intended(tree, indent, ascii_only):
    text = json.dumps(tree, indent=indent, ensure_ascii=ascii_only)
    assert json.loads(changed(text, "a.json")) == expected(tree)


def toml(tree: object) -> str:
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(value)}" for key, value in tree.items()) + "}"
    return "[" + ", ".join(map(toml, tree)) + "]" if isinstance(tree, list) else json.dumps(tree)


@settings(max_examples=150, deadline=None)
@given(TREES, st.booleans())
def test_toml_reads_the_same_but_for_what_was_intended(tree, tables):
    lines = []
    for key, value in tree.items():
        if tables and isinstance(value, dict):
            lines.append(
                f"[{json.dumps(key)}]\n" + "".join(f"{json.dumps(k)} = {toml(v)}\n" for k, v in value.items())
            )
        else:
            lines.insert(0, f"{json.dumps(key)} = {toml(value)}  # cuda\n")
    text = "".join(lines)
    assert tomllib.loads(changed(text, "a.toml")) == expected(tree)


PLAIN = st.dictionaries(KEYS, WORDS.map(str.strip) | st.just("two\n  cuda"), max_size=4)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b", "env"]), PLAIN, max_size=3))
def test_ini_reads_the_same_but_for_what_was_intended(tree):
    text = "".join(
        f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in items.items()) for name, items in tree.items()
    )

    def read(text: str) -> dict[str, dict[str, str]]:
        parser = configparser.RawConfigParser()
        parser.read_string(text)
        return {name: dict(parser[name]) for name in parser.sections()}

    before = read(text)
    assert read(changed(text, "a.ini")) == expected(before)


# --- noise


def test_names_of_models_are_no_use_of_cuda():
    assert rules(run("model: nvidia/canary-1b\ndata: [NVIDIA/x]\n")) == []
    assert rules(run("image: nvidia/cuda\n", "compose.yaml")) == ["NPU620"]


def test_texts_for_other_programs_may_hold_braces():
    text = "device: cuda\nscript: |\n  {{ x }}\nname: '{{ x }}'\n"
    assert changed(text) == text.replace("cuda", "npu")


@pytest.mark.parametrize(
    ("line", "mentioned"),
    [
        ("name: base  # trained on cuda", False),
        ("name: 'a # cuda'", True),
        ('name: "it\'s" # cuda', True),  # the quotes aren't told apart, so it is mentioned to be sure
        ("name: a#cuda", True),
    ],
)
def test_a_comment_behind_a_value_is_no_use_of_cuda(line: str, mentioned: bool) -> None:
    result = convert(f"{line}\n".encode(), "a.yaml", Settings())
    assert (result is not None) is mentioned


# --- whose program reads it


@pytest.mark.parametrize("text", ["device: cuda\n", "backend: nccl\n"])
def test_without_a_program_for_torch_a_device_is_only_offered(text):
    result = convert(text.encode(), "a.yaml", Settings(), uses_torch=False)
    assert result is not None
    assert [(change.applied, change.applicability.value) for change in result.changes] == [(False, "unsafe")]
    result = convert(text.encode(), "a.yaml", Settings(unsafe=True), uses_torch=False)
    assert result is not None
    assert result.status is Status.CHANGED


@pytest.mark.parametrize(
    ("name", "code", "follows"),
    [
        ("t.py", "import torch\n", True),
        ("t.py", "from transformers import pipeline\n", True),
        ("t.ipynb", '{"cells": [{"source": ["x = 1\\n", "import torch\\n"]}]}', True),
        ("t.py", "import mxnet\n", False),
        ("t.txt", "import torch\n", False),
    ],
)
def test_the_device_follows_where_python_code_works_with_torch(tmp_path, write, cli, name, code, follows):
    write(tmp_path, {"c.yaml": "device: cuda\n", name: code})
    cli("convert", tmp_path, "--in-place")
    assert (tmp_path / "c.yaml").read_text() == ("device: npu\n" if follows else "device: cuda\n")


@pytest.mark.parametrize(
    "text",
    [
        "xgboost: {device: cuda}\n",
        "lightgbm:\n  params:\n    device: cuda\n",
        "engine: onnxruntime\ndevice: cuda\n",
    ],
)
def test_the_device_of_another_library_stays(text):
    assert changed(text) == text


# --- words that are more than a device


@pytest.mark.parametrize("item", ["device: cuda", "/device: cuda", "override /device: cuda"])
def test_the_files_that_hydra_puts_together_keep_their_names(item):
    text = f"defaults:\n  - _self_\n  - {item}\ntrain:\n  device: cuda\n"
    assert changed(text) == text.replace("  device: cuda\n", "  device: npu\n")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "device: cuda\nlr: {cuda: 0.1, cpu: 0.2}\n"),
        ("a.yaml", "device: cuda:0\nlr:\n  'cuda': 0.1\n"),
        ("a.yaml", "device: cuda\nallowed: {cuda: true, cpu: false}\n"),
        ("a.yaml", "device: cuda\nlr: ${lrs.${device}}\n"),
        ("a.yaml", "device: cuda\nextra: conf/${train.device}.yaml\n"),
        ("a.yaml", "device: cuda\nprofiles: [{name: cuda}]\n"),
        ("a.yaml", "backend: nccl\nnccl: {timeout: 5}\n"),
        ("a.json", '{"device": "cuda", "lr": {"cuda":0.1}}'),
        ("a.json", '{"device": "cuda", "schema": {"device": {"enum": ["cuda", "cpu"]}}}'),
        ("a.toml", 'device = "cuda"\n[devices.cuda]\nlr = 0.1\n'),
        ("a.toml", 'device = "cuda"\n[lr]\ncuda = 0.1\n'),
        ("a.ini", "[a]\ndevice = cuda\n[cuda]\nlr = 1\n"),
    ],
)
def test_a_device_that_names_something_else_too_is_reported(path, text):
    result = run(text, path)
    assert result.status is Status.UNCHANGED
    assert "NPU615" in rules(result)


@pytest.mark.parametrize(
    "text",
    [
        "device: cuda\ncuda: true\n",
        "device: cuda\nuse_cuda: {x: 1}\n",
        "device: cuda\nrun_name: ${device}-x\n",
        "devices: [cuda, cpu]\n",
        "{cuda: on, device: cuda}\n",
    ],
)
def test_a_switch_called_cuda_is_no_name_of_a_device(text):
    assert "NPU615" not in rules(run(text))
    assert run(text).status is Status.CHANGED


@pytest.mark.parametrize(
    "text",
    [
        "device_config: cuda\n",
        "device_name: cuda\n",
        "device_file: cuda\n",
        "devices_dir: cuda\n",
        "backend_config: nccl\n",
        "distributed_backend_file: nccl\n",
    ],
)
def test_what_only_begins_as_a_device_is_something_else(text):
    assert changed(text) == text
    assert rules(run(text)) == ["NPU903"]


@pytest.mark.parametrize(
    "key", ["deviceType", "teacher-device", "gen_devices", "device_map", "x.device", "DEVICE"]
)
def test_other_spellings_of_device(key):
    assert changed(f"{key}: cuda\n") == f"{key}: npu\n"


@pytest.mark.parametrize(
    "path",
    ["docker/compose.gpu.yml", "docker-bake.json", "charts/app/values.yaml", "terraform.tfvars.json"],
)
def test_what_builds_and_deploys_is_no_configuration_of_the_program(path):
    text = '{"device": "cuda"}'
    assert changed(text, path) == text
    assert rules(run(text, path)) == ["NPU903"]


# --- files that are only mentioned


@pytest.mark.parametrize(
    "path", ["results/a.json", "tests/golden/a.json", "eval_results/x/a.json", "wandb/run-1/files/a.json"]
)
def test_what_was_measured_on_cuda_stays(path):
    text = '{"device": "cuda:0", "env": {"CUDA_VISIBLE_DEVICES": "0"}}'
    result = run(text, path)
    assert (result.status, rules(result)) == (Status.UNCHANGED, ["NPU903"])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "gpu: {device: cuda}\nascend: {device: 'npu:0'}\n"),
        ("a.yaml", "device: cuda\nlr: {npu: 0.1}\n"),
        ("a.yaml", "a: {backend: nccl}\nb: {backend: hccl}\n"),
        ("a.yaml", "env: {CUDA_VISIBLE_DEVICES: '0', ASCEND_RT_VISIBLE_DEVICES: '1'}\n"),
        ("a.json", '{"env": {"CUDA_VISIBLE_DEVICES": "0", "ASCEND_RT_VISIBLE_DEVICES": "1"}}'),
        ("a.toml", '[env]\nCUDA_VISIBLE_DEVICES = "0"\nASCEND_RT_VISIBLE_DEVICES = 1\n'),
        ("a.ini", "[env]\nCUDA_VISIBLE_DEVICES = 0\nASCEND_RT_VISIBLE_DEVICES = 1\n"),
    ],
)
def test_a_configuration_that_has_values_for_the_npu_keeps_those_for_cuda(path, text):
    result = run(text, path)
    assert (result.status, rules(result)) == (Status.UNCHANGED, ["NPU903"])


def test_a_comment_about_the_npu_is_no_value_for_it():
    text = "device: cuda  # npu: set ASCEND_RT_VISIBLE_DEVICES\n"
    assert changed(text) == text.replace("cuda", "npu")


def test_packages_of_a_project_with_an_extra_for_the_npu_are_reported():
    text = '[project.optional-dependencies]\nnpu = ["torch_npu"]\ngpu = ["flash-attn"]\n'
    assert rules(run(text, "pyproject.toml")) == ["NPU630"]


# --- variables that other places share


@pytest.mark.parametrize("before_name", ['echo "GPU #', "x='#'; export "])
def test_a_hash_in_quotes_hides_no_use_of_a_variable(before_name):
    text = f"env: {{CUDA_VISIBLE_DEVICES: '0'}}\nrun: |\n  {before_name}CUDA_VISIBLE_DEVICES=1\"\n"
    result = run(text)
    assert (result.status, "NPU615" in rules(result)) == (Status.UNCHANGED, True)


@pytest.mark.parametrize(
    ("text", "follows"),
    [
        ("a: &env {CUDA_VISIBLE_DEVICES: '0'}\nenv: *env\nparams: *env\n", False),
        ("env: &e {CUDA_VISIBLE_DEVICES: '0'}\nparams: {<<: *e}\n", False),
        ("a: &e {CUDA_VISIBLE_DEVICES: '0'}\nrun: {env: {<<: *e}}\n", True),
        ("a: {env: &e {CUDA_VISIBLE_DEVICES: '0'}}\nb: {env: *e}\n", True),
    ],
)
def test_a_variable_that_is_also_a_key_of_something_else_stays(text, follows):
    result = run(text)
    assert (result.status is Status.CHANGED, "NPU615" in rules(result)) == (follows, not follows)


# --- odd contents


def test_json_with_nan_follows():
    text = '{"device": "cuda", "best": NaN, "least": -Infinity}'
    assert changed(text, "a.json") == text.replace("cuda", "npu")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("configs/environment.yaml", "device: cuda\nname: CartPole\n"),
        ("configs/meta.yaml", "device: cuda\nshots: 5\n"),
        ("conf/package_model.json", '{"device": "cuda"}'),
        ("a.yaml", "apiVersion: 1\nkind: classifier\ndevice: cuda\n"),
    ],
)
def test_names_of_packaging_files_may_be_those_of_the_program(path, text):
    assert changed(text, path) == text.replace("cuda", "npu")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("environment.yml", "dependencies: [python]\ndevice: cuda\n"),
        ("env.yaml", "name: x\nchannels: [conda-forge]\ndependencies: [python]\ndevice: cuda\n"),
        ("recipe/meta.yaml", "package: {name: x}\nbuild: {number: 0}\ndevice: cuda\n"),
        ("pod.yaml", "apiVersion: batch/v1beta1\nkind: Job\ndevice: cuda\n"),
    ],
)
def test_files_of_conda_and_kubernetes_are_known_by_what_they_say(path, text):
    assert changed(text, path) == text


def test_files_of_conda_may_have_any_name():
    text = "channels: [nvidia]\ndependencies: [cudatoolkit=11.3, {pip: [flash-attn]}]\n"
    assert rules(run("name: x\n" + text, "gpu_env.yml")) == ["NPU631", "NPU631", "NPU630"]


# --- long lines


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "# cuda2npu: ignore[NPU4]\n[" + "{device: cuda}, " * 20_000 + "]\n"),
        ("a.ini", "[a]\nx = a" + " " * 200_000 + "cuda\ndevice = cuda\n"),
        ("a.ini", "[a]\nx" + " " * 200_000 + "cuda = 1\n"),
    ],
)
def test_a_long_line_takes_no_time(path, text):
    began = time.process_time()
    run(text, path)
    assert time.process_time() - began < 30  # in square of the length it would be minutes


# --- other kinds of files

SET = "export CUDA_VISIBLE_DEVICES=0\npython train.py\n"


@pytest.mark.parametrize("path", ["run.zsh", "run.ksh", ".envrc", ".env.local", "a/.env.prod", "env.sample"])
def test_what_is_written_as_for_bash_is_converted(path):
    assert changed(SET, path) == SET.replace("CUDA_", "ASCEND_RT_")


@pytest.mark.parametrize(
    "path",
    [
        *("run.csh", "run.tcsh", "run.fish", "run.pbs", "run.lsf", "a.jsonc", "a.json5", "Jenkinsfile"),
        *(
            "justfile",
            "Procfile",
            "Pipfile",
            "MLproject",
            "a.service",
            "a.tf",
            "a.tfvars",
            "a.gin",
            "a.hocon",
        ),
        *(
            "a.properties",
            "values.yaml.j2",
            "run.sh.jinja",
            "a.tmpl",
            "a.yaml.template",
            "a.tpl",
            "run.sh.in",
        ),
        *("a.cfg.in", "a.pyx", "a.pxd", "image.def"),
    ],
)
def test_files_of_other_kinds_are_mentioned(path):
    assert may_concern(path)
    result = run(SET, path)
    assert (result.status, rules(result)) == (Status.UNCHANGED, ["NPU903"])


@pytest.mark.parametrize("path", ["a.jsonl", "a.txt", "a.md", "a.in", "a.xml", "a.csv", "env.py"])
def test_data_and_prose_are_none_of_our_business(path):
    assert not may_concern(path)


def test_of_a_large_file_that_is_no_data_the_beginning_is_looked_through():
    result = run("device: cuda\nx: " + "x" * (1 << 20), "big.yaml")
    assert "first MiB" in result.findings[0].message
    assert run('{"device": "cuda", "x": "' + "x" * (1 << 20), "big.json").findings == ()


def test_the_reason_for_a_file_in_another_encoding_is_said():
    assert "not UTF-8" in run("# 设备\ndevice: cuda\n".encode("gbk")).findings[0].message


# --- ways to ask for a build of torch for CUDA


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "pyproject.toml",
            '[project]\ndependencies = ["torch @ https://x.org/whl/cu118/torch-2.1.0%2Bcu118-cp310.whl"]\n',
            ["NPU631"],
        ),
        ("pyproject.toml", '[[tool.uv.index]]\nname = "x"\nurl = "https://x.org/whl/cu121"\n', ["NPU631"]),
        ("pyproject.toml", '[[tool.poetry.source]]\nurl = "https://x.org/whl/cu118"\n', ["NPU631"]),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "2.1.0+cu118"\n', ["NPU631"]),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\ntorch = {url = "https://x.org/torch-2.1.0%2Bcu118-cp310.whl"}\n',
            ["NPU631"],
        ),
        ("pyproject.toml", '[tool.hatch.envs.default]\ndependencies = ["flash-attn"]\n', ["NPU630"]),
        ("pyproject.toml", '[tool.pdm.dev-dependencies]\ngpu = ["xformers"]\n', ["NPU630"]),
        ("pyproject.toml", '[tool.uv]\ndev-dependencies = ["pynvml"]\n', ["NPU630"]),
        ("environment.yml", "dependencies:\n  - conda-forge::cupy\n", ["NPU630"]),
        ("environment.yml", "dependencies:\n  - pytorch::pytorch=1.13\n", ["NPU633"]),
        (
            "environment.yml",
            "dependencies:\n  - pip:\n    - --extra-index-url https://x.org/whl/cu118\n",
            ["NPU631"],
        ),
        ("requirements.txt", "./wheels/flash_attn-2.5-cp310.whl\n", ["NPU630"]),
        ("system_requirements.txt", "torch is needed, and a GPU.\n", []),
    ],
)
def test_packages_are_found_however_they_are_asked_for(path, text, expected):
    result = run(text, path)
    assert (result.status, rules(result), len(result.changes)) == (Status.UNCHANGED, expected, 0)


def test_the_marker_of_torch_is_that_of_torch_npu_too():
    text = 'torch>=2; sys_platform == "linux"  # the base\n'
    assert changed(text, "requirements.txt", unsafe=True) == (
        text + 'torch_npu==2.7.1.*; sys_platform == "linux"\n'
    )
