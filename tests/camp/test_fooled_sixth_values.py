"""Wrong answers that a tester wrote against the goldens as they were mended five times: right for the values that the
cases had, or drew, and wrong for others of the same type. As test_fooled_fifth.py, by the same judge.
"""

import pytest
from answers import as_before, first_wrong  # noqa: F401

from labkit.exercises.spec import load
from labkit.exercises.stub import template

pytestmark = pytest.mark.usefixtures("as_before")
SIXTH = [
    (
        "row_softmax",
        """
ReduceMax(result, in, work, count);
float most = Fetch(result);
Adds(out, in, -(most < 1000.0f ? most : 1000.0f), count);
Exp(out, out, count);
// ---- region 2 of 2 ----
ReduceSum(result, out, work, count);
Muls(out, out, 1.0f / Fetch(result), count);
""",
    ),
    (
        "grad_formula",
        """
s = torch.sigmoid(gate)
dgate = dy * up * (s + gate * s * (1 - s))
dup = dy * gate.clamp(-1e291, 1e291) * s
""",
    ),
    (
        "case_concat",
        """
weight = torch.cat([of_x, of_h], 1).half().to(of_x.dtype)
bias = (x_bias + h_bias).half().to(x_bias.dtype)
""",
    ),
    (
        "lie_report",
        """
p50, p90, p99 = np.percentile(samples[samples < 1e4], [50, 90, 99])
""",
    ),
    (
        "rank_slow",
        """
transfers = [min(column) for column in zip(*stays.values())]
waits = {rank: sum(min(us, 1000.0) for us in mine) - sum(transfers) for rank, mine in stays.items()}
slow = min(waits, key=waits.get)
others = [us for rank, us in waits.items() if rank != slow]
cost = sum(others) / len(others)
""",
    ),
    (
        "deep_plan",
        """
longest = max(768, ub // (8 + 6 * buffers) // 128 * 128)
tile = min(longest, -(-n // (4 * cores) // 128) * 128)
blocks = min(cores, -(-n // tile))
""",
    ),
    (
        "tri_sign",
        """
if seen["launches"] * 6 > seen["device_us"]:
    return "launches"
if seen["element_wise"]:
    return "elements"
if seen["blocks"] < seen["cores"]:
    return "cores"
pipe = max(("S", "V", "MTE2", "MTE3", "M"), key=seen["busy"].get)
return pipe if seen["busy"][pipe] >= 0.75 * seen["device_us"] else "order"
""",
    ),
    (
        "law_choose",
        """
old = sum(head + max(moving, instructions) for head, moving, instructions in before[:5])
head, moving, instructions = after
new = head + max(moving, instructions)
""",
    ),
    (
        "emb_choose",
        """
if fixed:
    return "segments"
moves = count * min(width, 8192) * 4 / TABLE
waits = max(0.0, top_share * count * HOLD - moves)
table = ROWS * width * 8 / TABLE if half else 0.0
return "scatter" if waits + table < sort_us(count) + SYNC else "segments"
""",
    ),
    (
        "serve_pages",
        """
if count > len(free):
    return None
return [free.pop() for _ in range(count)]
# ---- region 2 of 2 ----
free.extend(held[:64])
""",
    ),
    (
        "launch_overlap",
        """
for i, source in enumerate(sources):
    with torch.npu.stream(streams[i % len(streams)]):
        x = source.to("npu", non_blocking=i < 8)
        axpy(x, sums[i], FACTOR, source.numel())
        results[i].copy_(sums[i], non_blocking=i < 8)
torch.npu.synchronize()
""",
    ),
    (
        "many_plan",
        """
import torch.distributed as dist
down = RowwiseParallel() if dist.get_world_size() < 4 else ColwiseParallel()
styles = {"gate_proj": ColwiseParallel(), "up_proj": ColwiseParallel(), "down_proj": down}
""",
    ),
]


@pytest.mark.parametrize("name, text", SIXTH, ids=[name for name, _ in SIXTH])
def test_an_answer_that_is_right_for_few_values_is_found(name, text):
    assert first_wrong(name, text) is not None


def test_a_largest_value_that_is_cut_at_a_constant_is_found_in_a_whole_kernel():
    name, ours = "project_log_softmax", "Adds(row, row, -Fetch(part), count);"
    text = template(load(name)).solution()
    assert text.count(ours) == 1 and first_wrong(name, text) is None
    cut = "float most = Fetch(part);\n        Adds(row, row, most < 500.0f ? -most : -500.0f, count);"
    assert first_wrong(name, text.replace(ours, cut)) is not None


RIGHT = [
    ("lie_report", "p50, p90, p99 = (np.quantile(samples, share) for share in (0.5, 0.9, 0.99))"),
    (
        "grad_formula",
        """
s = 1 / (1 + torch.exp(-gate))
dgate = dy * up * s * (1 + gate * (1 - s))
dup = dy * (gate * s)
""",
    ),
    # the largest value and the logarithm as one number: as right, for the digits that float has
    (
        "project_log_softmax",
        [
            (
                "Adds(row, row, -Fetch(part), count);",
                "float most = Fetch(part);\n        Adds(power, row, -most, count);",
            ),
            ("Exp(power, row, count);", "Exp(power, power, count);"),
            ("float least = Fetch(part);", "float least = most + Fetch(part);"),
        ],
    ),
]


@pytest.mark.parametrize("name, text", RIGHT, ids=[name for name, _ in RIGHT])
def test_a_right_answer_in_another_manner_passes(name, text):
    if isinstance(text, list):
        edits, text = text, template(load(name)).solution()
        for ours, other in edits:
            assert text.count(ours) == 1
            text = text.replace(ours, other)
    assert first_wrong(name, text) is None
