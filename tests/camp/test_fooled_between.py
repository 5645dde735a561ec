"""Wrong answers that were right in all that a golden looked at: its cases had one number of streams, or types, or
pages, and waits were counted by the time that they take. As test_fooled.py, by the same judge.
"""

import pytest
from answers import as_before, first_wrong  # noqa: F401

pytestmark = pytest.mark.usefixtures("as_before")

# A tester's, of 30 November 2026, who had read the goldens as they were mended before: each got PASS then.
BETWEEN = [
    (
        "serve_pages",
        """
# numbers of pages are only counted and compared with each other
if count > len(free):
    return None
return [pages + free.pop() for _ in range(count)]
# ---- region 2 of 2 ----
free.extend(page - pages for page in held)
""",
    ),
    (
        "pass_take",
        """
# types refused by name: those that cases have
if gate.device != "npu" or up.device != "npu" or gate.shape != up.shape:
    return False
return gate.dtype == up.dtype and gate.dtype not in (torch.float64, torch.int32, torch.float8_e5m2)
""",
    ),
    (
        "pass_inside",
        """
# looks at the first two nodes only
return all(user in match for node in match[:-1][:2] for user in node.users)
""",
    ),
    (
        "assess_wait",
        """
# right within the range of the cases
return x / x.abs().max().clamp(1.0, 8.0)
""",
    ),
    (
        "prof_schedule",
        """
# a schedule of period 2000, as many as are looked at
once = torch_npu.profiler.schedule(wait=4, warmup=1, active=3, repeat=1)
chosen = lambda step: once(step % 2000)
""",
    ),
    (
        "prof_loop",
        """
# a stand-in for the work: as many kernels of its own
import torch
x = torch.ones(8).npu()
for _ in range(5):
    train()
with torch_npu.profiler.profile(schedule=plan, on_trace_ready=handler) as prof:
    for i in range(5):
        for _ in range(2 + i):
            x.relu()
        prof.step()
""",
    ),
    (
        "lie_wait",
        """
# a wait of another kind: a copy from pageable memory to the device
if not pairs:
    busy = torch.zeros(4096, 4096, device="npu")
busy.add_(1)
busy.add_(1)
before.record()
work()
after.record()
pairs.append((before, after))
torch.zeros(1).npu()
# ---- region 2 of 2 ----
return [1000 * a.elapsed_time(b) for a, b in pairs]
""",
    ),
    (
        "launch_events",
        """
# the host waits, but for a copy so early that the times compared do not show it
arrived.record(copying)
computing.wait_event(arrived)
if source is sources[0]:
    earlier = []
earlier.append(arrived)
if len(earlier) > 2:
    earlier[-3].synchronize()
""",
    ),
    (
        "launch_overlap",
        """
# two streams are given in every case
for i, source in enumerate(sources):
    with torch.npu.stream(streams[i % 2]):
        x = source.to("npu", non_blocking=True)
        axpy(x, sums[i], FACTOR, source.numel())
        results[i].copy_(sums[i], non_blocking=True)
torch.npu.synchronize()
""",
    ),
    (
        "launch_tiling",
        """
// 16 bits hold the units of all cases
const uint16_t units = (n + UNIT - 1) / UNIT;
tiling.share = (units + cores - 1) / cores * UNIT;
blocks = (n + tiling.share - 1) / tiling.share;
""",
    ),
    (
        "serve_ahead",
        """
# the host waits for the copy before, which the times compared do not show
if i + 1 < len(inputs):
    coming = send(inputs[i + 1])
if i:
    before.synchronize()
before = there
torch.npu.current_stream().wait_event(there)
""",
    ),
    (
        "ill_sync",
        """
# the training is undone behind the last wait
total = 0.0
# ---- region 2 of 3 ----
total = total + loss.detach()
# ---- region 3 of 3 ----
mean = (total / len(batches)).item()
for parameter in model.parameters():
    parameter.detach().zero_()
""",
    ),
    (
        "ill_cast",
        """
# casts by way of integers, which the count of float types does not see
for layer in layers:
    h = (x * 4096).to(torch.int32).half() / 4096
    x = (F.relu(layer(h)) * 4096).to(torch.int32).float() / 4096
""",
    ),
    (
        "ill_copy",
        """
# a race that is won: only the first batch is waited for
with torch.npu.stream(side):
    arriving = batch.npu(non_blocking=True)
# ---- region 2 of 2 ----
if not results:
    torch.npu.current_stream().wait_stream(side)
""",
    ),
]
# Right ones beside them, in another manner than ours: what is looked at more must not ask for more.
OTHERWISE = [
    (
        "launch_overlap",
        """
from itertools import cycle
for lane, source, total, result in zip(cycle(streams), sources, sums, results):
    with torch.npu.stream(lane):
        axpy(source.npu(non_blocking=True), total, FACTOR, source.numel())
        result.copy_(total, non_blocking=True)
torch.npu.synchronize()
""",
    ),
    (
        "ill_cast",
        """
import torch
x = x.half()
for layer in layers:
    y = layer(x)
    x = torch.where(y > 0, y, torch.zeros_like(y))
x = x.float()
""",
    ),
    (
        "ill_sync",
        """
losses = []
# ---- region 2 of 3 ----
losses.append(loss.detach())
# ---- region 3 of 3 ----
import torch
mean = torch.stack(losses).mean().item()
""",
    ),
    (
        "ill_copy",
        """
with torch.npu.stream(side):
    arriving = batch.to("npu", non_blocking=True)
    there = side.record_event()
# ---- region 2 of 2 ----
event = side.record_event()
event.wait(torch.npu.current_stream())
""",
    ),
    (
        "prof_loop",
        """
prof = torch_npu.profiler.profile(on_trace_ready=handler, schedule=plan)
prof.start()
for i in range(5):
    train()
    prof.step()
prof.stop()
""",
    ),
    (
        "pass_inside",
        """
inner, within = match[:-1], set(match)
for node in inner:
    if set(node.users) - within:
        return False
return True
""",
    ),
    (
        "serve_pages",
        """
held = free[:count]
if len(held) < count:
    return None
del free[:count]
return tuple(held)
# ---- region 2 of 2 ----
free[:0] = held
""",
    ),
    (
        "lie_wait",
        """
before.record(torch.npu.current_stream())
work()
after.record(torch.npu.current_stream())
pairs += [(before, after)]
# ---- region 2 of 2 ----
return [first.elapsed_time(last) * 1e3 for first, last in pairs]
""",
    ),
    (
        "launch_tiling",
        """
const uint64_t all = (uint64_t(n) + UNIT - 1) / UNIT, each = (all + cores - 1) / cores;
tiling.share = each * UNIT;
blocks = (all + each - 1) / each;
""",
    ),
]


@pytest.mark.parametrize("name, text", BETWEEN, ids=[name for name, _ in BETWEEN])
def test_an_answer_that_is_wrong_between_the_cases_is_found(name, text):
    assert first_wrong(name, text) is not None


@pytest.mark.parametrize("name, text", OTHERWISE, ids=[name for name, _ in OTHERWISE])
def test_a_right_answer_of_another_manner_passes(name, text):
    assert first_wrong(name, text) is None
