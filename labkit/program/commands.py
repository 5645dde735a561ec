"""How a sample is run, by its own folder: the commands of its README, its run.sh, or the usual ones.

    script, origin = commands(folder, {"SCENARIO_NUM": "2"})

The commands are a bash script that is run in a copy of the folder; cmake and make in it are the lab's own
(labkit.program.standin). Only what building and running a sample needs is taken from a README.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^[ \t]*(?:[-*>][ \t]*)?```[^\n]*\n(?P<body>.*?)^[ \t]*```", re.M | re.S)
_ASSIGNED = re.compile(r"(?:export\s+)?[A-Za-z_]\w*=\S*(?:\s+[A-Za-z_]\w*=\S*)*$")
_ALLOWED = re.compile(
    r"(?:\./[\w./-]+|cd|mkdir|cmake|make|ninja|python3?|bash|sh|cp|rm -rf? "
    r"(?:build|input|output|out)\b|bisheng|export)(?:\s|$)"
)
_PROFILER = re.compile(r"^(?:msprof|msopprof|mssanitizer)\b.*?(?=\./)")
_PROGRAM = re.compile(r"^\s*(?:\(.*;\s*)?\./[\w./-]+", re.M)
_OTHER_CHIP = re.compile(r"(?<=CMAKE_ASC_ARCHITECTURES=)dav-(?!2201)\d+")
_READMES = ("README.md", "README.MD", "readme.md", "README_en.md", "README_CN.md")


@dataclass
class Script:
    """lines: bash, one command each, for the folder itself. origin: the file they come from, "" for the usual ones."""

    lines: list[str] = field(default_factory=list)
    origin: str = ""


def commands(folder: Path, settings: dict[str, str], arguments: list[str]) -> Script:
    """The script of a sample. settings replace what the script sets itself; arguments go to its program."""
    for name in _READMES:
        path = folder / name
        if path.is_file() and (lines := _of_readme(path.read_text(encoding="utf-8", errors="replace"), folder)):
            return Script(_with(lines, settings, arguments), name)
    if (folder / "run.sh").is_file():
        text = (folder / "run.sh").read_text(encoding="utf-8", errors="replace")
        return Script([" ".join(["bash", "run.sh", *(arguments or _flags(text))])], "run.sh")
    return Script(_with(_usual(folder), settings, arguments))


def _flags(text: str) -> list[str]:
    """The options without which a run.sh of older samples ends at once: where it runs, and for which chip."""
    run_mode, chip = ("run-mode" in text, "soc-version" in text)
    return [*(["-r", "npu"] if run_mode else []), *(["-v", "Ascend910B1"] if chip else [])]


def _of_readme(text: str, folder: Path) -> list[str]:
    best: list[str] = []
    best_worth = 0
    for m in _FENCE.finditer(text.replace("\r\n", "\n")):
        lines = _lines(m["body"])
        worth = _worth(lines, folder)
        if worth > best_worth:
            best, best_worth = lines, worth
    return best


def _lines(body: str) -> list[str]:
    out: list[str] = []
    for raw in body.replace("\\\n", " ").split("\n"):
        line = re.sub(r"(?:^|\s)#.*$", "", re.sub(r"^\s*\$\s", "", raw)).strip().rstrip(";").strip()
        line = _PROFILER.sub("", line)
        parts = [p.strip() for p in re.split(r"&&|;", line) if p.strip()]
        # a README that shows another chip's line: the twin is an Atlas A2
        parts = [_OTHER_CHIP.sub("dav-2201", p) for p in parts]
        if parts and all(_ALLOWED.match(p) or _ASSIGNED.match(p) for p in parts):
            out.append(" && ".join(parts))
    return out


def _worth(lines: list[str], folder: Path) -> int:
    """How well a block of a README describes running the sample on a device; 0: not at all."""
    text = "\n".join(lines)
    if m := re.search(r"\b(?:bash|sh)\s+(run\w*\.sh)", text):
        return 2 if (folder / m[1]).is_file() else 0
    if not _PROGRAM.search(text):
        return 0
    worth = 1 + 4 * bool(re.search(r"\bcmake\b|\bbisheng\b", text)) + 2 * ("gen_data" in text) + 2 * ("verify" in text)
    return worth - 3 * bool(re.search(r"RUN_MODE=(?:cpu|sim)", text))


def _usual(folder: Path) -> list[str]:
    scripts = next((d for d in ("scripts", "script", ".") if (folder / d / "gen_data.py").is_file()), "")
    verify = next((d for d in ("scripts", "script", ".") if (folder / d / "verify_result.py").is_file()), "")
    lines = ["mkdir -p build && cd build", "cmake .. && make", "mkdir -p input output"]
    if scripts:
        lines.append(f"python3 ../{scripts}/gen_data.py")
    lines.append("./$LABKIT_PROGRAM")
    if verify:
        lines.append(f"python3 ../{verify}/verify_result.py output/output.bin output/golden.bin")
    return lines


def _with(lines: list[str], settings: dict[str, str], arguments: list[str]) -> list[str]:
    """The lines with other settings: `NAME=1` and `-DNAME=1` become what was asked for, a new one goes to cmake."""
    out, used = [], set()
    for line in lines:
        for name, value in settings.items():
            line, n = re.subn(rf"(?<![\w$])((?:-D)?{re.escape(name)})=[^\s;&]*", lambda m: f"{m[1]}={value}", line)
            used |= {name} if n else set()
        out.append(line)
    new = [f"-D{name}={value}" for name, value in settings.items() if name not in used]
    if new:
        out = [re.sub(r"\bcmake\b(?! --build)", " ".join(["cmake", *new]), line) for line in out]
    if arguments:
        out = [line + " " + " ".join(arguments) if _PROGRAM.match(line) and "&&" not in line else line for line in out]
    return out
