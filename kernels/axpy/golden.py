"""Cases of the exercises on compiling and launching: y = a x + y, its instantiations, host program and launches."""

from __future__ import annotations

import random
import re
import struct

import torch

from labkit import messages
from labkit.exercises import Case, InOut

FACTOR = 1.5


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


DTYPES = {"half": torch.half, "float": torch.float}


def expected(x, y, a=FACTOR):
    """The product is rounded before the sum, as Muls and Add do it."""
    return x * torch.tensor(a, dtype=x.dtype) + y


def typed_cases(seed, quick):
    """(element type, n, blocks); the last one is timed."""
    g = torch.Generator().manual_seed(seed)
    made = []
    for name, n, blocks in (("half", 777, 1), ("float", 50_257, 2), ("half", 400_000, 2))[1 if quick else 0 :]:
        x, y = (torch.randn(n, generator=g).to(DTYPES[name]) for _ in range(2))
        made.append(Case(f"{name} n={n}", (x, InOut(y), FACTOR, n), expected(x, y), blocks=blocks, timed=n == 400_000))
    return made


def run_typed(kernel, args, case):
    """The instantiation that the case's dtype asks for."""
    import labkit

    name = "half" if args[0].dtype is torch.half else "float"
    wanted = f"axpy<{name}>"
    if kernel.entry != wanted:
        kernel = labkit.kernel(text=kernel.text, filename=kernel.filename, entry=wanted)
    return kernel[case.blocks](*args)


LARGEST = "(UB_BYTES / (3 * BUFFERS) / sizeof(T) / (32 / sizeof(T)) * (32 / sizeof(T)))"
BEHIND = "    GlobalTensor<T> xGm, yGm;"  # the given line below the learner's part


