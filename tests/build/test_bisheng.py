"""The npu target without an NPU: exact commands, the source that bisheng would get, and the launch protocol.

CANN, torch_npu and the compiled library are stand-ins; the tests check which calls they get, and in which order.
"""

from __future__ import annotations

import ctypes
import stat
import types

import pytest

from labkit.build import bisheng, compiler, headers, runtime
from labkit.build.compiler import ToolError
from labkit.source import lowering
from labkit.source.errors import CompileError

TEXT = """\
#include "kernel_operator.h"
struct Tiling { uint32_t n; float s; };
extern "C" __global__ __aicore__ void add(GM_ADDR x, __gm__ half* __restrict__ y, const Tiling t, uint32_t n) {}
namespace ns {
template <typename T, int N = 3> __global__ __vector__ void scale(__gm__ const T* x, T s) {}
}
"""
ENTRIES = ["scale<float>", "ns::scale<half, 4>"]
INFO = "package_name=Ascend-cann-toolkit\nversion={version}\ninnerversion=V100\n"


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    (
        runtime.runner(),
        headers.include_dirs(),
    )  # kept for the process: made later, their paths would be those of this test
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(bisheng, "_FALLBACKS", ())


@pytest.fixture
def cann(tmp_path, monkeypatch):
    """A folder that looks like CANN 9.1.0; its bisheng notes its words and writes the output file."""
    root = tmp_path / "Ascend" / "cann"
    program = root / "tools" / "bisheng_compiler" / "bin" / "bisheng"
    program.parent.mkdir(parents=True)
    log = tmp_path / "bisheng.log"
    program.write_text(
        f'#!/bin/sh\nfor w in "$@"; do echo "$w" >> {log}; done\necho "home=$ASCEND_HOME_PATH" >> {log}\n'
        'while [ "$1" != "-o" ]; do shift; done\necho built > "$2"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    (root / "ascend_toolkit_install.info").write_text(INFO.format(version="9.1.0"))
    monkeypatch.setattr(bisheng, "_FALLBACKS", (str(root),))
    return types.SimpleNamespace(root=root, program=program, log=log)


class Npu:
    """torch.npu as far as a launch needs it; `did` is what happened, in order."""

    def __init__(self):
        self.did, self.streams, self.done = [], 0, True
        self.Event = self._event

    def _event(self, enable_timing=False):
        return Event(self, enable_timing)

    def current_stream(self):
        return Stream(self)

    def current_device(self):
        return 1

    def get_device_name(self, device):
        return "Ascend910B3" if device == 1 else "?"


class Stream:
    def __init__(self, npu):
        self.npu = npu

    @property
    def npu_stream(self):
        self.npu.streams += 1
        self.npu.did.append("drain")
        return 0x1000 + self.npu.streams


class Event:
    def __init__(self, npu, timed):
        self.npu, self.timed = npu, timed

    def record(self):
        self.npu.did.append("record")

    def synchronize(self):
        self.npu.did.append("wait")
        if isinstance(self.npu.done, Exception):
            raise self.npu.done

    def query(self):
        return self.npu.done is True

    def elapsed_time(self, end):
        assert self.timed and end.timed
        return 0.0125


class Library:
    """The loaded library: `calls` are (entry, blocks, stream, first bytes of the arguments)."""

    def __init__(self, npu, widths=(8, 4)):
        self.npu, self.widths, self.calls = npu, widths, []

    def __getattr__(self, name):
        if not name.startswith("labkit_launch_") or name.endswith("missing"):
            raise AttributeError(name)

        def function(blocks, stream, pointers):
            self.npu.did.append("launch")
            values = [ctypes.string_at(pointers[i], w) for i, w in enumerate(self.widths)]
            assert all(pointers[i] % 16 == 0 for i, w in enumerate(self.widths))
            self.calls.append((name, blocks, stream, values))

        return function


@pytest.fixture
def node(monkeypatch):
    """A module whose library and device are stand-ins."""
    npu = Npu()
    library = Library(npu)
    monkeypatch.setattr(bisheng, "_torch", lambda: types.SimpleNamespace(npu=npu))
    monkeypatch.setattr(bisheng.ctypes, "CDLL", lambda path: library)
    return types.SimpleNamespace(npu=npu, library=library, module=bisheng.NpuModule("/built/add.so"))


# ---- CANN


def test_root_in_the_documented_order(cann, tmp_path, monkeypatch):
    assert bisheng.find_root() == cann.root
    for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH"):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.setenv(name, str(folder))
        assert bisheng.find_root() == folder


def test_no_root_says_what_to_source(monkeypatch):
    with pytest.raises(ToolError, match="set_env.sh"):
        bisheng.find_root()
    monkeypatch.setenv("ASCEND_HOME_PATH", "/no/such/cann")
    with pytest.raises(ToolError, match="ASCEND_HOME_PATH=/no/such/cann"):
        bisheng.find_root()


def test_version_beside_or_below(cann, monkeypatch):
    assert bisheng.cann_version(cann.root) == "9.1.0"
    folder = cann.root / "riscv-linux"
    folder.mkdir()
    (folder / "ascend_toolkit_install.info").write_text("version = 9.0.1\n")
    monkeypatch.setattr(bisheng.platform, "machine", lambda: "riscv")
    assert bisheng.cann_version(cann.root) == "9.0.1"
    assert bisheng.cann_version(cann.root / "tools") == ""


@pytest.mark.parametrize(
    "soc, arch",
    [
        ("Ascend910B1", "dav-2201"),
        ("ascend910b4-1", "dav-2201"),
        ("910B2C", "dav-2201"),
        ("Ascend910_9392", "dav-2201"),
        ("Ascend910ProA", "dav-1001"),
        ("Ascend910PremiumA", "dav-1001"),
        ("Ascend910A", "dav-1001"),
        ("Ascend910", "dav-1001"),
        ("Ascend310P3", "dav-2002"),
        ("Ascend310B1", "dav-3002"),
        ("Ascend950PR_9589", "dav-3510"),
    ],
)
def test_architectures(soc, arch):
    assert bisheng.arch_for(soc) == arch


@pytest.mark.parametrize("soc", ["Ascend1234", "Ascend910C", "Ascend910D1"])
def test_an_unknown_chip_is_named(soc):
    with pytest.raises(ToolError, match=soc):
        bisheng.arch_for(soc)


def test_the_command(cann):
    program = str(cann.program)
    assert bisheng.command("/a b/k.asc", "/o/k.so", root=cann.root, arch="dav-2201") == [
        program,
        "-x",
        "asc",
        "--npu-arch=dav-2201",
        "-shared",
        "-fPIC",
        "-std=c++17",
        "-O2",
        "/a b/k.asc",
        "-o",
        "/o/k.so",
    ]
    assert bisheng.command("k.asc", "k.so", root=cann.root, arch="dav-2201", debug=True, include_dirs=["/h"]) == [
        program,
        "-x",
        "asc",
        "--npu-arch=dav-2201",
        "-shared",
        "-fPIC",
        "-std=c++17",
        "-O0",
        "-g",
        "-DASCENDC_DEBUG",
        "-I/h",
        "k.asc",
        "-o",
        "k.so",
    ]


def test_no_compiler_in_cann(cann, monkeypatch):
    cann.program.unlink()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolError, match="toolkit"):
        bisheng.find_bisheng(cann.root)


