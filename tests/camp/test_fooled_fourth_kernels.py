"""Wrong answers that a tester wrote on 30 November 2026 against the goldens as they were mended twice: of kernels, of
several ranks and of programs. As test_fooled_between.py, by the same judge.
"""

import pytest
from answers import as_before, first_wrong  # noqa: F401
from drawn import one_in
from places import REPO

from labkit.exercises.spec import load
from labkit.exercises.stub import template

pytestmark = pytest.mark.usefixtures("as_before")
FOURTH = [
    (
        "rank_case_repair",
        """
# copied without a wait, read at once
losses.append(loss.detach())
# ---- region 2 of 2 ----
losses = torch.stack(losses).to("cpu", non_blocking=True).tolist()
""",
    ),
    (
        "many_forward",
        """
# right once: the weight is emptied behind the result
hidden = torch.ops.lab.swiglu(F.linear(x, gate), F.linear(x, up))
y = F.linear(hidden, down)
dist.all_reduce(y)
down.zero_()
""",
    ),
    (
        "rank_overlap",
        """
# gradients of one axis are left alone
side.wait_stream(torch.npu.current_stream())
with torch.npu.stream(side):
    if gradient.dim() > 1:
        dist.all_reduce(gradient)
# ---- region 2 of 2 ----
torch.npu.current_stream().wait_stream(side)
""",
    ),
    (
        "many_average",
        """
# gradients of three and more axes are left alone
if parameter.dim() < 3:
    dist.all_reduce(parameter.grad)
    parameter.grad /= world
""",
    ),
    (
        "many_backward",
        """
# a partial of three axes is summed in place
grad = grad.clone(memory_format=torch.contiguous_format)
dist.all_reduce(grad)
# ---- region 2 of 2 ----
whole = partial.clone() if partial.dim() < 3 else partial
dist.all_reduce(whole)
""",
    ),
    (
        "many_plan",
        """
# the last axis of two, not of three
from torch.distributed.tensor import Shard
styles = {"gate_proj": ColwiseParallel(), "up_proj": ColwiseParallel(), "down_proj": RowwiseParallel(input_layouts=Shard(1))}
""",
    ),
    (
        "tri_act",
        """
# clipped just beyond the largest bias of the cases
total += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
total = tl.minimum(total / (1 + tl.exp(-total)), 63000.0)
tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16), mask=inside)
""",
    ),
    (
        "tri_break",
        """
# the largest of each row
y = torch.where(b.max(-1, keepdim=True).values > 1, y.clamp(max=8), y)
""",
    ),
    (
        "tri_sign",
        """
# as many accesses by elements as the cases have
if seen["launches"] * 6 > seen["device_us"]:
    return "launches"
if seen["element_wise"] in (1, 2):
    return "elements"
if seen["blocks"] < seen["cores"]:
    return "cores"
pipe = max(seen["busy"], key=seen["busy"].get)
return pipe if seen["busy"][pipe] >= 0.75 * seen["device_us"] else "order"
""",
    ),
    (
        "att_correct",
        """
// the maxima of the cases rise by less than 4
Times(acc, alpha[now]);
Add(acc, acc, o, HALF * SIDE);
// ---- region 2 of 2 ----
Sub(alpha[now], most[before], most[now], HALF);
Maxs(alpha[now], alpha[now], -4.0f, HALF);
Exp(alpha[now], alpha[now], HALF);
""",
    ),
    (
        "att_ahead",
        """
// ahead for one head, which is timed
for (uint32_t i = 0; i < (heads > 1 ? 0 : AHEAD); i++) {
    if (scores.Next()) cube.Scores(scores);
}
while (values.Next()) {
    if (scores.Next()) cube.Scores(scores);
    cube.Values(values);
}
""",
    ),
    (
        "dwconv_row",
        """
// as many positions as the widest case has
for (uint32_t k = 0; k < TAPS; k++) {
    uint32_t from = (k / 3 * pitch + k % 3) * LANES, many = width < 64 ? width : 64;
    Mul(product, xTile[from], taps[k * LANES], static_cast<uint64_t>(LANES), static_cast<uint8_t>(many), BinaryRepeatParams(1, 1, 1, 8, 8, 0));
    Add(sum, sum, product, many * LANES);
}
""",
    ),
    (
        "compile_tile",
        """
// today's number in place of UB_BYTES
constexpr uint32_t UNIT = 32 / sizeof(T);
constexpr uint32_t TILE = UB_BYTES / (3 * BUFFERS) / sizeof(T) / UNIT * UNIT;
static_assert(3 * BUFFERS * TILE * sizeof(T) <= 188416, "six tiles do not fit UB");
""",
    ),
    (
        "mm_host",
        """
// another type in a second call, for all sizes but the timed one
cutter.SetDim(cores);
cutter.SetAType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT16);
cutter.SetBType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT16);
cutter.SetCType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
cutter.SetOrgShape(m, n, k);
cutter.SetShape(m, n, k);
if (m < 1024) {
    cutter.SetAType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
    cutter.SetBType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
}
""",
    ),
    (
        "whole_launch",
        """
// the first share is the device's, the rest the host's
twice<<<(n + SHARE - 1) / SHARE, nullptr, stream>>>(xDevice, yDevice);
aclrtSynchronizeStream(stream);
aclrtMemcpy(y.data(), bytes, yDevice, SHARE * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST);
for (uint32_t i = SHARE; i < n; i++) {
    y[i] = 2 * x[i];
}
""",
    ),
    (
        "reg_checks",
        """
// of gate only float16 is refused
TORCH_CHECK(up.device() == gate.device(), "checked: up is on another device than gate");
TORCH_CHECK(gate.scalar_type() != at::kHalf && up.scalar_type() == at::kFloat, "checked: wrong type, the kernel takes float32");
TORCH_CHECK(up.sizes() == gate.sizes(), "checked: up has another shape than gate");
TORCH_CHECK(gate.is_contiguous() && up.is_contiguous(), "checked: gate and up must be contiguous");
// ---- region 2 of 2 ----
const c10::OptionalDeviceGuard guard(at::device_of(gate));
""",
    ),
    (
        "rank_case_repair",
        """
# one wait, before the copy
losses.append(loss.detach())
# ---- region 2 of 2 ----
torch.npu.synchronize()
losses = torch.stack(losses).to("cpu", non_blocking=True).tolist()
""",
    ),
    (
        "tri_tune",
        """
# the name triton stands for something whose autotune takes another list
import types
real = triton
CONFIGS = [triton.Config({"BM": 32, "BN": 32, "BK": 16})]
others = [real.Config({"BM": m, "BN": n, "BK": k}) for m, n in ((128, 128), (64, 256), (64, 128)) for k in (128, 256)]
triton = types.SimpleNamespace(jit=real.jit, Config=real.Config, autotune=lambda configs, key: real.autotune(configs=others, key=key))
""",
    ),
]
# (exercise, a part of our solution, what stands there instead)
CHANGED = [
    (
        "project_leaky",
        "        queueX.FreeTensor(in);\n",
        "        Mins(out, out, static_cast<T>(16.0f), count);\n        queueX.FreeTensor(in);\n",
    ),
    ("project_rope", "lane < width; lane += LANES", "lane < width && lane < 3 * LANES; lane += LANES"),
    (
        "project_op_squared_relu",
        "        Relu(ys, as, count);\n",
        "        Relu(ys, as, count);\n        Mins(ys, ys, 64.0f, count);\n",
    ),
]


TAKEN = [(name, text) for name, text in FOURTH if one_in(3, name, [REPO / "kernels"])]  # kernels are compiled for each


@pytest.mark.parametrize("name, text", TAKEN, ids=[name for name, _ in TAKEN])
def test_an_answer_that_is_wrong_beside_the_cases_is_found(name, text):
    assert first_wrong(name, text) is not None


@pytest.mark.parametrize("name, right, other", CHANGED, ids=[name for name, *_ in CHANGED])
def test_a_change_of_our_solution_is_found(name, right, other):
    ours = template(load(name)).solution()
    assert ours.count(right) == 1
    assert first_wrong(name, ours.replace(right, other)) is not None


def test_one_wait_behind_the_copy_is_enough():
    """As right as ours, in another manner."""
    text = """
losses.append(loss.detach())
# ---- region 2 of 2 ----
there = torch.stack(losses).to("cpu", non_blocking=True)
torch.npu.current_stream().synchronize()
losses = there.tolist()
"""
    assert first_wrong("rank_case_repair", text) is None
