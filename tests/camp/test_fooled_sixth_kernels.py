"""Wrong answers that hold for the sizes of the cases as these were mended five times, and not beyond them: more tiles,
rows, blocks, terms or room than any shown case has, another tail or rest, a longer row. A class draws at least one size
beyond each. As test_fooled_fifth_kernels.py, by the same judge.
"""

import pytest
from answers import SEED, as_before, first_wrong  # noqa: F401
from drawn import one_in
from places import REPO

from labkit import messages
from labkit.exercises import judge
from labkit.exercises.spec import load
from labkit.exercises.stub import template

pytestmark = pytest.mark.usefixtures("as_before")
SIXTH = [
    (
        "tail_length",
        """
uint32_t tiles = (length + TILE - 1) / TILE;
// ---- region 2 of 2 ----
uint32_t left = length - at;
uint32_t count = left >= TILE ? TILE : left < 128 ? 16 : 240;
""",
    ),
    (
        "row_sum",
        """
if (rest > 0) {
    WholeReduceSum(parts[full], in[full * LANES], rest > 40 && rest != 63 ? 40 : rest, 1, 1, 1, 8);
    count++;
}
// ---- region 2 of 2 ----
WholeReduceSum(total, parts, count, 1, 1, 1, 8);
""",
    ),
    (
        "serve_evict",
        """
found += key in kept
kept[key] = True
kept.move_to_end(key)
if len(kept) > min(size, 8):
    kept.popitem(last=False)
""",
    ),
    (
        "whole_launch",
        """
const uint32_t needed = (n + SHARE - 1) / SHARE;
twice<<<(needed < 20 ? needed : 20), nullptr, stream>>>(xDevice, yDevice);
aclrtSynchronizeStream(stream);
aclrtMemcpy(y.data(), bytes, yDevice, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
""",
    ),
    (
        "cube_sum",
        """
SetFlag<HardEvent::MTE1_M>(0);
WaitFlag<HardEvent::MTE1_M>(0);
Mmad(sums, a2, b2, MmadParams(m, n, step, 0, false, from % 1024 == 0));
SetFlag<HardEvent::M_MTE1>(0);
""",
    ),
    (
        "mm_object",
        """
int32_t row = block % down * tiling.singleCoreM;
int32_t column = block / down * tiling.singleCoreN;
// ---- region 2 of 2 ----
mm.SetTensorA(aGm[row * (tiling.Ka < 512 ? tiling.Ka : 512)]);
mm.SetTensorB(bGm[column]);
mm.SetTail(high, wide);
mm.IterateAll(cGm[row * tiling.N + column]);
""",
    ),
    (
        "tri_rows",
        """
v = tl.load(x + tl.minimum(row, 63) * width + at, mask=inside, other=-float("inf"))
tl.store(most + row, tl.max(v, axis=0))
tl.store(mean + row, tl.sum(tl.where(inside, v, 0.0), axis=0) / width)
""",
    ),
    (
        "tri_pieces",
        """
if width <= 768:
    mean = tl.sum(tl.where(inside, v, 0.0), axis=1)[:, None] / width
    d = v - mean
else:
    d = v
scale = tl.rsqrt(tl.sum(tl.where(inside, d * d, 0.0), axis=1)[:, None] / width + 1e-5)
""",
    ),
    (
        "tri_first",
        """
at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
inside = at < tl.minimum(n, 131072)
total = 0.75 * tl.load(x + at, mask=inside) + tl.load(r + at, mask=inside)
tl.store(y + at, tl.maximum(total, 0.0), mask=inside)
""",
    ),
    (
        "add_copy_in",
        """
DataCopy(x, xGm[tile * tileLength], tileLength);
DataCopy(y, yGm[(tile < 32 ? tile : 31) * tileLength], tileLength);
queueX.EnQue(x);
queueY.EnQue(y);
""",
    ),
    (
        "add_compute",
        """
Add(z, x, y, static_cast<int32_t>(tiles < 64 ? tileLength : 16));
queueZ.EnQue(z);
queueX.FreeTensor(x);
queueY.FreeTensor(y);
""",
    ),
    (
        "add_tiling",
        """
block_length = n // min(blocks, 48)
most = ub // (QUEUES * BUFFERS * HALF)
tile_length = max(t for t in range(UNIT // HALF, most + 1, UNIT // HALF) if block_length % t == 0)
""",
    ),
    (
        "compile_macro",
        """
__aicore__ inline constexpr uint32_t RoundUp(uint32_t a, uint32_t b)
{
    return static_cast<uint16_t>((a + b - 1) / b * b);
}
""",
    ),
]
EDITS = [  # (old, new) in our solution of an exercise that is a whole kernel
    ("project_scale_leaky", "at < rows; at +=", "at < (rows < 512 ? rows : 512); at +="),
    ("project_group_norm", "scale * both.GetValue(c), count);", "scale * both.GetValue(c % 8), count);"),
]
RIGHT = [
    (
        "tail_length",
        """
uint32_t tiles = 0;
while (tiles * TILE < length) tiles++;
// ---- region 2 of 2 ----
uint32_t count = TILE;
for (; at + count > length; count -= 16) {
}
""",
    ),
    (
        "row_sum",
        """
for (; count * LANES < static_cast<int32_t>(width); count++) {
    WholeReduceSum<float>(parts[count], in[width - rest], rest, 1, 1, 1, 8);
}
// ---- region 2 of 2 ----
const int32_t once = 1;
WholeReduceSum(total, parts[0], count, once, once, once, 8);
""",
    ),
    (
        "serve_evict",
        """
if kept.pop(key, False):
    found += 1
kept[key] = True
while len(kept) > size:
    del kept[next(iter(kept))]
""",
    ),
    (
        "compile_macro",
        """
template <typename Whole>
__aicore__ constexpr Whole Missing(Whole a, Whole b) { return a % b ? b - a % b : 0; }
constexpr __aicore__ inline auto RoundUp(uint32_t number, uint32_t unit) -> uint32_t { return number + Missing(number, unit); }
""",
    ),
]


