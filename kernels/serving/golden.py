"""Cases of the exercises on a served model: the parts of a server, judged by what they hand out, keep and admit."""

from __future__ import annotations

import random

import torch

from labkit import messages
from labkit.exercises import Case


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


# ---- the pages of the KV cache


def pool_cases(seed, quick):
    made = []
    drawn = [random.Random(seed).randint(*ends) for ends in ((5, 60), (1500, 4000))]
    for count in (4, *(drawn if seed else [])):  # a server of our size has thousands
        expected = {
            say(f"{count - 1} of {count} pages, each once", f"{count} 页中的 {count - 1} 页，各一次"): True,
            say("2 more", "再要 2 页"): None,
            say("pages free after that", "此后的空闲页"): 1,
            say("the last one", "最后一页"): 1,
            say("pages free when all but the last came back", "除最后一页外全部归还后的空闲页"): count - 1,
            say("these once more", "再次分配这些页"): say("the same", "相同"),
            say("pages free when all came back", "全部归还后的空闲页"): count,
            say("0 pages", "要 0 页"): say("an empty list", "空列表"),
            say(f"{count} pages, each once", f"{count} 页，各一次"): True,
        }
        made.append(Case(f"{count} pages", (count,), expected))
    return made + [drawn_turns(seed + turn, 60 if turn else 2000) for turn in range(6 * (seed != 0))]


