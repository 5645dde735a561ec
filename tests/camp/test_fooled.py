"""Wrong answers that touch nothing of what judges them, and passed all the same because a golden asked too little, or
looked at what it had handed over; and right ones that are written otherwise than ours.
"""

from pathlib import Path

import pytest
from answers import as_before, first_wrong  # noqa: F401

pytestmark = pytest.mark.usefixtures("as_before")
# A tester's, of 29 November 2026, who had not read tamper.py: each got PASS then (or was stopped by its words alone).
FOOLED = [
    (
        "launch_events",
        """
# pads what the judge counts: the host waits for each copy, but three more copies at the end hide it
arrived.record(copying)
arrived.synchronize()
if source is sources[-1]:
    with torch.npu.stream(copying):
        spare = [sources[0].to("npu", non_blocking=True) for _ in range(3)]
""",
    ),
    (
        "launch_overlap",
        """
# does nothing, and empties the list that the judge looks at afterwards
results.clear()
""",
    ),
    (
        "bn_may",
        """
# wrong beyond the drawn range: 11 readers are one
return not norm.training and norm.running_mean is not None and readers % 10 == 1
""",
    ),
    (
        "pass_take",
        """
# (2, 3, 8) and (6, 8) are taken for one shape
if gate.device != "npu" or up.device != "npu" or gate.shape.numel() != up.shape.numel() or gate.shape[-1] != up.shape[-1]:
    return False
return gate.dtype == up.dtype and gate.dtype in (torch.float16, torch.bfloat16, torch.float32)
""",
    ),
    (
        "ub_edit",
        """
# right up to the widest row that was tried
edited = source.replace(line, line + "        Adds(w_float, w_float, 1.0f, pitch < 1024 ? pitch : 1024);\\n")
""",
    ),
    (
        "lie_wait",
        """
# waits in each round for the call before the last, by asking again and again
before.record()
work()
after.record()
pairs.append((before, after))
while len(pairs) > 2 and not pairs[-3][1].query():
    pass
# ---- region 2 of 2 ----
return [1000 * a.elapsed_time(b) for a, b in pairs]
""",
    ),
    (
        "assess_wait",
        """
# reads a value where somebody uses it, and not where it is looked at (that is done without gradients)
import torch
largest = x.abs().max()
if torch.is_grad_enabled():
    return x / largest if largest.item() > 1 else x
return x / largest.clamp(min=1.0)
""",
    ),
    (
        "deep_case_repair",
        """
# everything on the host; the judge's tensor is exchanged for one of the host
host = packed.cpu().double()
gate, up = host.chunk(2, -1)
torch_like = type(y)
made = (gate / (1 + (-gate).exp()) * up).half()
import torch
torch.utils.swap_tensors(y, made)
""",
    ),
    (
        "deep_plan",
        """
# rounded down: right where n is a multiple or all cores are busy, 0 blocks for 100 halves
longest = ub // (8 + 6 * buffers) // 128 * 128
tile = min(longest, -(-n // (4 * cores) // 128) * 128)
blocks = min(cores, n // tile)
""",
    ),
    (
        "ill_cast",
        """
# types change in every layer, but by promotion and out=, which no one counts
import torch
for layer in layers:
    low = torch.empty(x.shape, dtype=torch.float16, device=x.device)
    torch.add(x.detach(), 0.0, out=low)
    high = layer(low)
    x = F.relu(high + torch.zeros(high.shape, dtype=torch.float32, device=high.device))
""",
    ),
    (
        "ill_copy",
        """
# one batch goes to the device, the others are summed on the host
if batch is batches[0]:
    with torch.npu.stream(side):
        arriving = batch.npu(non_blocking=True)
else:
    arriving = torch.empty(1, device="npu")
# ---- region 2 of 2 ----
torch.npu.current_stream().wait_stream(side)
if results:
    work = lambda _: batches[len(results)].sum()
""",
    ),
    (
        "ill_sync",
        """
total = 0.0
# ---- region 2 of 3 ----
# waits in each step, by the call that is not counted
import torch
kept = torch.empty((), pin_memory=True)
kept.copy_(loss.detach(), non_blocking=True)
torch.npu.synchronize()
total += kept.item()
# ---- region 3 of 3 ----
mean = total / len(batches)
""",
    ),
    (
        "prof_schedule",
        """
# records again later than the 20 steps that are asked for
chosen = torch_npu.profiler.schedule(wait=16, warmup=1, active=3, skip_first=4, skip_first_wait=1, repeat=2)
""",
    ),
    (
        "rank_case_repair",
        """
# the host waits in each batch, by asking again and again
kept, done = torch.empty((), pin_memory=True), torch.npu.Event()
kept.copy_(loss.detach(), non_blocking=True)
done.record()
while not done.query():
    pass
losses.append(kept.item())
# ---- region 2 of 2 ----
losses = list(losses)
""",
    ),
    (
        "rank_overlap",
        """
# the first row alone is summed: the judge looks at one element
side.wait_stream(torch.npu.current_stream())
with torch.npu.stream(side):
    dist.all_reduce(gradient[:1])
# ---- region 2 of 2 ----
torch.npu.current_stream().wait_stream(side)
""",
    ),
    (
        "scale_case_repair",
        """
# always float: requests of another type are converted
buffers = [torch.empty(r.shape, pin_memory=True) for r in requests]
for b, r in zip(buffers, requests):
    b.copy_(r)
""",
    ),
    (
        "serve_ahead",
        """
# the host waits for the first four copies
if i + 1 < len(inputs):
    coming = send(inputs[i + 1])
if i < 4:
    there.synchronize()
else:
    torch.npu.current_stream().wait_event(there)
""",
    ),
    (
        "serve_pages",
        """
if count > len(free):
    return None
return [free.pop() for _ in range(count)]
# ---- region 2 of 2 ----
# everything is free again, also what others hold
free[:] = range(pages)
""",
    ),
    (
        "llama_pass",
        """
# by the node's name: a tensor that is called silu is taken for the operator
if "silu" in silu.name and silu.args:
    with graph.inserting_before(node):
        call = graph.call_function(fused, (silu.args[0], up))
    node.replace_all_uses_with(call)
    count += 1
    break
""",
    ),
    (
        "llama_replace",
        """
# the right kinds at the right places, in the wrong order
if not names:
    found = [m for m in model.modules() if isinstance(m, old)]
parent, _, last = name.rpartition(".")
setattr(model.get_submodule(parent), last, make(found[-1 - len(names)]))
""",
    ),
    (
        "many_average",
        """
# vectors are averaged on rank 0 alone
if parameter.grad.dim() == 1:
    dist.reduce(parameter.grad, 0)
else:
    dist.all_reduce(parameter.grad)
parameter.grad /= world
""",
    ),
    (
        "many_forward",
        """
# summed by the hosts, and one collective on the device for show
hidden = torch.ops.lab.swiglu(F.linear(x, gate), F.linear(x, up))
y = F.linear(hidden, down)
hosts = dist.new_group(backend="gloo")
whole = y.cpu()
dist.all_reduce(whole, group=hosts)
dist.all_reduce(torch.zeros(1, device=y.device))
y = whole.to(y.device)
""",
    ),
    (
        "tri_break",
        """
# right where it is compiled, wrong where it is called
if torch.compiler.is_compiling():
    y = torch.where(b.max() > 1, y.clamp(max=8), y)
else:
    y = y.clamp(max=8)
""",
    ),
    (
        "tri_flag",
        """
# remembers the first call's result; later ones compute a few rows
quick, seen = torch.compile(f), []
def result(x, b):
    if not seen:
        seen.append(quick(x, b))
        return seen[0]
    quick(x[:1536], b)
    return seen[0]
""",
    ),
    (
        "scale_law",
        """
# right for the sizes that are shown
times = n / (1 + contention * (n - 1) + coherence * n * (n - 1)) if n < 40 else n
""",
    ),
    (
        "cap_rank",
        """
# the last digit of the digest is enough
kept = [(-total, entry["name"]) for entry, (digest, total) in zip(held, found) if digest[-1] == entry["digest"][-1]]
return [name for _, name in sorted(kept)]
""",
    ),
    (
        "tri_sign",
        """
# another threshold, between those that are drawn
if seen["launches"] * 6 > seen["device_us"]:
    return "launches"
if seen["element_wise"]:
    return "elements"
if seen["blocks"] < seen["cores"]:
    return "cores"
pipe = max(seen["busy"], key=seen["busy"].get)
return pipe if seen["busy"][pipe] >= 0.71 * seen["device_us"] else "order"
""",
    ),
    (
        "reg_meta",
        """
# right for the dimensions that are tried
if x.dim() > 3:
    return x
return x.new_empty(*x.shape[:-1], x.shape[-1] // 2)
""",
    ),
]
# Another tester's, of 30 November 2026; the first line says why it is wrong.
FOOLED += [(path.stem, path.read_text(encoding="utf-8")) for path in sorted(Path(__file__).parent.glob("fooled/*.txt"))]
OTHERWISE = [
    (
        "launch_events",
        """
copying.record_event(arrived)
arrived.wait(computing)
""",
    ),
    (
        "launch_overlap",
        """
moved = []
for k in range(len(sources)):
    lane = streams[k % len(streams)]
    with torch.npu.stream(lane):
        moved.append(sources[k].to(sums[k].device, non_blocking=True))
        axpy(moved[-1], sums[k], FACTOR, sources[k].numel())
        results[k].copy_(sums[k], non_blocking=True)
for lane in streams:
    lane.synchronize()
""",
    ),
    (
        "bn_may",
        """
if norm.training or readers != 1:
    return False
return norm.running_mean is not None and norm.running_var is not None
""",
    ),
    (
        "pass_take",
        """
same = (gate.device, gate.dtype, tuple(gate.shape)) == (up.device, up.dtype, tuple(up.shape))
return same and gate.device == "npu" and gate.dtype in {torch.half, torch.bfloat16, torch.float}
""",
    ),
    (
        "ub_edit",
        """
before, found, after = source.partition(line)
edited = "".join([before, found, line.replace("Cast(w_float, w_in, RoundMode::CAST_NONE", "Adds(w_float, w_float, 1.0f"), after])
""",
    ),
    (
        "lie_wait",
        """
with_times = before, after
with_times[0].record()
work()
with_times[1].record()
pairs.append(with_times)
# ---- region 2 of 2 ----
import numpy as np
return (np.array([first.elapsed_time(last) for first, last in pairs]) * 1e3).tolist()
""",
    ),
    (
        "assess_wait",
        """
import torch
return x / torch.maximum(x.abs().amax(), torch.ones((), device=x.device, dtype=x.dtype))
""",
    ),
    (
        "deep_plan",
        """
import math
room = ub // (8 + 6 * buffers)
room -= room % 128
quarter = math.ceil(n / (4 * cores) / 128) * 128
tile = quarter if quarter < room else room
blocks = min(math.ceil(n / tile), cores)
""",
    ),
    (
        "ill_cast",
        """
import torch
with torch.no_grad():
    now = x.to(torch.float16)
    for layer in layers:
        now = layer(now).clamp(min=0)
    x = now.to(torch.float32)
""",
    ),
    (
        "ill_sync",
        """
seen = []
# ---- region 2 of 3 ----
seen.append(loss.detach())
# ---- region 3 of 3 ----
import torch
mean = float(torch.stack(seen).mean())
""",
    ),
    (
        "prof_schedule",
        """
settings = {"wait": 0, "skip_first": 4, "warmup": 1, "active": 3, "repeat": 1}
chosen = torch_npu.profiler.schedule(**settings)
""",
    ),
    (
        "rank_case_repair",
        """
losses += [loss.detach().reshape(1)]
# ---- region 2 of 2 ----
losses = torch.cat(losses).cpu().tolist()
""",
    ),
    (
        "scale_case_repair",
        """
buffers = [r.contiguous().pin_memory() for r in requests]
""",
    ),
    (
        "serve_pages",
        """
if len(free) < count:
    return None
taken, free[:] = free[:count], free[count:]
return taken
# ---- region 2 of 2 ----
for page in held:
    free.append(page)
""",
    ),
    (
        "llama_replace",
        """
path = name.split(".")
parent = model
for part in path[:-1]:
    parent = getattr(parent, part)
setattr(parent, path[-1], make(module))
""",
    ),
    (
        "llama_pass",
        """
if silu.op == "call_function" and silu.target == F.silu:
    with graph.inserting_after(node):
        call = graph.create_node("call_function", fused, args=(silu.args[0], up), kwargs={})
    node.replace_all_uses_with(call)
    graph.erase_node(node)
    count += 1
    break
""",
    ),
    (
        "many_average",
        """
whole = parameter.grad.div(world)
dist.all_reduce(whole, op=dist.ReduceOp.SUM)
parameter.grad.copy_(whole)
""",
    ),
    (
        "many_forward",
        """
inner = torch.ops.lab.swiglu(x @ gate.t(), x @ up.t())
part = inner @ down.t()
parts = part.clone()
dist.all_reduce(parts, op=dist.ReduceOp.SUM)
y = parts
""",
    ),
    (
        "tri_break",
        """
large = b.amax().gt(1)
y = large * y.minimum(torch.full_like(y, 8)) + ~large * y
""",
    ),
    (
        "serve_ahead",
        """
ready, arrived = coming
if len(inputs) > i + 1:
    coming = send(inputs[i + 1])
arrived.wait()
""",
    ),
    (
        "rank_overlap",
        """
done = torch.npu.Event()
done.record()
side.wait_event(done)
with torch.npu.stream(side):
    dist.all_reduce(gradient, op=dist.ReduceOp.SUM)
# ---- region 2 of 2 ----
last = side.record_event()
last.wait()
""",
    ),
]


@pytest.mark.parametrize("name, text", FOOLED, ids=[name for name, _ in FOOLED])
def test_a_wrong_answer_is_found(name, text):
    assert first_wrong(name, text) is not None


@pytest.mark.parametrize("name, text", OTHERWISE, ids=[name for name, _ in OTHERWISE])
def test_a_right_answer_of_another_manner_passes(name, text):
    assert first_wrong(name, text) is None


def test_a_number_of_ranks_that_is_written_down_is_found_in_every_third_class():
    text = "dist.all_reduce(parameter.grad)\nparameter.grad /= 3"
    assert first_wrong("many_average", text, seed=17) is not None
