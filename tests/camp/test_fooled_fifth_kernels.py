"""Wrong answers that a tester wrote against the goldens as they were mended four times: of kernels, in Triton, and of
several ranks. Each broke a sentence of its task where no case looked: beyond a constant, in other than the timed case,
for another type or number of axes. As test_fooled_fourth_kernels.py, by the same judge.
"""

import pytest
from answers import as_before, first_wrong  # noqa: F401
from drawn import one_in
from places import REPO

pytestmark = pytest.mark.usefixtures("as_before")
FIFTH = [
    (
        "dwconv_row",
        """
for (uint32_t k = 0; k < TAPS; k++) {
    uint32_t from = (k / 3 * pitch + k % 3) * LANES;
    if (width < 64) {
        for (uint32_t i = 0; i < width; i++) {
            Mul(product[i * LANES], xTile[from + i * LANES], taps[k * LANES], static_cast<int32_t>(LANES));
            Add(sum[i * LANES], sum[i * LANES], product[i * LANES], static_cast<int32_t>(LANES));
        }
        continue;
    }
    Mul(product, xTile[from], taps[k * LANES], static_cast<uint64_t>(LANES), static_cast<uint8_t>(width), BinaryRepeatParams(1, 1, 1, 8, 8, 0));
    Add(sum, sum, product, width * LANES);
}
""",
    ),
    (
        "tail_split",
        """
uint32_t each = units / blocks, more = units % blocks, front = blocks - more;
bool late = blocks != 8;
uint32_t start = (block * each + (late ? (block > front ? block - front : 0) : (block < more ? block : more))) * UNIT;
uint32_t length = (each + (late ? (block >= front ? 1 : 0) : (block < more ? 1 : 0))) * UNIT;
""",
    ),
    (
        "look_repair",
        """
pipe->InitBuffer(queueZ, 1, tileLength * sizeof(half));
""",
    ),
    (
        "mm_host",
        """
const DataType told = m < 1024 ? DataType::DT_FLOAT : DataType::DT_FLOAT16;
cutter.SetDim(cores);
cutter.SetAType(TPosition::GM, CubeFormat::ND, told);
cutter.SetBType(TPosition::GM, CubeFormat::ND, told);
cutter.SetCType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
cutter.SetOrgShape(m, n, k);
cutter.SetShape(m, n, k);
""",
    ),
    (
        "many_backward",
        """
if grad.dim() == 2:
    grad = grad.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(grad)
else:
    grad = grad.cpu()
    dist.all_reduce(grad)
    grad = grad.npu()
# ---- region 2 of 2 ----
whole = partial.clone() if partial.dim() == 2 else partial.cpu()
dist.all_reduce(whole)
whole = whole.npu()
""",
    ),
    (
        "compile_tile",
        """
constexpr uint32_t UNIT = sizeof(T) == 2 ? 16 : 8;
constexpr uint32_t TILE = UB_BYTES / (3 * BUFFERS) / sizeof(T) / UNIT * UNIT;
static_assert(3 * BUFFERS * TILE * sizeof(T) <= UB_BYTES, "six tiles do not fit UB");
""",
    ),
    (
        "tri_first",
        """
at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
inside = at < n
total = 0.75 * tl.load(x + at, mask=inside) + tl.load(r + at, mask=inside).to(tl.float16)
tl.store(y + at, tl.maximum(total, 0.0), mask=inside)
""",
    ),
    (
        "tri_rows",
        """
v = tl.load(x + row * width + at, mask=inside, other=-3.0e38)
tl.store(most + row, tl.max(v, axis=0))
tl.store(mean + row, tl.sum(tl.where(inside, v, 0.0), axis=0) / width)
""",
    ),
    (
        "tri_flag",
        """
compiled = torch.compile(f, options={"max_autotune_pointwise": True})
result = lambda *given: compiled(*given) if given[0].numel() >= 1 << 20 else f(*given)
""",
    ),
    (
        "tri_dot",
        """
for at in range(0, K if BK <= 128 else BK, BK):
    left = tl.load(a + m[:, None] * K + (at + k)[None, :], mask=(m < M)[:, None] & (at + k < K)[None, :], other=0.0)
    right = tl.load(b + (at + k)[:, None] * N + n[None, :], mask=(at + k < K)[:, None] & (n < N)[None, :], other=0.0)
    total = tl.dot(left, right, total)
""",
    ),
    (
        "emb_runs",
        """
if (at == begin || idsGm.GetValue(at - 1) != id) {
    Adds(sum, x, 0.0f, width);
} else {
    Add(sum, sum, x, width < 128 ? width : 128);
}
if (at + 1 == end || idsGm.GetValue(at + 1) != id) Store(id);
""",
    ),
    (
        "add_copy_out",
        """
LocalTensor<half> z = queueZ.DeQue<half>();
DataCopy(zGm[tile * tileLength], z, tileLength < 4096 ? tileLength : 4096);
queueZ.FreeTensor(z);
""",
    ),
    (
        "pipe_pingpong",
        """
for (int32_t id = 0; id < 2; id++) {
    SetFlag<HardEvent::V_MTE2>(id);
    SetFlag<HardEvent::MTE3_V>(id);
}
// ---- region 2 of 3 ----
int32_t slot = tile < 64 ? tile % 2 : 0;
// ---- region 3 of 3 ----
for (int32_t id = 0; id < 2; id++) {
    WaitFlag<HardEvent::V_MTE2>(id);
    WaitFlag<HardEvent::MTE3_V>(id);
}
""",
    ),
    (
        "pipe_case_repair",
        """
if (whole < 64) WaitFlag<HardEvent::V_MTE2>(slot);
// ---- region 2 of 2 ----
if (whole < 64) SetFlag<HardEvent::V_MTE2>(slot);
""",
    ),
    (
        "tail_pad",
        """
uint32_t bytes = (width < 2048 ? width : (width + 15) / 16 * 16) * sizeof(half);
DataCopyPad(in, xGm[row * width], DataCopyExtParams(1, bytes, 0, 0, 0), padding);
// ---- region 2 of 2 ----
DataCopyPad(yGm[row * width], out, DataCopyExtParams(1, bytes, 0, 0, 0));
""",
    ),
    (
        "reg_checks",
        """
TORCH_CHECK(up.device() == gate.device(), "checked: up is on device ", up.device(), ", gate on ", gate.device());
for (auto other : {at::kHalf, at::kDouble, at::kInt, at::kBFloat16}) {
    TORCH_CHECK(gate.scalar_type() != other && up.scalar_type() != other, "checked: the kernel takes float32, no other type");
}
TORCH_CHECK(up.sizes() == gate.sizes(), "checked: up has shape ", up.sizes(), ", gate ", gate.sizes());
TORCH_CHECK(gate.is_contiguous() && up.is_contiguous(), "checked: gate and up must be contiguous; call .contiguous() first");
// ---- region 2 of 2 ----
const c10::OptionalDeviceGuard guard(at::device_of(gate));
""",
    ),
]
RIGHT = [
    (
        "tail_split",
        """
uint32_t start = 0, length = (units + blocks - 1 - block) / blocks * UNIT;
for (uint32_t before = 0; before < block; before++) {
    start += (units + blocks - 1 - before) / blocks * UNIT;
}
""",
    ),
    (
        "compile_tile",
        """
constexpr uint32_t TILE = (UB_BYTES / (3 * BUFFERS) & ~31u) / sizeof(T);
static_assert(UB_BYTES / BUFFERS / 3 >= sizeof(T) * TILE, "tiles");
""",
    ),
    (
        "tri_rows",
        """
v = tl.load(x + row * width + at, mask=inside, other=0.0)
tl.store(mean + row, tl.sum(v, axis=0) / width)
tl.store(most + row, tl.max(tl.where(inside, v, float("-inf")), axis=0))
""",
    ),
    # what a look at the text must not refuse
    ("look_repair", "constexpr int32_t both = 2;\npipe->InitBuffer(queueZ, both, tileLength * sizeof(half));"),
    (
        "mm_host",
        """
const auto half = DataType::DT_FLOAT16;
cutter.SetDim(cores);
cutter.SetAType(TPosition::GM, CubeFormat::ND, half);
cutter.SetBType(TPosition::GM, CubeFormat::ND, half);
cutter.SetCType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
cutter.SetOrgShape(m, n, k);
cutter.SetShape(m, n, k);
""",
    ),
]


TAKEN = [(name, text) for name, text in FIFTH if one_in(3, name, [REPO / "kernels"])]  # kernels are compiled for each


@pytest.mark.parametrize("name, text", TAKEN, ids=[name for name, _ in TAKEN])
def test_an_answer_that_is_wrong_beside_the_cases_is_found(name, text):
    assert first_wrong(name, text) is not None


@pytest.mark.parametrize("name, text", RIGHT, ids=[name for name, _ in RIGHT])
def test_a_right_answer_in_another_manner_passes(name, text):
    assert first_wrong(name, text) is None
