"""The build cache and the host compiler: what is built, when it is built again, and what happens when it fails."""

from __future__ import annotations

import ctypes
import fcntl
import os
import subprocess
import sys
import threading
import time

import pytest

from labkit import messages
from labkit.build import cache as build_cache
from labkit.build import compiler, headers, includes, runtime
from labkit.build.process import TooSlow, Workers, c_locale
from labkit.source.errors import CompileError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    (
        runtime.runner(),
        headers.include_dirs(),
    )  # kept for the process: made later, their paths would be those of this test
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "build"


@pytest.fixture
def no_compiler(monkeypatch):
    """From here on every real compilation fails the test."""

    def refuse(*_, **__):
        raise AssertionError("compiled again")

    return lambda: monkeypatch.setattr(Workers, "run", refuse)


def write(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def entries(cache):
    return sorted(p.name for p in cache.iterdir() if p.is_dir())


# ---- the compiler


def test_cxx_names_the_compiler(monkeypatch):
    real = compiler.find_cxx()
    monkeypatch.setenv("CXX", real)
    assert compiler.find_cxx() == real
    monkeypatch.setenv("CXX", f"ccache {real}")
    assert compiler.find_cxx() == real


@pytest.mark.parametrize("cxx", ["no-such-compiler-here", ""])
def test_no_compiler_says_how_to_get_one(monkeypatch, tmp_path, cxx):
    monkeypatch.setenv("CXX", cxx)
    if not cxx:
        monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(compiler.ToolError) as raised:
        compiler.find_cxx()
    assert "conda install -c conda-forge gxx" in str(raised.value)
    assert cxx in str(raised.value)


def test_a_program_that_is_no_compiler_is_named(tmp_path):
    broken = tmp_path / "g++"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(compiler.ToolError, match="does not run"):
        compiler.cxx_version(str(broken))


@pytest.mark.parametrize(
    "line, major",
    [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", 12),
        ("g++ (GCC) 8.5.0 20210514 (Red Hat 8.5.0-4)", 8),
        ("x86_64-conda-linux-gnu-c++ (conda-forge gcc 13.3.0-1) 13.3.0", 13),
        ("Debian clang version 14.0.6", 0),
        ("Ubuntu clang version 18.1.3 (1ubuntu1)", 0),
    ],
)
def test_gcc_major(monkeypatch, line, major):
    monkeypatch.setattr(compiler, "cxx_version", lambda cxx: line)
    assert compiler.gcc_major("g++") == major


def test_messages_are_english(monkeypatch):
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert c_locale()["LC_ALL"] == "C"


# ---- building


def test_shared_library_and_program(tmp_path):
    src = write(
        tmp_path / "a b",
        one__cpp='extern "C" int one() { return 1; }\n',
        two__cpp='extern "C" int one(); extern "C" int two() { return one() + 1; }\n',
        main__cpp='int two(); extern "C" int two(); int main() { return two(); }\n'.replace("int two(); ", "", 1),
    )
    built = compiler.build([src / "one.cpp", src / "two.cpp"], flags=["-O1"], name="both")
    assert built.name == "both.so" and ctypes.CDLL(str(built)).two() == 2
    program = compiler.build(
        [src / "main.cpp"], kind="exe", flags=[], name="prog", libs=[built, f"-Wl,-rpath,{built.parent}"]
    )
    assert subprocess.run([program]).returncode == 2
    assert sorted(p.name for p in built.parent.iterdir()) == [".sealed", "both.so"]  # no objects left


def test_no_shell_reads_the_words(tmp_path):
    src = write(tmp_path / "s", x__cpp='extern "C" const char* text() { return TEXT; }\n')
    flag = f"-DTEXT=\"a b; $(touch {tmp_path}/owned) 'c'\""
    library = ctypes.CDLL(str(compiler.build([src / "x.cpp"], flags=[flag], name="q")))
    library.text.restype = ctypes.c_char_p
    assert library.text() == flag[len('-DTEXT="') : -1].encode()
    assert not (tmp_path / "owned").exists()


def test_second_call_compiles_nothing_and_announces_nothing(tmp_path, no_compiler):
    src = write(tmp_path / "s", x__cpp="int x;\n")
    said = []
    first = compiler.build([src / "x.cpp"], flags=["-O1"], name="x", announce=said.append)
    no_compiler()
    assert compiler.build([src / "x.cpp"], flags=["-O1"], name="x", announce=said.append) == first
    assert len(said) == 1 and "x" in said[0]


def test_everything_that_matters_is_in_the_key(tmp_path, monkeypatch):
    src = write(
        tmp_path / "s",
        x__cpp='#include "a.h"\nint x = A;\n',
        a__h='#include "inner/b.h"\n#define A B\n',
        extra__txt="1",
    )
    write(src / "inner", b__h="#define B 1\n")
    library = tmp_path / "lib.a"
    library.write_bytes(b"!<arch>\n")

    def digest(**change):
        options = dict(
            flags=["-O1", f"-I{src}"], kind="shared", name="x", libs=[str(library)], deps=[src / "extra.txt"]
        )
        options.update(change)
        flags, libs, deps = options.pop("flags"), options.pop("libs"), options.pop("deps")
        return compiler._digest(
            compiler.Recipe(
                (compiler.Unit("x.cpp", src / "x.cpp"),),
                tuple(flags),
                options["kind"],
                tuple(libs),
                options["name"],
                compiler.find_cxx(),
                tuple(deps),
            )
        )

    base = digest()
    assert digest() == base
    changed = [
        digest(flags=["-O2", f"-I{src}"]),
        digest(kind="exe"),
        digest(libs=[]),
        digest(name="y"),
        digest(deps=[]),
    ]
    for file, text in (
        (src / "x.cpp", '#include "a.h"\nint y = A;\n'),
        (src / "inner" / "b.h", "#define B 2\n"),
        (src / "extra.txt", "2"),
        (library, "!<arch>\n "),
    ):
        before = file.read_text()
        file.write_text(text)
        changed.append(digest())
        file.write_text(before)
        os.utime(file, ns=(1, 1))
    monkeypatch.setattr(compiler, "cxx_version", lambda cxx: "g++ (other) 99.1.0")
    changed.append(digest())
    assert base not in changed and len(set(changed)) == len(changed)


def test_cpu_features_matter_only_for_native_code(tmp_path, monkeypatch):
    unit = compiler.Unit("x.cpp", None, b"int x;")

    def digest(*flags):
        return compiler._digest(compiler.Recipe((unit,), flags, "shared", (), "x", compiler.find_cxx()))

    plain, native = digest("-O1"), digest("-O1", "-march=native")
    monkeypatch.setattr(compiler, "cpu_key", lambda: "another machine")
    assert digest("-O1") == plain and digest("-O1", "-march=native") != native


def test_a_header_in_a_dep_folder_counts(tmp_path):
    src = write(tmp_path / "s", x__cpp="int x;\n")
    folder = write(tmp_path / "d", a__h="1")
    first = compiler.build([src / "x.cpp"], flags=[], name="x", deps=[folder])
    (folder / "b.h").write_text("2")
    assert compiler.build([src / "x.cpp"], flags=[], name="x", deps=[folder]) != first


def test_a_header_beside_the_source_counts(tmp_path):
    """Found without -I, by its quotes; also one that such a header includes, and not one of the same name elsewhere."""
    src = write(tmp_path / "s", x__cpp='#include "a.h"\n', a__h='#include "inner/b.h"\n')
    write(src / "inner", b__h='#include "c.h"\n', c__h="int c = 1;\n")
    other = write(tmp_path / "other", a__h="int a = 1;\n", c__h="int c = 2;\n")
    reached = includes.reach([src / "x.cpp"], [], [str(other)])
    assert sorted(reached) == sorted(str(src / f) for f in ("x.cpp", "a.h", "inner/b.h", "inner/c.h"))
    first = compiler.build([src / "x.cpp"], flags=["-O0"], name="x")
    for header in ("a.h", "inner/b.h", "inner/c.h"):
        (src / header).write_text((src / header).read_text() + f"int more_{header[-3]};\n")
        again = compiler.build([src / "x.cpp"], flags=["-O0"], name="x")
        assert again != first, f"{header} changed, and the library of before is taken"
        first = again


def test_angle_brackets_do_not_look_beside_the_source(tmp_path):
    src = write(tmp_path / "s", x__cpp="#include <a.h>\n", a__h="1\n")
    first, second = write(tmp_path / "d1", a__h="2\n"), write(tmp_path / "d2", a__h="3\n")
    reached = includes.reach([src / "x.cpp"], [], [str(first), str(second)])
    assert sorted(reached) == sorted([str(src / "x.cpp"), str(first / "a.h")]), (
        "the first folder that has it, and no other"
    )


def test_a_header_that_comes_or_goes_later_is_seen(tmp_path, monkeypatch):
    """Folders are listed once as long as they stay as they are; here they are old enough to be remembered."""
    monkeypatch.setattr(includes._Look, "_SETTLED_NS", -(10**12))
    monkeypatch.setattr(includes._Look, "listed", {})
    first, second, elsewhere = (tmp_path / name for name in ("first", "second", "elsewhere"))
    for folder in (first / "deep", second / "deep", elsewhere):
        folder.mkdir(parents=True)
    (second / "deep" / "a.h").write_text("int a;\n")
    (elsewhere / "a.h").write_text("int elsewhere;\n")
    dirs, text = [str(first), str(second)], b"#include <deep/a.h>\n"

    def found() -> list[str]:
        return list(includes.reach([], [text], dirs))

    behind, before = str(second / "deep" / "a.h"), first / "deep" / "a.h"
    assert found() == [behind] and found() == [behind] and includes._Look.listed
    before.write_text("int b;\n")
    assert found() == [str(before)]
    before.unlink()
    assert found() == [behind]
    before.symlink_to(elsewhere / "a.h")
    assert found() == [str(before)]
    (elsewhere / "a.h").unlink()  # which changes nothing in the folder of the link
    assert found() == [behind]


def test_what_lies_beside_a_source_counts_where_an_include_would_find_it(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "part").mkdir(parents=True)
    there.mkdir()
    (there / "outer.h").write_text('#include "part/inner.h"\n')
    assert not includes.reads_from(here, b'#include "outer.h"\n', [str(there)])
    (here / "part" / "inner.h").write_text("int a;\n")
    assert includes.reads_from(here, b'#include "outer.h"\n', [str(there)])
    assert not includes.reads_from(here, b'#include "other.h"\n', [str(there)])
    assert includes.reads_from(here / "part", b'#include "../part/inner.h"\n', [str(there)])


def test_include_folders_of_flags():
    assert includes.folders(["-Ia", "-O1", "-isystem", "b", "-iquote", "c", "-I", "d", "-isysteme"]) == [
        "a",
        "b",
        "c",
        "d",
        "e",
    ]


def test_units_compile_side_by_side(tmp_path, monkeypatch):
    src = write(tmp_path / "s", a__cpp="", b__cpp="")
    together = threading.Barrier(2, timeout=60)  # passes only when both units are at work at once

    def run(self, command, **_):
        if "-c" in command:
            together.wait()
        open(command[command.index("-o") + 1], "w").close()
        return 0, ""

    monkeypatch.setattr(Workers, "run", run)
    assert compiler.build([src / "a.cpp", src / "b.cpp"], flags=[], name="p", jobs=2).exists()


@pytest.mark.parametrize("bad", [["bad.cpp"], ["good.cpp", "bad.cpp"]])
def test_a_failure_leaves_nothing_behind(tmp_path, cache, bad):
    src = write(tmp_path / "s", good__cpp="int g;\n", bad__cpp="int f() { return nothing; }\n")
    with pytest.raises(CompileError) as raised:
        compiler.build([src / name for name in bad], flags=[], name="f")
    assert "nothing" in raised.value.stderr and raised.value.problems[0]["line"] == 1
    assert raised.value.problems[0]["file"].endswith("bad.cpp")
    assert not [e for e in entries(cache) if "-good-" not in e]  # a good unit's object may stay
    (src / "bad.cpp").write_text("int f() { return 0; }\n")
    assert compiler.build([src / name for name in bad], flags=[], name="f").exists()


def test_a_broken_entry_is_made_again(tmp_path, cache):
    src = write(tmp_path / "s", x__cpp="int x;\n")
    built = compiler.build([src / "x.cpp"], flags=[], name="x")
    built.unlink()
    (built.parent / "rest").write_text("")
    assert compiler.build([src / "x.cpp"], flags=[], name="x").exists()


def test_wrong_calls():
    with pytest.raises(ValueError, match="kind"):
        compiler.build(["x.cpp"], flags=[], name="x", kind="static")
    with pytest.raises(ValueError, match="empty"):
        compiler.build([], flags=[], name="x")
    with pytest.raises(FileNotFoundError):
        compiler.build(["/no/such/file.cpp"], flags=[], name="x")


# ---- a learner's kernel


def test_kernel_is_compiled_under_the_learners_name(tmp_path):
    with pytest.raises(CompileError) as raised:
        compiler.compile_kernel('#line 1 "my kernel.asc"\nint f() {\n  return two;\n}\n', filename="my kernel.asc")
    assert raised.value.problems[0]["file"] == "my kernel.asc" and raised.value.problems[0]["line"] == 2


def test_kernel_sees_headers_of_its_folder_and_follows_them(tmp_path):
    write(tmp_path / "k", tiling__h="#define N 3\n")
    text = '#line 1 "k.asc"\n#include "tiling.h"\nextern "C" int n() { return N; }\n'
    file = str(tmp_path / "k" / "k.asc")
    assert ctypes.CDLL(str(compiler.compile_kernel(text, filename=file, flags=["-fvisibility=default"]))).n() == 3
    (tmp_path / "k" / "tiling.h").write_text("#define N 44\n")
    assert ctypes.CDLL(str(compiler.compile_kernel(text, filename=file, flags=["-fvisibility=default"]))).n() == 44


def test_a_kernels_folder_is_in_the_key_only_where_it_gives_a_header(tmp_path, monkeypatch):
    """A notebook's cells are called by the exercise: without this each working folder had its own build of them."""
    (tmp_path / "include").mkdir()
    shared = write(tmp_path / "include" / "shared", there__h="#define THERE 1\n")
    folders = [write(tmp_path / name, own__h="#define OWN 1\n") for name in ("a", "b")]
    write(tmp_path, above__h="#define ABOVE 1\n")

    def built(folder, include):
        monkeypatch.chdir(folder)
        text = f"{include}\nint f() {{ return 1; }}\n"
        return compiler.compile_kernel(text, filename="cell", include_dirs=[shared])

    for include, same in (
        ("", True),
        ('#include "there.h"', True),
        ("#include <there.h>", True),
        ('#include "own.h"', False),
        ('#include "../above.h"', False),
        ('#define NAME "own.h"\n#include NAME', False),
    ):
        first, second = (built(folder, include) for folder in folders)
        assert (first == second) == same, f"{include}: {'two builds' if same else 'one build for two folders'}"
    own = write(tmp_path / "c", there__h="#define THERE 2\n")
    assert built(own, '#include "there.h"') != built(folders[0], '#include "there.h"'), (
        "the kernel's folder comes first"
    )


def test_an_object_is_compiled_once_for_all_libraries_that_it_is_linked_to(tmp_path):
    libs = [compiler.build([write(tmp_path / n, x__c="") / "x.c"], flags=[], name=n) for n in ("first", "second")]

    def built(text, lib):
        return compiler.compile_kernel(text, filename="k.asc", libs=[lib], in_two_steps=True)

    visible = 'extern "C" __attribute__((visibility("default"))) '
    text = f"{visible}int f() {{ return 41; }}\n"
    first, again = built(text, libs[0]), built(text, libs[0])
    assert first == again and first.suffix == ".so" and ctypes.CDLL(str(first)).f() == 41
    ran = []
    real = compiler.step
    try:
        compiler.step = lambda workers, command, recipe: ran.append(command) or real(workers, command, recipe)
        second = built(text, libs[1])
        assert second != first and [str(w) for c in ran for w in c if str(w).endswith(".cpp")] == [], "compiled again"
        other = built(text.replace("41", "42"), libs[1])
        assert len(ran) == 3 and ctypes.CDLL(str(other)).f() == 42, "another text: compiled and linked"
    finally:
        compiler.step = real


def test_kernel_flags_and_text_are_in_the_key(tmp_path, no_compiler):
    one = compiler.compile_kernel("int x;", filename="k.asc")
    assert compiler.compile_kernel("int y;", filename="k.asc") != one
    assert compiler.compile_kernel("int x;", filename="k.asc", flags=["-DA"]) != one
    no_compiler()
    assert compiler.compile_kernel("int x;", filename="k.asc") == one


# ---- several at once, and ends

WRAPPER = """#!/bin/sh
case "$*" in *--version*) exec {cxx} "$@";; esac
echo run >> {log}
sleep 0.3
exec {cxx} "$@"
"""


def test_two_processes_build_once(tmp_path, monkeypatch):
    src = write(tmp_path / "s", x__cpp="int x;\n")
    log, wrapper = tmp_path / "log", tmp_path / "slow-c++"
    wrapper.write_text(WRAPPER.format(cxx=compiler.find_cxx(), log=log))
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))
    code = f"from labkit.build import compiler; print(compiler.build([{str(src / 'x.cpp')!r}], flags=[], name='x'))"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = {p.communicate(timeout=120)[0].strip() for p in running}
    assert [p.returncode for p in running] == [0, 0] and len(paths) == 1
    assert log.read_text() == "run\n"


