"""Which faults scripts/mutation.py puts into the code: universalmutator's rules, on lines drawn by a seed."""

from __future__ import annotations

import ast
import contextlib
import fnmatch
import io
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

REPO = Path(__file__).resolve().parents[1]
TABLES = REPO / "tests" / "mutation"
RULES = {".py": ["universal.rules", "python.rules"], ".cpp": ["universal.rules", "c_like.rules", "cpp.rules"]}
# Lines that hold no behaviour a test could see, or that no rule changes into something that compiles.
DULL = [
    r"^\s*(#|//|\*|@|import |from |using |namespace |template|static_assert|extern )",
    r"^\s*(public:|private:|assert )",
    r"^\s*[\])}]*[;,]?\s*(//.*|#.*)?$",
    r"^\s*(\"|'|r\"|f\"|R\"|b\")",
    r"messages\.text\(",
    r"static_assert",
    r"__repr__",
    r"TYPE_CHECKING",
]
# A function that is only declared: what its parameters are called is of no effect, and their types must stay.
DECLARED = re.compile(
    r"^\s*(?!(?:return|throw|new|delete|else|case|goto)\b)(?:[\w:<>~]+[\s&*]+)+\w+\(([^()]*)\)[\w\s]*;"
)
PARAMETER = re.compile(r"\s*(?:const\s+)?[\w:]+(?:<[\w:\s]*>)?[\s&*]*(?:\w+)?\s*")
# `+name` is the same as the name: of a pointer, where `*` was, what a call is given next.
PLUS = re.compile(r"[(,=]\s*\+\s*[A-Za-z_]")
# Rules whose mutants nearly never compile, or say nothing: whole lines as comments, empty strings, words of another
# language.
POOR = re.compile(r"^\s*(/\*.*\*/|pass|break;|continue;)\s*$")


@dataclass
class Mutant:
    """One fault. The names of the fields are the columns of the table."""

    id: int
    room: str
    place: str  # file:line
    original: str
    mutated: str
    outcome: str = ""
    test: str = ""
    says: str = ""
    seconds: float = 0.0

    @property
    def file(self) -> str:
        return self.place.rpartition(":")[0]

    @property
    def line(self) -> int:
        return int(self.place.rpartition(":")[2])


def rooms() -> dict[str, dict]:
    return tomllib.loads((TABLES / "rooms.toml").read_text(encoding="utf-8"))


def tracked(repo: Path = REPO) -> list[str]:
    out = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=repo, capture_output=True, text=True, check=True
    )
    return [name for name in out.stdout.splitlines() if (repo / name).is_file()]


def sources(names: list[str], patterns: list[str]) -> list[str]:
    """The files of a room that hold code of their own: a header that only includes another has none."""
    mine = [
        n
        for n in names
        if Path(n).suffix in (".py", ".cpp", ".h") and any(fnmatch.fnmatch(n, p.replace("**", "*")) for p in patterns)
    ]
    return [n for n in mine if len(code_lines(n)) > 3]


def declares(line: str) -> bool:
    found = DECLARED.match(line)
    parameters = found[1].split(",") if found else []
    return all(PARAMETER.fullmatch(p) for p in parameters) and any(len(p.split()) > 1 for p in parameters)


def bare_python(text: str) -> str | None:
    """A module without what has no effect when it runs: annotations, docstrings, comments. None: no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
            for inner in ast.walk(node):  # of a variable in a function: never evaluated
                if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                    inner.annotation = ast.Constant(None)
        elif isinstance(node, ast.arg):
            node.annotation = None
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [x for x in body if not (isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant))]
    return ast.dump(tree)


def told_lines(text: str, python: bool) -> set[int]:
    """The lines of docstrings, strings of several lines and block comments. By the language's own rules: a `)"` or a
    `"/*"` within a line of code would hide all that comes behind it."""
    if python:
        strings = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Constant, ast.JoinedStr))]
        spans = [(n.lineno, n.end_lineno) for n in strings if n.end_lineno > n.lineno]
    else:
        tokens = re.finditer(
            r"""//[^\n]*|(?P<whole>/\*.*?\*/|R"(?P<end>\w*)\(.*?\)(?P=end)")|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])*'""",
            text,
            re.S,
        )
        starts = [(text.count("\n", 0, m.start()) + 1, m[0].count("\n")) for m in tokens if m["whole"]]
        spans = [(first, first + more) for first, more in starts]
    return {line for first, last in spans for line in range(first, last + 1)}


