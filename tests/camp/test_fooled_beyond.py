"""Wrong answers that were right wherever a case was: up to the widest row, the longest sum, the largest value, as many
tensors or blocks as the cases had, for the one size that is timed. Each got PASS on 29 November 2026.
"""

import pytest
from answers import as_before, first_wrong  # noqa: F401

from labkit.exercises.spec import load
from labkit.exercises.stub import template

pytestmark = pytest.mark.usefixtures("as_before")
BEYOND = [
    (
        "mm_host",
        """
// all cores only for the size that is timed
cutter.SetDim(m < 1024 ? 1 : cores);
cutter.SetAType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT16);
cutter.SetBType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT16);
cutter.SetCType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
cutter.SetOrgShape(m, n, k);
cutter.SetShape(m, n, k);
""",
    ),
    (
        "tri_break",
        """
# a threshold between two values of the cases
y = torch.where(b.max() >= 1.125, y.clamp(max=8), y)
""",
    ),
    (
        "ub_edit",
        """
# right up to the widest case
edited = source.replace(line, line + "        Adds(w_float, w_float, 1.0f, pitch < 1792 ? pitch : 1792);\\n")
""",
    ),
    (
        "tri_dot",
        """
# right up to the longest case
for at in range(0, tl.minimum(K, 384), BK):
    left = tl.load(a + m[:, None] * K + (at + k)[None, :], mask=(m < M)[:, None] & (at + k < K)[None, :], other=0.0)
    right = tl.load(b + (at + k)[:, None] * N + n[None, :], mask=(at + k < K)[:, None] & (n < N)[None, :], other=0.0)
    total = tl.dot(left, right, total)
""",
    ),
    (
        "tri_act",
        """
# right up to the largest value of the cases
total += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
total = tl.minimum(total / (1 + tl.exp(-total)), 2048.0)
tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16), mask=inside)
""",
    ),
    (
        "cap_unseen",
        """
# as many tensors as the cases have
size = 2 * rows * width
return moved_in < min(inputs, 3) * size or moved_out < min(outputs, 2) * size
""",
    ),
    (
        "prec_which",
        """
# as many rows as the cases have
return min(models, key=lambda names: float((models[names][:16] - after[:16]).square().sum()))
""",
    ),
    (
        "compile_pick",
        """
# as many blocks as the cases have
tile = max((t for t in TILES[dtype] if n >= 2 * t * min(blocks, 64)), default=TILES[dtype][0])
entry = f"axpy<{dtype}, {tile}>"
""",
    ),
    (
        "grad_formula",
        """
# right up to the largest value of the cases
s = torch.sigmoid(gate)
dgate = dy * up * (s + gate * s * (1 - s))
dup = dy * gate.clamp(max=1000.0) * s
""",
    ),
    (
        "add_case_repair",
        """
// the leak begins behind the last case
Max(larger, left, right, TILE);
inA.FreeTensor(left);
if (i < 192) {
    inB.FreeTensor(right);
}
outC.EnQue(larger);
""",
    ),
    (
        "cube_left",
        """
// the straight copy for two rows or columns of fractals, which no case has
if (down <= 2 || deep <= 2) {
    LoadData(a2, a1, LoadData2DParams(0, down * deep, 1, 0, 0, false, 0));
} else {
    for (uint32_t i = 0; i < down; i++) {
        LoadData(a2[i * deep * FRACTAL], a1[i * FRACTAL], LoadData2DParams(0, deep, down, 0, 0, false, 0));
    }
}
""",
    ),
]
# (exercise, a part of our solution, what stands there instead)
CHANGED = [
    (
        "project_cross_entropy",
        "= static_cast<int32_t>(classes);",
        "= classes < 4001 ? static_cast<int32_t>(classes) : 4001;",
    ),
    ("project_op_squared_relu", "return y\n", "return torch.relu(x).square()\n"),
    ("project_op_squared_relu", "return dx\n", "return 2 * torch.relu(x) * grad\n"),
    ("project_op_squared_relu", "Work<false>(x, x, y, n);", ""),
]


@pytest.mark.parametrize("name, text", BEYOND, ids=[name for name, _ in BEYOND])
def test_an_answer_that_is_right_where_cases_were_is_found(name, text):
    assert first_wrong(name, text) is not None


@pytest.mark.parametrize("name, right, other", CHANGED)
def test_a_change_of_our_solution_is_found(name, right, other):
    ours = template(load(name)).solution()
    assert ours.count(right) == 1
    assert first_wrong(name, ours.replace(right, other)) is not None
