"""Cases of the exercises on a whole program: what it prints, and what its CMakeLists.txt makes."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from labkit import messages
from labkit.exercises import Case

SHARE = 256


def program_cases(seed, quick):
    """A class has more blocks than the shown ones have, and than a chip has cores; n fills the last, or not."""

    def expected(n):
        return {"printed": [f"0 of {n} wrong"], "launches": [f"twice<<<{-(-n // SHARE)}>>>"]}

    def spoiled(n):  # the last number of each block; behind n nobody looks
        return [f"{n // SHARE} of {n} wrong"]

    sizes = (700,) if quick else (256, 700, 5000)
    if seed:
        draw = random.Random(seed)
        sizes += (draw.randint(5121, 20_000), draw.randint(80, 160) * SHARE, draw.randint(50_000, 150_000))
    return [Case(f"n={n}", (n,), expected(n), spoiled=spoiled(n)) for n in sizes]


def run_launch(result, case):
    """What the program printed, and every launch of it; nothing of these where it has launched nothing, which the check
    tells itself."""
    launches = [f"{one.kernel}<<<{one.blocks}>>>" for one in result.launches for _ in one.us]
    return {"printed": result.output.split("\n")[:-1], "launches": launches or case.expected["launches"]}


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def facts() -> dict:
    """What a right CMakeLists.txt comes to."""
    return {
        "cmake": say("accepts every line", "接受每一行"),
        say("the project's name", "工程名"): "first",
        say("find_package(ASC)", "find_package(ASC)"): say("before project", "在 project 之前"),
        say("languages", "语言"): "ASC CXX",
        say("demo is built of", "demo 的源文件"): "main.cpp twice.asc",
        say("demo is linked by", "demo 的链接者"): "ASC",
    }


def cmake_cases(seed, quick):
    return [Case("CMakeLists.txt", (), facts())]


def run_cmake(function, args, case):
    """The facts of the learner's file, read as `labkit run` reads it: a command in a comment, or in a branch that is
    not taken, says nothing."""
    from labkit.program import cmakefile

    with tempfile.TemporaryDirectory() as folder:
        for name in ("twice.asc", "main.cpp"):
            (Path(folder) / name).write_text("")
        (Path(folder) / "CMakeLists.txt").write_text(function() + "\n")
        try:
            project = cmakefile.read(folder)
        except cmakefile.CMakeError as error:
            return {**facts(), "cmake": str(error).replace(folder, "").lstrip("/")}
        demo = project.targets.get("demo")
        sources = (
            " ".join(sorted(p.name for p in demo.sources)) if demo and demo.kind == "exe" else say("nothing", "无")
        )
    found, missing = facts(), say("missing", "缺少")
    _, name, package, language, built, linked = found
    ran = [command for command, _ in project.ran]
    at = ran.index("project") if "project" in ran else len(ran)
    words = project.ran[at][1] if at < len(ran) else [missing]
    found[name] = words[0]
    asked = [
        i
        for i, (command, w) in enumerate(project.ran)
        if command == "find_package" and [s.lower() for s in w[:1]] == ["asc"]
    ]
    if not asked:
        found[package] = missing
    elif asked[0] > at:
        found[package] = say(
            "after project, which then does not know the language", "在 project 之后，project 不认识这种语言"
        )
    found[language] = " ".join(sorted(w for w in words[1:] if w in ("ASC", "CXX", "C")))
    if "ASC" not in words[1:]:
        found[language] += say(": CMake passes over .asc files", "：CMake 会略过 .asc 文件")
    found[built] = sources
    if sources == "main.cpp":
        found[built] += say(", which calls launch_twice of another file", "，它调用另一个文件中的 launch_twice")
    given = linkers(project.ran)
    if given and given[-1] != "ASC":
        found[linked] = given[-1]
    elif not given:
        found[linked] = say("CMake's own choice of two", "CMake 在两者中自行选择")
        if any("LINKER_LANGUAGE" in w for _, w in project.ran):
            found[linked] += say(": demo has no such property", "：demo 没有这个属性")
    return found


def linkers(ran) -> list[str]:
    """What demo's property LINKER_LANGUAGE was set to, by either of the two commands that set properties."""
    given = []
    for command, words in ran:
        if command == "set_target_properties":
            before, after = split(words, "PROPERTIES")
        elif command == "set_property" and words[:1] == ["TARGET"]:
            before, after = split(words, "PROPERTY")
        else:
            continue
        if "demo" in before:
            given += [setting for name, setting in zip(after[::2], after[1::2]) if name == "LINKER_LANGUAGE"]
    return given


def split(words: list[str], at: str) -> tuple[list[str], list[str]]:
    where = words.index(at)
    return words[:where], words[where + 1 :]