def code_lines(name: str, repo: Path = REPO) -> dict[int, str]:
    """line number -> text (with its end) of the lines that may be changed."""
    text = (repo / name).read_text(encoding="utf-8")
    found, told = {}, told_lines(text, name.endswith(".py"))
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if not line.strip() or number in told or any(re.search(d, line) for d in DULL):
            continue
        if not name.endswith(".py") and declares(line):
            continue
        found[number] = line
    return found


def function_of(name: str, number: int, repo: Path = REPO) -> int:
    """The line that begins the function around a line, roughly: the last one that is indented no deeper than a
    method."""
    lines = (repo / name).read_text(encoding="utf-8").splitlines()
    begins = (
        r"^(    )?(async )?def |^class "
        if name.endswith(".py")
        else r"^ {0,4}[\w:<>,&*~ \[\]]+\(.*(\{|,)\s*(//.*)?$|^(class|struct|enum|namespace) "
    )
    return next((i for i in range(number, 0, -1) if re.match(begins, lines[i - 1])), 0)


def changes(name: str, number: int, line: str, repo: Path = REPO) -> list[str]:
    """What universalmutator makes of a line, without what only differs in a string, a comment, an annotation."""
    from universalmutator import mutator

    rules = RULES[".py" if name.endswith(".py") else ".cpp"]
    with contextlib.redirect_stdout(io.StringIO()):
        made = mutator.mutants_regexp(
            [line if line.endswith("\n") else line + "\n"], rules, ignorePatterns=[], ignoreStringOnly=True
        )
    whole = (repo / name).read_text(encoding="utf-8").splitlines(keepends=True) if name.endswith(".py") else []
    out, original = [], bare_python("".join(whole))
    numbered = Counter(w for w in re.findall(r"[A-Za-z_]\w*", line) if re.search(r"\d", w))
    for _, text, *_ in made:
        if [line.count(c) for c in "()[]{}"] != [text.count(c) for c in "()[]{}"] and not re.search(
            r"\(\d+[+-]1\)", text
        ):
            continue  # half a pair: it cannot compile
        if numbered - Counter(re.findall(r"[A-Za-z_]\w*", text)):
            continue  # the digit of a name, uint32_t
        if len(PLUS.findall(text)) > len(PLUS.findall(line)):
            continue
        if whole and bare_python("".join([*whole[: number - 1], text, *whole[number:]])) in (original, None):
            continue
        # spaces only matter where a line of Python begins
        bare = [
            (t[: len(t) - len(t.lstrip())] if name.endswith(".py") else "")
            + re.sub(r"\s+", "", re.sub(r'"(\\.|[^"\\])*"|(//|# ).*', '""', t))
            for t in (line, text)
        ]
        if bare[0] != bare[1] and not POOR.match(text) and text.count("\n") == 1 and text not in out:
            out.append(text)
    return out


def draw(seed: int, wanted: set[str], names: list[str]) -> Iterator[tuple[str, str, int, list[str]]]:
    """(room, file, line, changes in the order to be tried), without end as far as there are functions: lines by
    chance."""
    rng = random.Random(seed)
    lines = [
        (room, name, number, text)
        for room, table in rooms().items()
        if not wanted or room in wanted
        for name in sources(names, table["files"])
        for number, text in sorted(code_lines(name).items())
    ]
    rng.shuffle(lines)
    seen = set()
    for room, name, number, text in lines:
        place = (name, function_of(name, number))
        if place in seen:
            continue
        made = changes(name, number, text)
        rng.shuffle(made)
        if made:
            seen.add(place)
            yield room, name, number, made


def judged() -> dict[tuple[str, str, str], str]:
    table = tomllib.loads((TABLES / "equivalent.toml").read_text(encoding="utf-8"))
    return {(e["file"], e["original"], e["mutated"]): e["reason"] for e in table.get("equivalent", [])}
