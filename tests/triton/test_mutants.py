"""Known-wrong lowerings: each must show in the numbers or as a finding of the twin."""

from __future__ import annotations

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux x86_64 and aarch64 only")
torch = pytest.importorskip("torch")


import labkit.triton

labkit.triton.install()
import triton_drawn
import triton_kernels as kernels

from labkit.triton import elementwise, forms, gelu, helpers, kernel, layout, memory, mixed, reduce, scalars, sides

FULL = triton_drawn.Drawn(
    8,
    32,
    11,
    27,
    (("full", "f32", -2), ("column", "f32", 0)),
    (("sum", (0, 1)), ("sub", (0, 2)), ("add", (3, 1))),
    "f32",
)


def softmax() -> float:
    x = (torch.randint(-40, 41, (5, 23), generator=torch.Generator().manual_seed(3)) - 80) / 8
    y = torch.zeros_like(x).npu()
    kernels.softmax[(5,)](y, x.npu(), 23, 23, 5, 23, BLOCK=32)
    return float((y.cpu() - torch.softmax(x, 1)).abs().max()) / 1e-6


def drawn(folder) -> float:
    return triton_drawn.wrong(*FULL.run(folder))


def product(act: str = "") -> float:
    return kernels.multiply(70, 90, 70, (32, 64, 32), torch.float16, torch.float32, "", act)[1]


def lanes_of_bytes() -> float:
    x = torch.arange(-50, 50, dtype=torch.int8)
    y = torch.zeros_like(x).npu()
    kernels.add[(1,)](x.npu(), x.npu(), y, 100, BLOCK=128)
    return float((y.cpu() != x + x).sum())


def text(monkeypatch, table: dict, name: str, old: str, new: str) -> None:
    assert old in table[name]
    monkeypatch.setitem(table, name, table[name].replace(old, new))


def first_use(self, block):
    """Values end with their first reader."""
    for v in [*block.args, *(r for op in block.ops for r in op.results)]:
        inside = [u for u in v.users if u.block is block]
        if inside:
            self.last[v] = inside[0]
    for op in block.ops:
        for inner in op.blocks:
            first_use(self, inner)


def halved(own):
    def half_times(k, op, forms, stored):
        if (found := gelu.times_one_more(op)) is not None:
            k.pending[found[0]] = 0.5
        return own(k, op, forms, stored)

    return half_times


class Any:
    def __eq__(self, other):
        return True