def _edited(name: str, old: str, new: str) -> str:
    return template(load(name)).mutant((), ((old, new),))


ALL = SIXTH + [(name, None) for name, *_ in EDITS]
# a Python one is quick; for each other kernels are compiled
TAKEN = [
    (name, text) for name, text in ALL if name in ("serve_evict", "add_tiling") or one_in(3, name, [REPO / "kernels"])
]


@pytest.mark.parametrize("name, text", TAKEN, ids=[name for name, _ in TAKEN])
def test_an_answer_that_holds_for_the_shown_sizes_is_found(name, text):
    if text is None:
        text = _edited(*next(one for one in EDITS if one[0] == name))
    assert judge.examine(load(name), text.strip("\n")).state == "FAIL"


@pytest.mark.parametrize("name, text", RIGHT, ids=[name for name, _ in RIGHT])
def test_a_right_answer_in_another_manner_passes(name, text):
    assert first_wrong(name, text) is None


@pytest.mark.parametrize("language, words", [("en", "not for every uint32_t"), ("zh", "并非对每个 uint32_t 都正确")])
def test_too_few_bits_are_named_with_numbers(monkeypatch, language, words):
    monkeypatch.setattr(messages, "language", lambda: language)
    made = judge.examine(
        load("compile_macro"), next(text for name, text in SIXTH if name == "compile_macro").strip("\n")
    )
    assert words in made.lines[0] and "RoundUp(70001, 16)" in made.lines[0]


GOLDENS = {  # of each exercise: cases, and the size of one that its shown cases leave out
    "tail_length": lambda case: case.args[2] % 256 not in (0, 16, 240),
    "row_sum": lambda case: case.args[3] % 64 not in (0, 1, 33, 40, 63),
    "serve_evict": lambda case: case.args[1] > 8,
    "whole_launch": lambda case: case.args[0] > 5120,
    "cube_sum": lambda case: case.args[5] > 1024,
    "mm_object": lambda case: case.args[3][2] > 1024,
    "project_scale_leaky": lambda case: case.args[4] > 512,
    "project_group_norm": lambda case: case.args[6] == 256,
    "tri_rows": lambda case: case.blocks > 100,
    "tri_pieces": lambda case: case.args[5] > 768,
    "tri_first": lambda case: case.args[3] > 131_072,
    "add_copy_in": lambda case: case.args[3]["blockLength"] >= 64 * case.args[3]["tileLength"],
    "add_tiling": lambda case: case.args[1] > 48,
    "compile_macro": lambda case: case.args[3] not in (16, 31, 250, 256),
}


@pytest.mark.parametrize("name", GOLDENS)
def test_a_class_of_any_seed_has_a_size_that_no_shown_case_has(name):
    spec, beyond = load(name), GOLDENS[name]
    cases = spec.function(spec.cases)
    assert not any(map(beyond, cases(0, False)))
    assert all(any(map(beyond, cases(seed, False))) for seed in (1, 7, SEED))
