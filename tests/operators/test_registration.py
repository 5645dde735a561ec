"""labkit.register: an operator's C++ side on the twin - launches, streams, devices, autograd,
and errors that explain.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st
from torch.nn import functional as F  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402
from labkit.operators import errors, views  # noqa: E402

pytestmark = simulated
EVERY = Path(__file__).parent / "adapters" / "every.asc"
ALLOWED = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")


@pytest.fixture(scope="module")
def silu():
    return labkit.register("kernels/silu/silu_torch.asc")


@pytest.fixture(scope="module")
def every():
    return labkit.register(EVERY)


# ---- an operator beside its kernel's file


@given(shape=st.lists(st.integers(0, 40), min_size=0, max_size=3), seed=st.integers(0, 99))
def test_any_shape(silu, shape, seed):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 5
    torch.testing.assert_close(torch.ops.lab.silu(x.npu()).cpu(), F.silu(x), rtol=2e-6, atol=1e-6)


def test_what_register_gives(silu):
    assert silu.names == ["lab::silu"] and silu.keys("lab::silu") == ["PrivateUse1", "Meta"]
    assert repr(silu) == "lab::silu(Tensor x) -> Tensor   [PrivateUse1, Meta]"
    device.reset_clock()
    torch.ops.lab.silu(torch.ones(100_000, device="npu"))
    span = device.timeline()[-1]
    assert span.name == "silu" and span.engine == "cores" and silu.record.ok and silu.record.blocks == 13
    assert span.end_us - span.start_us == pytest.approx(silu.record.time_us)


def test_opcheck_and_compile(silu):
    x = torch.randn(3, 50, device="npu")
    assert set(torch.library.opcheck(torch.ops.lab.silu.default, (x,), test_utils=ALLOWED).values()) == {"SUCCESS"}
    compiled = torch.compile(lambda t: torch.ops.lab.silu(t) + 1, backend="npu", fullgraph=True)
    torch.testing.assert_close(compiled(x), torch.ops.lab.silu(x) + 1)


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: torch.ones(4, device="npu", dtype=torch.float16), "the kernel takes float32"),
        (lambda: torch.ones(4, 4, device="npu").T, r"call x.contiguous\(\) first"),
        (lambda: torch.ones(4), "'CPU' backend"),
    ],
)
def test_the_operator_checks_its_arguments(silu, make, said):
    with pytest.raises((RuntimeError, NotImplementedError), match=said):
        torch.ops.lab.silu(make())


def test_how_it_is_launched():
    ops = labkit.register("kernels/silu/silu_torch.asc", schedule="worst", timeout=5)
    assert {k.schedule for k in ops.kernels.values()} == {"worst"}
    assert torch.ops.lab.silu(torch.zeros(4, device="npu")).tolist() == [0] * 4


# ---- all in one file, and every way to launch


@pytest.mark.parametrize("op", ["scale", "queued", "command", "unguarded", "aside"])
def test_ways_to_launch(every, op, capsys):
    x = torch.randn(5000, device="npu")
    torch.testing.assert_close(getattr(torch.ops.every, op)(x * 1, 3.0), x * 3)
    assert every.record.ok and capsys.readouterr().out == ""


def test_autograd_in_cpp(every):
    x = torch.randn(40, device="npu", requires_grad=True)
    torch.ops.every.scale(x, 2.5).sum().backward()
    assert x.grad.tolist() == [2.5] * 40
    assert torch.autograd.gradcheck(lambda t: torch.ops.every.scale(t, 2.5), (x,), eps=1e-2, atol=1e-2, rtol=1e-2)
    assert set(torch.library.opcheck(torch.ops.every.scale.default, (x, 2.5), test_utils=ALLOWED).values()) == {
        "SUCCESS"
    }


def test_a_cached_raw_stream_is_found(every):
    x = torch.randn(3000, device="npu")
    torch.npu.synchronize()
    torch.ops.every.cached(x, 2.0)
    assert every.record.ok, "nothing waits in the queue yet"
    with labkit.expect("host-stream-queue") as seen:
        torch.ops.every.cached(x.add(1).mul(2), 2.0)
    (finding,) = seen.findings
    assert finding.numbers == {"waiting": 2, "last": "aten::mul"} and finding.file.endswith("every.asc")
    text = EVERY.read_text().split("\n")
    assert "scale_custom<<<" in text[finding.line - 1] and "cached" in "".join(text[finding.line - 5 : finding.line])
    with labkit.expect("host-stream-queue"):
        torch.ops.every.cached(torch.ops.every.queued(x, 1.0), 2.0)  # a queued launch waits there too
    torch.ops.every.cached(torch.ops.every.scale(x, 1.0), 2.0)  # one past the queue does not
    assert every.record.ok

    def by_event(t):
        event = torch.npu.Event()
        event.record()
        event.synchronize()

    for waits in (
        by_event,
        lambda t: t.sum().item(),
        lambda t: t.cpu(),
        lambda t: t.nonzero(),
        lambda t: torch.npu.current_stream().synchronize(),
    ):
        waits(x.add(1))  # the host waited: nothing is left in the queue
        torch.ops.every.cached(x, 2.0)
        assert every.record.ok
    torch.npu.current_stream().npu_stream  # asking for the handle empties the queue
    for lang, word in (("en", "overtake"), ("zh", "抢在")):
        assert word in "\n".join(finding.lines(lang))


def test_a_host_pointer_is_refused(every):
    with pytest.raises(RuntimeError, match=r"argument 1 \(x\) of scale_custom points to host memory"):
        torch.ops.every.unguarded(torch.ones(8), 2.0)


_FAULTY = r"""
#include <torch/library.h>
#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "kernel_operator.h"
__global__ __aicore__ void faulty(GM_ADDR x, uint32_t mode) {
    if (mode == 0) { volatile int* p = nullptr; *p = 1; }
    if (mode == 1) { for (volatile int i = 0;; i = i + 1) {} }
    AscendC::GlobalTensor<float> g;
    g.SetGlobalBuffer((__gm__ float*)x, 64);
    if (mode == 2) g.SetValue(1000, 1.0f);
}
at::Tensor go(const at::Tensor& x, int64_t mode) {
    faulty<<<mode < 4 ? 1 : 0, nullptr, c10_npu::getCurrentNPUStream().stream()>>>(x.mutable_data_ptr(), mode);
    return x;
}
TORCH_LIBRARY_FRAGMENT(faulty, m) { m.def("go(Tensor(a!) x, int mode) -> Tensor(a!)"); }
TORCH_LIBRARY_IMPL(faulty, PrivateUse1, m) { m.impl("go", &go); }
""".lstrip()


def test_a_faulty_kernel_ends_its_launch_only():
    labkit.register(text=_FAULTY, filename="faulty.asc", timeout=1.0)
    x = torch.zeros(64, device="npu")
    for mode, code, line in ((0, "crash", 5), (1, "time-out", 6), (4, "host-blocks", 12)):
        with pytest.raises(RuntimeError, match=rf"\[{code}\] faulty.asc:{line}"):
            torch.ops.faulty.go(x, mode)
        with labkit.expect(code) as seen:
            torch.ops.faulty.go(x, mode)
        assert seen.findings[0].line == line
    with labkit.expect("gm-bounds"):
        torch.ops.faulty.go(x, 2)
    torch.ops.faulty.go(x, 3)


_TWO = f"""
import torch, labkit
every = labkit.register({str(EVERY)!r})
x = torch.ones(64, device="npu:1")
assert torch.ops.every.scale(x, 3.0).tolist() == [3.0] * 64 and torch.ops.every.queued(x, 3.0).device == x.device
with labkit.expect("host-other-device") as seen:
    torch.ops.every.unguarded(x, 3.0)
