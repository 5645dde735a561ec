"""A fault planted anywhere in a model is found where it is, and nothing where there is none."""

from __future__ import annotations

import copy
import importlib.util
import subprocess
import sys
import textwrap

import pytest
import torch
from places import REPO
from torch import nn
from torch.nn import functional as F

from labkit import device, migrate
from labkit.migrate import faulty
from labkit.migrate.bisecting import excess
from labkit.migrate.faults import FAULTS, applies


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.act, self.down = nn.LayerNorm(32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)

    def forward(self, x):
        y = self.norm(x)
        q = y.view(y.shape[0], y.shape[1], 2, 16).transpose(1, 2)
        seen = F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(x.shape)
        return x + self.down(self.act(self.up(seen)))


def small():
    torch.manual_seed(0)
    model = nn.Sequential(Layer(), Layer(), nn.Linear(32, 8))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.1)
    device.install()
    return model, copy.deepcopy(model).npu(), torch.randn(2, 6, 32)


def places(model, x):
    calls = {(c.module, c.name): c.operator for c in migrate.assess(model, x, optimizer=None).calls if c.kernels}
    return sorted((m, name, fault) for (m, name), op in calls.items() for fault in FAULTS if applies(op, fault))


def test_a_planted_fault_is_named_where_it_is():
    model, npu, x = small()
    assert migrate.differences(npu, model, x, loss=lambda out: out.square().sum()) == []
    every = places(model, x)
    assert len(every) > 40 and {fault for *_, fault in every} == set(FAULTS)
    for module, operator, fault in every:
        with faulty(operator, fault, module, npu) as bad:
            found = migrate.differences(npu, model, x)
        assert bad.calls and [d.module for d in found] == [module], (module, operator, fault, found)
    assert migrate.bisect(npu, model, x) is None, "nothing stays behind"


def test_a_folder_without_a_finished_dump_is_said_to_be_one(tmp_path):
    from labkit.migrate import probing

    (tmp_path / "rank").mkdir()
    (tmp_path / "rank" / "dump.json").write_text("{}")  # the debugger was not stopped: no construct.json
    for folder in (tmp_path / "none", tmp_path):
        with pytest.raises(FileNotFoundError, match="no finished dump.*stop"):
            probing.compare(folder, folder)


def test_code_between_modules_is_told_from_a_module():
    model, npu, x = small()
    with faulty("aten::_scaled_dot_product_fused_attention_overrideable", "scale", "1", npu):
        found = migrate.differences(npu, model, x)
    assert [(d.module, d.where, d.before) for d in found] == [("1", "code", "1.up")]
    assert "1.up" in str(found[0])


def test_a_fault_of_the_backward_pass_is_found_there():
    model, npu, x = small()
    with faulty("aten::gelu_backward", "tail"):
        found = migrate.differences(npu, model, x, loss=lambda out: out.square().sum())
    assert {(d.module, d.where) for d in found} == {("0.act", "gradient"), ("1.act", "gradient")}


@pytest.mark.parametrize(
    "value, wanted, above",
    [
        ([1.0, 2.0], [1.0, 2.0], False),
        ([1.0, 2.0 + 1e-6], [1.0, 2.0], False),
        ([1.0, 2.0 + 1e-3], [1.0, 2.0], True),
        ([1.0, float("nan")], [1.0, 2.0], True),
        ([1.0, float("nan")], [1.0, float("nan")], False),
        ([1.0, float("inf")], [1.0, float("-inf")], True),
        ([1, 2], [1, 3], True),
        ([1.0], [1.0, 1.0], True),
    ],
)
def test_what_counts_as_more_than_rounding(value, wanted, above):
    assert (excess(torch.tensor(value), torch.tensor(wanted)) > 1) is above


def test_a_tensor_in_a_file_of_torch_npu_is_rebuilt():
    """The function that such a file names, and that msprobe allows torch.load to call."""
    from torch_npu.utils.storage import _rebuild_npu_tensor

    source = torch.arange(6.0)
    made = _rebuild_npu_tensor(torch.storage.TypedStorage(wrap_storage=source.untyped_storage(), dtype=source.dtype, _internal=True),
                               1, (2, 2), (2, 1), False, {}, True)  # fmt: skip
    assert made.device.type == "npu" and made.cpu().tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_what_cannot_be_compared_says_why():
    model, npu, x = small()
    with pytest.raises(ValueError, match="different modules"):
        migrate.bisect(npu, nn.Sequential(model), x)
    with pytest.raises(ValueError, match="Dropout"):
        both = nn.Sequential(nn.Dropout(0.5))
        migrate.bisect(both, both, x)
    with pytest.raises(KeyError, match="tail"):
        faulty("aten::mm", "tired")


PROBE = """
    import copy, sys, torch
    sys.path.insert(0, {tests!r})
    from test_faults import small
    from labkit.migrate import faulty, probing
    model, npu, x = small()
    folder = sys.argv[1]
    with torch.no_grad():
        probing.dump(model, (x,), None, folder)
        probing.dump(npu, (x,), None, folder)
        with faulty("aten::gelu", "tail", "1.act", npu):
            probing.dump(npu, (x,), None, folder)
    healthy, planted = (probing.compare(folder + "/" + s, folder + "/step0") for s in ("step1", "step2"))
    print("found", probing.first(healthy), probing.first(planted).name, probing.first(planted).module, len(planted) > 20)
"""


@pytest.mark.skipif(not importlib.util.find_spec("msprobe"), reason="msprobe is not installed: pip install -e .[probe]")
def test_msprobe_finds_it_in_its_tables(tmp_path):
    """Unchanged msprobe, in a process of its own: it replaces PyTorch's functions for good."""
    code = textwrap.dedent(PROBE).format(tests=str(REPO / "tests" / "migrate"))
    asked = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(REPO / 'tests' / 'support')!r})\n{code}",
        str(tmp_path),
    ]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=240, cwd=REPO)
    assert "found None Functional.gelu.1.forward.output.0 1.act True" in done.stdout, done.stderr[-2000:]
