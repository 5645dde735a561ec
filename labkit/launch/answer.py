"""What the runner answers about a launch, made into a LaunchRecord: findings at the learner's lines, times, buffers."""

from __future__ import annotations

import functools
import os
import re
import subprocess

from labkit import chips, paths
from labkit.build import headers
from labkit.launch import variables
from labkit.launch.record import CORE_FIELDS, PIPES, POSITIONS, Finding, LaunchRecord
from labkit.source.line_map import LineMap

_KINDS = ["queue", "buf", "local"]
SIGNALS = {4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV"}
_OPS: list[str] = []


def op_names() -> list[str]:
    """Names of the timeline's `op` numbers, read from the twin's own list."""
    if not _OPS:
        text = (headers.TREES["kernel"] / "twin" / "base" / "abi.h").read_text()
        block = text.split("#define TWIN_OPS(X)")[1].split("enum class Op")[0]
        _OPS.extend(part.split(")")[0] for part in block.split("X(")[1:])
    return _OPS


def record_of(k, blocks: int, answer: dict, timeline) -> LaunchRecord:
    """The record of a launch of the Kernel k: answer, timeline: as runner.Runner.launch returns them."""
    record = LaunchRecord(
        target="twin",
        kernel=k.signature.name,
        blocks=blocks,
        time_us=answer.get("us", 0.0),
        time_kind="modelled",
        chip=k.chip,
        output=answer.get("output", ""),
        timeline=timeline,
        timeline_total=answer.get("instructions", 0),
        op_names=op_names(),
        core_us=answer.get("core_us", 0.0),
        busy=dict(zip(PIPES, answer.get("busy", [0.0] * len(PIPES)))),
        ub_used=answer.get("ub_used", 0),
        extrapolated=answer.get("extrapolated", False),
        cores=[dict(zip(CORE_FIELDS, c)) for c in answer.get("cores", [])],
        mix=k.core_mix,
        ub_size=int(chips.load(k.chip)["memory"]["ub"]),
        finished=answer["finished"],
    )
    for addr, size, pos, kind, group, index in answer.get("buffers", []):
        record.buffers.append(
            dict(
                name=POSITIONS[pos],
                pos=POSITIONS[pos],
                addr=addr,
                bytes=size,
                kind=_KINDS[kind],
                group=group,
                index=index,
            )
        )
    record.findings = merged(answer.get("findings", []))
    for finding in record.findings:  # raised outside any Ascend C call: all that is known is a code address
        if "object" in finding.numbers:
            exact = _line_of(finding.numbers.pop("object"), finding.numbers.pop("code"), k.filename)
            finding.file, finding.line = exact or (finding.file or k.filename, finding.line)
    record.findings = _at_lines(k, record.findings)
    if "fault" in answer:
        finding = _fault(k, answer["fault"])
        record.crashed = finding.code
        record.findings.insert(0, finding)
    return record


def _at_lines(k, found: list[Finding]) -> list[Finding]:
    """The findings with the lines that the runner could not know: those of raw accesses (below zero: a place in a
    library), of the declaration of a variable."""
    kept: dict[tuple, Finding] = {}
    debug_libraries = functools.cache(k.debug_libraries)
    for f in found:
        for key in [key for key in f.numbers if key.endswith("_line_in")]:
            at = key.removesuffix("_in")
            exact = _line_of(f.numbers.pop(key), -f.numbers[at], k.filename)
            f.numbers[at] = exact[1] if exact else 0
        if f.code == "static-state":
            variable = variables.changed(f.file, -f.line, debug_libraries(), k.text)
            if variable is None:
                continue
            f.file, f.line, f.numbers["name"] = k.filename, variable.line, variable.name
        elif f.line < 0:
            f.file, f.line = _line_of(f.file, -f.line, k.filename) or (k.filename, 0)
        if f.code == "stack" and (variable := variables.largest_local(debug_libraries(), k.text)):
            if 2 * variable.bytes > f.numbers["used"] - f.numbers["limit"]:
                f.file, f.line = k.filename, variable.line
        known = kept.setdefault((f.code, f.file, f.line), f)
        if known is not f:
            known.count += f.count
    if any("what" in f.numbers for f in kept.values()):  # an operand, whose name in the text is to be told
        where = LineMap(k.text, k.filename)
        for f in kept.values():
            at = where.physical(f.file, f.line)
            f.text = where.lines[at - 1] if at else ""
    return list(kept.values())


def merged(found: list[dict]) -> list[Finding]:
    """Findings of all blocks; the same code on the same line is one, shown with the first block's numbers."""
    merged: dict[tuple, Finding] = {}
    for f in found:
        known = merged.get((f["code"], f["file"], f["line"]))
        if known:
            known.count += f["count"]
        else:
            severity = "error" if f["error"] else "warning"
            merged[f["code"], f["file"], f["line"]] = Finding(
                f["code"], severity, f["block"], f["file"], f["line"], f["numbers"], f["count"], f.get("skipped", False)
            )
    return list(merged.values())


def _fault(k, fault: dict) -> Finding:
    """What ended the runner, as a finding: the exact line where the debug information has it, else the last call's."""
    kind = fault["kind"]
    code = {"died": "exit", "memory": "host-memory"}.get(kind, kind)  # else crash, time-out, exit, load
    file, line = fault.get("file", ""), fault.get("line", 0)
    if fault.get("object"):
        exact = _line_of(fault["object"], fault["offset"], k.filename)
        if exact:
            file, line = exact
    numbers = dict(
        seconds=k.timeout,
        signal=SIGNALS.get(fault.get("signal", 0), str(fault.get("signal", 0))),
        address=hex(fault.get("address", 0)),
        last_line=fault.get("line", 0),
        what=fault.get("what", ""),
    )
    if used := fault.get("stack"):
        variable = variables.largest_local(k.debug_libraries(), k.text)
        if variable and 2 * variable.bytes > used:  # an array, not a recursion
            code, file, line = "stack", k.filename, variable.line
            numbers |= dict(used=max(used, variable.bytes), limit=fault["limit"])
    return Finding(code, "error", fault.get("block", 0), file or k.filename, line, numbers)


def _line_of(binary: str, offset: int, filename: str) -> tuple[str, int] | None:
    """The innermost line of `filename` at a code address; None where addr2line or the information is missing."""
    ours = {os.path.basename(filename), os.path.splitext(os.path.basename(binary))[0] + ".cpp"}
    found = next((place for place in _lines_at(binary, offset) if os.path.basename(place[0]) in ours), None)
    return (filename, found[1]) if found else None


def line_at(binary: str, offset: int) -> tuple[str, int] | None:
    """(file, line) of the learner's own code at an address of a program: the innermost that is not the twin's."""
    twin = str(paths.twin_dir())
    return next(
        (
            place
            for place in _lines_at(binary, offset)
            if not place[0].startswith(twin) and not re.search(r"/include/c\+\+/|/lib/gcc/", place[0])
        ),
        None,
    )


def _lines_at(binary: str, offset: int) -> tuple[tuple[str, int], ...]:
    try:
        return _asked(binary, os.stat(binary).st_mtime_ns, offset)
    except (OSError, subprocess.SubprocessError):  # not remembered: the next one may get an answer
        return ()


@functools.lru_cache(maxsize=4096)
def _asked(binary: str, changed: int, offset: int) -> tuple[tuple[str, int], ...]:
    """What addr2line says. A kernel that is launched in a loop has the same findings each time, and a child for each
    takes longer than a small launch. changed: when the file was written, in case another one has its name now."""
    run = subprocess.run(["addr2line", "-i", "-e", binary, hex(offset)], capture_output=True, text=True, timeout=20)
    found = []
    for entry in run.stdout.splitlines():
        path, _, line = re.sub(r" \(discriminator \d+\)$", "", entry).rpartition(":")  # a path may have brackets
        if line.isdigit() and int(line) > 0:
            found.append((os.path.normpath(path), int(line)))
    return tuple(found)