assert seen.findings[0].numbers == {{"name": "x", "where": 1, "device": 0}}
"""


def test_two_devices(every):
    run = subprocess.run(
        [sys.executable, "-c", _TWO], env={**os.environ, "LABKIT_NPUS": "2"}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-2000:]


# ---- registering again

_ONE = """
#include <cstdlib>
#include <cstring>
#include <torch/library.h>
#include <ATen/ops/add.h>
at::Tensor plus(const at::Tensor& x) { return at::add(x, NUMBER); }
static bool wrong(const char* what) { return getenv("LABTEST_WRONG") && !strcmp(getenv("LABTEST_WRONG"), what); }
TORCH_LIBRARY_FRAGMENT(again, m) {
  m.def("plus(Tensor x) -> Tensor");
  if (wrong("twice")) m.def("plus(Tensor x) -> Tensor");
  if (wrong("mismatch")) m.def("other(Tensor x, int n) -> Tensor", &plus);
}
TORCH_LIBRARY_IMPL(again, CompositeExplicitAutograd, m) { m.impl(wrong("name") ? "pluss" : "plus", &plus); }
"""


def one(number: int = 1) -> str:
    return _ONE.replace("NUMBER", str(number))


def test_an_edited_source_replaces_the_old():
    x = torch.zeros(2, device="npu")
    for number in (1, 2, 1):  # the last is the first one's library again
        labkit.register(text=one(number), filename="again.asc")
        torch.library.register_fake("again::plus", lambda t: torch.empty_like(t))
        torch.library.register_autograd("again::plus", lambda ctx, g: g * 1)
        assert torch.ops.again.plus(x).tolist() == [number] * 2
        y = x.clone().requires_grad_()
        torch.ops.again.plus(y).sum().backward()
        assert y.grad.tolist() == [1, 1]


def test_the_same_source_again_starts_anew():
    """Its statics too: `every` keeps the operator's handle in one, as torch_npu's samples do."""
    first, second = (labkit.register(EVERY) for _ in range(2))
    assert first.path == second.path and first.library._handle != second.library._handle
    x = torch.randn(40, device="npu", requires_grad=True)
    torch.ops.every.scale(x, 2.5).sum().backward()
    assert x.grad.tolist() == [2.5] * 40


# ---- errors


@pytest.mark.parametrize(
    "wrong, said",
    [
        ("name", "m.impl names again::pluss, but no m.def defines it"),
        ("twice", r"again.asc:8: again::plus is defined already"),
        ("mismatch", r"again.asc:8: the C\+\+ function and the schema of again::other disagree"),
    ],
)
def test_errors_of_registration(wrong, said, monkeypatch):
    labkit.register(text=one(), filename="again.asc")
    monkeypatch.setenv("LABTEST_WRONG", wrong)
    with pytest.raises(labkit.RegistrationError, match=said):
        labkit.register(text=one(), filename="again.asc")
    assert not any(n.startswith("again::") for n in torch._C._dispatch_get_all_op_names())


_SHAPE = """
#include <torch/library.h>
#include <ATen/ATen.h>
at::Tensor helper(const at::Tensor& x);
at::Tensor run(const at::Tensor& x) { return HELPER(x); }
TORCH_LIBRARY_FRAGMENT(shape, m) { m.def("NAME(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(shape, PrivateUse1, m) { m.impl("NAME", run); }
"""


def shape(name: str, helper: str = "at::empty_like") -> str:
    return _SHAPE.replace("NAME", name).replace("HELPER", helper)


def test_a_function_that_is_only_declared_is_named():
    with pytest.raises(labkit.RegistrationError, match="shape.asc: .*helper.* is declared and called"):
        labkit.register(text=shape("lost", "helper"), filename="shape.asc")


def test_an_implementation_alone_is_not_among_what_is_defined():
    text = shape("alone").replace('m.def("alone(Tensor x) -> Tensor");', "")
    with pytest.raises(labkit.RegistrationError, match=r"names shape::alone, but no m.def defines it \(defined: -\)"):
        labkit.register(text=text, filename="shape.asc")


def test_what_was_replaced_says_so():
    old = labkit.register(text=shape("before"), filename="shape.asc")
    new = labkit.register(text=shape("behind"), filename="shape.asc")
    assert "shape::before is registered no more" in repr(old) and "shape::behind(Tensor x)" in repr(new)


def test_a_source_in_the_encoding_of_a_chinese_windows(tmp_path):
    (tmp_path / "shape.asc").write_bytes(shape("encoded").encode() + "// 形状\r\n".encode("gb18030"))
    assert labkit.register(tmp_path / "shape.asc").names == ["shape::encoded"]


def test_what_is_commented_out_defines_nothing():
    """Its name would take another file's operator away, and its mistakes would be shown."""
    text = """TORCH_LIBRARY(quiet, m) {
  // m.def("old(Tensor x) -> Tensor");
  /* m.def("broken(Tensr x)"); */
  m.def("now(Tensor x) -> Tensor");
}
"""
    assert errors.check_schemas(text, "quiet.asc") == ["quiet::now"]


def test_a_schema_that_is_none():
    with pytest.raises(
        labkit.RegistrationError, match=r"again.asc:9: PyTorch cannot read the schema \"plus\(Tensor x\) -> Tensr\""
    ):
        labkit.register(text=one().replace("-> Tensor", "-> Tensr", 1), filename="again.asc")


def test_pybind_is_refused():
    with pytest.raises(
        labkit.RegistrationError, match=r"again.asc:\d+: a function bound by pybind11 is no operator.*m\) { m.def"
    ):
        labkit.register(text=one() + 'PYBIND11_MODULE(again, m) { m.def("plus", &plus); }\n', filename="again.asc")


def test_errors_of_compilation():
    with pytest.raises(labkit.CompileError, match=r"#include <ATen/ops/mul\.h>") as refused:
        labkit.register(text=one().replace("at::add", "at::mul"), filename="again.asc")
    assert refused.value.problems[0]["line"] == 6
    kernel = EVERY.read_text().replace("in.EnQue(tile);", "in.EnQueue(tile);")
    with pytest.raises(labkit.CompileError) as refused:  # found before PyTorch's headers are read
        labkit.register(text=kernel, filename=str(EVERY))
    line = next(i for i, text in enumerate(kernel.split("\n"), 1) if "EnQueue" in text)
    assert refused.value.problems[0]["line"] == line


def test_an_unknown_kernel_is_named():
    source = (
        one()
        + "template <typename T> void go(at::Tensor x) { k<T><<<1, nullptr, nullptr>>>((uint8_t*)x.data_ptr()); }\n"
    )
    with pytest.raises(labkit.RegistrationError, match=r"k<T><<<...>>> is launched"):
        labkit.register(text=source, filename="again.asc")


# ---- on a node: the words that bisheng gets


def test_the_command_on_a_node(monkeypatch, tmp_path):
    from types import SimpleNamespace

    from labkit.build import bisheng, headers
    from labkit.operators import build

    headers.include_dirs()  # kept for the process: made later, its paths would be those of this test
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    wheel = SimpleNamespace(__file__="/site/torch_npu/__init__.py", __version__="2.9.0")
    monkeypatch.setitem(sys.modules, "torch_npu", wheel)
    monkeypatch.setattr(bisheng, "find_root", lambda: Path("/cann"))
    monkeypatch.setattr(bisheng, "find_bisheng", lambda root: Path("/cann/bin/bisheng"))
    monkeypatch.setattr(bisheng, "soc_name", lambda: "Ascend910B1")
    ran = []

    def compile_words(words, root, filename, text):
        ran.append(words)
        Path(words[words.index("-o") + 1]).write_bytes(b"a library")

    monkeypatch.setattr(bisheng, "compile_words", compile_words)
    source = Path("kernels/silu/silu_torch.asc").resolve()
    first, again = (build.for_npu(source.read_text(), str(source), lambda said: None) for _ in range(2))
    assert first == again and first.name == "silu_torch.so" and len(ran) == 1
    wheel.__version__ = "2.9.0.post1"
    assert build.for_npu(source.read_text(), str(source), lambda said: None) != first, "of another torch_npu"
    monkeypatch.setattr(bisheng, "cann_version", lambda root: "9.1.0")
    build.for_npu(source.read_text(), str(source), lambda said: None)
    assert len(ran) == 3, "of another CANN"
    words = ran[0]
    assert words[:4] == ["/cann/bin/bisheng", "-x", "asc", "--npu-arch=dav-2201"] and {
        "-shared",
        "-fPIC",
        "-ltorch_npu",
        "-lc10",
    } <= set(words)
    folders = [w[2:] for w in words if w.startswith("-I")]
    assert (
        folders[0] == str(source.parent)
        and "/site/torch_npu/include" in folders
        and any(f.endswith("torch/include") for f in folders)
    )
    sources = [w for w in words if w.endswith(".asc")]
    assert len(sources) == 1 and words.index(sources[0]) < words.index("-ltorch_npu"), "libraries after what needs them"


# ---- the kernels' side of a text


def test_the_kernels_view_keeps_lines_and_drops_the_host():
    text = EVERY.read_text()
    view = views.kernel_view(text)
    assert view.count("\n") == text.count("\n") and "TORCH_" not in view and "at::" not in view and "<<<" not in view
    assert "struct ScaleTiling" in view and "scale_custom(GM_ADDR x" in view and '#include "kernel_operator.h"' in view
    assert "torch/" not in view and "Tensor scale" not in view
