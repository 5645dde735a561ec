"""`labkit build --check`: sources, notebooks and exercises agree, and nothing is in a notebook
that does not belong there.

Every complaint is one line: file: what is wrong; what to try.
The gate runs no kernel and no notebook (verify.py and nbval do).
"""

from __future__ import annotations

import html
import json
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from labkit import messages, paths
from labkit.exercises.handle import hint_text
from labkit.exercises.question import answer, filled, question
from labkit.exercises.spec import Spec, SpecError, folders, load, pick
from labkit.exercises.stub import normalise, template
from labkit.notebook import claims, translations
from labkit.notebook import source as reader
from labkit.notebook.build import chosen, load_notebook
from labkit.notebook.cells import KERNELSPEC, Variant, notebook
from labkit.notebook.source import Code, Markdown

MAX_PROSE = 9
MAX_BYTES = 120_000  # 00.90 shows all notebooks and all words
MIN_LEAK = 12  # characters; a shorter line of a solution proves nothing when it is found elsewhere
_ABSOLUTE = re.compile(r"(?<![\w.:/~-])/(?:home|root|tmp|usr|work|opt|mnt|Users|var|data|workspace)/\w|\b[A-Z]:\\")
_SHELL = re.compile(
    r"(?m)^\s*(?:!|%%(?:bash|sh|script|!)|%(?:sx|system|cd)\b)|\bget_ipython\(\)\.system\b|\bsys\.exit\("
)
_APPEND = re.compile(r"(?m)^%%writefile\s+(?:-a|--append)\b")
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")


def main(only: Iterable[str] | None = None, home: Path | None = None) -> int:
    """Print the complaints; 1 when there are any."""
    found = list(complaints(only, home))
    for line in found:
        print(line)
    print(f"{len(found)} to mend" if found else "sources, notebooks and exercises agree")
    return 1 if found else 0


def complaints(only: Iterable[str] | None = None, home: Path | None = None) -> Iterator[str]:
    """All of them. With `only`, those of these notebooks."""
    home = home or paths.notebooks_dir()
    try:
        every = chosen(only, home)
    except reader.SourceFormatError as error:
        yield str(error)
        return
    for src in every:
        yield from _source(src)
        for lang in messages.LANGUAGES:
            yield from _notebook(src, home, lang)
        yield from translations.complaints(src, home)
    if not list(only or ()):
        yield from _workbook(every, home)
        for name in folders():
            yield from exercise_complaints(name)
        yield from message_complaints()


def _at(path: Path, line: int = 0) -> str:
    return paths.display_path(path) + (f":{line}" if line else "")


# ---- one source


def _source(src: reader.Source) -> Iterator[str]:
    prose, since = 0, 1
    for block in src.blocks:
        if isinstance(block, Markdown):
            prose += reader.prose_lines(block.en)
            if not block.mark:
                yield f"{_at(src.path, block.line)}: no translation; add <!-- zh --> ... <!-- /zh --> behind the text"
            elif block.stale:
                word = (
                    "has no hash yet"
                    if not block.stamp
                    else f"was made for another English text ({block.stamp}, now {block.hash})"
                )
                yield (
                    f"{_at(src.path, block.mark)}: the translation {word}; bring it up to date, then run labkit "
                    "build --stamp"
                )
        elif isinstance(block, (reader.SetupMark, reader.Claim)):
            continue
        else:
            if prose > MAX_PROSE:
                yield (
                    f"{_at(src.path, since)}: {prose} lines of prose before the cell in line {block.line}, at "
                    f"most {MAX_PROSE}; cut the text, or put something to run in between"
                )
            prose, since = 0, block.line
        if isinstance(block, Code):
            yield from _code(src, block)
    if prose > MAX_PROSE:
        yield f"{_at(src.path, since)}: {prose} lines of prose after the last cell, at most {MAX_PROSE}; cut the text"
    for claim, number, lang in claims.unsaid(src):
        yield (
            f"{_at(src.path, claim.line)}: says({number!r}, ...) ties a number that the {lang} text beside it does not "
            "have; write the same number in both"
        )
    setups = sum(isinstance(b, reader.SetupMark) for b in src.blocks)
    if setups > 1:
        yield f"{_at(src.path)}: <!-- setup --> stands {setups} times; a notebook has one parameters cell"


