"""Precompiled headers: used where they change nothing, not used elsewhere, and never the reason of a failure."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from labkit.build import compiler, headers, precompiled, runtime
from labkit.build.diagnostics import CompileError
from labkit.build.process import Workers, c_locale
from labkit.source import lowering

KERNEL = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void {name}(GM_ADDR x) {{
    AscendC::GlobalTensor<half> g;
    g.SetGlobalBuffer((__gm__ half*)x, 16);
}}
"""

pytestmark = pytest.mark.skipif(compiler.gcc_major(compiler.find_cxx()) < 10, reason="only g++ takes a .gch by itself")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("precompiled")


@pytest.fixture(autouse=True)
def cache(folder, monkeypatch):
    """One for this file: a precompiled header takes half a second."""
    (
        runtime.runner(),
        headers.include_dirs(),
    )  # kept for the process: made later, their paths would be those of this file
    monkeypatch.setenv("LABKIT_CACHE", str(folder / "cache"))
    return folder / "cache" / "build"


@pytest.fixture
def commands(monkeypatch):
    """Every command that is run from here on."""
    seen, run = [], Workers.run
    monkeypatch.setattr(
        Workers, "run", lambda self, command, **options: seen.append(list(command)) or run(self, command, **options)
    )
    return seen


def build(text, *flags, dirs=(), name="add"):
    lowered = lowering.lower(text, f"{name}.asc")
    return compiler.compile_kernel(
        lowered,
        filename=f"{name}.asc",
        include_dirs=[*dirs, *headers.include_dirs()],
        flags=[*flags, *compiler.no_builtins([name])],
        libs=compiler.kernel_libs(),
    )


def read_precompiled(commands, tmp_path, text, name="add") -> bool:
    """Whether g++ itself says that the last kernel's command reads the precompiled header: -H marks it with "!"."""
    words = [w for w in commands[-1] if not w.endswith(".cpp")]
    at = words.index("-o")
    (tmp_path / "k.cpp").write_text(lowering.lower(text, f"{name}.asc"))
    run = subprocess.run(
        [*words[:at], "-H", "-fsyntax-only", str(tmp_path / "k.cpp")], capture_output=True, text=True, env=c_locale()
    )
    assert run.returncode == 0, run.stderr
    return bool(re.search(r"^! .*kernel_operator\.h\.gch", run.stderr, re.M))


def test_a_kernel_reads_it(commands, tmp_path):
    text = KERNEL.format(name="add")
    build(text)
    assert read_precompiled(commands, tmp_path, text)
    made = sum("c++-header" in c for c in commands)
    build(text + "// edited\n")
    assert sum("c++-header" in c for c in commands) == made <= 1  # once


def test_each_kind_of_core_and_standard_has_its_own(commands, tmp_path, cache):
    text = KERNEL.format(name="add")
    for flags in ((), ("-DTWIN_CUBE_CORE",), ("-std=c++20",)):
        build(text + f"// {flags}\n", *flags)
        assert read_precompiled(commands, tmp_path, text)
    assert len(list(cache.glob("kernel-headers-*/*.gch"))) == 3


@pytest.mark.parametrize(
    "before", ["#define KFC_L1_RESERVER_SIZE 7\n", "#define likely(x) x\n", "#include <cstdint>\n"]
)
def test_not_where_the_source_says_something_before_it(commands, tmp_path, before):
    """Macros that the headers ask for would change what they mean; another include first hides what it defined."""
    text = before + KERNEL.format(name="add")
    build(text)
    assert not read_precompiled(commands, tmp_path, text)


def test_where_the_macro_before_it_is_the_kernels_own(commands, tmp_path):
    text = "#define ROWS 3\n" + KERNEL.format(name="add")
    build(text, "-DCOLUMNS=4")
    assert read_precompiled(commands, tmp_path, text)


