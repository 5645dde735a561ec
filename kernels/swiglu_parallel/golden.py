"""Cases of the exercises on many devices: what three ranks compute together, beside one device alone.

The functions that run in the ranks stand at the top level: labkit.ranks sends them, and the learner's with them, by
their code.
"""

from __future__ import annotations

import os
import random
from unittest.mock import patch

import torch
from torch import nn
from torch.nn import functional as F

from labkit import messages
from labkit.exercises import Case

TIMEOUT = 45
CLOSE = (1e-4, 1e-5)


def world_of(seed) -> int:
    """How many ranks there are: in every third class another number than in the notebook, for those who write it down.
    Not more: a rank takes seconds to start. Not 2 alone: with two ranks `a + b` looks right."""
    return 2 if seed % 3 == 2 else 3


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def ranks(world, function, *arguments):
    import labkit

    labkit.operator("swiglu").missing("swiglu")  # built here once, and not by the ranks against their time limit
    return labkit.ranks(world, function, *arguments, timeout=TIMEOUT)


def weights(seed, hidden, inner):
    g = torch.Generator().manual_seed(seed)
    return [
        torch.randn(shape, generator=g) / shape[1] ** 0.5
        for shape in ((inner, hidden), (inner, hidden), (hidden, inner))
    ]


def reference(x, gate, up, down):
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


SIZES = ((6, 16, 8), (4, 32, 16))  # rows of x, hidden, inner units of each rank


# ---- data parallel

FURTHER = (), (2, 3, 4), (2, 3, 3, 3)  # shapes


def average_cases(seed, quick):
    world, made = world_of(seed), []
    for rows, hidden, _ in SIZES[:1] if quick else SIZES:
        g = torch.Generator().manual_seed(seed)
        x, y = torch.randn(world * rows, hidden, generator=g), torch.randn(world * rows, 3, generator=g)
        w, b = torch.randn(3, hidden, generator=g), torch.randn(3, generator=g)
        whole = [w.clone().requires_grad_(), b.clone().requires_grad_()]
        F.mse_loss(F.linear(x, *whole), y).backward()
        expected = {
            say("gradient of weight", "weight 的梯度"): whole[0].grad,
            say("gradient of bias", "bias 的梯度"): whole[1].grad,
            say("gradients of other shapes", "其他形状的梯度"): torch.full((len(FURTHER),), world - 1.0),
            say("parameters", "参数"): say("untouched", "未改动"),
            say("tensors of the gradients", "梯度的张量"): say("the same as before", "仍是原来的"),
            say("copies to the host or from it", "与主机之间的拷贝次数"): 0,
            "ranks": say("agree", "一致"),
        }
        name = say(f"{world * rows} rows on {world} ranks", f"{world} 个 rank，共 {world * rows} 行")
        made.append(Case(name, (world, w, b, x, y), expected, tolerance=CLOSE))
    return made