def _code(src: reader.Source, block: Code) -> Iterator[str]:
    at = _at(src.path, block.line)
    if match := _SHELL.search(block.text):
        yield (
            f"{at}: {match[0].strip()!r}: a shell command can fail without failing the notebook, and sys.exit "
            "ends it silently; call a labkit function instead"
        )
    if _APPEND.search(block.text):
        yield f"{at}: %%writefile -a appends again each time the cell is run; write the whole file in one cell"
    if match := _ABSOLUTE.search(block.text):
        yield (
            f"{at}: the absolute path {match[0]!r} exists on one machine only; use labkit.paths or a path from "
            "the notebook's folder"
        )
    if "parameters" in block.tags:
        yield f"{at}: tagged parameters; that cell is generated, remove the tag"
    if block.text.startswith("%%exercise"):
        yield f"{at}: an exercise cell by hand; write <!-- exercise: id --> and it is generated"


# ---- one notebook


def _notebook(src: reader.Source, home: Path, lang: str) -> Iterator[str]:
    path = src.target(home, lang)
    at = _at(path)
    made = load_notebook(path)
    if made is None:
        yield f"{at}: missing; run labkit build {src.number}"
        return
    try:
        wanted = notebook(src, Variant(lang=lang))
    except SpecError as error:
        yield str(error)
        return
    if _bare(made) != _bare(wanted):
        yield (
            f"{at}: differs from its source ({_difference(made, wanted)}); run labkit build {src.number}, and "
            "edit the source, not the notebook"
        )
    if made["metadata"].get("kernelspec") != KERNELSPEC:
        yield (
            f"{at}: kernelspec is {made['metadata'].get('kernelspec')}; it must be {KERNELSPEC['name']}, or the "
            "notebook does not open elsewhere; run labkit build"
        )
    ids = Counter(c["id"] for c in wanted["cells"])
    if repeated := [c["source"].split("\n")[0] for c in wanted["cells"] if ids[c["id"]] > 1]:
        yield (
            f"{_at(src.path)}: cells share an id: {'; '.join(repeated)}; give them different keys, and use an "
            "exercise once"
        )
    tagged = sum("parameters" in c["metadata"].get("tags", ()) for c in made["cells"])
    if tagged != 1:
        yield f"{at}: {tagged} cells tagged parameters, there must be exactly one; run labkit build"
    size = path.stat().st_size
    if size > MAX_BYTES:
        yield f"{at}: {size} bytes, at most {MAX_BYTES}; make the outputs smaller or split the notebook"
    yield from _outputs(src, made, at)
    yield from _leaks(src, made, at)


def _bare(nb: dict) -> dict:
    """What does not depend on a run."""
    cells = [{k: c.get(k) for k in ("cell_type", "id", "metadata", "source")} for c in nb["cells"]]
    return json.loads(
        json.dumps({"cells": cells, "metadata": nb["metadata"], "nbformat": [nb["nbformat"], nb["nbformat_minor"]]})
    )


def _difference(made: dict, wanted: dict) -> str:
    one, two = _bare(made), _bare(wanted)
    for number, (a, b) in enumerate(zip(one["cells"], two["cells"]), 1):
        if a != b:
            fields = [k for k in b if a[k] != b[k]]
            return f"cell {number}: {', '.join(fields)}"
    if len(one["cells"]) != len(two["cells"]):
        return f"{len(one['cells'])} cells instead of {len(two['cells'])}"
    return "metadata"


