"""A notebook's source: markdown with code fences, translations and exercise markers, read into blocks.

The format is described in README.md beside this file. Nothing here depends on notebooks (build.py does).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from labkit import paths

NAME = re.compile(r"^(\d\d)\.(\d\d)_[a-z0-9_]+$")
PROSE_WIDTH = 160
FIELDS = ("title", "title_zh", "minutes", "stage")
_FENCE = re.compile(r"^(`{3,}|~{3,})\s*(.*?)\s*$")
_MARK = re.compile(r"^\s*<!--\s*(.*?)\s*-->\s*$")
_ZH = re.compile(r"^zh(?:\s+([0-9a-f]{6}))?$")


class SourceFormatError(ValueError):
    """A source that cannot be read: `file:line: what is wrong; what to try`."""


@dataclass(frozen=True)
class Markdown:
    """An English text and its translation. stamp: hash in the zh marker; mark: that marker's line number."""

    en: str
    line: int
    zh: str = ""
    stamp: str = ""
    mark: int = 0

    @property
    def hash(self) -> str:
        return text_hash(self.en)

    @property
    def stale(self) -> bool:
        return bool(self.mark) and self.stamp != self.hash


@dataclass(frozen=True)
class Code:
    text: str
    line: int
    tags: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True)
class ExerciseMark:
    id: str
    line: int
    brief: bool = True


@dataclass(frozen=True)
class Claim:
    """What a sentence says of the cells before it, as a Python expression that must be true when the notebook is built.

    sentence: the English text in front of it.
    """

    expression: str
    line: int
    sentence: str


@dataclass(frozen=True)
class SetupMark:
    line: int


@dataclass(frozen=True)
class Source:
    """A parsed source. id: "01.02_tail"; stage: folder below notebooks/."""

    path: Path
    title: dict
    minutes: int
    stage: str
    blocks: tuple

    @property
    def id(self) -> str:
        return self.path.stem

    @property
    def number(self) -> str:
        return self.id.split("_")[0]

    def target(self, home: Path, lang: str = "en") -> Path:
        """Where the notebook stands below `home` (notebooks/ or another root); a translation in a folder of its own."""
        return (home if lang == "en" else home / lang) / self.stage / f"{self.id}.ipynb"

    @property
    def claims(self) -> list[Claim]:
        return [b for b in self.blocks if isinstance(b, Claim)]

    @property
    def claims_hash(self) -> str:
        """A notebook is run again when its claims change."""
        return text_hash(" ".join(claim.expression for claim in self.claims))

    @property
    def exercises(self) -> list[ExerciseMark]:
        return [b for b in self.blocks if isinstance(b, ExerciseMark)]


