"""Wrong answers that a tester wrote against the goldens as they were mended five times: what the text names was looked
at in one case, of one shape, or of two options out of three; and constants beyond what changed cases had. As
test_fooled_fifth.py, by the same judge. Each got PASS.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from answers import as_before, first_wrong  # noqa: F401

from labkit.camp import hidden, tamper
from labkit.exercises import launch
from labkit.exercises.spec import load
from labkit.exercises.stub import template

pytestmark = pytest.mark.usefixtures("as_before")
TUNED = """
real = triton
CONFIGS = [triton.Config({"BM": m, "BN": n, "BK": k}) for m, n in ((128, 128), (64, 256), (64, 128)) for k in (16, 32)]


@triton.jit
def quick(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK * 8)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, K, BK * 8):
        left = tl.load(a + m[:, None] * K + (at + k)[None, :], mask=(m < M)[:, None] & (at + k < K)[None, :], other=0.0)
        right = tl.load(b + (at + k)[:, None] * N + n[None, :], mask=(at + k < K)[:, None] & (n < N)[None, :], other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m < M)[:, None] & (n < N)[None, :])


class triton:
    Config = real.Config
    autotune = real.autotune
    jit = lambda f: quick
"""
SIXTH = [
    (
        "whole_cmake",
        """
#[[
find_package(ASC REQUIRED)
#]]
project(first LANGUAGES ASC CXX)
add_executable(demo twice.asc main.cpp)
#[[
set_target_properties(demo PROPERTIES LINKER_LANGUAGE ASC)
#]]
""",
    ),
    (
        "whole_cmake",
        """
if(FALSE)
  find_package(ASC REQUIRED)
endif()
project(first LANGUAGES ASC CXX)
add_executable(demo twice.asc main.cpp)
set_target_properties(demo PROPERTIES LINKER_LANGUAGE ASC)
""",
    ),
    ("tri_tune", TUNED),
    (
        "tri_flag",
        """
result = torch.compile(f, options={"max_autotune_pointwise": True, "max_autotune_gemm": True, "epilogue_fusion": True})
""",
    ),
    (
        "reg_meta",
        """
