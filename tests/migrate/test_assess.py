"""The assessment names the operators that a step then uses, and no other: twelve models of transformers."""

from __future__ import annotations

import copy
import json

import pytest
import torch
from small_models import MODELS, build
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from labkit import device, migrate
from labkit.migrate import support


class Seen(TorchDispatchMode):
    """Names of the operators that reach the npu, noted without any of the assessment's code."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        out = operator(*args, **(kwargs or {}))
        leaves = torch.utils._pytree.tree_leaves((args, kwargs, out))
        if any(isinstance(t, torch.Tensor) and t.device.type == "npu" for t in leaves):
            self.names.add(operator._schema.name)
        return out


def one_step(model, options):
    """(operators, kernels on the device's timeline) of a real training step on the npu, all values computed."""
    device.install()
    ours = copy.deepcopy(model).npu()
    there = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    steps = torch.optim.AdamW(ours.parameters())
    device.reset_clock()
    with Seen() as seen:
        ours(**there).loss.backward()
        steps.step()
        steps.zero_grad()
    return seen.names, {span.name for span in device.timeline()}


@pytest.mark.parametrize("name", MODELS)
def test_it_names_the_operators_of_the_run_and_no_other(name):
    model, options = build(name)
    report = migrate.assess(model, (), options)
    operators, kernels = one_step(model, options)
    assert set(report.kernels) == kernels
    assert {call.name for call in report.calls} == operators - {"profiler::_record_function_enter_new"}
    # what the table leaves out are views and plain copies of values to the host
    left_out = operators - {o.name for o in report.operators}
    assert not left_out & {n for n in kernels if n in operators and not n.startswith("MEMCPY")}
    assert all(p.device.type == "cpu" and p.grad is None for p in model.parameters())


class Faults(nn.Module):
    """One layer for each risk that is looked for; `kind` chooses."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind, self.layer, self.words = kind, nn.Linear(8, 8), nn.Embedding(5, 8)

    def forward(self, x):
        y = self.layer(x)
        match self.kind:
            case "cpu":
                return torch.lgamma(y.abs() + 1)
            case "waits":
                return y * y.sum().item()
            case "shapes":
                return y[y > 0]
            case "double":
                return y.double() * 2
            case "complex":
                return torch.view_as_real(torch.complex(y, y) * 2)
            case "types":
                return y.half().addcdiv(y.half(), y.half().abs() + 1) + y.bfloat16().addcdiv(y.bfloat16(), y.bfloat16())
            case "order":
                return y + self.words(torch.zeros(4, dtype=torch.long, device=x.device))
        return y


@pytest.mark.parametrize("kind", ["cpu", "waits", "shapes", "double", "complex", "types", "order"])
def test_each_risk_is_named_where_it_is_and_only_there(kind):
    x = torch.arange(32.0).reshape(4, 8) / 8
    assert [r.kind for r in migrate.assess(Faults("none"), x).risks] == []
    assert kind in [r.kind for r in migrate.assess(Faults(kind), x).risks]


def test_what_stays_on_the_card_is_counted_from_the_rows():
    report = migrate.assess(Faults("cpu"), torch.ones(4, 8))
    gone = {o.name: o.calls for o in report.operators if o.kernel == "cpu"}
    assert gone == {"aten::lgamma": 1, "aten::digamma": 1}
    kept, every = report.supported
    assert (kept, every) == (len(report.operators) - 2, len(report.operators))


def test_memory_is_the_sum_of_what_the_model_holds():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    sizes = 4 * sum(p.numel() for p in model.parameters())
    n = migrate.assess(model, torch.ones(3, 8)).needs
    assert (n.weights, n.gradients, n.states) == (sizes, sizes, 2 * sizes)
    assert n.activations == 4 * (3 * 8 + 3 * 16)  # the input, and ReLU's result, which the next layer keeps as well
    assert n.flops == 2 * 3 * (8 * 16 + 16 * 4) * 2 + 2 * 3 * 16 * 4  # forward, both weights' gradients, one input's
    inference = migrate.assess(model, torch.ones(3, 8), optimizer=None)
    assert inference.needs.total == sizes and not any(o.backward or o.optimizer for o in inference.operators)


def test_memory_is_counted_as_it_lies_on_the_card():
    model = nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False))
    model[0].weight.data = model[1].weight.data  # two parameters all the same, each with a gradient
    model.register_buffer("few", torch.ones(1000, 8)[:2])
    plain = migrate.assess(model, torch.ones(2, 8), optimizer=lambda p: torch.optim.SGD(p, 0.1), states_each=0).needs
    assert (plain.weights, plain.gradients, plain.states) == (4 * (128 + 16), 4 * 128, 0) and plain.activations
    model[0].weight = model[1].weight
    assert migrate.assess(model, torch.ones(2, 8)).needs.gradients == 4 * 64


def test_the_report_reads_in_both_languages_and_as_json(monkeypatch):
    model, x = nn.Linear(8, 4), torch.ones(2, 8)
    report = migrate.assess(model, x)
    data = json.loads(report.json())
    assert data["operators"][0]["name"] and data["needs"]["fits"] is True and "calls" not in data
    assert "aten::addmm" in str(report) and "<table>" in report._repr_mimebundle_()["text/html"]
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "个算子" in str(report)


def test_an_output_without_a_scalar_is_an_error_that_says_what_to_give():
    class Indices(nn.Linear):
        def forward(self, x):
            return super().forward(x).argmax()

    with pytest.raises(ValueError, match="loss="):
        migrate.assess(Indices(3, 3), torch.ones(3))


def test_operators_of_others_are_assessed_and_not_taken_for_atens():
    @torch.library.custom_op("mine::mm", mutates_args=())
    def mm(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @torch.library.custom_op("mine::zork", mutates_args=())
    def zork(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    class Copies(nn.Module):
        def forward(self, x):
            there = [torch.empty(4, 4, device=x.device)]
            torch._foreach_copy_(there, [torch.ones(4, 4)])  # mixes devices and gives nothing
            return zork(mm(x + there[0]))

    report = migrate.assess(Copies(), torch.ones(4, 4))
    assert report is not None
    for name in ("mm", "zork"):
        assert support.support(getattr(torch.ops.mine, name).default) == support.MADE_OF_OTHERS


@pytest.mark.parametrize(
    "operator, who",
    [
        ("mm", "aclnn"),
        ("gelu", "aclnn"),  # only gelu.out is registered: the other forms call it
        ("gelu_", "aclnn"),
        ("t", "view"),
        ("zeros_like", "others"),
        ("select_backward", "others"),
        ("lgamma", "cpu"),
        ("linalg_lstsq", "cpu"),  # as torch_npu's own troubleshooting page has it
        ("_local_scalar_dense", "torch_npu"),
    ],
)
def test_who_runs_an_operator(operator, who):
    assert support.support(getattr(torch.ops.aten, operator).default) == who