def test_stop_ends_what_runs():
    workers, ended = Workers(), []

    def work():
        ended.append(workers.run([sys.executable, "-c", "import time; time.sleep(600)"], timeout=600))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while not workers._running:
        time.sleep(0.01)
    workers.stop()
    thread.join(60)
    assert ended == [(0, "")] and not workers._running
    assert workers.run(["/no/such/program"], timeout=1) == (0, "")  # after stop nothing starts


def test_a_compiler_that_never_ends_is_ended(monkeypatch):
    with pytest.raises(TooSlow):
        Workers().run([sys.executable, "-c", "import time; time.sleep(600)"], timeout=0.2)
    monkeypatch.setattr(compiler, "TIMEOUT_S", 1e-9)
    with pytest.raises(compiler.ToolError, match="template"):
        compiler.compile_kernel("int slow;", filename="slow.asc")


# ---- keeping the cache small


def entry(cache, name, size, age_days):
    folder = cache / name
    folder.mkdir(parents=True)
    (folder / "x.so").write_bytes(b"\0" * size)
    when = time.time() - age_days * 86400
    os.utime(folder, (when, when))
    return folder


def test_prune_removes_the_least_recently_used(cache):
    for name, age in (("old-1", 30), ("older-2", 40), ("young-3", 5), ("today-4", 0)):
        entry(cache, name, 1000, age)
    assert build_cache.prune(2500) == 2000
    assert entries(cache) == ["today-4", "young-3"]
    assert build_cache.prune(0) == 1000 and entries(cache) == ["today-4"]  # what may be in use stays


