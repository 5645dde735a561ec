"""Programs with a known disease, and healthy ones, run on a small model of a host, its queue and a device's streams.

The disease is planted in the program (an item() after every few kernels, an input that is not pinned, ...), not in the
times: those follow from the model. Sizes are drawn by a seed from the ranges in FAMILIES, which were written down
before the analyser first saw a case. scripts/planted_tree.py writes what a node would have written.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

FLOAT16, FLOAT = "FLOAT16", "FLOAT"


@dataclass
class Kernel:
    name: str
    type: str
    core: str
    start: float
    dur: float
    stream: int
    blocks: int
    shapes: str
    types: str
    formats: str
    ratios: dict
    issued: float
    op: float  # the host's time within the operator
    step: int


@dataclass
class Rank:
    """One process and its device: clocks, and what was recorded. Times in µs."""

    number: int
    draw: random.Random
    slow: float = 1.0  # the device's kernels take this many times as long
    now: float = 0.0
    free: dict = field(default_factory=lambda: {2: 0.0, 3: 0.0, 4: 0.0})  # streams: compute, copy, communication
    queue: float = 0.0  # when the thread that launches is free
    kernels: list = field(default_factory=list)
    copies: list = field(default_factory=list)  # (start, dur, stream, bytes, issued)
    host: list = field(default_factory=list)  # (name, start, end, shapes, kind)
    calls: list = field(default_factory=list)  # (level, name, thread, start, end)
    comm: list = field(default_factory=list)  # (name, start, dur, transit, issued, step)
    steps: list = field(default_factory=list)
    allocations: list = field(default_factory=list)  # (name, kb, time, released, allocated, reserved)
    allocated: float = 2048.0  # MB
    reserved: float = 2304.0
    step: int = 0
    pending: float = 0.0  # what the compute stream has to wait for

    def noise(self, value: float) -> float:
        return value * self.draw.lognormvariate(0.0, 0.02)


class Machine:
    """Ranks in lockstep: an operation is run on every rank before the next one."""

    def __init__(self, seed: int, ranks: int = 1, cores: tuple[int, int] = (24, 48)):
        self.cores = cores
        self.ranks = [Rank(i, random.Random(seed * 1000 + i)) for i in range(ranks)]
        self.collectives = 0
        self.links: list = []  # (source, target, MB, ms)

    # ---- operations, each on all ranks

    def op(self, op: str, kind: str, dur: float, host: float, **how) -> None:
        for rank in self.ranks:
            self._op(rank, op, kind, dur, host, **how)

    def _op(self, rank, op, kind, dur, host, *, core=None, blocks=None, shapes="1024,1024", types=FLOAT16,
            formats="ND", ratios=None, bound=None, stream=2) -> None:  # fmt: skip
        cube = kind in ("MatMulV2", "MatMulV3", "BatchMatMulV2", "Conv2D", "FlashAttentionScore")
        core = core or ("AI_CORE" if cube else "AI_VECTOR_CORE")
        blocks = blocks or self.cores[0 if cube else 1]
        host, start = rank.noise(host), rank.now
        rank.host.append((op, start, start + host, shapes, "op"))
        rank.now += host
        launch = max(rank.queue, start + 0.5 * host)  # torch_npu's second thread takes it from the queue
        rank.queue = launch + 4.0
        rank.calls.append(("AscendCL", f"aclnn{kind}", 1, launch, launch + 3.5))
        rank.calls.append(("Node", "launch", 1, launch + 1.0, launch + 3.0))
        begin = max(rank.free[stream], launch + 5.0, rank.pending if stream == 2 else 0.0)
        dur = rank.noise(dur) * rank.slow
        top = bound if bound is not None else rank.draw.uniform(0.62, 0.93)
        best = "mac" if cube else rank.draw.choice(("mte2", "mte2", "vec"))
        ratios = ratios or {
            best: top,
            "scalar": rank.draw.uniform(0.03, 0.25),
            "mte2": rank.draw.uniform(0.2, 0.5) if best != "mte2" else top,
        }
        rank.kernels.append(
            Kernel(f"aclnn{kind}_{kind}AiCore_{kind}", kind, core, begin, dur, stream, blocks, shapes, types, formats,
                   ratios, launch + 1.0, start, rank.step)
        )  # fmt: skip
        rank.free[stream] = begin + dur

    def item(self) -> None:
        """loss.item(): the host waits until all before it is done, then fetches four bytes."""
        for rank in self.ranks:
            start = rank.now
            launch = max(rank.queue, start + 6)
            begin = max(rank.free[2], launch + 5, rank.pending)
            rank.copies.append((begin, 2.2, 2, 4, launch))
            rank.free[2] = begin + 2.2
            end = begin + 2.2 + 12
            rank.calls.append(("AscendCL", "aclrtMemcpyAsync", 0, launch, launch + 4))
            rank.calls.append(("AscendCL", "aclrtSynchronizeStreamWithTimeout", 0, launch + 5, end - 2))
            rank.host.append(("aten::item", start, end, "", "op"))
            rank.host.append(("aten::_local_scalar_dense", start + 1, end - 1, "", "op"))
            rank.now, rank.queue = end, max(rank.queue, end)

    def synchronize(self) -> None:
        for rank in self.ranks:
            start = max(rank.now, rank.queue)
            end = max(start, *rank.free.values()) + 10
            rank.calls.append(("AscendCL", "aclrtSynchronizeDevice", 0, start, end))
            rank.now = rank.queue = end

    def copy_in(self, mb: float, pinned: bool, gbps: float) -> None:
        """A batch to the device: pinned and on a stream of its own, or not pinned, with the host blocked meanwhile."""
        for rank in self.ranks:
            dur, start = rank.noise(mb / 1024 / gbps * 1e6), rank.now
            if pinned:
                begin = max(rank.free[3], start + 8)
                rank.copies.append((begin, dur, 3, mb * 2**20, start + 4))
                rank.calls.append(("AscendCL", "aclrtMemcpyAsync", 0, start + 4, start + 8))
                rank.free[3] = begin + dur
                rank.host.append(("aten::copy_", start, start + 10, "", "op"))
                rank.now += 10
            else:
                begin = max(rank.free[2], rank.queue, start + 8)
                if begin > start + 9:  # torch_npu waits for the stream before a copy that blocks
                    rank.calls.append(("AscendCL", "aclrtSynchronizeStreamWithTimeout", 0, start + 3, begin - 1))
                rank.copies.append((begin, dur, 2, mb * 2**20, begin - 1))
                rank.calls.append(("AscendCL", "aclrtMemcpy", 0, begin - 1, begin + dur + 4))
                rank.free[2] = begin + dur
                rank.host.append(("aten::copy_", start, begin + dur + 6, "", "op"))
                rank.now = begin + dur + 8
                rank.queue = max(rank.queue, rank.now)

    def all_reduce(self, mb: float, us: float) -> None:
        """Starts when the gradients before it are there and every rank has come."""
        self.collectives += 1
        ready = {}
        for rank in self.ranks:
            start = rank.now
            launch = max(rank.queue, start + 10)
            rank.queue = launch + 6
            rank.now += 18
            rank.host.append(("c10d::allreduce_", start, start + 16, "", "op"))
            rank.calls.append(("AscendCL", "hcom_allReduce_", 1, launch, launch + 5))
            ready[rank.number] = max(rank.free[2], rank.free[4], launch + 8), launch
        last = max(at for at, _ in ready.values())
        for rank in self.ranks:
            begin, launch = ready[rank.number]
            transit = rank.noise(us)
            rank.comm.append(
                (f"hcom_allReduce__586_{self.collectives}_1", begin, last + transit - begin, transit, launch, rank.step)
            )
            rank.free[4] = last + transit

    def wait_for_communication(self) -> None:
        for rank in self.ranks:
            rank.pending = rank.free[4]

    def host_only(self, name: str, us: float, kind: str = "op") -> None:
        for rank in self.ranks:
            rank.host.append((name, rank.now, rank.now + us, "", kind))
            rank.now += us

    def compile(self, op: str, us: float) -> None:
        """The first call with a shape: CANN compiles the operator while the device runs dry."""
        for rank in self.ranks:
            us_ = rank.noise(us)
            start = max(rank.now, rank.queue)
            rank.calls.append(("AscendCL", "aclopCompileAndExecute", 1, start + 5, start + 20 + us_))
            rank.calls.append(("AscendCL", "opCompile", 1, start + 10, start + 15 + us_))
            rank.host.append((op, rank.now, start + us_ + 25, "", "op"))
            rank.now = rank.queue = start + us_ + 25

    def allocate(self, mb: float, us: float = 0.0, grows: float = 0.0, flush: float = 0.0) -> None:
        """A block; `flush`: so much cached memory was given back before, `grows`: so much was taken anew (us each)."""
        for rank in self.ranks:
            if flush:
                start = max(rank.now, rank.queue, rank.free[2])  # freeing waits for the device
                rank.calls.append(("AscendCL", "aclrtSynchronizeDevice", 0, rank.now, start))
                rank.calls.append(("AscendCL", "aclrtFree", 0, start, start + us))
                rank.reserved -= flush
                rank.now = rank.queue = start + us
            if grows:
                rank.calls.append(("AscendCL", "aclrtMalloc", 0, rank.now, rank.now + us))
                rank.now += us
                rank.reserved += grows
            rank.allocations.append(
                ("aten::empty", mb * 1024, rank.now, rank.now + 400, rank.allocated + mb, rank.reserved)
            )

    def begin_step(self) -> None:
        for rank in self.ranks:
            rank.steps.append([rank.step, rank.now, 0.0])

    def end_step(self) -> None:
        for rank in self.ranks:
            rank.steps[-1][2] = rank.now
            rank.step += 1


# ---- programs


@dataclass
class Shape:
    """What a healthy step looks like; a disease changes one thing."""

    layers: int = 8
    matmul: float = 260.0  # µs of the device
    vector: float = 70.0
    host: float = 18.0
    steps: int = 8
    kind: str = "train"  # train, infer, conv


def layer(m: Machine, s: Shape, n: int, back: bool, around=None) -> None:
    scale, suffix = (1.9, "_backward") if back else (1.0, "")
    for op, kind, dur in (
        ("aten::native_layer_norm", "LayerNormV4", s.vector),
        ("aten::linear", "Conv2D" if s.kind == "conv" else "MatMulV2", s.matmul),
        ("aten::add", "Add", 0.6 * s.vector),
        ("aten::gelu", "Gelu", s.vector),
        ("aten::linear", "Conv2D" if s.kind == "conv" else "MatMulV2", s.matmul),
        ("aten::mul", "Mul", 0.6 * s.vector),
    ):
        cube = kind in ("MatMulV2", "Conv2D")
        if around and cube:
            around(m, s, True)
        m.op(op + suffix, kind, dur * scale, s.host, shapes=f"{n},1024;1024,1024" if cube else f"{n},1024",
             types="FLOAT16;FLOAT16" if cube else FLOAT16, formats="ND;ND" if cube else "ND")  # fmt: skip
        if around and cube:
            around(m, s, False)


def step(m: Machine, s: Shape, n: int = 2048, around=None, after=None, reduce: float = 0.0, overlapped=True) -> None:
    """Forward, backward with the gradients' sum, and the optimiser."""
    for i in range(s.layers):
        layer(m, s, n, False, around)
        if after:
            after(i)
    if s.kind == "infer":
        return
    for i in range(s.layers):
        layer(m, s, n, True, around)
        if after:
            after(s.layers + i)
        if reduce and overlapped and i < s.layers - 1:
            m.all_reduce(25, reduce / s.layers)
    if reduce and not overlapped:
        m.all_reduce(25 * s.layers, reduce)
    if reduce:
        m.wait_for_communication()
    for _ in range(4):
        m.op("aten::_foreach_addcmul_", "ForeachAddcmulList", 1.2 * s.vector, s.host, types=FLOAT)