# ---- the source


def launchers(text, entries=()):
    return bisheng.host_source(text, lowering.parse(text), "my.asc", entries).split('#line 1 "<labkit entry>"\n')[1]


def test_the_generated_source():
    whole = bisheng.host_source(TEXT, lowering.parse(TEXT), 'my "k".asc', ENTRIES)
    assert whole.startswith('#line 1 "my \\"k\\".asc"\n' + TEXT)
    seen = 'extern "C" __attribute__((visibility("default"))) void labkit_launch_'
    head = "(uint32_t blocks, void* stream, const void* const* a) { (void)a; "
    assert launchers(TEXT, ENTRIES).splitlines() == [
        f"{seen}add{head}add<<<blocks, nullptr, stream>>>(*(uint8_t* const*)a[0], *(half* const*)a[1], *(Tiling const*)a[2], *(uint32_t const*)a[3]); }}",
        f"{seen}ns__scale__float{head}ns::scale<float><<<blocks, nullptr, stream>>>(*(float* const*)a[0], *(float const*)a[1]); }}",
        f"{seen}ns__scale__half_4{head}ns::scale<half, 4><<<blocks, nullptr, stream>>>(*(half* const*)a[0], *(half const*)a[1]); }}",
    ]


def test_conditions_and_no_parameters():
    text = "#ifdef A\n__global__ __aicore__ void k() {}\n#endif\n"
    assert launchers(text).split("\n")[0] == "#ifdef A" and "#endif" in launchers(text)
    assert "k<<<blocks, nullptr, stream>>>();" in launchers(text)


