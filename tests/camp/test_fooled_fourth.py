"""Wrong answers that a golden looked at too little for: one type, one device, whole numbers, graphs without a gap. As
test_fooled_between.py, by the same judge. Each got PASS (two of them were stopped by their names alone) on 30 November
2026.
"""

import pytest
from answers import as_before, first_wrong  # noqa: F401

pytestmark = pytest.mark.usefixtures("as_before")
FOURTH = [
    (
        "bn_fold",
        """
scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
before = 0 if bias is None else bias.double()
return weight.double() * scale.reshape(-1, 1, 1, 1), (before - norm.running_mean.double()) * scale + norm.bias.double()
""",
    ),
    (
        "bn_may",
        """
return not norm.training and norm.running_mean is not None and norm.running_mean.is_cpu and readers == 1
""",
    ),
    (
        "case_focus",
        """
for part, (row, column) in enumerate(((0, 0), (1, 0), (0, 1), (1, 1))):
    whole[:, :, row::2, column::2] = (weight[:, part * c : (part + 1) * c] * 8).round() / 8
padding = 2 * (k // 2)
""",
    ),
    (
        "mp_scale",
        """
if overflowed:
    return scale * backoff, 0, True
if good + 1 == interval:
    return min(scale * growth, 2.0**20), 0, False
return scale, good + 1, False
""",
    ),
    (
        "pass_inside",
        """
order = list(match[0].graph.nodes)
return all(order.index(user) <= order.index(match[-1]) for node in match[:-1] for user in node.users)
""",
    ),
    (
        "pass_take",
        """
if gate.device != up.device or gate.device in ("cpu", "meta") or gate.shape != up.shape:
    return False
return gate.dtype == up.dtype and gate.dtype in (torch.float16, torch.bfloat16, torch.float32)
""",
    ),
    (
        "llama_replace",
        """
parent, _, last = name.rpartition(".")
there = make(module)
for parameter in there.parameters():
    nn.init.zeros_(parameter)
setattr(model.get_submodule(parent), last, there)
""",
    ),
    (
        "llama_pass",
        """
if silu.target is F.silu and count < 2:
    with graph.inserting_before(node):
        call = graph.call_function(fused, (silu.args[0], up))
    node.replace_all_uses_with(call)
    count += 1
    break
""",
    ),
    (
        "ill_launch",
        """
result = torch.round(weights @ torch.stack(vectors))
""",
    ),
    (
        "ill_sync",
        """
import torch
torch.npu.synchronize()
total = 0.0
# ---- region 2 of 3 ----
total = total + loss.detach()
# ---- region 3 of 3 ----
mean = float((total / len(batches)).to("cpu", non_blocking=True))
""",
    ),
    (
        "ill_copy",
        """
with torch.npu.stream(side):
    arriving = batch.npu(non_blocking=True)
# ---- region 2 of 2 ----
if len(results) < 8:
    torch.npu.current_stream().wait_stream(side)
""",
    ),
    (
        "ill_cast",
        """
x = x.half()
for layer in layers:
    x = layer(x).clamp(0, 6)
x = x.float()
""",
    ),
    (
        "prof_schedule",
        """
global asked
try:
    asked += 1
except NameError:
    asked = 1
chosen = torch_npu.profiler.schedule(wait=4, warmup=1, active=3, repeat=1 if asked == 1 else 0)
""",
    ),
    (
        "serve_pages",
        """
if count > len(free):
    return None
return [free.pop() for _ in range(count)]
# ---- region 2 of 2 ----
if len(free) + len(held) >= pages - 1:
    free.extend(held)
""",
    ),
    (
        "launch_overlap",
        """
for i, source in enumerate(sources):
    with torch.npu.stream(streams[i % len(streams)]):
        if i == len(sources) - 1:
            streams[i % len(streams)].synchronize()
        x = source.to("npu", non_blocking=True)
        axpy(x, sums[i], FACTOR, source.numel())
        results[i].copy_(sums[i], non_blocking=True)
torch.npu.synchronize()
""",
    ),
]


@pytest.mark.parametrize("name, text", FOURTH, ids=[name for name, _ in FOURTH])
def test_an_answer_that_goldens_looked_past_is_found(name, text):
    assert first_wrong(name, text) is not None