def drawn_turns(seed, most):
    """Of a class's seed: requests that come and go in any order, of which several hold pages at a time. What is free
    after each turn; where a number of pages is wanted (> 0) or the k-th that holds some gives them back (-k - 1)."""
    draw = random.Random(seed)
    count, turns, held, free, told = draw.randint(most // 10, most), [], [], [], []
    for _ in range(40):
        left = count - sum(held)
        if held and draw.random() < 0.45:
            k = draw.randrange(len(held))
            turns.append(-k - 1)
            left += held.pop(k)
        else:
            turns.append(draw.randint(1, max(2, count // 3)))
            if turns[-1] <= left:
                held.append(turns[-1])
                left -= turns[-1]
        free.append(left)
        told.append(True)
    expected = {say("pages free after each turn", "每一轮之后的空闲页"): free, FREE_ONES: told}
    return Case(say("drawn", "随机"), (count, turns), expected)


FREE_ONES = "those handed out were free"


def run_turns(function, count: int, turns: list[int]) -> dict:
    free, allocate, give_back = function(count)
    held, left, told = [], [], []
    for turn in turns:
        right = True
        if turn < 0 and -turn <= len(held):
            give_back(held.pop(-turn - 1))
        elif turn > 0 and (pages := allocate(turn)) is not None:
            taken = {page for others in held for page in others}
            right = _once(pages, turn, set(range(count)) - taken) is True
            held.append(list(pages))
        left.append(len(free))
        told.append(right)
    return {say("pages free after each turn", "每一轮之后的空闲页"): left, FREE_ONES: told}


def run_pool(function, args, case):
    if len(args) > 1:
        return run_turns(function, *args)
    (count,) = args
    free, allocate, give_back = function(count)
    there = set(range(count))  # the cache has no other pages: whoever is handed one writes where nothing is
    first = allocate(count - 1)
    found = [_once(first, count - 1, there)]
    found += [allocate(2), len(free)]
    last = allocate(1)
    twice = first and last and set(first) & set(last)
    one = _once(last, 1, there) if last else last
    found += [say("a page that is held already", "已被占用的页") if twice else 1 if one is True else one]
    if first:
        give_back(first)
    found.append(len(free))
    again = allocate(count - 1)
    other = say("others", "不同") if set(again or ()) != set(first or ()) else say("the same", "相同")
    found.append(say("a page that is held already", "已被占用的页") if set(again or ()) & set(last or ()) else other)
    for held in (again, last):
        if held:
            give_back(held)
    found.append(len(free))
    none = allocate(0)
    found.append(say("an empty list", "空列表") if none is not None and not len(none) else none)
    if none:
        give_back(none)
    all_of_them = allocate(count)
    found.append(_once(all_of_them, count, there))
    return dict(zip(case.expected, found))


def _once(held, count: int, there: set):
    """Whether `count` pages are held, each once; what else they are, where there are no such pages."""
    if held is None or len(held) != count or len(set(held)) != count:
        return False
    return set(held) <= there or say("pages that do not exist", "不存在的页")


# ---- the cache of inputs


def least_recent(keys, size: int) -> int:
    kept, hits = [], 0
    for key in keys:
        if key in kept:
            hits += 1
            kept.remove(key)
        kept.append(key)
        del kept[: max(0, len(kept) - size)]
    return hits


def evict_cases(seed, quick):
    rng = random.Random(seed)
    drawn = rng.choices(range(40), [1 / n for n in range(1, 41)], k=400)
    asked = [
        ("A B A C A D A", list("ABACADA"), 2),
        ("A B C A B C", list("ABCABC"), 3),
        ("A A B A B B", list("AABABB"), 1),
    ]
    asked.append(("400 drawn", drawn, 8))
    for most in (30, 400) if seed else ():  # a class has more room, which the keys fill; some keys are of other types
        size = rng.randint(most // 3, most)
        kinds = [rng.choice((n, str(n), (n, "id"))) for n in range(2 * size)]
        asked.append((f"{8 * size} drawn of {2 * size}", rng.choices(kinds, range(1, 2 * size + 1), k=8 * size), size))
    return [Case(f"{name}, room for {size}", (keys, size), least_recent(keys, size)) for name, keys, size in asked]


# ---- who joins a running batch


def joining(waiting, free_pages: int, free_rows: int, page: int) -> list[int]:
    """How many of those that wait may join, as the numbers of their pages, in order."""
    found = []
    for prompt, answer in waiting:
        need = -(-(prompt + answer) // page)
        if need > free_pages or not free_rows:
            break
        found.append(need)
        free_pages, free_rows = free_pages - need, free_rows - 1
    return found


def admit_cases(seed, quick):
    queue = [(100, 28), (33, 30), (500, 100), (10, 6)]
    asked = [
        ("room for all", queue, 100, 8, 16),
        ("two rows", queue, 100, 2, 16),
        ("the third does not fit", queue, 20, 8, 16),
        ("not even the first", queue, 7, 8, 16),
        ("nobody waits", [], 100, 8, 16),
        ("the second takes the last pages", queue, 12, 8, 16),
        ("the first leaves too few for the second", queue, 9, 8, 16),
        ("no row is free", queue, 100, 0, 16),
        ("pages of 32 tokens", queue, 12, 8, 32),
        ("pages of 10 tokens", queue, 100, 8, 10),
    ]
    return [
        Case(name, (waiting, pages, rows, page), joining(waiting, pages, rows, page))
        for name, waiting, pages, rows, page in asked
    ]


# ---- the second stream


AHEAD = (("six inputs", "六个输入", 6, True), ("each computed at once", "计算很短", 4, False))
AHEAD += (("one input", "一个输入", 1, True),)


def ahead_cases(seed, quick):
    """Kernels as long as a copy, so that a copy can run beside each; short ones, so that each has to wait for its own
    copy; a single input."""
    g = torch.Generator().manual_seed(seed)
    made = []
    for en, zh, count, heavy in AHEAD:
        count += 0 if heavy else seed % 4  # a class may have more of the short ones
        inputs = [torch.randint(0, 8, (256, 4096), generator=g).float() for _ in range(count)]
        expected = {
            say("sums", "各项之和"): [float((2 * x).sum()) for x in inputs],
            say("each kernel begins when its input is there", "每个 kernel 都在输入到达之后开始"): True,
            say("sent ahead", "提前发起"): say("one input at a time", "每次一个输入"),
            "host": say("waits for no copy", "不等待拷贝"),
        }
        if heavy and count > 2:
            beside = say("copies that run beside a kernel", "与 kernel 同时进行的拷贝")
            expected[beside] = say(f"at least {count - 2} of {count}", f"{count} 个中至少 {count - 2} 个")
        made.append(Case(say(en, zh), (inputs, heavy), expected))
    return made


def waited(program):
    """(what it returned, how often the host waited meanwhile, or asked whether it must; 0 on a card)."""
    from labkit import device
    from labkit.profiler.recorder import Recorder

    if device.mode() == "npu":
        return program(), 0
    recorder = Recorder()
    recorder.start()
    try:
        result = program()
    finally:
        calls = recorder.stop().calls
    asked = ("aclrtSynchronize", "aclrtStreamQuery", "aclrtQueryEvent")
    return result, sum(call.name.startswith(asked) for call in calls)


def run_ahead(function, args, case):
    from labkit import device

    inputs, is_heavy = args
    pinned, given = [x.pin_memory() for x in inputs], []
    heavy = torch.zeros(4096, 4096).npu()

    def work(x):
        y = x * 2
        for _ in range(8 if is_heavy else 0):  # as long as a copy
            heavy.add_(1)
        given.append(y)
        return y

    work(pinned[0].npu())
    torch.npu.synchronize()
    given.clear()
    device.reset_clock()
    made, waits = waited(lambda: function(pinned, work))
    torch.npu.synchronize()
    spans = device.timeline()
    said = dict(case.expected)
    sums, begin, ahead, host, *beside = said
    said[sums] = [float(y.cpu().sum()) for y in made]
    if len(made) != len(given) or any(y is not z for y, z in zip(made, given)):
        said[sums] = say("not all are what work gave", "并非都是 work 的结果")
    if not spans:  # a card has no timeline here; the sums are all that is judged
        return said
    copies = [s for s in spans if s.engine == "copy in"]
    begins = [s for s in spans if s.name == "aten::mul"]
    kernels = [s for s in spans if s.engine not in ("copy in", "copy out")]
    said[begin] = all(k.start_us >= c.end_us - 1e-6 for c, k in zip(copies, begins))
    if len(copies) != len(inputs):
        said[begin] = say(
            f"{len(copies)} copies of {len(inputs)} inputs", f"{len(inputs)} 个输入拷贝了 {len(copies)} 次"
        )
    elif len(copies) > 1 and begins[0].start_us > copies[1].end_us - 1e-6:
        said[begin] = say("the first one waits for the second input, too", "第一个还等了第二个输入")
    if waits:  # also for a copy so early that the times do not show it
        said[host] = say(f"waits {waits} times", f"等待 {waits} 次")
    # each kernel is issued long before its copy has ended, unless the host waits for one
    if any(k.host_us > c.end_us for c, k in zip(copies, begins)):
        said[host] = say("waits for a copy", "等待拷贝")
    if any(c.host_us < k.host_us for c, k in zip(copies[2:], begins)):
        said[ahead] = say("more than one", "不止一个")
    together = sum(any(k.start_us < c.end_us and c.start_us < k.end_us for k in kernels) for c in copies)
    if beside and together < len(inputs) - 2:
        said[beside[0]] = str(together)
    return said