def _average_in_rank(rank, function, world, w, b, x, y):
    import labkit

    model = nn.Linear(w.shape[1], w.shape[0])
    model.load_state_dict({"weight": w, "bias": b})
    model.npu()
    mine = slice(rank * len(x) // world, (rank + 1) * len(x) // world)
    F.mse_loss(model(x[mine].npu()), y[mine].npu()).backward()
    # beside the weight and the bias gradients of no axis, of three and of four: a scale's, a table's, a convolution's
    for shape in FURTHER:
        model.register_parameter(f"of_{len(shape)}", nn.Parameter(torch.ones(shape).npu()))
        getattr(model, f"of_{len(shape)}").grad = torch.full(shape, 2.0 * rank).npu()
    held, before = [p.grad for p in model.parameters()], labkit.device.clock().launches
    given = [p.detach().clone() for p in model.parameters()]
    function(model, world)
    copies = _host_copies(before)
    kept = all(map(torch.equal, given, [p.detach() for p in model.parameters()]))
    same = all(map(torch.equal, held, [p.grad for p in model.parameters()]))
    further = torch.stack([getattr(model, f"of_{len(shape)}").grad.mean() for shape in FURTHER])
    return model.weight.grad, model.bias.grad, kept, same, copies, further


def _host_copies(before: int) -> int:
    """Copies between host and device since the timeline had `before` spans."""
    import labkit

    return sum(s.engine in ("copy in", "copy out") for s in labkit.device.timeline_since(before))


def run_average(function, args, case):
    run = ranks(args[0], _average_in_rank, function, *args)
    kept, same = (all(rank[i] for rank in run) for i in (2, 3))
    agree = all(torch.equal(run[0][i], rank[i]) for rank in run for i in (0, 1, 5))
    return {
        say("gradient of weight", "weight 的梯度"): run[0][0],
        say("gradient of bias", "bias 的梯度"): run[0][1],
        say("gradients of other shapes", "其他形状的梯度"): run[0][5],
        say("parameters", "参数"): say("untouched", "未改动") if kept else say("changed", "被改动"),
        say("tensors of the gradients", "梯度的张量"): say("the same as before", "仍是原来的")
        if same
        else say("new ones", "换成了新的"),
        say("copies to the host or from it", "与主机之间的拷贝次数"): max(rank[4] for rank in run),
        "ranks": say("agree", "一致") if agree else say("differ", "不一致"),
    }


# ---- tensor parallel


def shard_cases(seed, quick):
    made, draw = [], random.Random(seed)
    asked = [(3, 2, 6)] if quick else [(2, 4, 8), (4, 3, 12), (1, 4, 4), (3, 2, 6)]
    for world in draw.sample((5, 6, 7, 9, 10, 11, 12), 2) if seed else ():
        asked.append((world, draw.randint(1, 9), world * draw.randint(1, 5)))
    for world, hidden, inner in asked:
        gate, up, down = weights(seed, hidden, inner)
        for rank in range(world):
            part = [torch.chunk(gate, world)[rank], torch.chunk(up, world)[rank], torch.chunk(down, world, 1)[rank]]
            made.append(Case(f"rank {rank} of {world}", (rank, world, gate, up, down), part))
    return made


def forward_cases(seed, quick):
    world, made = world_of(seed), []
    for rows, hidden, each in SIZES[:1] if quick else SIZES:
        inner = world * each
        x = torch.randn(rows, hidden, generator=torch.Generator().manual_seed(seed + 1))
        gate, up, down = weights(seed, hidden, inner)
        expected = {f"rank {rank}": reference(x, gate, up, down) for rank in range(world)}
        expected |= {
            say("collectives", "集合通信次数"): 1,
            say("calls of torch.ops.lab.swiglu", "torch.ops.lab.swiglu 的调用次数"): 1,
            "`x`": _told(True),
            say("weights", "权重"): _told(True),
        }
        made.append(Case(f"{rows}x{hidden}, inner {inner}", (world, x, gate, up, down), expected, tolerance=CLOSE))
    return made


def _forward_in_rank(rank, function, world, x, gate, up, down):
    import labkit

    labkit.operator("swiglu").missing("swiglu")
    own = labkit.operator("swiglu_parallel").shards(rank, world, gate, up, down)
    given = x.npu().clone(), *(w.contiguous().npu() for w in own)
    before = labkit.device.clock().launches
    kept = [t.clone() for t in given]
    y = function(*given)
    names = [s.name for s in labkit.device.timeline_since(before)]
    calls = sum("swiglu" in name for name in names) if names else 1  # a card has no such timeline
    return y, _host_copies(before), calls, torch.equal(given[0], kept[0]), all(map(torch.equal, given[1:], kept[1:]))


def once(counted: list) -> int:
    """1 where it is 1 on every rank, else the number that is farthest from it."""
    return max(counted, key=lambda times: abs(times - 1))


def collectives(run):
    """By the ranks' timelines; 1 where time is not virtual."""
    if not any(run.timelines.values()):
        return 1
    return once([sum(s.engine == "link" for s in spans) for spans in run.timelines.values()])


def run_forward(function, args, case):
    run = ranks(args[0], _forward_in_rank, function, *args)
    host = max(copies for _, copies, *_ in run)
    found = say(f"{host} copies to the host and back", f"与主机之间拷贝 {host} 次") if host else collectives(run)
    return {f"rank {rank}": made[0] for rank, made in enumerate(run)} | {
        say("collectives", "集合通信次数"): found,
        say("calls of torch.ops.lab.swiglu", "torch.ops.lab.swiglu 的调用次数"): once([made[2] for made in run]),
        "`x`": _told(all(made[3] for made in run)),
        say("weights", "权重"): _told(all(made[4] for made in run)),
    }


def backward_cases(seed, quick):
    made = []
    for case in forward_cases(seed, quick):
        world, *given = case.args
        x, gate, up, down = (t.clone().requires_grad_() for t in given)
        reference(x, gate, up, down).square().mean().backward()
        expected = {
            "y": reference(*given),
            say("gradient of x", "x 的梯度"): x.grad,
            **{_of_rank(rank): x.grad for rank in range(1, world)},
            say("gradient of gate", "gate 的梯度"): gate.grad,
            say("gradient of up", "up 的梯度"): up.grad,
            say("gradient of down", "down 的梯度"): down.grad,
            **_kept(True, True),
            say("copies to the host or from it", "与主机之间的拷贝次数"): 0,
            say("sums of ones, of one to three axes", "一到三维的全 1 张量之和"): torch.full((3,), float(world)),
        }
        made.append(Case(case.name, case.args, expected, tolerance=CLOSE))
    return made


def _of_rank(rank: int) -> str:
    return say(f"gradient of x, rank {rank}", f"rank {rank} 上 x 的梯度")


def _kept(partial: bool, grad: bool) -> dict:
    """What goes into a function is not the function's to change."""
    return {"`partial`": _told(partial), "`grad`": _told(grad)}


def _told(same: bool) -> str:
    return say("as it was", "未改变") if same else say("changed in place", "被就地改变")


def _backward_in_rank(rank, function, world, x, gate, up, down):
    import labkit

    labkit.operator("swiglu").missing("swiglu")
    enter, leave = function()
    x = x.npu().requires_grad_()
    own = [
        w.contiguous().npu().requires_grad_()
        for w in labkit.operator("swiglu_parallel").shards(rank, world, gate, up, down)
    ]
    begun = labkit.device.clock().launches
    inside, incoming = enter.apply(x), []
    inside.register_hook(lambda grad: incoming.append((grad, grad.clone())))
    partial = F.linear(torch.ops.lab.swiglu(F.linear(inside, own[0]), F.linear(inside, own[1])), own[2])
    before = partial.detach().clone()
    y = leave.apply(partial)
    if y is None:
        return None
    y.square().mean().backward()
    copies = _host_copies(begun)  # of these two axes, and below of the other shapes
    kept = torch.equal(partial.detach(), before)
    sums = []
    for shape in ((4,), tuple(x.shape), (2, 3, 4)):  # the sum of two branches gives both of them this tensor
        came, zero = torch.ones(shape).npu(), torch.zeros(shape).npu()
        incoming.append((came, came.clone()))
        entering, part = torch.zeros(shape).npu().requires_grad_(), torch.ones(shape).npu()
        begun = labkit.device.clock().launches
        (enter.apply(entering) + zero).backward(came)
        summed = leave.apply(part)
        copies += _host_copies(begun)
        sums.append(float("nan") if summed is None else summed.mean().cpu())
        kept = kept and torch.equal(part, torch.ones_like(part))
    same = all(torch.equal(grad, clone) for grad, clone in incoming)
    return [t.detach() for t in (y, x.grad, *(w.grad for w in own))] + [kept, same, copies, torch.tensor(sums)]


def run_backward(function, args, case):
    run = ranks(args[0], _backward_in_rank, function, *args)
    if None in run.results:
        return {"Leave.apply(y)": None}
    ys, xs, gates, ups, downs, partials, grads, copies, sums = zip(*run)
    return {
        "y": ys[0],
        say("gradient of x", "x 的梯度"): xs[0],
        **{_of_rank(rank): xs[rank] for rank in range(1, args[0])},
        say("gradient of gate", "gate 的梯度"): torch.cat(gates),
        say("gradient of up", "up 的梯度"): torch.cat(ups),
        say("gradient of down", "down 的梯度"): torch.cat(downs, 1),
        **_kept(all(partials), all(grads)),
        say("copies to the host or from it", "与主机之间的拷贝次数"): max(copies),
        say("sums of ones, of one to three axes", "一到三维的全 1 张量之和"): sums[0],
    }


def plan_cases(seed, quick):
    made = []
    for case in forward_cases(seed, quick):
        world, _, gate, *_ = case.args
        expected = {_result_of(rank): case.expected[f"rank {rank}"] for rank in range(world)}
        expected |= {say("parts", "各部分"): _parts(world, gate), say("collectives", "集合通信次数"): 1}
        expected[say("the styles on more ranks", "rank 更多时的切分方式")] = say("the same", "相同")
        made.append(Case(case.name, case.args, expected, tolerance=CLOSE))
    return made


def _result_of(rank: int) -> str:
    return say(f"result, rank {rank}", f"rank {rank} 的结果") if rank else say("result", "结果")


def _parts(world: int, gate) -> dict:
    inner, hidden = gate.shape
    part = inner // world
    return {"gate_proj": [part, hidden], "up_proj": [part, hidden], "down_proj": [hidden, part]}


def _plan_in_rank(rank, function, world, x, gate, up, down):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import parallelize_module

    import labkit

    mlp = labkit.operator("swiglu").SwiGLUMLP(gate.shape[1], gate.shape[0], projections=False)
    mlp.load_state_dict({"gate_proj.weight": gate, "up_proj.weight": up, "down_proj.weight": down})
    mlp.npu()
    styles = function()
    parallelize_module(mlp, init_device_mesh("npu", (world,)), styles)
    labkit.device.reset_clock()
    with torch.no_grad():
        # of two axes, and of three: of a batch and its tokens
        y = mlp(x.reshape(2, -1, x.shape[1]).npu() if len(x) == SIZES[-1][0] else x.npu())
    # a DTensor is not to be read in another process
    y = type(y).__name__ if hasattr(y, "to_local") else y.reshape(x.shape)
    parts = {name: list(getattr(mlp, name).weight.to_local().shape) for name in ("gate_proj", "up_proj", "down_proj")}
    return y, parts, _other_styles(function, styles)


def _other_styles(function, styles) -> str:
    """How the plan differs where it is told of more ranks than can be started here, "" where it does not."""
    import torch.distributed as dist

    for world in (4, 8, 64, 1000):
        with patch.object(dist, "get_world_size", lambda *_, **__: world):  # noqa: B023
            with patch.dict(os.environ, WORLD_SIZE=str(world)):
                other = function()
        for name, style in styles.items():
            if name not in other or type(other[name]) is not type(style):
                kind = type(other.get(name)).__name__
                return say(f"{name} has {kind} on {world}", f"{world} 个 rank 时 {name} 是 {kind}")
    return ""


def run_plan(function, args, case):
    import labkit

    world, _, gate, *_ = args
    try:
        run = ranks(world, _plan_in_rank, function, *args)
    except labkit.RankError as error:  # a plan that does not fit stops in the middle of torch
        results, parts, found, other = [error.said.split("\n")[0]] * world, _parts(world, gate), 1, ""
    else:
        results, (parts, *others), (other, *_) = zip(*run)
        parts = parts if all(other == parts for other in others) else [parts, *others]
        found = collectives(run)
    return {_result_of(rank): result for rank, result in enumerate(results)} | {
        say("parts", "各部分"): parts,
        say("collectives", "集合通信次数"): found,
        say("the styles on more ranks", "rank 更多时的切分方式"): other or say("the same", "相同"),
    }
