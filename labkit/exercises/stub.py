"""A solution file with marked regions: the stub, the learner's file and the line numbers all come out of it.

    // >>> exercise: the length of this tile | 这一块的长度
    // stub: uint32_t length = tile;
    uint32_t length = left < tile ? left : tile;
    // <<<

One file instead of two copies, because a problem and a solution that are edited apart drift apart. Regions of a Python
file use `#`. A cell holds the regions one after the other, without the indentation of their markers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from labkit import paths
from labkit.exercises.spec import Spec, SpecError

SEPARATOR = "---- region {k} of {n} ----"
_SEPARATOR = re.compile(r"^\s*(?://|#)\s*-{2,}\s*region (\d+) of (\d+)\s*-{2,}\s*$")
GIVEN, CELL = "given", "cell"


class RegionError(ValueError):
    """The learner's cell does not have the regions that the exercise has."""


@dataclass(frozen=True)
class Region:
    """One region. first, last: file lines (1-based) of the opening and the closing marker."""

    todo: dict
    stub: tuple[str, ...]
    body: tuple[str, ...]
    indent: str
    first: int
    last: int


@dataclass(frozen=True)
class Joined:
    """A complete file with a learner's regions in it. origin[i] = ("given" | "cell", line number) of line i + 1."""

    text: str
    origin: tuple[tuple[str, int], ...]

    def place(self, line: int) -> tuple[str, int]:
        return self.origin[line - 1] if 0 < line <= len(self.origin) else (GIVEN, line)


@dataclass(frozen=True)
class Template:
    """A parsed solution file. comment: "//" or "#"."""

    lines: tuple[str, ...]
    regions: tuple[Region, ...]
    comment: str

    def separator(self, k: int) -> str:
        """The line of the cell behind which region `k` begins, counted from 1; the first has none."""
        return f"{self.comment} {SEPARATOR.format(k=k, n=len(self.regions))}"

    def cell(self, bodies: list[str]) -> str:
        """The text of the exercise cell whose regions are `bodies`."""
        parts = []
        for k, body in enumerate(bodies, 1):
            if k > 1:
                parts.append(self.separator(k))
            parts.append(body)
        return "\n".join(parts)

    def stubs(self, lang: str = "en") -> list[str]:
        return ["\n".join([f"{self.comment} TODO: {r.todo.get(lang) or r.todo['en']}", *r.stub]) for r in self.regions]

    def stub(self, lang: str = "en") -> str:
        return self.cell(self.stubs(lang))

    def bodies(self) -> list[str]:
        return ["\n".join(r.body) for r in self.regions]

    def solution(self) -> str:
        return self.cell(self.bodies())

    def mutant(self, regions: tuple[str, ...], edit: tuple[tuple[str, str], ...] = ()) -> str:
        """The cell of a mutant: its regions, and the solution's where one is empty; or the solution with its edits.
        Raises SpecError: too many regions, an edit that does not stand exactly once.
        """
        ours = self.bodies()
        for old, new in edit:
            if len(ours) > 1 or ours[0].count(old) != 1:
                raise SpecError(
                    f"a mutant's edit must stand once in the only region, not {ours[0].count(old)} times: {old!r}"
                )
            ours[0] = ours[0].replace(old, new)
        if len(regions) > len(ours):
            raise SpecError(f"a mutant has {len(regions)} regions, the solution {len(ours)}")
        given = [*regions, *[""] * (len(ours) - len(regions))]
        return self.cell([theirs.strip("\n") if theirs.strip() else own for theirs, own in zip(given, ours)])

    def split(self, cell: str) -> list[tuple[str, int]]:
        """(text, first line in the cell) of each region of a learner's cell.
        Raises RegionError when their number is wrong.
        """
        parts: list[tuple[list[str], int]] = [([], 1)]
        for number, line in enumerate(cell.split("\n"), 1):
            if len(self.regions) > 1 and _SEPARATOR.match(line):
                parts.append(([], number + 1))
            else:
                parts[-1][0].append(line)
        if len(parts) != len(self.regions):
            raise RegionError(
                f"the cell has {len(parts)} regions, the exercise {len(self.regions)}: keep each line "
                f"`{self.separator(2)}` as it was, or start again with "
                "labkit.exercise(...).reset()"
            )
        return [("\n".join(lines), first) for lines, first in parts]

    def join(self, cell: str, name: str, first_line: int = 1) -> Joined:
        """The file with the cell's regions in place. C++ gets `#line` so that messages name the cell's own lines.

        name: what messages call the cell; first_line: the cell's line on which `cell` starts.
        """
        out: list[str] = []
        origin: list[tuple[str, int]] = []

        def put(line: str, *where) -> None:
            out.append(line)
            origin.append(where)

        if self.comment == "//":
            put(f'#line 1 "{given_name(name)}"', GIVEN, 1)
        done = 0
        for region, (text, start) in zip(self.regions, self.split(cell)):
            for number in range(done + 1, region.first):
                put(self.lines[number - 1], GIVEN, number)
            start += first_line - 1
            if self.comment == "//":
                put(f'#line {start} "{name}"', GIVEN, region.first)
            body = text.split("\n") if self.comment == "//" else _indent(text, region.indent)
            for offset, line in enumerate(body):
                put(line, CELL, start + offset)
            if self.comment == "//":
                put(f'#line {region.last + 1} "{given_name(name)}"', GIVEN, region.last)
            done = region.last
        for number in range(done + 1, len(self.lines) + 1):
            put(self.lines[number - 1], GIVEN, number)
        return Joined("\n".join(out) + "\n", tuple(origin))

    def is_stub(self, cell: str) -> bool:
        """True for our own stub, whatever was done to its comments and blanks."""
        try:
            mine = [text for text, _ in self.split(cell)]
        except RegionError:
            return False
        return [normalise(t, self.comment) for t in mine] == [
            normalise("\n".join(r.stub), self.comment) for r in self.regions
        ]

    def given(self) -> list[str]:
        """The file's lines outside the regions."""
        inside = {n for r in self.regions for n in range(r.first, r.last + 1)}
        return [line for number, line in enumerate(self.lines, 1) if number not in inside]


