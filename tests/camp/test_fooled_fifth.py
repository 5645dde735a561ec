"""Wrong answers that a tester wrote on 30 November 2026 against the goldens as they were mended for the fourth time: a
constant beyond all cases, an axis, a type, a size that no case had. As test_fooled_between.py, by the same judge. Each
got PASS.
"""

import pytest
from answers import as_before, first_wrong  # noqa: F401

pytestmark = pytest.mark.usefixtures("as_before")
FIFTH = [
    (
        "case_pace",
        """
end = 0.0
for k, us in enumerate(launches):
    end = max(end, (k + 1) * issue) + round(8 * us) / 8
each = max(sum(launches), len(launches) * issue)
""",
    ),
    (
        "tune_room",
        """
copied = min(slots, 4) * tensors * tile * size
return copied + floats * tile * 4 <= UB - RESERVED
""",
    ),
    (
        "large_cut",
        """
return min(range(1, min(len(times), 32)), key=lambda cut: max(sum(times[:cut]), sum(times[cut:])))
""",
    ),
    (
        "scale_law",
        """
times = n / (1 + contention * (n - 1) + min(coherence, 0.125) * n * (n - 1))
""",
    ),
    (
        "cap_unseen",
        """
size = 2 * rows * width
return moved_in < inputs * size % 2**32 or moved_out < outputs * size % 2**32
""",
    ),
    (
        "cap_project",
        '''
WORK = """
        for (uint32_t r = 0; r < here; r++) Mul(xs[r * pitch], xs[r * pitch], scales, static_cast<int32_t>(pitch));
        Add(ys, xs, rs, static_cast<int32_t>(here * pitch));
        Mins(ys, ys, static_cast<half>(256.0f), static_cast<int32_t>(here * pitch));
"""
# ---- region 2 of 2 ----
return {"blocks": max(1, min(rows, 40, rows * width // 2048)), "scalars": [rows, width]}
''',
    ),
    (
        "prec_decide",
        """
loses = min(loses, 2.0)
if after <= loses * before:
    return "fused"
return "unfused" if choice == "fp32" and in_float > loses * before else choice
""",
    ),
    (
        "eval_verdict",
        """
found = metric("", [b - a for a, b in zip(before[:1000], after[:1000])])
if found.high < 0:
    return "worse"
return "no worse" if found.low > -margin else "undecided"
""",
    ),
    (
        "deep_plan",
        """
longest = ub // (8 + 6 * buffers) // 128 * 128
tile = longest if cores < 3 else min(longest, -(-n // (4 * cores) // 128) * 128)
blocks = min(cores, -(-n // tile))
""",
    ),
    (
        "deep_case_repair",
        """
flat = packed.view(-1)
if flat.numel() > 1 << 20:
    flat = flat.clone()
swiglu[48](flat, flat[width:], y, rows, width, 2 * width, 2 * width)
""",
    ),
    (
        "bn_may",
        """
return not norm.training and norm.running_mean is not None and readers == 1 and norm.num_features <= 64
""",
    ),
    (
        "lie_wait",
        """
before.record()
work()
after.record()
pairs.append((before, after))
if len(pairs) % 64 == 0:
    torch.npu.synchronize()
# ---- region 2 of 2 ----
return [1000 * a.elapsed_time(b) for a, b in pairs]
""",
    ),
    (
        "pass_take",
        """
if gate.device != "npu" or up.device != "npu" or len(gate.shape) != len(up.shape) or gate.shape[:3] != up.shape[:3]:
    return False
return gate.dtype == up.dtype and gate.dtype in (torch.float16, torch.bfloat16, torch.float32)
""",
    ),
    (
        "ill_cast",
        """
x = x.half()
for layer in layers:
    x = F.relu(layer(x)) if x.dim() == 2 else layer(x)
x = x.float()
""",
    ),
    (
        "ill_copy",
        """
with torch.npu.stream(side):
    arriving = batch.npu(non_blocking=batch.dtype is torch.float32)
# ---- region 2 of 2 ----
if arriving is not None and arriving.dtype is torch.float32:
    torch.npu.current_stream().wait_stream(side)
""",
    ),
    (
        "prof_loop",
        """
train()
with torch_npu.profiler.profile(schedule=plan, on_trace_ready=handler) as prof:
    prof.step()
    for _ in range(3):
        train()
        prof.step()
train()
""",
    ),
    (
        "reg_schema",
        """
schema = "swiglu_(Tensor(a!) gate, Tensor up) -> ()"
real = kernel
kernel = {8: lambda gate, up, y, n: real[8](gate, up, y, min(n, 4096))}
""",
    ),
    (
        "grad_key",
        """
with torch._C._AutoDispatchBelowAutograd():
    if gate.numel() <= 4096:
        return torch.ops.mine.gated(gate, up)
    return gate * torch.sigmoid(gate) * up
# ---- region 2 of 2 ----
@once_differentiable
""",
    ),
    (
        "grad_register",
        """
ctx.save_for_backward(inputs[0], inputs[1].data)
# ---- region 2 of 2 ----
gate, up = ctx.saved_tensors
return torch.ops.mine.swiglu_backward(grad.contiguous(), gate, up)
""",
    ),
    (
        "prec_places",
        """
return size * 2.0**-bits + min(n, 8192) ** 0.5 * 2.0**-24 * terms
""",
    ),
    (
        "tune_learn",
        """
faster = max(-10.0, min(10.0, mean - us))
return [s + rate * faster * ((i == drawn) - c) for i, (s, c) in enumerate(zip(scores, chances))]
""",
    ),
    (
        "emb_edges",
        """
at = min(core * share, len(ids))
for _ in range(32):
    if 0 < at < len(ids) and ids[at] == ids[at - 1]:
        at += 1
""",
    ),
    (
        "add_tiling",
        """
block_length = n // blocks
most = min(ub // (QUEUES * BUFFERS * HALF), 32768)
tile_length = max(t for t in range(UNIT // HALF, most + 1, UNIT // HALF) if block_length % t == 0)
""",
    ),
    (
        "tune_loop",
        """
best, least = candidates[0], 1e6
for candidate in candidates[:budget]:
    us = clock(candidate)
    if us < least:
        best, least = candidate, us
return best
""",
    ),
]


@pytest.mark.parametrize("name, text", FIFTH, ids=[name for name, _ in FIFTH])
def test_an_answer_beyond_all_cases_is_found(name, text):
    assert first_wrong(name, text) is not None