def test_not_where_a_macro_of_the_headers_is_given(commands, tmp_path):
    text = KERNEL.format(name="add")
    build(text, "-DTILING_KEY_VAR=1")
    assert not read_precompiled(commands, tmp_path, text)


def test_not_where_a_builtin_is_the_learners(commands):
    """A precompiled header brings its builtins along, whatever -fno-builtin-fmax says."""
    build(KERNEL.format(name="fmax"), name="fmax")
    assert not any("kernel-headers-" in w for w in commands[-1])


def test_not_where_the_learner_has_such_a_header(commands, tmp_path):
    (tmp_path / "twin" / "base").mkdir(parents=True)
    # the same, so that it compiles
    shutil.copy2(headers.TREES["kernel"] / "twin" / "base" / "types.h", tmp_path / "twin" / "base")
    text = KERNEL.format(name="add")
    build(text, dirs=[tmp_path])
    assert not any("kernel-headers-" in w for w in commands[-1])


@pytest.mark.parametrize("again", ["kernel_operator.h", "kernel_operator_list_tensor_intf.h", "own.h"])
def test_the_header_may_be_included_again(commands, tmp_path, again):
    """g++ takes a precompiled header for the first include only; the next one of that name must find the header."""
    (tmp_path / "own.h").write_text('#pragma once\n#include "kernel_operator.h"\n')
    name = f"again_{again.partition('.')[0]}"
    text = KERNEL.format(name=name).replace("\n", f'\n#include "{again}"\n', 1)
    build(text, dirs=[tmp_path], name=name)
    assert read_precompiled(commands, tmp_path, text, name)


def test_it_is_no_part_of_the_key(monkeypatch):
    text = KERNEL.format(name="add") + "// key\n"
    built = build(text)
    monkeypatch.setattr(precompiled, "beside", lambda *_: pytest.fail("compiled again"))
    assert build(text) == built