def given_name(name: str) -> str:
    """What messages call the part of the file that the learner did not write."""
    return name.replace("exercise ", "given part of ", 1)


def _indent(text: str, indent: str) -> list[str]:
    """Learner's Python under the marker's indentation; a body that was indented as a whole is accepted."""
    lines = text.split("\n")
    code = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    extra = min((len(line) - len(line.lstrip(" ")) for line in code), default=0)
    return [indent + (line[extra:] if line[:extra].strip() == "" else line) if line.strip() else "" for line in lines]


def normalise(text: str, comment: str) -> str:
    """`text` without comments, blanks and blank lines: what decides whether two regions are the same."""
    if comment == "//":
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        text = re.sub(r"//[^\n]*", "", text)
    else:
        text = re.sub(r"(?m)(^|\s)#[^\n]*", "", text)
    return "\n".join(re.sub(r"\s+", " ", line).strip() for line in text.split("\n") if line.strip())


def parse(text: str, comment: str, file: str = "solution") -> Template:
    """Find the regions. Raises SpecError with the line: no region, nested or unclosed markers,
    a header without text.
    """
    lines = text.rstrip("\n").split("\n")
    mark = re.escape(comment)
    opening = re.compile(rf"^(\s*){mark}\s*>>>\s*exercise:\s*(.*?)\s*$")
    closing = re.compile(rf"^\s*{mark}\s*<<<\s*$")
    stub_line = re.compile(rf"^\s*{mark}\s*stub:(?: (.*))?$")
    regions: list[Region] = []
    current: tuple[re.Match, int] | None = None
    for number, line in enumerate(lines, 1):
        if match := opening.match(line):
            if current:
                raise SpecError(
                    f"{file}:{number}: a region opens inside the region of line {current[1]}; close that one with "
                    f"`{comment} <<<` first"
                )
            current = (match, number)
        elif closing.match(line):
            if not current:
                raise SpecError(f"{file}:{number}: `{comment} <<<` closes nothing")
            regions.append(_region(lines, *current, number, stub_line, file))
            current = None
    if current:
        raise SpecError(f"{file}:{current[1]}: the region is not closed; add `{comment} <<<`")
    if not regions:
        raise SpecError(
            f"{file}: no region; mark one with `{comment} >>> exercise: English | 中文` and `{comment} <<<`"
        )
    return Template(tuple(lines), tuple(regions), comment)


def _region(lines, opening: re.Match, first: int, last: int, stub_line: re.Pattern, file: str) -> Region:
    english, bar, chinese = (part.strip() for part in opening[2].partition("|"))
    if not english or not chinese:
        raise SpecError(f"{file}:{first}: the header needs the task in both languages: `exercise: English | 中文`")
    indent, body, stub = opening[1], lines[first : last - 1], []
    while body and (match := stub_line.match(body[0])):
        stub.append(match[1] or "")
        body = body[1:]
    return Region({"en": english, "zh": chinese}, tuple(stub), tuple(_dedent(body, indent)), indent, first, last)


def _dedent(body: list[str], indent: str) -> list[str]:
    return [line[len(indent) :] if line.startswith(indent) else line.lstrip() for line in body]


def template(spec: Spec) -> Template:
    """The parsed solution of a kernel or Python exercise."""
    return parse(spec.solution_path.read_text(encoding="utf-8"), spec.comment, paths.display_path(spec.solution_path))
