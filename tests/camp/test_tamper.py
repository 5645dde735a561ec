"""What a submission that runs beside its judge may not change."""

import builtins
import functools
import operator
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

from labkit.camp import confine, grade, remote, tamper, way
from labkit.camp.submission import Answer, Submission
from labkit.exercises import session
from labkit.exercises.spec import load
from labkit.exercises.stub import template


@pytest.fixture(scope="module")
def sealed():
    tamper.load("")
    return tamper.Seal().look()  # takes a second


@pytest.fixture
def look(sealed):
    """What has changed since the test began: pytest and the tests before it leave changes of their own."""
    before = {*sealed()}
    return lambda: {name: now for name, now in sealed().items() if name not in before}


def test_nothing_changed():
    tamper.load("")
    assert tamper.Seal().look()() == {}


@pytest.mark.parametrize(
    "owner, name, value, told",
    [
        (torch, "equal", torch.is_same_size, "torch.equal"),
        (torch.Tensor, "allclose", lambda *a: True, "torch.Tensor.allclose"),
        (torch.Tensor, "__eq__", operator.is_, "torch.Tensor.__eq__"),
        (builtins, "all", any, "builtins.all"),
        (np, "allclose", lambda *a: True, "numpy.allclose"),
        (sys.modules["labkit.camp.wire"], "LONGEST", 1, "labkit.camp.wire.LONGEST"),
        (sys.modules["labkit.camp.wire"], "os", sys, "labkit.camp.wire.os"),
        (sys.modules["labkit.camp.wire"], "all", any, "labkit.camp.wire.all"),
        (torch.nn.Module, "__bool__", lambda self: True, "torch.nn.modules.module.Module.__bool__"),
        (torch.optim.SGD, "step", functools.wraps(torch.optim.SGD.step)(lambda *a: None), "torch.optim.sgd.SGD.step"),
        (torch._dynamo, "explain", lambda *a: None, "torch._dynamo.explain"),
        (torch._dynamo, "explain", len, "torch._dynamo.explain"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_was_replaced(look, monkeypatch, owner, name, value, told):
    with monkeypatch.context() as m:
        m.setattr(owner, name, value, raising=False)
        assert told in look()
    assert look() == {}


def yes(*args, **kwargs):
    return True


@pytest.mark.parametrize(
    "part, value", [("__code__", yes.__code__), ("__defaults__", (1,)), ("__kwdefaults__", {"x": 1})]
)
def test_a_function_with_another_body(look, monkeypatch, part, value):
    with monkeypatch.context() as m:
        m.setattr(torch.testing.assert_close, part, value)
        assert [n for n in look() if n.endswith(".assert_close")]
    assert look() == {}


def test_a_module_that_is_loaded_when_it_is_used_changes_nothing(monkeypatch):
    """As importlib_metadata 10 does: a stand-in, which gives way to the module."""
    wire = sys.modules["labkit.camp.wire"]
    with monkeypatch.context() as m:
        m.setattr(wire, "json", types.ModuleType("later"))
        look = tamper.Seal().look()
        m.setattr(wire, "json", sys.modules["json"])
        assert look() == {}
        m.setattr(wire, "json", sys.modules["types"])
        assert {*look()} == {"labkit.camp.wire.json"}
        m.setattr(wire, "json", types.ModuleType("json"))
        assert {*look()} == {"labkit.camp.wire.json"}


def test_a_class_of_its_own_changes_nothing(look):
    class Mine(torch.nn.Module):
        pass

    Mine.forward = lambda self, x: x
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], 1.0).step()
    assert look() == {}


def test_the_look_does_not_depend_on_what_it_looks_at(look, monkeypatch):
    with monkeypatch.context() as m:
        for name in ("_is_theirs", "_changes", "Seal", "is_", "all"):
            m.setattr(tamper, name, yes, raising=False)
        m.setattr(builtins, "map", lambda *a: [])
        changed = look()
    assert {"labkit.camp.tamper._is_theirs", "labkit.camp.tamper.Seal", "builtins.map"} <= {*changed}


def test_a_function_under_guard(look):
    told, left = [], []
    own = torch.equal

    def call(function, inside=False):
        return tamper._guarded(function, inside, look, told.append, left.append)

    def replaces():
        torch.equal = yes
        return 1

    try:
        assert call(lambda: 7) == 7 and not told
        with pytest.raises(KeyError):
            call(lambda: {}[0])
        assert call(replaces) == 1
        assert (told, left) == (["torch.equal"], [1])
        call(lambda: 1, inside=True)  # golden.py's own, and none of the function's
        assert len(told) == 1
        call(lambda: 1)
        assert len(told) == 2
    finally:
        torch.equal = own


@pytest.mark.parametrize(
    "text, found",
    [
        ("x.__globals__['torch']", ["__globals__"]),
        ("getattr(f, '__clo' + 'sure__')", ["__clo", "getattr"]),
        ("f('__closure__')", ["__closure__"]),
        ("import gc\nimport torch", ["gc"]),
        ("from unittest import mock", ["mock"]),
        (
            "from torch import library\nimport torch.overrides\nfrom torch._C import x",
            ["library", "torch.overrides", "x"],
        ),
        ("torch.library.Library('aten', 'IMPL')", ["library"]),
        ("import labkit.device\nlabkit.device.reset_clock()", ["labkit.device", "reset_clock"]),
        ("class A:\n    def __eq__(self, other): return True", ["__eq__"]),
        ("class A(list): pass", ["class A"]),
        ("class A(nn.Module):\n    def __init__(self): super().__init__()", []),
        ("getattr(x, 'a' + 'b')", ["getattr"]),
        ("functools.reduce(getattr, name.split('.'), x)", []),
        ("x.is_pinned = lambda: True", [".is_pinned ="]),
        ("del x.name", [".name ="]),
        ("for x.kept in y: pass", [".kept ="]),
        ("model.register_forward_hook(f); model._forward_hooks.clear()", ["_forward_hooks", "register_forward_hook"]),
        ("match x:\n    case object(f_locals=y): pass", ["match"]),
        ("torch.compiler.is_compiling()", ["is_compiling"]),
        ("open('x')", ["open"]),
        ("def f(): yield made.gi_frame.f_back.f_locals", ["f_back", "f_locals", "gi_frame"]),
        ("getattr(torch.serialization.sys.modules['labkit'], 'reset_clock')()", ["reset_clock", "sys"]),
        ("from operator import attrgetter as a\na('gi_frame.f_back')(x)", ["f_back", "gi_frame"]),
        ("from torch.serialization import sys", ["sys"]),
        ("typing.get_type_hints(f)", ["get_type_hints"]),
        ("string.Formatter().get_field('0.x', (x,), {})", ["Formatter"]),
        ("a = {'timeline': 1}; x.modules()", []),
        ("model.eval(); torch.compile(f); p.grad = x; x[0] = 1; a.b[0] = 2; import math; isinstance(x, int)", []),
    ],
)
def test_ways_to_the_judge(text, found):
    assert tamper.reaches(text, "import torch") == found


@pytest.mark.parametrize(
    "text, found",
    [
        ("real = triton\nclass triton:\n    jit = real.jit", ["jit", "triton ="]),
        ("def triton(): pass", ["triton ="]),
        ("triton = 1", ["triton ="]),
        ("import numpy as triton", ["triton ="]),
        ("[triton := 1 for _ in (0,)]", ["triton ="]),
        ("from torch import nn\nimport triton\nclass Mine:\n    triton = 1\ndef f():\n    triton = nn = 1", []),
        ("class Pair:\n    pass\nimport torch.optim", []),
    ],
)
def test_a_name_that_ours_imports_stays_what_it_is(text, found):
    assert tamper.reaches(text, "import torch\nimport triton\nimport torch.nn as nn") == found


def test_what_ours_has_is_no_way():
    assert tamper.reaches("import inspect\nimport gc", "import inspect") == ["gc"]


# ---- graded


def graded(name: str, text: str) -> grade.Grade:
    session.begin(TARGET="twin", SEED=0, STRICT=False)
    job = grade._Job(Submission("", "", Path()), name, Answer(name, 1, text))
    job.prepare(remote.Budget())
    return grade._graded(job, "")


@pytest.fixture
def as_before(monkeypatch):
    if confine.offers().level == "none":
        pytest.skip(f"nothing here confines: {confine.offers().missing}")
    monkeypatch.setenv("LABKIT_PROGRESS", "off")
    kept = session._current
    yield
    session._current = kept


@pytest.mark.parametrize("name", ["lie_wait", "many_backward", "grad_amp"])  # alone, in ranks, an operator
def test_a_judge_that_was_replaced_is_not_believed(name, as_before):
    spec = load(name)
    ours = template(spec)
    wrong = ours.mutant(spec.mutants[0].regions, spec.mutants[0].edit)
    pad = wrong[: len(wrong) - len(wrong.lstrip())]
    made = graded(name, f"{pad}import torch as q_; q_.equal = q_.allclose = lambda *a, **k: True\n{wrong}")
    if name == "many_backward":  # in a rank: that process ends
        assert made.state == "FAIL" and "1" in made.lines[0] and "exit" in made.lines[0], made
    else:
        assert (made.state, made.diagnosis) == ("FAIL", "tampered") and "torch." in made.lines[0], made


def test_right_code_that_could_reach_its_judge_is_told(as_before):
    spec = load("bn_may")
    made = graded("bn_may", f"import gc\n{template(spec).solution()}")
    assert (made.state, made.diagnosis) == ("FAIL", "reaches") and "gc" in made.lines[0], made
    assert way.way(spec) == "helper"
