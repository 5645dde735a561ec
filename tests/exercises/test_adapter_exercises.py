"""Exercises on operators of PyTorch: what no mutant of the workbook's own exercises shows. Operators here are Python's,
so nothing is built but a kernel.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402

import labkit  # noqa: E402
from labkit import messages  # noqa: E402
from labkit.exercises import Case, OnHost, Refuses, operators  # noqa: E402
from labkit.exercises.diagnose import Diagnosis  # noqa: E402
from labkit.exercises.failure import to_show  # noqa: E402
from labkit.exercises.judge import check, examine  # noqa: E402
from labkit.exercises.spec import load  # noqa: E402
from labkit.exercises.stub import template  # noqa: E402

pytestmark = simulated
SPEC = SimpleNamespace(in_python=True, entry="tried::twice", folder=Path("kernels/op/exercises/x"))
HEAD = """
import torch, labkit
kernel = labkit.kernel("kernels/swiglu_small/swiglu_small.asc", entry="swiglu_small")
lib = torch.library.Library("tried", "FRAGMENT")
def launched(x):
    y = torch.empty_like(x)
    kernel[1](x, x, y, y.numel())
    return y
"""


def made(body: str) -> operators.Operator | Diagnosis:
    return operators.build(HEAD + body, "exercise tried", SPEC)


def plain(extra: str = "", function: str = "launched") -> operators.Operator:
    return made(f'lib.define("twice(Tensor x) -> Tensor")\nlib.impl("twice", {function}, "PrivateUse1")\n{extra}')


def key(op, probe="call", expected=None, args=None, run=None) -> str:
    x = torch.linspace(-2, 2, 12).reshape(3, 4)
    args = args or (x,)
    if expected is None:
        expected = torch.nn.functional.silu(x) * x
    found, _, _ = operators.judge(SPEC, op, Case("a case", args, expected, (1e-4, 1e-5), probe=probe, run=run))
    return found.key if found else "right"


META = 'torch.library.register_fake("tried::twice", lambda x: torch.empty_like(x), lib=lib)\n'


def test_right_and_registered_again():
    for _ in range(3):
        op = plain(META)
        assert op.keys() == ["PrivateUse1", "Meta"] and op.arguments == ["x"]
        assert key(op) == "right" and key(op, "meta") == "right" and key(op, "opcheck") == "right"
    assert key(op, expected=torch.zeros(3, 4)) != "right" and key(op, "opcheck") == "right"
    assert key(op, args=(torch.zeros(0),), expected=torch.zeros(0)) == "right", "nothing to launch is no missing launch"


def test_exercises_may_use_the_same_names():
    for name in ("grad_register", "grad_amp", "grad_register", "reg_bind", "grad_amp"):
        assert examine(load(name), template(load(name)).solution(), 2).passed, name


def test_what_is_not_there():
    assert made('lib.define("other(Tensor x) -> Tensor")').key == "op-missing"
    assert made('lib.define("twice(Tensor x) -> Tensor")\nlib.impl("twice", launched, "CPU")').numbers["keys"] == "CPU"
    op = plain()
    assert (
        key(op, "meta") == key(op, "opcheck") == "op-no-meta"
        and key(op, "grad", lambda x: x * torch.sigmoid(x) * x) == "op-no-grad"
    )


@pytest.mark.parametrize(
    "function, wanted",
    [
        ("lambda x: torch.nn.functional.silu(x) * x", "op-no-launch"),
        ("lambda x: (launched(x), x)[1]", "op-aliases"),
        ("lambda x: (x.mul_(2), launched(x))[1]", "op-mutates"),
    ],
)
def test_what_opcheck_sees(function, wanted):
    op = plain(META, function)
    assert wanted in (key(op), key(op, "opcheck"))


def test_more_results_than_the_schema_has():
    """PyTorch 2.13 ends the process there."""
    body = 'lib.define("twice(Tensor x) -> (Tensor, Tensor)")\ndef two(x):\n    return {}\n'
    body += 'lib.impl("twice", two, "PrivateUse1")\n'
    x = torch.linspace(-2, 2, 12).reshape(3, 4)
    wanted = (torch.nn.functional.silu(x) * x, x)
    assert key(made(body.format("launched(x), x.clone()")), expected=wanted) == "right"
    assert key(made(body.format("launched(x), x.clone(), x.clone()")), expected=wanted) == "op-raised"


DEEPER = """
import weakref
class Held: pass
def released(n): return n and released(n - 1)
def deeper(x):
    one = Held()
    one.itself = one
    weakref.finalize(one, released, 30)
    del one
    return torch.ops.tried.twice(x)