def _outputs(src: reader.Source, made: dict, at: str) -> Iterator[str]:
    for number, cell in enumerate(made["cells"], 1):
        if cell["cell_type"] != "code":
            continue
        tags = cell["metadata"].get("tags", ())
        if "exercise" in tags:
            if cell["outputs"] or cell["execution_count"] is not None:
                yield f"{at}: cell {number} is an exercise and has been run; run labkit build {src.number}"
            continue
        if cell["execution_count"] is None and "nbval-skip" not in tags:
            yield f"{at}: cell {number} has not been run; run labkit build {src.number}"
        text = "\n".join(_shown(cell))
        if any(o["output_type"] == "error" for o in cell["outputs"]):
            yield (
                f"{at}: cell {number} shows an error, and papermill stops at errors; show a failure inside "
                "`with labkit.expect(...)`"
            )
        if match := _ABSOLUTE.search(text):
            yield f"{at}: cell {number} prints the absolute path {match[0]!r}; print a relative one"
        if "nbval-ignore-output" not in tags and (match := _ADDRESS.search(text)):
            yield (
                f"{at}: cell {number} prints an object's address ({match[0]!r}), which is another one each "
                "time; print something else, or end the cell with a figure"
            )


def _leaks(src: reader.Source, made: dict, at: str) -> Iterator[str]:
    """Lines of a solution anywhere in the notebook that asks for it."""
    text = "\n".join(_texts(made))
    lines = {_squeeze(line) for line in text.split("\n")}
    for mark in src.exercises:
        spec = load(mark.id)
        for line in secret_lines(spec):
            if any(line in seen for seen in lines):
                yield (
                    f"{at}: shows a line of {spec.id}'s solution: {line!r}; reword it, or list the line under "
                    "`public` in spec.toml if it may be seen"
                )


def _texts(nb: dict) -> Iterator[str]:
    for cell in nb["cells"]:
        yield cell["source"]
        yield from _shown(cell)


def _shown(cell: dict) -> Iterator[str]:
    """What a reader sees of a cell's outputs, HTML without its escapes."""
    for output in cell.get("outputs", ()):
        yield "".join(output.get("text", ""))
        for mime, data in output.get("data", {}).items():
            if isinstance(data, (str, list)) and mime != "image/png":
                yield html.unescape("".join(data))


def _squeeze(line: str) -> str:
    return " ".join(line.split())


def secret_lines(spec: Spec) -> list[str]:
    """Lines of the solution's regions that the learner must not find in the notebook:
    long enough, and not in the given code or the stub.
    """
    if spec.kind == "predict":
        return []
    ours = template(spec)
    known = {_squeeze(line) for line in (*ours.given(), *(s for r in ours.regions for s in r.stub), *spec.public)}
    found = []
    for body in ours.bodies():
        for line in normalise(body, spec.comment).split("\n"):
            line = _squeeze(line)
            if len(line) >= MIN_LEAK and line not in known:
                found.append(line)
    return found


# ---- the whole


def _workbook(every: list[reader.Source], home: Path) -> Iterator[str]:
    used = Counter(mark.id for src in every for mark in src.exercises)
    where = {mark.id: src for src in every for mark in src.exercises}
    known = folders()
    for name, count in used.items():
        if name not in known:
            yield (
                f"{_at(where[name].path)}: no exercise {name!r}; correct the id, or add "
                f"kernels/<op>/exercises/{name}/spec.toml"
            )
        elif count > 1:
            yield f"{_at(where[name].path)}: exercise {name!r} stands {count} times in the workbook; use each once"
    for name, folder in known.items():
        if name not in used:
            yield (
                f"{_at(folder / 'spec.toml')}: no notebook uses this exercise; add <!-- exercise: {name} --> to "
                "one, or remove the folder"
            )
    stages: dict[str, set[str]] = {}
    for src in every:
        stages.setdefault(src.stage[:2], set()).add(src.stage)
    for number, names in stages.items():
        if len(names) > 1:
            yield f"{_at(home / 'source')}: stage {number} has several folders: {', '.join(sorted(names))}; use one"
    for title, count in Counter(src.number for src in every).items():
        if count > 1:
            yield f"{_at(home / 'source')}: number {title} stands {count} times; give each notebook its own"
    wanted = {src.target(home, lang) for src in every for lang in messages.LANGUAGES}
    for path in sorted((*home.glob("*/*.ipynb"), *home.glob("*/*/*.ipynb"))):
        if path not in wanted:
            yield f"{_at(path)}: no source makes this notebook; delete it, or add notebooks/source/{path.stem}.md"


