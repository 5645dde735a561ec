"""Cases of stage 07: exercises in Triton. Numbers are eighths, so that sums are exact in any order."""

from __future__ import annotations

import ast
import contextlib
import linecache
import random

import torch

from labkit import messages
from labkit.exercises import Case, Out

HALF, FLOAT = torch.float16, torch.float32


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def eighths(seed: int, *shape: int, most: int = 32):
    return torch.randint(-most, most + 1, shape, generator=torch.Generator().manual_seed(seed)) / 8


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


# ---- 07.01


def first_cases(seed, quick):
    """Lengths below a tile, a whole number of tiles, and with a tail. A class has one more with numbers that no shorter
    type holds: all digits of float, and beyond what float16 can be."""
    made = []
    if seed:
        g = torch.Generator().manual_seed(seed)
        n, tile = random.Random(seed).randint(1500, 3000), 512
        x, r = (torch.randn(n, generator=g) * 10.0 ** (torch.arange(n) % 7) for _ in range(2))
        want = (0.75 * x.double() + r.double()).clamp(min=0).float()
        # a float's rounding of each term, where they take each other away
        args, close = (x, r, Out(n, FLOAT), n, tile), (1e-5, 0.5)
        made.append(
            Case(say(f"n={n}, all digits", f"n={n}，尾数位全用"), args, want, close, blocks=cdiv(n, tile), tile=tile)
        )
    long = (random.Random(seed).randint(200_000, 600_000),) if seed else ()  # of a class: more programs than ever
    for n in (5, 1024, 3000) if quick else (*long, 1, 5, 1023, 1024, 4096, 5001, 70_000):
        tile = 512 if n == 5 else 2048 if n == 5001 else 1024  # BLOCK is the caller's
        x, r = eighths(seed, n), eighths(seed + 1, n)
        blocks = cdiv(n, tile)
        made.append(
            Case(f"n={n}", (x, r, Out(n, FLOAT), n, tile), (0.75 * x + r).clamp(min=0), blocks=blocks, tile=tile)
        )
    return made


def rows_cases(seed, quick):
    """Rows that fill BLOCK and rows that do not; some are all negative, the second one of them far below all others. A
    class has a row of -inf, as a mask leaves it, in a case of its own, which comes first: the last one is timed. And it
    has many rows, and long ones."""
    made, drawn = [], ()
    if seed:
        draw = random.Random(seed)
        rows, width = 4, draw.choice([w for w in range(40, 500) if w & (w - 1)])
        block = 1 << width.bit_length()
        x = eighths(seed, rows, width)
        x[1:3, draw.randrange(width)] = x[draw.randrange(1, 3)] = -float("inf")
        want = x.max(1).values, x.mean(1)
        args = x, Out(rows, FLOAT), Out(rows, FLOAT), width, block
        name = say(f"{rows} rows of {width}, one is -inf", f"{rows} 行，宽 {width}，一行全为 -inf")
        made.append(Case(name, args, want, (1e-6, 1e-6), blocks=rows, tile=1))
        drawn = (draw.randint(150, 400), draw.randint(33, 64), 64), (draw.randint(2, 9), draw.randint(2049, 4096), 4096)
    shown = (3, 64, 64), (5, 100, 128), (7, 1000, 1024)
    for rows, width, block in shown[:2] if quick else (*drawn, *shown):
        x = eighths(seed, rows, width) - 6 * (torch.arange(rows) % 2)[:, None]
        x[1] *= 2.0**100  # all below -1e30, and exact as before: no ordinary number is the least of all
        want = x.max(1).values, x.double().mean(1).float()
        args = x, Out(rows, FLOAT), Out(rows, FLOAT), width, block
        made.append(Case(f"{rows} rows of {width}", args, want, (1e-6, 1e-6), blocks=rows, tile=1))
    return made


# ---- 07.02


def column_cases(seed, quick):
    """HIGH and WIDE are the caller's; the last one is timed."""
    made = []
    for rows, columns, high, wide in (
        ((8, 64, 32, 64), (70, 100, 16, 128), (300, 1000, 128, 64))
        if quick
        else ((8, 64, 32, 64), (1, 5, 32, 64), (70, 100, 16, 128), (600, 300, 64, 32), (300, 1000, 128, 64))
    ):
        x = eighths(seed, rows, columns)
        args = x, Out(columns, FLOAT), rows, columns, high, wide
        name = f"{rows} x {columns} in tiles of {high} x {wide}"
        made.append(
            Case(name, args, x.sum(0), blocks=cdiv(columns, wide), tile=wide, timed=(rows, columns) == (300, 1000))
        )
    return made