def text_hash(text: str) -> str:
    """Six hex digits over the words of a text: spacing and line breaks do not make a translation stale."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:6]


def sources(home: Path | None = None) -> list[Path]:
    """All notebook sources in order."""
    return sorted((home or paths.notebooks_dir()).glob("source/*.md"))


def read(path: Path) -> Source:
    """Parse one source. Raises SourceFormatError."""
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")

    def fail(line: int, what: str):
        raise SourceFormatError(f"{paths.display_path(path)}:{line}: {what}")

    if not NAME.match(path.stem):
        fail(1, "the file name must be like 01.02_topic.md: two digits, two digits, lower-case words")
    head, start = _front_matter(lines, fail)
    stage = head["stage"]
    if not stage.startswith(path.stem[:2] + "_"):
        fail(1, f"stage {stage!r} must start with the notebook's own number, {path.stem[:2]}_")
    blocks = _Scanner(lines, start, fail).run()
    return Source(path, {"en": head["title"], "zh": head["title_zh"]}, int(head["minutes"]), stage, tuple(blocks))


def _front_matter(lines: list[str], fail) -> tuple[dict[str, str], int]:
    if lines[0].strip() != "---" or "---" not in [line.strip() for line in lines[1:]]:
        fail(1, f"front matter is missing: between two lines `---` the fields {', '.join(FIELDS)}")
    end = next(n for n, line in enumerate(lines[1:], 1) if line.strip() == "---")
    head = {}
    for number, line in enumerate(lines[1:end], 2):
        name, colon, value = line.partition(":")
        if line.strip() and (not colon or name.strip() not in FIELDS):
            fail(number, f"{line.strip()!r} is none of the fields {', '.join(FIELDS)} (id comes from the file name)")
        if line.strip():
            head[name.strip()] = value.strip().strip('"')
    missing = [name for name in FIELDS if not head.get(name)]
    if missing:
        fail(1, f"front matter lacks {', '.join(missing)}")
    if not head["minutes"].isdecimal():  # isdigit() holds for "²" too, which int() does not read
        fail(1, f"minutes is {head['minutes']!r}; it must be a whole number")
    return head, end + 1


class _Scanner:
    """Lines to blocks. `text` is the English being collected since `since`."""

    def __init__(self, lines: list[str], start: int, fail):
        self.lines, self.at, self.fail = lines, start, fail
        self.blocks: list = []
        self.claims: list[tuple[int, Claim]] = []  # how many blocks stand before it
        self.text: list[str] = []
        self.since = start + 1

    def flush(self) -> None:
        text = "\n".join(self.text).strip("\n")
        if text.strip():
            self.blocks.append(Markdown(text, self.since))
        self.text = []

    def run(self) -> list:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            fence, mark = _FENCE.match(line), _MARK.match(line)
            if fence and re.match(r"python\b", fence[2]):
                self.flush()
                self.code(fence)
            elif fence:
                self.text += self.fenced(fence[1])
            elif mark and self.marker(mark[1]):
                self.at += 1
            else:
                self.text.append(line)
                self.at += 1
            if not self.text:
                self.since = self.at + 1
        self.flush()
        for at, claim in reversed(self.claims):  # those in a text stand before it: nothing runs in between
            self.blocks.insert(at, claim)
        return self.blocks

    def fenced(self, opening: str) -> list[str]:
        """A whole fence, markers included; `at` moves behind it."""
        first = self.at
        self.at += 1
        while self.at < len(self.lines):
            match = _FENCE.match(self.lines[self.at])
            self.at += 1
            if match and not match[2] and match[1].startswith(opening[0]) and len(match[1]) >= len(opening):
                return self.lines[first : self.at]
        self.fail(first + 1, f"the fence {opening} is not closed")

    def code(self, fence: re.Match) -> None:
        line = self.at + 1
        tags, key = [], ""
        for word in fence[2].split()[1:]:
            name, equals, value = word.partition("=")
            if name == "tags" and equals:
                tags = [t for t in value.split(",") if t]
            elif name == "key" and equals and value:
                key = value
            else:
                self.fail(line, f"{word!r} in a fence's info string; it takes tags=a,b and key=word")
        body = self.fenced(fence[1])[1:-1]
        self.blocks.append(Code("\n".join(body).strip("\n"), line, tuple(tags), key))

    def marker(self, word: str) -> bool:
        """Handle a comment line that is one of ours; False for any other comment."""
        line = self.at + 1
        if match := _ZH.match(word):
            self.translation(match[1] or "", line)
        elif word == "/zh":
            self.fail(line, "<!-- /zh --> closes nothing")
        elif word == "cell":
            self.flush()
        elif word == "setup":
            self.flush()
            self.blocks.append(SetupMark(line))
        elif word.startswith("exercise:"):
            self.flush()
            name, *options = word.removeprefix("exercise:").split() or [""]
            if not name:
                self.fail(line, "an exercise marker needs an exercise's id: <!-- exercise: copy_tail -->")
            if any(o not in ("brief=no", "brief=yes") for o in options):
                self.fail(line, f"{' '.join(options)!r}: an exercise marker takes brief=no")
            self.blocks.append(ExerciseMark(name, line, "brief=no" not in options))
        elif word.startswith("holds:"):
            self.claim(word.removeprefix("holds:").strip(), line)
        elif re.match(r"^(zh|en|exercise|setup|cell|holds)\b", word):
            self.fail(line, f"<!-- {word} --> is not understood; see labkit/notebook/README.md")
        else:
            return False
        return True

    def claim(self, expression: str, line: int) -> None:
        """A claim ends no text: it may stand between two sentences of a paragraph."""
        try:
            compile(expression, "claim", "eval")
        except SyntaxError as error:
            self.fail(line, f"<!-- holds: {expression} --> is no Python expression: {error.msg}")
        nearest = "\n".join(self.text) or next((b.en for b in reversed(self.blocks) if isinstance(b, Markdown)), "")
        self.claims.append((len(self.blocks), Claim(expression, line, " ".join(nearest.split()))))

    def translation(self, stamp: str, line: int) -> None:
        english = "\n".join(self.text).strip("\n")
        if not english.strip():
            self.fail(line, "a translation without English text in front of it")
        self.at += 1
        chinese: list[str] = []
        while self.at < len(self.lines):
            mark = _MARK.match(self.lines[self.at])
            if mark and mark[1] == "/zh":
                break
            if mark and mark[1].startswith("holds:"):
                self.fail(
                    self.at + 1, "a claim inside a translation; put it behind the English text, which it is about"
                )
            fence = _FENCE.match(self.lines[self.at])
            if fence and not re.match(r"python\b", fence[2]):
                chinese += self.fenced(fence[1])
                continue
            if (
                fence
                or mark
                and (_ZH.match(mark[1]) or mark[1].startswith("exercise:") or mark[1] in ("cell", "setup"))
            ):
                self.fail(line, "the translation is not closed with <!-- /zh -->")
            chinese.append(self.lines[self.at])
            self.at += 1
        else:
            self.fail(line, "the translation is not closed with <!-- /zh -->")
        self.blocks.append(Markdown(english, self.since, "\n".join(chinese).strip("\n"), stamp, line))
        self.text = []


def stamp(path: Path) -> int:
    """Write the English text's hash into every zh marker of a source; how many changed."""
    lines = path.read_text(encoding="utf-8").split("\n")
    changed = 0
    for block in read(path).blocks:
        if isinstance(block, Markdown) and block.stale:
            lines[block.mark - 1] = f"<!-- zh {block.hash} -->"
            changed += 1
    if changed:
        path.write_text("\n".join(lines), encoding="utf-8", newline="\n")
    return changed


def prose_lines(text: str) -> int:
    """Lines of prose: blanks, headings, tables, fences, pictures and HTML tags alone on a line are none;
    a long line counts as several.
    """
    count, fence = 0, ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if match and (not fence or match[1].startswith(fence)):
            fence = "" if fence else match[1]
            continue
        bare = line.strip()
        if fence or not bare or bare[0] in "#|" or bare.startswith("![") or re.fullmatch(r"(<[^>]+>\s*)+", bare):
            continue
        count += -(-len(bare) // PROSE_WIDTH)
    return count