lib.define("twice(Tensor x) -> Tensor")
lib.impl("twice", deeper, "PrivateUse1")
"""


def test_no_finalizer_runs_where_an_operator_calls_itself_for_ever(monkeypatch):
    op, failed = made(DEEPER), []
    monkeypatch.setattr(sys, "unraisablehook", failed.append)
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        assert key(op) == "op-recursion"
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert not failed and gc.isenabled()


def test_the_way_back_without_a_kernel():
    def backward(way):
        function = f"lambda ctx, grad: {way}"
        return f'{META}torch.library.register_autograd("tried::twice", {function}, lib=lib)\n'

    assert key(plain(backward("2 * grad")), "back") == "op-no-launch-back"
    assert key(plain(backward("launched(grad.contiguous())")), "back") == "right"


def test_refusals():
    op = plain()
    x = torch.ones(4, 4)
    assert key(op, expected=Refuses(("contiguous",)), args=(x,)) == "op-accepts"
    assert key(op, expected=Refuses(("contiguous",)), args=(x.T[:2],)) == "op-other-error", (
        "the lab refuses it, the operator does not"
    )
    strict = plain(
        function="lambda x: launched(x) if x.is_contiguous() else (_ for _ in ()).throw(RuntimeError('not contiguous'))"
    )
    assert key(strict, expected=Refuses(("contiguous", "连续")), args=(torch.ones(4, 8)[:, :4],)) == "right"
    assert key(strict, expected=Refuses(("shape",)), args=(torch.ones(4, 8)[:, :4],)) == "op-other-error"
    assert key(strict) == "right" and key(strict, args=(torch.ones(4, 8)[:, :4],)) == "op-raised"


def test_what_a_missing_check_leads_to_is_said():
    def reads_too_far(op, args, case):
        kernel = labkit.kernel("kernels/swiglu_small/swiglu_small.asc", entry="swiglu_small")
        kernel[1](args[0], args[0], args[0], 2 * args[0].numel())

    found, record, _ = operators.judge(
        SPEC, plain(), Case("short", (torch.ones(64),), Refuses(("shape",)), run=reads_too_far)
    )
    assert found.key == "op-accepts" and "gm-bounds" in found.lines()[0] and not record.ok
    assert (
        operators.judge(SPEC, plain(), Case("short", (torch.ones(64),), torch.ones(64), run=reads_too_far))[0].key
        == "gm-bounds"
    )


def test_layouts_reach_the_operator_as_they_are():
    seen = []
    x = torch.arange(24.0).reshape(4, 6)
    for view in (x, x.T, x[1:, 2:4], x[:, :3]):
        operators.judge(
            SPEC,
            plain(),
            Case(
                "view",
                (view,),
                view,
                run=lambda op, args, case: seen.append((args[0].stride(), args[0].cpu().tolist())),
            ),
        )
        assert seen[-1] == (view.stride(), view.tolist())
    operators.judge(
        SPEC, plain(), Case("host", (OnHost(x),), x, run=lambda op, args, case: seen.append(args[0].device.type))
    )
    assert seen[-1] == "cpu"


@pytest.mark.filterwarnings("ignore:tried")
def test_the_fourth_utility_refuses_every_privateuse1_device():
    """The notebook says so: if PyTorch changes it, ALLOWED can grow."""
    plain(META)
    said = torch.library.opcheck(
        torch.ops.tried.twice.default, (torch.ones(4, device="npu", requires_grad=True),), raise_exception=False
    )
    assert {k: str(v) for k, v in said.items() if k in operators.ALLOWED} == dict.fromkeys(operators.ALLOWED, "SUCCESS")
    assert "NYI devices other than" in str(said["test_autograd_registration"])


def test_the_first_failing_case_of_an_operator_is_shown():
    failures = [
        SimpleNamespace(diagnosis=Diagnosis(k, finding=f), fatal=False)
        for k, f in (("scattered", None), ("op-double", None), ("gm-bounds", object()))
    ]
    assert (
        to_show(failures, in_order=True).diagnosis.key == "gm-bounds"
        and to_show(failures[:2], in_order=True).diagnosis.key == "scattered"
    )
    assert to_show(failures[:2]).diagnosis.key == "op-double"


def test_a_check_of_a_learner():
    spec = load("grad_register")
    ours = template(spec)
    result = check("grad_register", ours.mutant(("", "1 / 0")), first_line=2)
    assert (
        result.diagnosis == "op-grad-error" and result.where == "exercise grad_register:4" and result.target == "twin"
    )
    assert examine(spec, "import nothing_there\n# ---- region 2 of 2 ----\npass").diagnosis == "op-grad-error"
    assert examine(load("reg_meta"), "return x.new_empty(").diagnosis == "bracket-open"
    assert check("grad_register", ours.solution()).passed and torch.ops.mine.swiglu(
        *(torch.ones(3, device="npu"),) * 2
    ).shape == (3,)


def test_an_unreadable_schema_names_the_cells_line():
    ours = template(load("reg_bind"))
    cell = ours.solution().replace("-> Tensor", "-> Tensr")
    result = check("reg_bind", cell, first_line=2)
    assert (
        result.diagnosis == "op-registration"
        and "exercise reg_bind:2: PyTorch cannot read the schema" in result.lines[0]
    )


def test_every_diagnosis_has_its_three_lines():
    keys = [k for k in messages.tables() if k.startswith("diagnosis.op-")]
    source = Path(operators.__file__).read_text(encoding="utf-8")
    assert len(keys) > 20
    for name in keys:
        assert (
            name == "diagnosis.op-accepts"
            or name in ("diagnosis.op-double", "diagnosis.op-not-noticed")
            or f'"{name[10:]}"' in source
            or name.startswith("diagnosis.op-meta-")
        ), name
        for lang in messages.LANGUAGES:
            assert len(messages.lines(name, lang=lang)) == 3


def test_the_known_wrong_gradients_are_wrong():
    """Of rms_norm, each for one argument: none of them is what autograd gives, and no two are the same."""
    golden = load("project_op_rms_norm").golden
    g = torch.Generator().manual_seed(3)
    grad, x, weight = (torch.randn(*shape, generator=g).double() for shape in ((5, 9), (5, 9), (9,)))
    inputs = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
    right = torch.autograd.grad(golden.rms_norm(*inputs, 1e-5), inputs, grad)
    told = golden.rms_norm_gradients(grad, x, weight, 1e-5)
    assert {at for _, at, _ in told} == {0, 1}
    for k, (_, at, wrong) in enumerate(told):
        assert wrong.shape == right[at].shape and not torch.allclose(wrong, right[at], 1e-3)
        assert not any(at == other and torch.allclose(wrong, t, 1e-3) for _, other, t in told[:k])