def where_cases(seed, quick):
    made = []
    for n in (16, 29) if quick else (16, 1, 29, 100, 128):
        x, high = eighths(seed, n, n), 32
        if n in (29, 100):
            x[2, n - 1] = float("inf")  # above the diagonal: 0 takes its place, and 0 times it would not
        args = x, Out((n, n), FLOAT), n, high, 128
        made.append(Case(f"{n} x {n}", args, x.tril(), (0.0, 0.0), blocks=cdiv(n, high), tile=high * n))
    return made


def case_cases(seed, quick):
    """Widths that are a power of two come first. Each row has another largest one, at its end and negative."""
    made = []
    for rows, width, block in (
        ((4, 64, 64), (4, 100, 128)) if quick else ((4, 64, 64), (9, 256, 256), (4, 100, 128), (7, 777, 1024))
    ):
        x = eighths(seed, rows, width) / 2.0 ** (3 * torch.arange(rows))[:, None]
        x[:, -1] = -1.5 * x.abs().max(1).values
        want = x / x.abs().max(1, keepdim=True).values
        made.append(
            Case(f"{rows} rows of {width}", (x, Out((rows, width), FLOAT), width, block), want, blocks=rows, tile=width)
        )
    return made


# ---- 07.03


def pair(seed, m, n, k, most=8):
    return eighths(seed, m, k, most=most).half(), eighths(seed + 1, k, n, most=most).half()


def dot_cases(seed, quick):
    """(M, N, K) and (BM, BN, BK), which are the caller's: whole tiles; a rest along each; a depth of several tiles. The
    last one's sums are too long for float16, and it is timed."""
    made = []
    few = ((32, 64, 32), (32, 64, 32)), ((40, 70, 50), (32, 64, 16)), ((64, 64, 300), (32, 64, 128))
    draw = random.Random(seed)  # shapes that nobody has seen, and sums as long as no other case has them
    drawn = (tuple(draw.randint(1, 80) for _ in range(3)), draw.choice(((16, 32, 32), (32, 16, 64))))
    long = ((draw.randint(1, 16), draw.randint(1, 32), draw.randint(4000, 9000)), (16, 32, 128))
    deep = draw.choice(((16, 32, 256), (32, 16, 512)))  # of a class: a BK beyond that of all shown tiles, several times
    deeper = (((draw.randint(1, 50), draw.randint(1, 50), deep[2] * 2 + draw.randint(1, 99)), deep),) if seed else ()
    for shape, tile in (
        (*few[:2], long, *deeper, few[2])
        if quick
        else (*few[:2], ((33, 65, 96), (16, 32, 64)), drawn, long, *deeper, few[2])
    ):
        m, n, k = shape
        a, b = pair(seed, m, n, k, most=64 if k == 300 else 8)
        args = a, b, Out((m, n), FLOAT), *shape, *tile
        name = f"{m} x {n} x {k} in tiles of {' x '.join(map(str, tile))}"
        made.append(Case(name, args, (a.double() @ b.double()).float(), tile=n, timed=shape == few[2][0]))
    return made


def run_grid(kernel, args, case):
    """One program for each tile of the result; M and N, BM and BN are arguments."""
    m, n, _, bm, bn = args[-6:-1]
    return kernel[cdiv(m, bm), cdiv(n, bn)](*args)