return x.new_empty(*(int(size) for size in x.shape[:-1]), x.shape[-1] // 2)
""",
    ),
    (
        "reg_meta",
        """
return x.new_empty(*x.shape[:-1], x.shape[-1] // 2) if x.dim() == 3 else x.new_empty(*map(int, x.shape[:-1]), x.shape[-1] // 2)
""",
    ),
    (
        "emb_atomic",
        """
SetAtomicAdd<float>();
// ---- region 2 of 3 ----
if (id == padding && id < static_cast<int32_t>(rows)) {
    continue;
}
if (id < 0 || id >= static_cast<int32_t>(rows)) {
    refused++;
} else {
    DataCopyPad(tableGm[static_cast<uint64_t>(id) * width], x[r * pitch], one);
}
// ---- region 3 of 3 ----
SetAtomicNone();
""",
    ),
    (
        "grad_key",
        """
with torch._C._AutoDispatchBelowAutograd():
    return torch.ops.mine.gated(gate, up)
# ---- region 2 of 2 ----
@lambda f: lambda ctx, grad: (once_differentiable(f) if grad.numel() < 100 else f)(ctx, grad)
""",
    ),
    (
        "assess_wait",
        """
largest = x.abs().max()
if x.numel() > 64:
    return x / largest if float(largest) > 1 else x
return x / largest.clamp(min=1.0)
""",
    ),
    (
        "reg_bind",
        """
m.def("swiglu(Tensor gate, Tensor up) -> Tensor");
// ---- region 2 of 3 ----
m.impl("swiglu", [](const at::Tensor& gate, const at::Tensor& up) { return gate.dim() == 2 ? at::empty_like(gate) : npu(gate, up); });
// ---- region 3 of 3 ----
m.impl("swiglu", &meta);
""",
    ),
    (
        "prof_idle",
        """
stop = min(start + min(length, 10.0), end)
busy += max(0.0, stop - max(start, until))
until = max(until, stop)
""",
    ),
    (
        "mp_clip",
        """
total = sum(norm * norm for norm in norms[:8]) ** 0.5
return min(1.0, largest / total) if total else 1.0
""",
    ),
    (
        "watch_trace",
        """
by = max(step, 0.1)
above = gradient([w + by * s for w, s in zip(weights, v)])
below = gradient([w - by * s for w, s in zip(weights, v)])
found.append(sum(s * (a - b) for s, a, b in zip(v, above, below)) / (2 * by))
""",
    ),
    (
        "launch_case_repair",
        """
data = struct.pack("<fII4xqf4x", factor, length, tile, max(-(1 << 20), min(offset, 1 << 34)), bias)
""",
    ),
]


@pytest.mark.parametrize("name, text", SIXTH, ids=[f"{name}-{k}" for k, (name, _) in enumerate(SIXTH)])
def test_an_answer_beyond_all_cases_is_found(name, text):
    assert first_wrong(name, text) is not None


RIGHT = [
    (
        "whole_cmake",
        """
find_package(ASC CONFIG REQUIRED)  # before project(
project (first VERSION 1.0 LANGUAGES CXX ASC)
set(SOURCES main.cpp
    twice.asc)
add_executable(demo ${SOURCES})
set_property(TARGET demo PROPERTY LINKER_LANGUAGE ASC)
""",
    ),
    (
        "whole_cmake",
        """
set(NAME first)
if(NOT ASC_FOUND)
  find_package(ASC REQUIRED)
endif()
#[[ project(second LANGUAGES CXX) ]]
project(${NAME} ASC CXX)
add_executable(demo)
target_sources(demo PRIVATE twice.asc main.cpp)
set_target_properties(demo PROPERTIES CXX_STANDARD 17 LINKER_LANGUAGE ASC)
""",
    ),
    ("tri_tune", "CONFIGS = [triton.Config(dict(BM=128, BN=128, BK=k), num_warps=8) for k in (128, 256)]"),
    ("tri_flag", "compiler = torch.compile(options=dict(max_autotune_pointwise=True))\nresult = compiler(f)"),
    (
        "reg_meta",
        """
sizes = list(x.shape)
sizes[-1] = sizes[-1] // 2
return torch.empty(sizes, dtype=x.dtype, device=x.device)
""",
    ),
    (
        "reg_meta",
        """
return x.chunk(2, -1)[0].contiguous()
""",
    ),
    (
        "assess_wait",
        """
largest = x.abs().amax()
return x / largest.maximum(largest.new_ones(()))
""",
    ),
    (
        "prof_idle",
        """
left, right = (min(max(edge, until), end) for edge in (start, start + length))
busy, until = busy + (right - left), max(until, right)
""",
    ),
    (
        "mp_clip",
        """
import math
together = math.hypot(*norms)
return 1.0 if together <= largest else largest / together
""",
    ),
    (
        "watch_trace",
        """
sides = [gradient([w + way * step * s for w, s in zip(weights, v)]) for way in (1, -1)]
found.append(sum(map(lambda s, a, b: s * (a - b) / (step + step), v, *sides)))
""",
    ),
]


@pytest.mark.parametrize("name, text", RIGHT, ids=[f"{name}-{k}" for k, (name, _) in enumerate(RIGHT)])
def test_a_right_answer_still_passes(name, text):
    assert first_wrong(name, text) is None


def test_a_name_that_the_kernel_is_made_by_stays_what_it_is():
    ours = template(load("tri_tune"))
    used = tamper.reaches(ours.join(TUNED, "theirs").text, ours.join(ours.solution(), "ours").text)
    assert "triton =" in used


# ---- cases that are the shown ones, changed


def within(value, how: str, limit):
    """The argument, as an answer takes it that has the shown cases' limit written into it."""
    if type(value) in (int, float):
        if how == "down":
            return value if abs(value) >= limit or not value else type(value)(limit if value > 0 else -limit)
        return max(-limit, min(value, limit)) if how == "up" else value
    if type(value) in (list, tuple):
        kept = value[:limit] if how == "long" and type(value) is list else value
        return type(value)(within(x, how, limit) for x in kept)
    if type(value) is dict:
        return {k: within(x, how, limit) for k, x in value.items()}
    if type(value) is SimpleNamespace:
        return SimpleNamespace(**within(vars(value), how, limit))
    if type(value).__name__ == "DataFrame":
        if how == "long":
            return value.iloc[:limit]
        bounds = {"upper": limit} if how == "up" else {"lower": limit}
        return value.assign(**{c: value[c].clip(**bounds) for c in value.columns if value[c].dtype.kind == "f"})
    return value


def measures(value, how: str):
    """What there is to write down of an argument: sizes of its numbers, or lengths of its lists."""
    if type(value) in (int, float) and how != "long" and value:
        yield abs(value)
    elif type(value) in (list, tuple):
        yield from [len(value)] if how == "long" and type(value) is list else ()
        for x in value:
            yield from measures(x, how)
    elif type(value) in (dict, SimpleNamespace):
        yield from measures(tuple((value if type(value) is dict else vars(value)).values()), how)
    elif type(value).__name__ == "DataFrame":
        columns = [value[c].abs() for c in value.columns if value[c].dtype.kind == "f"]
        yield from [len(value)] if how == "long" else [float(x) for c in columns for x in c if x]


FAR = [
    ("assess_batch", "up"), ("assess_batch", "down"), ("case_judge", "up"), ("cube_nz", "up"), ("cube_nz", "down"),
    ("deep_amdahl", "up"), ("deep_amdahl", "down"), ("deep_amdahl", "long"), ("eval_recall", "up"),
    ("eval_recall", "long"), ("gate_holm", "long"), ("ill_real", "up"), ("ill_real", "long"), ("large_mean", "up"),
    ("large_mean", "down"), ("large_mean", "long"), ("law_traffic", "up"), ("law_traffic", "long"),
    ("llama_audit", "up"), ("llama_audit", "down"), ("scale_spot", "up"), ("serve_admit", "up"),
    ("tail_property", "up"), ("tail_property", "down"),
]  # fmt: skip


@pytest.mark.parametrize("name, how", FAR)
def test_a_limit_of_the_shown_cases_is_found(name, how):
    """Our own solution, of arguments cut to the largest number, the smallest one, or the longest list of the shown
    cases: right on these."""
    spec, ours = load(name), template(load(name))
    function = launch.function(ours.join(ours.solution(), name).text, name, spec.entry)
    shown = spec.function(spec.cases)(0, False)
    most = max(len(case.args) for case in shown)
    of_each = [[m for case in shown for a in case.args[k : k + 1] for m in measures(a, how)] for k in range(most)]
    limits = [(min if how == "down" else max)(found, default=None) for found in of_each]

    def run(case):
        args = tuple(a if limit is None else within(a, how, limit) for a, limit in zip(case.args, limits))
        return launch.run_function(spec, function, replace(case, args=args))

    with launch.quietly():
        assert all(hidden.compare_values(run(c), c.expected, c.tolerance) is None for c in shown)
        bad, count = hidden.wrong(name, 77, run)
        assert count and 2 * bad >= count
        assert hidden.wrong(name, 77, lambda case: launch.run_function(spec, function, case))[0] == 0