def exercise_complaints(name: str) -> Iterator[str]:
    """Of one exercise, without running it: it parses, its stub and its mutants differ from its solution,
    its texts can be filled in.
    """
    try:
        spec = load(name)
        if not spec.mutants:
            yield (
                f"{_at(spec.folder / 'spec.toml')}: no mutant; a check that was never seen to fail proves "
                "nothing, add known-wrong solutions"
            )
        yield from (_prediction(spec) if spec.kind == "predict" else _regions(spec))
    except (SpecError, KeyError, ValueError) as error:
        yield f"{_at(folders()[name] / 'spec.toml')}: {error}" if not isinstance(error, SpecError) else str(error)


def _regions(spec: Spec) -> Iterator[str]:
    ours = template(spec)
    at = _at(spec.solution_path)
    solved = normalise(ours.solution(), spec.comment)
    if ours.is_stub(ours.solution()):
        yield f"{at}: the stub equals the solution; remove `{spec.comment} stub:` lines that solve it"
    for mutant in spec.mutants:
        text = ours.mutant(mutant.regions, mutant.edit)
        if ours.is_stub(text):
            yield f"{at}: mutant {mutant.name!r} equals the stub, which is TODO and never FAIL; change one of the two"
        if normalise(text, spec.comment) == solved:
            yield f"{at}: mutant {mutant.name!r} equals the solution"
    if spec.comment == "#":
        for what, cell in (("stub", ours.stub()), ("solution", ours.solution())):
            try:
                compile(ours.join(cell, spec.id).text, spec.solution_path.name, "exec")
            except SyntaxError as error:
                yield (
                    f"{at}: the {what} does not compile: {error.msg} (line {error.lineno}); keep what it needs "
                    "with `# stub: code` lines"
                )


def _prediction(spec: Spec) -> Iterator[str]:
    at = _at(spec.folder / "spec.toml")
    right = answer(spec)
    for lang in messages.LANGUAGES:
        (
            question(spec, lang),
            filled(spec, spec.why, lang),
            [hint_text(spec, n, lang) for n in range(1, len(spec.hints) + 1)],
        )
        if spec.answer.type == "number" and str(right) in pick(spec.question, lang).split():
            yield f"{at}: the question itself contains the answer {right}"


def message_complaints() -> Iterator[str]:
    """Every entry of every table in both languages, with the same parts and the same placeholders."""
    for key, entry in messages.tables().items():
        where = f"labkit/messages: {key}"
        missing = [lang for lang in messages.LANGUAGES if not entry.get(lang)]
        if missing:
            yield f"{where}: no {', '.join(missing)} text; add it"
            continue
        tables = [entry[lang] if isinstance(entry[lang], dict) else {"": entry[lang]} for lang in messages.LANGUAGES]
        if set(tables[0]) != set(tables[1]):
            yield (
                f"{where}: the parts differ between the languages "
                f"({', '.join(sorted(set(tables[0]) ^ set(tables[1])))}); give both the same"
            )
            continue
        one, two = ({name for part in table.values() for name in _fields(part)} for table in tables)
        # A long message may say less in one language, but a number that only the translation uses is a slip.
        odd = two - one if isinstance(entry["en"], dict) else one ^ two
        if odd:
            yield f"{where}: the placeholders differ: {', '.join(sorted(odd))}; use the same in both"


def _fields(text: str) -> Iterator[str]:
    for _, name, _, _ in string.Formatter().parse(text):
        if name:
            yield re.split(r"[.\[!:]", name)[0]