@pytest.mark.parametrize("damage", ["empty", "words", "cut", "garbled", "old"])
def test_a_damaged_one_is_harmless(cache, damage):
    text = KERNEL.format(name="add") + f"// {damage}\n"
    build(text + "// before\n")
    for file in cache.glob("kernel-headers-*/*.gch"):
        data = file.read_bytes()
        file.write_bytes(
            {
                "empty": b"",
                "words": b"no header",
                "cut": data[: len(data) // 3],
                "garbled": b"\0" * len(data),
                "old": data[:4] + b"001" + data[7:],
            }[damage]
        )
    assert build(text).exists()
    for file in cache.glob("kernel-headers-*/*.gch"):
        file.unlink()


def test_one_that_cannot_be_made_is_done_without(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(precompiled, "_failed", set())
    run, tried = Workers.run, []

    def fail(self, command, **options):
        if "c++-header" in command:
            tried.append(command)
            return 1, "No space left on device"
        return run(self, command, **options)

    monkeypatch.setattr(Workers, "run", fail)
    for n in range(2):
        assert build(KERNEL.format(name="add") + f"// {n}\n").exists()
    assert len(tried) == 1


@pytest.mark.parametrize(
    "mistake",
    [
        "    Nothing(g);\n",
        "    AscendC::DataCopy(g, 3);\n",
        "    AscendC::LocalTensor<half> t; AscendC::Add(t, t, g, 16);\n",
    ],
)
def test_errors_are_told_as_without_it(monkeypatch, mistake):
    text = KERNEL.format(name="add").replace("    g.Set", mistake + "    g.Set")
    told = []
    for _ in range(2):
        with pytest.raises(CompileError) as raised:
            build(text)
        told.append((str(raised.value), raised.value.problems))
        monkeypatch.setattr(precompiled, "beside", lambda *_: None)
    assert told[0] == told[1]


def test_many_sources_share_a_large_header(tmp_path, commands):
    src = tmp_path / "s"
    src.mkdir()
    (src / "large.h").write_text("#pragma once\n#include <vector>\ninline int f() { return 1; }\n")
    for n in range(5):
        (src / f"u{n}.cpp").write_text(f'#include "large.h"\nint g{n}() {{ return f(); }}\n')
    (src / "plain.cpp").write_text("int h() { return 0; }\n")

    def make(**options):
        return compiler.build(
            sorted(src.glob("*.cpp")), flags=["-O1"], name="many", headers=[src / "large.h"], **options
        )

    told = []
    built = make(progress=lambda done, of: told.append((done, of)))
    assert sum("c++-header" in c for c in commands) == 1 and sum("-include" in c for c in commands) == 5
    assert sorted(p.name for p in built.parent.iterdir()) == [".sealed", "many.so"]
    assert told == [(n, 6) for n in range(7)]
    del commands[:]
    (src / "u1.cpp").write_text('#include "large.h"\nint g1() { return f() + 1; }\n')
    make()
    assert [c[c.index("-c") + 1] for c in commands if "-c" in c] == [str(src / "u1.cpp")]  # one file, and the link
    assert len(commands) == 2


def test_flags_of_one_unit_are_in_its_key_and_in_the_whole(tmp_path, commands):
    for n in range(2):
        (tmp_path / f"u{n}.cpp").write_text(f"int g{n}() {{ return 0; }}\n")
    sources = [tmp_path / "u0.cpp", tmp_path / "u1.cpp"]
    first = compiler.build(sources, flags=["-O1"], name="own")
    second = compiler.build(sources, flags=["-O1"], name="own", unit_flags=lambda p: ["-O2"] if p.stem == "u1" else [])
    assert first != second
    assert [c[c.index("-c") + 1] for c in commands if "-c" in c and "-O2" in c] == [str(sources[1])]


ADAPTER = "#include <stdint.h>\nint forty_two() { return 42; }\n"


def forced(text: str, first) -> None:
    compiler.compile_kernel(text, filename="adapter.asc", flags=["-include", str(first)])


def test_an_operators_side_reads_what_was_made_ahead(commands, folder, cache):
    """Like operators.build.prepare(), with a header that takes less time than PyTorch's."""
    first = folder / "first.h"
    first.write_text("#pragma once\n#include <vector>\n")
    forced(ADAPTER, first)
    assert not any("c++-header" in c for c in commands), "a PCH that nobody asked for: the first adapter would wait"
    cxx = compiler.find_cxx()
    words = [*compiler.KERNEL_FLAGS, "-include", str(first), *compiler.message_flags(cxx), "-fPIC"]
    made = precompiled.forced(cxx, compiler.cxx_version(cxx), words, make=True)
    forced(ADAPTER + "// edited\n", first)
    assert commands[-1][1:3] == made[0][:2] and str(first) not in commands[-1]
    first.write_text("#pragma once\n#include <string>\n")
    forced(ADAPTER + "// after an edit of the header\n", first)
    assert str(first) in commands[-1]


def test_the_words_of_an_adapter_are_those_that_are_prepared(monkeypatch, tmp_path):
    """Else each adapter would be compiled without it, and nothing would fail."""
    from labkit.build import runtime
    from labkit.operators import build as operators

    (tmp_path / "libtwin.so").write_bytes(b"")
    monkeypatch.setattr(
        runtime, "library", lambda: tmp_path / "libtwin.so"
    )  # not built in this cache for its name alone
    asked = []
    monkeypatch.setattr(
        precompiled, "forced", lambda cxx, version, words, make=False: asked.append((make, list(words)))
    )
    monkeypatch.setattr(compiler, "step", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    operators.prepare()
    for text in ("// plain\n", "#include <torch/csrc/autograd/custom_function.h>\n"):
        with pytest.raises(KeyboardInterrupt):
            operators.for_twin(text, str(tmp_path / "adapter.asc"), lambda _: None)
    prepared, wanted = ([w for make, w in asked if make == made] for made in (True, False))
    assert len(prepared) == 2 and [sorted(w) for w in wanted] == [sorted(w) for w in prepared]