MUTANTS = {
    "rows lie at their own width": lambda m: m.setattr(layout, "pitch", layout.width),
    "zeros behind the end in place of other": lambda m: text(
        m, helpers.OWN, "Rows", "- wide), fill)", "- wide), T(0))"
    ),
    "a mask lets one lane more count": lambda m: m.setattr(
        forms.Relation, "limit", lambda r, n, own=forms.Relation.limit: (f := own(r, n)) and (f[0], f[1] + 1)
    ),
    "max is min": lambda m: m.setitem(reduce.COMBINERS, ("arith.maxnumf",), "Min"),
    "rows go to GM without their gap": lambda m: text(m, helpers.OWN, "Rows", "bytes, gap, tall", "bytes, 0, tall"),
    "values end with their first reader": lambda m: m.setattr(kernel.Kernel, "_lifetimes", first_use),
    "no pipe waits": lambda m: m.setattr(kernel.Kernel, "sync", lambda self, event: None),
    "a rest is a quotient": lambda m: m.setitem(scalars.ARITHMETIC, "arith.remsi", scalars.Div),
    "L0 is laid out for the whole depth": lambda m: text(
        m, helpers.CUBE, "MultiplyTiles", "steps = squares * EACH", "steps = PIECE / LINE"
    ),
    "each step of a sum begins anew": lambda m: text(m, helpers.CUBE, "MultiplyTiles", "fresh && at == 0", "at == 0"),
    "both vector cores take the first rows' places": lambda m: m.setattr(mixed, "rows", scalars.make_range),
    "a row ends a line too early": lambda m: m.setattr(
        sides.Sides, "first", lambda s, mask, side, own=sides.Sides.first: (n := own(s, mask, side)) and n - 64
    ),
    "any number is neutral": lambda m: m.setattr(sides, "NEUTRAL", dict.fromkeys(("Sum", "Max"), Any())),
    "what masks leave out is not filled": lambda m: m.setattr(memory, "fill_rest", lambda *_: None),
    "lanes are filled from the next line on": lambda m: text(
        m, helpers.OWN, "FillBehind", "for (uint32_t at = wide;", "for (uint32_t at = CeilTo(wide, each);"
    ),
    "only the first row is filled": lambda m: text(
        m, helpers.OWN, "FillBehind", "(together ? tall : 1), 1,", "(1), 1,"
    ),
    "programs behind the end run": lambda m: m.setattr(
        kernel.Kernel, "emit", lambda k, line, own=kernel.Kernel.emit: None if "continue;" in line else own(k, line)
    ),
    "a row goes with the first row alone": lambda m: m.setattr(elementwise, "at", lambda row, pitch: ""),
    "1 + tanh without its 2": lambda m: m.setattr(
        gelu, "one_and_exp", lambda k, to, u, factor, n, own=gelu.one_and_exp: own(k, to, u, factor / 2, n)
    ),
    "1 + tanh alone is half of it": lambda m: m.setattr(gelu, "one_and_tanh", gelu.one_and_exp),
    "any y is taken for a half": lambda m: m.setattr(gelu, "half_times", halved(gelu.half_times)),
    "what was put off stays undone": lambda m: m.setattr(gelu, "now", lambda k, v, form: form),
    "what is used twice is put off": lambda m: m.setattr(gelu, "only_user", lambda v: v.users[0] if v.users else None),
    "1 / d is d": lambda m: (
        m.setattr(gelu, "times_reciprocal", lambda *_: None) or m.setattr(gelu, "now", lambda k, v, form: form)
    ),
    "y gives its place to the exponential": lambda m: m.setattr(
        gelu,
        "half_times",
        lambda k, op, *rest, own=gelu.half_times: (gelu.times_one_more(op) and k.release(op), own(k, op, *rest))[1],
    ),
}
KERNELS = {
    "zeros behind the end in place of other": "softmax",
    "max is min": "softmax",
    "values end with their first reader": "drawn",
    "a rest is a quotient": "product",
    "L0 is laid out for the whole depth": "product",
    "each step of a sum begins anew": "product",
    "both vector cores take the first rows' places": "mixed",
    "no pipe waits": "bytes",
    "a row ends a line too early": "row",
    "any number is neutral": "counted",
    "what masks leave out is not filled": "rows",
    "lanes are filled from the next line on": "counted",
    "only the first row is filled": "counted rows",
    "programs behind the end run": "row",
    "a row goes with the first row alone": "rows",
    "1 + tanh without its 2": "row",
    "1 + tanh alone is half of it": "1 + tanh alone",
    "any y is taken for a half": "not halved",
    "what was put off stays undone": "half a row",
    "what is used twice is put off": "the tangent twice",
    "1 / d is d": "a sigmoid's product",
    "y gives its place to the exponential": "GELU",
}


def outcome(name: str, folder) -> tuple[float, list[str]]:
    run = {
        "softmax": softmax,
        "product": product,
        "mixed": lambda: product("leaky_relu"),
        "bytes": lanes_of_bytes,
        "row": lambda: kernels.run_masked_rows(5, 700, 1, 0, 9),
        "rows": lambda: kernels.run_masked_rows(5, 700, 4, 0),
        "counted": lambda: kernels.run_masked_rows(5, 700, 1, 1),
        "counted rows": lambda: kernels.run_masked_rows(6, 700, 2, 1),
    }
    run |= {way: lambda way=way: kernels.run_tangents(way)[0] for way in kernels.TANGENTS}
    error = run[name]() if name in run else drawn(folder)
    return error, labkit.triton.last().codes()


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """What is compiled here is compiled anew, and stays here."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    kept = [kernels.add, kernels.softmax, kernels.matmul, kernels.masked_rows, kernels.tangents]
    for f in kept:
        f.device_caches.clear()
    yield tmp_path
    for f in kept:
        f.device_caches.clear()


@pytest.mark.parametrize(
    "name", ["softmax", "drawn", "product", "mixed", "bytes", "row", "rows", "counted", "counted rows", "GELU"]
)
def test_the_right_ones_pass(name, own_cache):
    error, codes = outcome(name, own_cache)
    assert error <= 1 and not codes


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_lowering_shows(mutant, own_cache, monkeypatch, capsys):
    MUTANTS[mutant](monkeypatch)
    try:
        error, codes = outcome(KERNELS.get(mutant, "drawn"), own_cache)
    except Exception as problem:  # the twin stopped it, or the compiler
        assert type(problem).__module__.startswith("labkit"), problem
    else:
        assert error > 1 or error != error or codes, f"error {error}"