def act_cases(seed, quick):
    """In the second shape numbers are large: products that float16 would round, and a bias that takes most of them away
    in the first row; sums of hundreds in the others, whose exp is no number of float. In the last one some biases come
    close to what fp16 can hold, on both sides, and one is the largest that it holds."""
    made = []
    draw = random.Random(seed)
    drawn = tuple(draw.randint(1, 80) for _ in range(3))
    for m, n, k in (
        ((32, 64, 32), (40, 70, 50), drawn) if quick else ((32, 64, 32), (40, 70, 50), (100, 130, 64), drawn)
    ):
        (a, b), bias = pair(seed, m, n, k, most=64 if k == 50 else 8), eighths(seed + 2, n).half()
        if k == 50:
            bias = -(a[0].double() @ b.double()).half()
        if (m, n, k) == drawn:
            sizes = [draw.choice((1, -1)) * 2.0 ** draw.uniform(5, 15.9) for _ in range(n // 2)]
            bias[torch.tensor(draw.sample(range(n), n // 2 + 1))] = torch.tensor([65_504.0, *sizes]).half()
        z = a.double() @ b.double() + bias.double()
        args = a, b, bias, Out((m, n), HALF), m, n, k, 32, 64, 32
        made.append(Case(f"{m} x {n} x {k}", args, (z / (1 + torch.exp(-z))).half(), tile=n))
    return made


def tune_cases(seed, quick):
    m, n, k = 512, 512, 256
    a, b = pair(seed, m, n, k)
    return [
        Case(f"{m} x {n} x {k}", (a, b, Out((m, n), FLOAT), m, n, k), (a.double() @ b.double()).float(), timed=True)
    ]


def run_tune(kernel, args, case):
    """Sizes of CONFIGS with the kernel that stands below them, whatever the name triton has come to stand for in the
    text: what that text's own decorators made may be another kernel."""
    import triton

    made = kernel.jit
    while hasattr(made, "fn"):  # the tuner, the function of triton.jit, Python's own
        made = made.fn
    configs = [triton.Config(dict(c.kwargs), c.num_warps, c.num_stages) for c in made.__globals__["CONFIGS"]]
    kernel.jit = triton.autotune(configs=configs, key=["M", "N", "K"])(triton.jit(given(made, "tuned")))
    m, n = args[3:5]
    return kernel[lambda meta: (cdiv(m, meta["BM"]), cdiv(n, meta["BN"]))](*args)


def given(made, name: str):
    """The function `name` that stands last in the text from which `made` is, without its decorators."""
    import triton

    file = made.__code__.co_filename
    text = "".join(linecache.getlines(file))
    found = [f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef) and f.name == name][-1]
    lines = text.split("\n")[found.lineno - 1 : found.end_lineno]
    there = {"triton": triton, "tl": triton.language}
    exec(compile("\n" * (found.lineno - 1) + "\n".join(lines), file, "exec"), there)  # each on its own line
    return there[name]


# ---- 07.04


def act(x, b):
    """GELU of x + b in tanh's form, and x once more: two operators around one."""
    return torch.nn.functional.gelu(x + b, approximate="tanh") + x


FLAG = "max_autotune_pointwise"


def flag_cases(seed, quick):
    """Rows of 576: three blocks of 256 have a quarter of their lanes for nothing, nine of 64 have none. A class has a
    small shape, too, which must be compiled as well, but need not be faster for it."""
    x, b = eighths(seed, 2048, 576), eighths(seed + 1, 576)
    expected = {
        say("result", "结果"): act(x.double(), b.double()).float(),
        say("launches", "启动次数"): 1,
        say("a tenth faster than by default", "比默认快十分之一以上"): True,
        say("options of the whole process", "整个进程的选项"): say("as they were", "未改变"),
        say("options that are set for f", "为 f 设置的选项"): FLAG,
    }
    made = [Case("2048 x 576", (x, b), expected, (1e-5, 1e-5))]
    if seed:
        rows, columns = random.Random(seed).randint(2, 300), random.Random(seed + 1).choice((40, 96, 192, 576))
        x, b = eighths(seed, rows, columns), eighths(seed + 1, columns)
        small = {k: v for k, v in expected.items() if v is not True}
        small[say("result", "结果")] = act(x.double(), b.double()).float()
        made.append(Case(f"{rows} x {columns}", (x, b), small, (1e-5, 1e-5)))
    return made


def run_flag(function, args, case):
    """Compiles `act` by default and by the learner's function, and compares the device's times of the launches."""
    import labkit.triton

    labkit.triton.install()
    from labkit.triton import driver

    def seen(made):
        torch._dynamo.reset()
        made(args[0] + 1, args[1])  # other values: what it remembers of them is wrong
        with driver.recording() as launched:
            y = made(*args)
        return y, len(launched), sum(r.time_us for r in launched)

    asked = any(v is True for v in case.expected.values())  # whether it is to be faster
    plain = seen(torch.compile(act))[2] if asked else 0.0
    with torch._inductor.config.patch({}):  # puts back what `function` changes for everybody
        before = torch._inductor.config.get_config_copy()
        with compiled_with(before) as options:
            y, launches, us = seen(function(act))
        after = torch._inductor.config.get_config_copy()
        torch._inductor.config.load_config(before)
    alone = ", ".join(sorted(name for name in options if after.get(name) == before[name])) or say("none", "无")
    changed = ", ".join(name for name in before if before[name] != after.get(name))
    told = say(f"changed: {changed}", f"被改变：{changed}") if changed else say("as they were", "未改变")
    names = list(case.expected)
    return dict(zip(names, (y, launches, *((0 < us <= plain * 0.9,) if asked else ()), told, alone)))


@contextlib.contextmanager
def compiled_with(before: dict):
    """The set of Inductor's options that are other than `before` where it compiles, however they were given to it."""
    from torch._inductor import compile_fx

    original, found = compile_fx.compile_fx, set()

    def noted(*args, **named):
        there = {**torch._inductor.config.get_config_copy(), **(named.get("config_patches") or {})}
        found.update(name for name in before if there.get(name) != before[name])
        return original(*args, **named)

    compile_fx.compile_fx = noted
    try:
        yield found
    finally:
        compile_fx.compile_fx = original


def break_cases(seed, quick):
    """The largest of b on both sides of 1, also as near to it as float can be, and at 1. Sum, norm and smallest element
    of b say the opposite. b has one axis, or as many as x: then one row alone has the largest one."""
    made = []
    draw = random.Random(seed)
    for most in (3.0, 0.5, 1.0, 1.125, 1 + 2.0**-23, 1 + 2.0 ** -draw.randint(4, 22), 1 - 2.0 ** -draw.randint(2, 24)):
        b = eighths(seed, 40, most=4).abs()
        order = torch.Generator().manual_seed(seed + len(made))
        at = torch.randperm(40, generator=order)
        if most > 1:
            b = -b
        else:
            b[at[1]] = -3
        b[at[0]] = most
        x = eighths(seed + 1, 6, 40, most=128)
        if most in (0.5, 1.125, 1 + 2.0**-23):
            b = torch.cat([b[None], b.clamp(max=0.5).expand(5, 40)])[torch.randperm(6, generator=order)]
        y = (x + b).clamp(max=8) if most > 1 else x + b
        want = (torch.nn.functional.gelu(y.double(), approximate="tanh") + x).float()
        name = say(f"the largest of b is {most:.9g}", f"b 的最大元素是 {most:.9g}")
        made.append(Case(name, (x, b), {say("result", "结果"): want, say("graphs", "图的个数"): 1}, (1e-5, 1e-5)))
    return made


def run_break(function, args, case):
    torch._dynamo.reset()
    graphs = torch._dynamo.explain(function)(*args).graph_count
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager")  # what runs within a graph, and not beside it
    y, plain = compiled(*args), function(*args)
    return dict(zip(case.expected, (y if torch.allclose(y, plain) else plain, graphs)))


# ---- 07.05


def norm(x, w, b):
    return torch.nn.functional.layer_norm(x.double(), x.shape[-1:], w.double(), b.double()).float()


def norm_rows(seed, rows, width):
    """x, weight, bias. The numbers of x's last row are so small that the 1e-5 beside their variance counts. Those of
    the first have a mean of 64: taken from a mean of squares, its square leaves little of the variance's digits."""
    x = eighths(seed, rows, width) + 1
    x[0] += 63
    x[-1] = (x[-1] - 1) / 256
    return x, eighths(seed + 1, width), eighths(seed + 2, width)


def cores_cases(seed, quick):
    """Fewer rows than programs, as many for each, and some more. Timed are five rows for each and 47 more, which nobody
    may have alone.
    """
    few, more = ((5, 100), (500, 768), (287, 768)), ((96, 64), (131, 300), (1100, 64))
    made = []
    for rows, width in few if quick else (few[0], *more, *few[1:]):
        x, w, b = norm_rows(seed, rows, width)
        args = x, w, b, Out((rows, width), FLOAT), rows, width, 1 << (width - 1).bit_length()
        timed = rows == 287
        made.append(
            Case(f"{rows} rows of {width}", args, norm(x, w, b), (1e-5, 1e-5), blocks=48, tile=width, timed=timed)
        )
    return made


def pieces_cases(seed, quick):
    """Tiles of several rows. A class has longer rows than all others, and more of them than any: the last is timed."""
    shown, draw = ((5, 100, 4, 128), (7, 64, 2, 64), (33, 300, 4, 512), (500, 768, 4, 1024)), random.Random(seed)
    made, wide = [], (draw.randint(1025, 2048), 2, 2048)
    drawn = (draw.randint(3, 20), *wide), (draw.randint(600, 900), draw.randint(3, 31), 8, 32)
    for rows, width, high, block in (shown[0], shown[3]) if quick else (*(drawn if seed else ()), *shown):
        x, w, b = norm_rows(seed, rows, width)
        args = x, w, b, Out((rows, width), FLOAT), rows, width, high, block
        name = f"{rows} rows of {width} in tiles of {high} x {block}"
        made.append(
            Case(name, args, norm(x, w, b), (1e-5, 1e-5), blocks=cdiv(rows, high), tile=high * width, timed=rows == 500)
        )
    return made


def first_to_mend(seen: dict) -> str:
    if seen["launches"] * 6 > seen["device_us"]:
        return "launches"
    if seen["element_wise"]:
        return "elements"
    if seen["blocks"] < seen["cores"]:
        return "cores"
    pipe = max(seen["busy"], key=seen["busy"].get)
    return pipe if seen["busy"][pipe] >= 0.75 * seen["device_us"] else "order"


def sign_cases(seed, quick):
    """Facts drawn by the seed; two signs at once are among them."""
    g = torch.Generator().manual_seed(seed)

    def one(high: int, low: int = 0) -> int:
        return int(torch.randint(low, high, (1,), generator=g))

    made = []
    for i in range(8 if quick else 24):
        us, cores = 20.0 + one(200), (48, 40, 20, 24, 25)[i % 5]
        if i % 8 == 0:  # more us than launches, but less than 6 each; and fewer than launches
            us = 60.0 + us / 2 if i % 16 == 0 else 20.0 + us / 32
        launches = 30 + one(20) if i % 8 == 0 else 1 + one(3)
        shares = [one(60) for _ in range(5)]
        if i % 8 in (1, 2, 3, 6):
            shares[(i + i // 8) % 5] = 76 + one(22)
        if i % 8 == 5:  # just not enough
            shares[(i + i // 8) % 5] = 71 + one(4)
        if i % 8 == 7:  # the busiest one above a half of the time, and below it
            shares = [50 + one(25), *shares[1:]] if i % 16 == 7 else [share // 2 for share in shares]
        seen = {
            "launches": launches,
            "device_us": us,
            "element_wise": one(200 if i % 8 == 2 else 3, 1) if i == 0 or i % 8 in (2, 4) else 0,
            "blocks": 4 + one(cores - 4) if i % 8 in (3, 4) or i % 16 == 8 else cores,
            "cores": cores,
            "busy": dict(zip(("S", "V", "MTE2", "MTE3", "M"), (us * s / 100 for s in shares))),
        }
        made.append(Case(f"{i + 1}: {signs(seen)}", (seen,), first_to_mend(seen)))
    # as long as the launches; a little less, a little more; three quarters; two pipes above them; one block too few
    for times, pipes, idle in (
        (6, (), 0), (5.75, (), 0), (6.25, (), 0), (8, ("MTE2",), 0), (8, ("V", "MTE3"), 0), (8, ("V",), 1)
    ):  # fmt: skip
        launches = 4 * (3 + one(10))
        us = float(times * launches)
        busy = {pipe: us * (0.1 + one(50) / 100) for pipe in ("S", "V", "MTE2", "MTE3", "M")}
        busy |= {pipe: us * (0.75 + i / 8) for i, pipe in enumerate(pipes)}
        seen = {"launches": launches, "device_us": us, "element_wise": 0, "blocks": 48 - idle, "cores": 48}
        seen["busy"] = busy
        made.append(Case(f"{len(made) + 1}: {signs(seen)}", (seen,), first_to_mend(seen)))
    # of a class: any pipe that a chip has may be the busiest one, and all facts may be a thousand times as large
    for pipe in ("MTE1", "FIX", "M", "MTE2", "V") if seed else ():
        us, cores = float(10 ** (2 + one(5))), 1 + one(1000)
        all_pipes = "S V MTE2 MTE3 M MTE1 FIX".split()
        order = [all_pipes[i] for i in torch.randperm(7, generator=g)]
        busy = {name: us * (0.76 + one(23) / 100 if name == pipe else one(70) / 100) for name in order}
        seen = {"launches": 1 + one(int(us) // 7), "device_us": us, "element_wise": 0, "blocks": cores, "cores": cores}
        made.append(Case(f"{len(made) + 1}: {signs(seen | {'busy': busy})}", (seen | {"busy": busy},), pipe))
        few = seen | {"busy": busy, "blocks": max(1, cores - 1 - one(cores)), "element_wise": one(2) * (1 + one(10**6))}
        made.append(Case(f"{len(made) + 1}: {signs(few)}", (few,), first_to_mend(few)))
    return made


def signs(seen: dict) -> str:
    """What is conspicuous about a launch, in a few words."""
    found = {
        say("many launches", "启动多"): seen["launches"] * 6 > seen["device_us"],
        say("by elements", "逐元素访问"): seen["element_wise"],
        say("few blocks", "block 少"): seen["blocks"] < seen["cores"],
        say("a busy pipe", "有流水线很忙"): max(seen["busy"].values()) >= 0.75 * seen["device_us"],
    }
    return ", ".join(name for name, there in found.items() if there) or say("nothing stands out", "无明显特征")