def test_prune_leaves_what_is_being_built_and_sweeps_the_killed(cache):
    entry(cache, "busy-1", 1000, 9)
    entry(cache, ".tmp-dead", 10, 9)
    assert build_cache.prune(1 << 30) == 10
    with open(cache / "busy-1.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        build_cache.prune(500)
    assert entries(cache) == ["busy-1"]
    assert build_cache.prune(2000) == 0


def test_use_refreshes_an_entry(tmp_path, cache):
    src = write(tmp_path / "s", x__cpp="int x;\n")
    built = compiler.build([src / "x.cpp"], flags=[], name="x")
    os.utime(built.parent, (1, 1))
    compiler.build([src / "x.cpp"], flags=[], name="x")
    assert built.parent.stat().st_mtime > 1e9
    assert build_cache.prune(0) == 0


def test_key_separates_parts():
    assert build_cache.key("ab", "c") != build_cache.key("a", "bc") != build_cache.key("abc")


def test_every_sentence_in_both_languages():
    for name, item in messages.tables().items():
        if name.partition(".")[0] in ("compiler", "source", "build", "hint", "claim", "lint", "npu"):
            assert set(item) >= {"en", "zh"}, name
            if isinstance(item["en"], dict):
                assert list(item["en"]) == list(item["zh"]), name
                assert not any("\n" in part for lang in ("en", "zh") for part in item[lang].values()), name