def tile_asked(text, builds):
    """The most elements that fit, for both types and for one of a byte and one of eight, which the kernel's text does
    not name; and an assertion that would refuse one unit of 32 bytes more."""
    region, rest = text.split(BEHIND, 1)

    def holds(condition):
        check = f'    static_assert({condition}, "asked");\n'
        return all(builds(region + check + BEHIND + rest, f"axpy<{name}>") for name in DTYPES)

    if not holds(f"TILE == {LARGEST}"):
        if not holds("TILE + 1 > 0"):
            return say(
                "TILE is not known when the kernel is compiled: make it a constexpr.",
                "编译核函数时 TILE 还不是已知的：应写成 constexpr。",
            )
        if not holds(f"TILE <= {LARGEST} || TILE * sizeof(T) % 32 != 0"):
            return say(
                "Six such tiles take more than UB_BYTES: the 192 KB hold them only with the API's 8 KB.",
                "六个这样的 tile 超过了 UB_BYTES：要连属于接口的 8 KB 一起算，才放得进 192 KB。",
            )
        if not holds("TILE * sizeof(T) % 32 == 0"):
            return say(
                "TILE is no whole number of units of 32 bytes: 32 / sizeof(T) elements each.",
                "TILE 不是 32 字节单位的整数倍：每个单位有 32 / sizeof(T) 个元素。",
            )
        return say(
            "TILE is smaller than it could be: a larger one, in whole units of 32 bytes (32 / sizeof(T) elements), "
            "fits UB_BYTES six times as well.",
            "TILE 还可以更大：以 32 字节为单位（32 / sizeof(T) 个元素），有更大的 tile 也能让六个放进 UB_BYTES。",
        )
    given = "UB_BYTES = 192 * 1024 - 8 * 1024;"
    smaller = region.replace(given, "UB_BYTES = 120 * 1024;")
    follows = f'    static_assert(TILE == {LARGEST}, "asked");\n'
    if given in region and not all(builds(smaller + follows + BEHIND + rest, f"axpy<{name}>") for name in DTYPES):
        return say(
            "With another UB_BYTES this does not build, or TILE stays what it is: numbers are written where UB_BYTES "
            "belongs.",
            "UB_BYTES 换一个值就不能编译，或者 TILE 不随之变化：应当用 UB_BYTES 的地方写成了常数。",
        )
    # the copies and Muls of these types are none of the learner's: the kernel ends behind its part
    for name, size in (("int8_t", 1), ("int64_t", 8)):
        cut, many = f"axpy<{name}>", f"{size} byte{'s' * (size > 1)}"
        check = 'static_assert(TILE == (UB_BYTES / (3 * BUFFERS) / 32 * 32 / sizeof(T)), "asked");\n'
        if not builds(f'{region}    static_assert(TILE + 1 > 0, "asked");\n}}\n', cut):
            return say(
                f"For a T of {many} this does not build: TILE and the static_assert are to follow sizeof(T).",
                f"T 为 {size} 字节时不能编译：TILE 和 static_assert 应由 sizeof(T) 得出。",
            )
        if not builds(f"{region}    {check}}}\n", cut):
            return say(
                f"For a T of {many} TILE is not the most that fits: 32 bytes hold 32 / sizeof(T) elements.",
                f"T 为 {size} 字节时 TILE 不是放得下的最大值：32 字节是 32 / sizeof(T) 个元素。",
            )
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", region.split("axpy(", 1)[1], flags=re.S)
    if "static_assert" not in code:
        zh = "TILE 正确，但缺少保证六个 tile 放得进 UB_BYTES 的 static_assert。"
        return say("TILE is right, and the static_assert that six tiles fit UB_BYTES is missing.", zh)
    larger = one_unit_larger(region)
    both = [larger, larger.replace(given, "UB_BYTES = 120 * 1024;")] if larger else []  # it has to follow UB_BYTES, too
    if any(builds(one + BEHIND + rest, f"axpy<{name}>") for one in dict.fromkeys(both) for name in DTYPES):
        return say(
            "The static_assert still holds for a tile that is 32 bytes too large: it has to compare the bytes of six "
            "tiles, TILE * sizeof(T) each, with UB_BYTES.",
            "tile 大出 32 字节时 static_assert 仍然成立：应把六个 tile 的字节数（每个 TILE * sizeof(T)）"
            "与 UB_BYTES 比较。",
        )
    return ""


def one_unit_larger(text):
    """The text with a TILE of 32 bytes more, "" where its definition is not found."""
    found = re.search(r"\bTILE\s*(=(?!=)|\{)", text)
    if not found:
        return ""
    depth, end = 0, len(text)
    for at in range(found.end(), len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth < 0 or depth == 0 and text[at] in ",;":
            end = at
            break
    value = f"static_cast<uint32_t>(32 / sizeof(T) + ({text[found.end() : end].strip()}))"
    return f"{text[: found.end()]} {value}{text[end:]}"


# (a, b) of RoundUp: results of up to 32 bits, whose sum is a uint32_t; a loop over b has few rounds
LARGE = ((300, 7), (70_001, 16), (4_000_000_001, 65_536), (0, 9), (5, 100_000),
         *((2**n + 1, 3 + (1 << max(0, n - 16))) for n in range(9, 32)))  # fmt: skip


def macro_asked(text, builds):
    """A function, constexpr, of the device, of uint32_t; right for any b and not only for the kernel's."""
    begin = "    GlobalTensor<half> xGm, yGm;"
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text.split("// y = a x + y for", 1)[0], flags=re.S)

    def holds(check):
        return builds(text.replace(begin, f"    {check};\n{begin}", 1), "axpy_short")

    if re.search(r"#\s*define\s+RoundUp\b", code):
        return say(
            "RoundUp is still a macro: a constexpr function was asked for.",
            "RoundUp 仍然是宏：要求写成 constexpr 函数。",
        )
    if not re.search(r"__aicore__[^;{}]*\bRoundUp\s*\(", code):
        return say(
            "RoundUp is a function of the host: __aicore__ in front of it makes it one of the device.",
            "RoundUp 是主机函数：前面加 __aicore__ 才是设备函数。",
        )
    if not holds("constexpr uint32_t known = RoundUp(16u, 16u)"):
        return say(
            "RoundUp is not constexpr: its value is not known when the kernel is compiled.",
            "RoundUp 不是 constexpr：编译核函数时得不到它的值。",
        )
    if not holds('static_assert(RoundUp(15u, 7u) == 21u && RoundUp(21u, 7u) == 21u && RoundUp(5u, 12u) == 12u, "b")'):
        return say(
            "RoundUp is right for the kernel's b, 16, and not for every other: RoundUp(15, 7) is 21, RoundUp(21, 7) is "
            "21, RoundUp(5, 12) is 12.",
            "RoundUp 对核函数所用的 b（16）正确，对其他 b 却不都正确：RoundUp(15, 7) 是 21，RoundUp(21, 7) 是 21，"
            "RoundUp(5, 12) 是 12。",
        )
    if not holds("uint32_t (*same)(uint32_t, uint32_t) = RoundUp"):
        return say(
            "RoundUp is to take and return uint32_t: with another type large lengths do not fit, or come out negative.",
            "RoundUp 的参数与返回值应为 uint32_t：用别的类型，很大的长度会放不下，或变成负数。",
        )
    known = " && ".join(f"RoundUp({a}u, {b}u) == {-(-a // b) * b}u" for a, b in LARGE)
    if not holds(f'static_assert({known}, "large")'):
        told = ", ".join(f"RoundUp({a}, {b}) is {-(-a // b) * b}" for a, b in LARGE[:3])
        zh = "，".join(f"RoundUp({a}, {b}) 是 {-(-a // b) * b}" for a, b in LARGE[:3])
        return say(
            f"RoundUp is right for small numbers and not for every uint32_t: {told}.",
            f"RoundUp 对较小的数正确，但并非对每个 uint32_t 都正确：{zh}。",
        )
    return ""


def pick_cases(seed, quick):
    """(dtype, n, blocks) -> instantiation: the largest tile that leaves each block two tiles or more."""
    asked = [("half", 1 << 20, 8), ("float", 1 << 20, 8), ("half", 65_536, 8), ("float", 777, 1),
             ("half", 8 * 2 * 2048, 8), ("half", 8 * 2 * 2048 - 1, 8), ("float", 48 * 2 * 4096, 48),
             ("half", 300_000, 8), ("float", 50_257, 8)]  # fmt: skip
    tiles = {"half": (512, 2048, 8192, 15_360), "float": (512, 2048, 4096, 7680)}
    asked.insert(3, ("half", 96 * 2 * 2048, 96))  # more blocks than cores: 64 of them would have larger tiles
    draw = random.Random(seed)
    for name, few in (("half", 40), ("float", 40), ("half", 65_535), ("float", 65_535)):
        blocks = draw.randint(1, few)
        n = 2 * draw.choice(tiles[name]) * blocks  # two tiles each, and one element less
        asked += [(name, n, blocks), (name, n - 1, blocks), (name, draw.randint(1, n), blocks)]
    made = []
    for name, n, blocks in asked[:5] if quick else asked:
        tile = max([t for t in tiles[name] if n >= 2 * t * blocks], default=tiles[name][0])
        made.append(Case(f"{name} n={n} blocks={blocks}", (name, n, blocks), f"axpy<{name}, {tile}>"))
    return made


def macro_cases(seed, quick):
    """x in half, any length: the kernel copies whole units of 32 bytes into a buffer that is longer."""
    g = torch.Generator().manual_seed(seed)
    drawn = random.Random(seed).sample([n for n in range(1, 256) if n not in (16, 31, 250)], 2) if seed else []
    made = []
    for n in (16, 250) if quick else (16, 31, 250, *drawn, 256):
        x, y = (torch.randn(n, generator=g).half() for _ in range(2))
        room = (n + 15) // 16 * 16
        x, y = (torch.cat([t, torch.zeros(room - n).half()]) for t in (x, y))
        made.append(Case(f"n={n}", (x, InOut(y), FACTOR, n), expected(x, y), blocks=1, tile=16))
    return made


# ---- programs: the arguments of a run, and the lines that it prints


def round_trip_cases(seed, quick):
    def expected(blocks):
        return {"printed": [f"0 of {256 * blocks} wrong"], "launches": [f"axpy<<<{blocks}>>>"]}

    counts = (3,) if quick else (1, 3)
    return [Case(f"{n} blocks", (n,), expected(n), spoiled=[f"{n} of {256 * n} wrong"]) for n in counts]


def host_tiling_cases(seed, quick):
    made = []
    # the length is of 32 bits, and its units are more than 16 hold
    large = 600_001 + random.Random(seed).randrange(400_000) * (seed != 0)
    asked = [(10, ""), (777, ""), (1152, ""), (large, ""), (1152, "910B4"), (50_257, "910B4")]
    for n, chip in asked[1:5:3] if quick else asked:
        name = f"n={n}" + (say(f" on a {chip}, 40 cores", f"，{chip}，40 核") if chip else "")
        fixed = lambda n=n: [(_fixed_number(), _tiled(n, 48))]  # noqa: E731
        made.append(Case(name, (n,), _tiled(n, 40 if chip else 48), chip=chip, mistakes=fixed))
    return made


def run_round_trip(result, case):
    """What the program printed and every launch of it; of none the check tells itself."""
    launches = [f"{one.kernel}<<<{one.blocks}>>>" for one in result.launches for _ in one.us]
    return {"printed": result.output.split("\n")[:-1], "launches": launches or case.expected["launches"]}


def _fixed_number():
    zh = "核数写成了常数：应使用 cores，这张卡有 40 核。"
    return say("The number of cores is written as a number: it is `cores`, and this card has 40.", zh)


def _tiled(n, cores):
    share = -(-(-(-n // 8)) // cores) * 8
    return [f"{-(-n // share)} blocks, share {share}", f"0 of {n} wrong"]


# ---- launches from Python: the results, and what the timeline says of them

CHUNK = 1 << 18  # half, 36 us on the link


def _axpy():
    import labkit

    return labkit.kernel("kernels/axpy/axpy.asc", entry="axpy<half, 8192>")[8]


def at_best() -> dict:
    return {
        say("results", "结果"): say("right", "正确"),
        say("when it returns", "返回时"): say("they are there", "结果已就绪"),
        say("copies", "复制"): say("at the same time", "与计算同时进行"),
        say("a chunk's steps", "一块的各步"): say("one behind the other", "依次进行"),
        say("axpy", "axpy"): say("once for each chunk, on the streams by turns", "每块一次，轮流在各个流上"),
    }


def _too_early(spans) -> int:
    """Kernels that begin before their chunk is there, and copies back before the kernel is done. The i-th of each kind
    belong together; 0 where there are not as many of each."""
    kinds = [[s for s in spans if s.engine == engine] for engine in ("copy in", "cores", "copy out")]
    if len({len(kind) for kind in kinds}) != 1:
        return 0
    return sum(b.start_us < a.end_us - 1e-6 for chunk in zip(*kinds) for a, b in zip(chunk, chunk[1:]))


def _otherwise(spans, count, given) -> str:
    """What is not as asked of the launches of axpy, "" for nothing. given: the streams' numbers."""
    used = [s.stream for s in spans if s.name == "axpy"]
    if len(used) != count:
        return say(f"{len(used)} launches for {count} chunks", f"{count} 块，启动 {len(used)} 次")
    if not set(used) <= set(given):
        return say("on streams that were not given", "在给定之外的流上")
    if any(a != b for a, b in zip(used, used[len(given) :])) or len(set(used)) < min(count, len(given)):
        return say("not by turns on the streams that were given", "没有轮流使用给定的各个流")
    return ""


def overlap_cases(seed, quick):
    """Two streams, and other numbers of them: `streams` is a list, and may hold one."""
    asked = [(4, 2), (7, 3), (3, 1)]
    if seed:
        draw = random.Random(seed)
        asked += [(draw.randint(5, 7), draw.choice([2, 4, 5])), (draw.randint(17, 24), 2)]
    return [
        Case(say(f"{n} chunks, {k} streams", f"{n} 块，{k} 个流"), (n, seed, k), at_best())
        for n, k in (asked[:1] if quick else asked)
    ]


def chunks(count, seed):
    """Half as long where there are many: a chunk still takes longer on the link than a launch on the host."""
    g, length = torch.Generator().manual_seed(seed), CHUNK if count < 17 else CHUNK // 2
    return [torch.randn(length, generator=g).half().pin_memory() for _ in range(count)]


def _session(program):
    """What the profiler sees of it; None on a card, where the host's calls are not counted."""
    from labkit import device
    from labkit.profiler.recorder import Recorder

    if device.mode() == "npu":
        program()
        return None
    recorder = Recorder()
    recorder.start()
    try:
        program()
    finally:
        session = recorder.stop()
    return session


def _waits(calls) -> list:
    """Of the host's calls those that wait, or ask whether it must."""
    return [call for call in calls if call.name.startswith(("aclrtSynchronize", "aclrtStreamQuery", "aclrtQueryEvent"))]


def early_waits(program) -> int:
    """How often the host waits before the last copy back is issued; 0 on a card."""
    if (session := _session(program)) is None:
        return 0
    last = max((task.issued for task in session.tasks if task.kind == "copy_out"), default=0)
    return sum(call.start < last for call in _waits(session.calls))


def run_overlap(function, args, case):
    """The learner's pipeline; its time beside that of ours where time is virtual."""
    from labkit import device

    count, seed, lanes = args
    sources, axpy = chunks(count, seed), _axpy()
    wanted = [expected(s, torch.ones_like(s)) for s in sources]
    streams = [torch.npu.Stream() for _ in range(lanes)]

    def timed(pipeline, busy=None):
        sums = [torch.ones(source.numel(), dtype=torch.half).npu() for source in sources]
        results = [torch.zeros(source.numel(), dtype=torch.half).pin_memory() for source in sources]
        torch.npu.synchronize()
        if busy is not None:
            with torch.npu.stream(busy):
                torch.npu._sleep(10_000_000)  # cycles: some ms, longer than all chunks together
        began, before = device.clock(), device.clock().launches
        waits = early_waits(lambda: pipeline(axpy, list(sources), list(sums), list(results), list(streams)))
        ended = device.clock()
        torch.npu.synchronize()
        us, spans = device.clock().host_us - began.host_us, device.timeline_since(before)
        there = all(map(torch.equal, results, wanted)), all(torch.equal(s.cpu(), w) for s, w in zip(sums, wanted))
        return there, ended.host_us < ended.device_us, us, spans, waits

    (right, kept), early, us, spans, waits = timed(function)
    best = possible(spans, lanes) or us
    # whose last stream ends last need wait for no other: here each of them has work to do before
    early = early or any(timed(function, stream)[1] for stream in streams)
    said = at_best()
    result, back, copies, steps, launches = said
    if not right:
        said[result] = say("wrong", "错误")
    elif not kept:
        said[result] = say("right, and `sums` on the device are not", "正确，但设备上的 sums 不是")
    if early:  # on a real NPU the clocks are NaN and nothing of this is said
        said[back] = say("not yet: a stream is not waited for", "尚未：有的流没有等待")
    if us > 1.1 * best:
        zh = f"依次进行：{us:.0f} us，可以做到 {best:.0f} us"
        said[copies] = say(f"one after the other: {us:.0f} us, {best:.0f} us is possible", zh)
    elif waits:  # for the stream of a chunk that is done anyway it costs next to nothing
        said[copies] = say(f"the host waits {waits} times between", f"其间主机等待了 {waits} 次")
    if overtaken := _too_early(spans):
        said[steps] = say(f"{overtaken} begin before the one before is done", f"{overtaken} 步在前一步完成之前就开始")
    if device.clock().launches:  # none on a card, which has no timeline
        said[launches] = _otherwise(spans, count, [s.stream_id for s in streams]) or said[launches]
    return said


def possible(spans, lanes: int) -> float:
    """Microseconds that these steps take at the least: on one stream one behind the other; on several the busiest
    engine without a pause, and the shortest step of each other. 0 on a card, which has no timeline."""
    took = [[s.end_us - s.start_us for s in spans if s.engine == e] for e in ("copy in", "cores", "copy out")]
    *others, busiest = sorted(took, key=sum)
    return sum(map(sum, took)) if lanes == 1 else sum(busiest) + sum(min(us, default=0) for us in others)


def our_pipeline(axpy, sources, sums, results, streams):
    for i, source in enumerate(sources):
        with torch.npu.stream(streams[i % len(streams)]):
            axpy(source.to("npu", non_blocking=True), sums[i], FACTOR, source.numel())
            results[i].copy_(sums[i], non_blocking=True)
    torch.npu.synchronize()


def in_order() -> dict:
    return {
        say("results", "结果"): say("right", "正确"),
        say("kernels", "核函数"): say("after their copies", "在各自的复制之后"),
        say("host", "主机"): say("waits once", "只等待一次"),
    }


def event_cases(seed, quick):
    counts = (3,) if quick else (3, 5, *([random.Random(seed).randint(6, 12)] if seed else []))
    return [Case(f"{count} chunks", (count, seed), in_order()) for count in counts]


def waited(program) -> int:
    """How often the host waits in it; 1 on a card."""
    session = _session(program)
    return 1 if session is None else len(_waits(session.calls))


def run_events(function, args, case):
    """Each kernel after its copy, and the host done with issuing before the last copy has arrived."""
    from labkit import device

    count, seed = args
    sources, axpy = chunks(count, seed), _axpy()
    sums = [torch.ones(CHUNK, dtype=torch.half).npu() for _ in sources]
    wanted = [expected(x, torch.ones_like(x)) for x in sources]
    copying, computing = torch.npu.Stream(), torch.npu.Stream()
    torch.npu.synchronize()
    before = device.clock().launches
    waits = waited(lambda: function(axpy, list(sources), list(sums), copying, computing))  # ours are still looked at
    torch.npu.synchronize()
    said = in_order()
    result, kernel, host = said
    if not all(torch.equal(y.cpu(), right) for y, right in zip(sums, wanted)):
        said[result] = say("wrong", "错误")
    spans = device.timeline_since(before)
    if not spans:
        return said
    copies = [s for s in spans if s.name == "MEMCPY_H2D"]
    kernels = [s for s in spans if s.name == "axpy"]
    early = [c.end_us - k.start_us for c, k in zip(copies, kernels) if k.start_us < c.end_us - 1e-6]
    if early:
        said[kernel] = say(
            f"{len(early)} of {count} begin before their copy is there, the first {early[0]:.0f} us too early",
            f"{count} 个中有 {len(early)} 个在复制完成之前就开始，第一个早了 {early[0]:.0f} us",
        )
    if len(copies) != count or len(kernels) != count:
        many, moved = len(kernels), len(copies)
        zh = f"{many} 个核函数，{moved} 次复制，共 {count} 块"
        said[kernel] = say(f"{many}, behind {moved} copies of {count} chunks", zh)
        return said
    if any(k.stream != computing.stream_id for k in kernels):
        said[kernel] = say("not on the stream `computing`", "不在 computing 流上")
    if kernels[-1].host_us > copies[-2].end_us:
        said[host] = say("waits for a copy before it issues the next", "等一次复制完成后才下发下一次")
    elif late := [i for i, (c, k) in enumerate(zip(copies, kernels), 1) if k.host_us > c.end_us]:
        zh = f"等第 {late[0]} 块复制完成后才启动它的核函数"
        said[host] = say(f"waits for the copy of chunk {late[0]} before it launches its kernel", zh)
    elif waits != 1:  # the given code's own; one for a copy so early that it costs no time is one all the same
        said[host] = say(f"waits {waits} times", f"等待 {waits} 次")
    return said


# ---- the case: a struct that host and kernel see differently


def packed_cases(seed, quick):
    asked = [(1.5, 1000, 256, 0, 0.0), (2.0, 777, 256, 64, 0.0), (1.0, 512, 128, 5, -0.25),
             (0.5, 100, 64, (1 << 33) + 7, 3.0), (0.25, 3_000_000_000, 128, -3, 1.0)]  # fmt: skip
    draw, made = random.Random(seed), []
    for k in (128, 63, 40, 20) if seed else ():  # of a class: every bit of each number
        factor, length, tile = 2.0 ** draw.randint(-k + 2, k - 1), draw.getrandbits(32), 8 * draw.getrandbits(29)
        offset = draw.choice((1, -1)) * draw.getrandbits(min(k, 63))
        asked.append((draw.choice((factor, -factor)), length, tile, offset, draw.randint(-k, k) / 8))
    for values in asked[2:] if quick else asked:
        found = dict(zip(("factor", "length", "tile", "offset", "bias"), values)) | {say("bytes", "字节数"): 32}
        made.append(Case(f"offset={values[3]} bias={values[4]}", values, found))
    return made


def run_packed(function, args, case):
    """What a kernel finds in the bytes."""
    data = bytes(function(*args))
    places = {"factor": ("<f", 0), "length": ("<I", 4), "tile": ("<I", 8), "offset": ("<q", 16), "bias": ("<f", 24)}
    found = {name: struct.unpack_from(form, data.ljust(32, b"\0"), at)[0] for name, (form, at) in places.items()}
    return found | {say("bytes", "字节数"): len(data)}