def test_an_array_is_a_pointer():
    assert "k<<<blocks, nullptr, stream>>>(*(float* const*)a[0]);" in launchers(
        "__global__ __aicore__ void k(__gm__ float x[4]) {}\n"
    )


def test_defaults_of_template_parameters():
    text = "template <typename T, typename U = float> __global__ __vector__ void k(U u, Pair<T, U> p) {}\n"
    assert "*(float const*)a[0], *(Pair<int, float> const*)a[1]" in launchers(text, ["k<int>"])


def test_wrong_entries():
    for entry in ("nope", "scale"):
        with pytest.raises(lowering.SourceError):
            bisheng.host_source(TEXT, lowering.parse(TEXT), "k.asc", [entry])


def test_the_generated_source_is_cpp():
    """What bisheng gets, lowered once more for the host: the launchers' types and calls are checked by a compiler."""
    whole = bisheng.host_source(TEXT, lowering.parse(TEXT), "k.asc", ENTRIES)
    built = compiler.compile_kernel(
        lowering.lower(whole, "k.asc"), filename="k.asc", include_dirs=headers.include_dirs()
    )
    assert built.exists()


# ---- building


def test_build_runs_bisheng_once(cann, node):
    said = []
    build = lambda **more: bisheng.build(
        TEXT, lowering.parse(TEXT), "folder/add.asc", entries=ENTRIES, announce=said.append, **more
    )  # noqa: E731
    first = build()
    words = cann.log.read_text().splitlines()
    assert words[:7] == ["-x", "asc", "--npu-arch=dav-2201", "-shared", "-fPIC", "-std=c++17", "-O2"]
    assert (
        words[7].endswith("/add.asc")
        and words[8] == "-o"
        and words[9].endswith("/add.so")
        and words[10] == f"home={cann.root}"
    )
    assert (first.path.parent / "add.asc").read_text() == bisheng.host_source(
        TEXT, lowering.parse(TEXT), "folder/add.asc", ENTRIES
    )
    assert build().path == first.path and len(cann.log.read_text().splitlines()) == len(words) and len(said) == 1
    others = {
        build(debug=True).path,
        build(soc="Ascend310P3").path,
        bisheng.build(TEXT + "\n// more", lowering.parse(TEXT), "folder/add.asc").path,
    }
    (cann.root / "ascend_toolkit_install.info").write_text(INFO.format(version="9.2.0"))
    others.add(build().path)
    assert first.path not in others and len(others) == 4


def test_a_header_of_the_learner_counts(cann, node, tmp_path):
    (tmp_path / "tiling.h").write_text("#define N 1\n")
    text = '#include "tiling.h"\n' + TEXT
    build = lambda: bisheng.build(text, lowering.parse(text), str(tmp_path / "add.asc")).path  # noqa: E731
    first = build()
    assert f"-I{tmp_path}" in cann.log.read_text().splitlines()
    (tmp_path / "tiling.h").write_text("#define N 2\n")
    assert build() != first


def test_old_cann_is_refused_before_anything_runs(cann, node):
    (cann.root / "ascend_toolkit_install.info").write_text(INFO.format(version="8.5.0"))
    with pytest.raises(ToolError, match=r"8\.5\.0.*9\.0"):
        bisheng.build(TEXT, lowering.parse(TEXT), "add.asc")
    assert not cann.log.exists()


def test_errors_of_bisheng_are_told_like_all_others(cann, node):
    cann.program.write_text(
        "#!/bin/sh\necho \"add.asc:3:7: error: use of undeclared identifier 'PipeInit'\" >&2\nexit 1\n"
    )
    with pytest.raises(CompileError) as raised:
        bisheng.build(TEXT, lowering.parse(TEXT), "add.asc")
    assert raised.value.problems[0]["line"] == 3 and "InitBuffer" in raised.value.problems[0]["hint"]
    assert 'extern "C" __global__' in str(raised.value)