def run(m: Machine, s: Shape, body, before=None) -> Machine:
    """Steps as a training loop has them: the next batch, the step, and a synchronisation when all is over."""
    for i in range(s.steps):
        m.begin_step()
        if before:
            before(i)
        else:
            m.host_only("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 40)
            m.copy_in(4, True, 22)
        body(i)
        if i == s.steps - 1:
            m.synchronize()
        m.end_step()
    return m


# ---- diseases: each takes the drawing and its seed, and returns (machine, the sizes that were drawn)


def usual(draw: random.Random) -> Shape:
    return Shape(
        layers=draw.randint(4, 10), matmul=draw.uniform(150, 400), vector=draw.uniform(45, 110),
        host=draw.uniform(12, 24), steps=draw.randint(6, 10),
    )  # fmt: skip


def host_bound(draw, seed):
    s = Shape(draw.randint(8, 24), draw.uniform(5, 12), draw.uniform(3, 8), draw.uniform(20, 40), draw.randint(5, 8))
    m = Machine(seed)
    return run(m, s, lambda i: step(m, s, 16)), vars(s)


def sync_in_loop(draw, seed):
    s, m, every = usual(draw), Machine(seed), draw.randint(1, 2)
    s.matmul, s.vector = draw.uniform(16, 40), draw.uniform(9, 22)  # the host is faster than the device, if it may run
    s.host = draw.uniform(8, 11)
    return run(m, s, lambda i: step(m, s, after=lambda n: m.item() if n % every == 0 else None)), {"every": every}


def pageable_copies(draw, seed):
    s, m = usual(draw), Machine(seed)
    mb, gbps = draw.uniform(24, 96), draw.uniform(3, 8)
    return run(m, s, lambda i: step(m, s), before=lambda i: m.copy_in(mb, False, gbps)), {"mb": mb, "gbps": gbps}


def exposed_communication(draw, seed):
    s, ranks = usual(draw), draw.choice((1, 2, 4))
    m = Machine(seed, ranks)
    share = draw.uniform(0.15, 0.6)
    us = share * s.layers * 2.9 * (2 * s.matmul + 3.2 * s.vector)
    return run(m, s, lambda i: step(m, s, reduce=us, overlapped=False)), {"share": share, "ranks": ranks}


def slow_rank(draw, seed):
    s, ranks = usual(draw), draw.choice((2, 4, 8))
    s.layers = min(s.layers, 6)
    m = Machine(seed, ranks)
    slow = m.ranks[draw.randrange(ranks)]
    slow.slow = draw.uniform(1.2, 1.9)
    return run(m, s, lambda i: step(m, s, reduce=30.0 * s.layers)), {"rank": slow.number, "slow": slow.slow}


def ai_cpu(draw, seed):
    s, m = usual(draw), Machine(seed)
    us, every = draw.uniform(400, 2500), draw.randint(1, 3)
    name = draw.choice(("NonZero", "Unique2", "ScatterNd", "Cumsum"))

    def after(n):
        if n % every == 0:
            m.op(
                f"aten::{name.lower()}",
                name,
                us,
                s.host,
                core="AI_CPU",
                blocks=1,
                types="INT64",
                ratios={"scalar": 0.0},
            )

    return run(m, s, lambda i: step(m, s, after=after)), {"us": us, "every": every}


def cast_round_trips(draw, seed):
    s, m = usual(draw), Machine(seed)
    share = draw.uniform(0.2, 0.6)

    def around(m, s, before):
        m.op("npu::npu_dtype_cast", "Cast", share * s.matmul, s.host, shapes="2048,1024",
             types=FLOAT if before else FLOAT16)  # fmt: skip

    return run(m, s, lambda i: step(m, s, around=around)), {"share": share}


def format_conversions(draw, seed):
    s, m = usual(draw), Machine(seed)
    s.kind, share = "conv", draw.uniform(0.2, 0.6)

    def around(m, s, before):
        m.op("aten::conv2d", "TransData", share * s.matmul, s.host, shapes="32,64,56,56",
             formats="NCHW" if before else "NC1HWC0")  # fmt: skip

    return run(m, s, lambda i: step(m, s, around=around)), {"share": share}


def dynamic_shapes(draw, seed):
    s, m = usual(draw), Machine(seed)
    operators, us = draw.randint(1, 5), draw.uniform(8_000, 60_000)
    lengths = draw.sample(range(300, 2000), s.steps)

    def body(i):
        for n in range(operators):
            m.compile(("aten::linear", "aten::gelu", "aten::add", "aten::mul", "aten::native_layer_norm")[n], us)
        step(m, s, lengths[i])

    return run(m, s, body), {"operators": operators, "us": us}


def fragmentation(draw, seed):
    s, m = usual(draw), Machine(seed)
    times, us, mb = draw.randint(2, 6), draw.uniform(700, 3000), draw.choice((256, 512, 1024))
    places = set(draw.sample(range(2 * s.layers), min(times, 2 * s.layers)))

    def after(n):
        if n in places:  # no block is large enough: cached ones are given back and a new one is fetched
            m.allocate(mb, us, grows=mb, flush=0.9 * mb)
        else:
            m.allocate(24)

    for rank in m.ranks:
        rank.reserved = rank.allocated + draw.uniform(2.5, 4) * mb
    return run(m, s, lambda i: step(m, s, after=after)), {"times": times, "us": us, "mb": mb}


def slow_steps(draw, seed):
    s, m = usual(draw), Machine(seed)
    s.steps, every, share = draw.randint(10, 16), draw.randint(3, 5), draw.uniform(0.5, 2.5)
    us = share * s.layers * 2.9 * (2 * s.matmul + 3.2 * s.vector)

    def before(i):
        late = i % every == every - 1
        if late:
            m.synchronize()  # the host is ahead of the device by no more than a step: as with a bounded queue
        m.host_only("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", us if late else 40)
        m.copy_in(4, True, 22)

    return run(m, s, lambda i: step(m, s), before=before), {"every": every, "share": share}


def bad_tiling(draw, seed):
    s, m = usual(draw), Machine(seed)
    blocks, share = draw.choice((1, 1, 2, 4)), draw.uniform(0.2, 0.9)
    us = share * s.layers * (2 * s.matmul + 3.2 * s.vector)
    kind = draw.choice(("ReduceSum", "ArgMaxV2", "CumsumCustom"))

    def after(n):
        if n == 0:
            m.op(
                f"npu::{kind.lower()}",
                kind,
                us,
                s.host,
                blocks=blocks,
                shapes="8192,4096",
                bound=draw.uniform(0.3, 0.9),
            )

    return run(m, s, lambda i: step(m, s, after=after)), {"blocks": blocks, "share": share}


FAMILIES = {
    "host_bound": host_bound, "sync_in_loop": sync_in_loop, "pageable_copies": pageable_copies,
    "exposed_communication": exposed_communication, "slow_rank": slow_rank, "ai_cpu": ai_cpu,
    "cast_round_trips": cast_round_trips, "format_conversions": format_conversions, "dynamic_shapes": dynamic_shapes,
    "fragmentation": fragmentation, "slow_steps": slow_steps, "bad_tiling": bad_tiling,
}  # fmt: skip
# what the analyser has to say of each
CODES = {
    "host_bound": "host-bound", "sync_in_loop": "synchronisation", "pageable_copies": "blocking-copy",
    "exposed_communication": "exposed-communication", "slow_rank": "slow-rank", "ai_cpu": "ai-cpu",
    "cast_round_trips": "dtype-casts", "format_conversions": "format-conversions", "dynamic_shapes": "recompilation",
    "fragmentation": "fragmentation", "slow_steps": "step-variance", "bad_tiling": "few-cores",
}  # fmt: skip


def healthy(draw, seed):
    """A program without a disease: training, inference with a synchronisation a step, several ranks, a few casts."""
    s = usual(draw)
    kind = draw.choice(("train", "print", "infer", "ranks", "casts", "conv"))
    m = Machine(seed, draw.choice((2, 4)) if kind == "ranks" else 1)
    after = around = None
    reduce = 0.0
    if kind == "ranks":
        reduce = draw.uniform(0.1, 0.3) * s.layers * 1.9 * (2 * s.matmul + 3.2 * s.vector)
    if kind == "infer":
        s.kind, s.layers = "infer", 3 * s.layers
    if kind in ("casts", "conv"):
        name, done = ("Cast", [0]) if kind == "casts" else ("TransData", [0])
        s.kind = "conv" if kind == "conv" else "train"

        def after(n):  # at the model's ends only
            if n in (0, 2 * s.layers - 1):
                m.op("npu::npu_dtype_cast" if name == "Cast" else "aten::conv2d", name, 0.4 * s.matmul, s.host)

    def body(i):
        step(m, s, around=around, after=after, reduce=reduce)
        if kind == "infer" or (kind == "print" and i % 4 == 3):
            m.item()

    return run(m, s, body), {"kind": kind}


def sick(family: str, seed: int):
    return FAMILIES[family](random.Random(f"{family}/{seed}"), seed)


def well(seed: int):
    return healthy(random.Random(f"healthy/{seed}"), seed)