def test_a_library_that_does_not_load(tmp_path):
    with pytest.raises(ToolError, match="LD_LIBRARY_PATH"):
        bisheng.NpuModule(tmp_path / "nothing.so")


# ---- launching

VALUES = [(0x20).to_bytes(8, "little")]


def test_a_launch(node):
    us = node.module.launch("ns::scale<half, 4>", 20, [VALUES[0], (7).to_bytes(4, "little")])
    assert us == pytest.approx(12.5)
    assert node.library.calls == [("labkit_launch_ns__scale__half_4", 20, 0x1001, [VALUES[0], b"\x07\0\0\0"])]


def test_a_launch_through_a_real_library(monkeypatch):
    """The C convention itself: blocks, stream and the pointers arrive in a compiled launcher."""
    code = (
        '#include <stdint.h>\nextern "C" void labkit_launch_add(uint32_t blocks, void* stream, const void* const* a) {\n'
        "  uint64_t* out = *(uint64_t* const*)a[0]; out[0] = blocks; out[1] = (uint64_t)stream; out[2] = *(uint32_t const*)a[1]; }\n"
    )
    module = bisheng.NpuModule(compiler.compile_kernel(code, filename="launcher.asc", flags=["-fvisibility=default"]))
    monkeypatch.setattr(bisheng, "_torch", lambda: types.SimpleNamespace(npu=Npu()))
    out = (ctypes.c_uint64 * 3)()
    module.launch("add", 65535, [ctypes.addressof(out).to_bytes(8, "little"), ctypes.c_uint32(0xFFFFFFFF)])
    assert list(out) == [65535, 0x1001, 0xFFFFFFFF]


def test_the_queue_is_drained_behind_the_first_event_and_before_the_kernel(node):
    node.module.launch("add", 1, VALUES[:1] * 2)
    assert node.npu.did == ["record", "drain", "launch", "record", "wait"]
    node.npu.did.clear()
    assert node.module.launch("add", 1, VALUES[:1] * 2, measure=False) is None
    assert node.npu.did == ["drain", "launch", "record"]


def test_the_stream_is_fetched_at_every_launch(node):
    for _ in range(3):
        node.module.launch("add", 1, VALUES[:1] * 2, measure=False)
    assert [call[2] for call in node.library.calls] == [0x1001, 0x1002, 0x1003]


def test_tensors_live_until_the_device_has_passed(node):
    import weakref

    class Tensor:
        pass

    node.npu.done = False
    tensor = Tensor()
    alive = weakref.ref(tensor)
    node.module.launch("add", 1, VALUES[:1] * 2, keep=[tensor], measure=False)
    del tensor
    assert alive() is not None
    node.module.launch("add", 1, VALUES[:1] * 2, measure=False)
    assert alive() is not None  # still running
    node.npu.done = True
    node.module.launch("add", 1, VALUES[:1] * 2, measure=False)
    assert alive() is None


def test_a_missing_entry(node):
    with pytest.raises(AttributeError):
        node.module.launch("missing", 1, VALUES[:1] * 2)
    assert node.npu.did == []


@pytest.mark.parametrize(
    "code, words",
    [
        (507015, "32-byte"),
        (507014, "DeQue without EnQue"),
        (507046, "synchronisation"),
        (507035, "twin"),
        (107002, "spawn"),
        (207001, "npu-smi"),
    ],
)
def test_errors_of_the_device_teach(node, code, words):
    node.npu.done = RuntimeError(f"npuSynchronizeDevice: error code is {code}\n[Error]: more of it")
    with pytest.raises(bisheng.NpuError, match=words) as raised:
        node.module.launch("add", 1, VALUES[:1] * 2)
    assert raised.value.code == code and "more of it" in str(raised.value)
    assert len(raised.value._render_traceback_()) >= 4


def test_errors_in_chinese(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "矢量核异常" in str(bisheng.explain(RuntimeError("error code is 507035")))


def test_other_errors_stay_what_they_are(node):
    assert bisheng.explain(RuntimeError("shape 100000 is invalid")) is None
    unknown = bisheng.explain(RuntimeError("the error code is 507899"))
    assert unknown.code == 507899 and "507899" in str(unknown)
    node.npu.done = RuntimeError("something else")
    with pytest.raises(RuntimeError, match="something else") as raised:
        node.module.launch("add", 1, VALUES[:1] * 2)
    assert not isinstance(raised.value, bisheng.NpuError)
