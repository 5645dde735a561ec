"""`labkit run-notebooks`: the whole workbook through papermill, one report at the end.

    labkit run-notebooks [01.02 ... | FILE.ipynb ...] [-p TARGET twin] [-p STRICT True] [--solved] [--out run]
                         [--timeout 600] [--no-html]

It goes on after a notebook that fails and exits with 1. Parameters are checked before anything runs: papermill itself
only warns of a name that no notebook has.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from labkit import messages, paths
from labkit.exercises.result import MIME
from labkit.exercises.session import validate
from labkit.notebook.build import build_variant, chosen, load_notebook
from labkit.notebook.cells import Variant, is_cpp
from labkit.notebook.execute import KERNEL_ARGUMENTS, environment, plain, tidy
from labkit.notebook.source import Source

TIMEOUT_S = 600
_KEPT = ("LABKIT_LANG", "LABKIT_PLAIN", "LABKIT_STRICT")  # of the caller's environment, where a build fixes them


@dataclass
class Outcome:
    """One notebook. exercises: dicts with id, state, diagnosis, target. seconds: host time;
    slowest: (seconds, first line of the cell).
    """

    id: str
    title: str
    file: str
    minutes: int = 0
    ok: bool = True
    seconds: float = 0.0
    error: str = ""
    slowest: tuple[float, str] = (0.0, "")
    exercises: list[dict] = field(default_factory=list)


def main(arguments: list[str] | None = None, home: Path | None = None) -> int:
    """The command; 0 when every notebook ran through."""
    asked = _parse(arguments)
    try:
        parameters = validate({name: typed(value) for name, value in asked.p}) if asked.p else {}
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    parameters = {name: parameters[name] for name, _ in asked.p}
    out = Path(asked.out)
    out.mkdir(parents=True, exist_ok=True)
    outcomes = []
    try:
        todo = list(work(asked.notebooks, home))
    except (FileNotFoundError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    for src, file in todo:
        name = src.id if file is None else name_of(file, {o.id for o in outcomes})
        print(f"{len(outcomes) + 1} of {len(todo)}{_left(outcomes, len(todo))}: {name} ...", end=" ", flush=True)
        outcomes.append(
            one(src, out, parameters, timeout=asked.timeout, solved=asked.solved, home=home, file=file, name=name)
        )
        print(_line(outcomes[-1]), flush=True)
    if not asked.no_html:
        for outcome in outcomes:
            to_html(out / outcome.file)
    (out / "result.json").write_text(
        json.dumps([asdict(o) for o in outcomes], indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (out / "index.html").write_text(index(outcomes, parameters), encoding="utf-8")
    failed = sum(not o.ok for o in outcomes)
    print(
        f"{len(outcomes) - failed} of {len(outcomes)} notebooks ran through; report: "
        f"{paths.display_path(out / 'index.html')}"
    )
    return 1 if failed else 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="labkit run-notebooks", description="Run the workbook with papermill and write a report."
    )
    parser.add_argument("notebooks", nargs="*", help="numbers, ids, or files; all without one")
    parser.add_argument(
        "-p",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="a parameter: TARGET, DEVICE, SEED, STRICT, QUICK",
    )
    parser.add_argument("--out", default="run", help="folder of the results (default: run)")
    parser.add_argument("--timeout", type=int, default=TIMEOUT_S, help="seconds a cell may take")
    parser.add_argument("--solved", action="store_true", help="with our solutions in the exercise cells")
    parser.add_argument("--no-html", action="store_true", help="no HTML page per notebook")
    return parser.parse_args(arguments)


def work(names: list[str], home: Path | None = None):
    """(source, None) for each notebook of the workbook, (its source or None, file) for each file that is not one."""
    home = home or paths.notebooks_dir()
    own = {src.target(home, lang).resolve() for src in chosen(None, home) for lang in messages.LANGUAGES}
    files = {name for name in names if name.endswith(".ipynb") and Path(name).resolve() not in own}
    for name in names or [None]:
        if name not in files:
            yield from ((src, None) for src in chosen([name] if name else None, home))
            continue
        if not Path(name).is_file():
            raise FileNotFoundError(f"{name}: there is no such notebook; give a number, an id or the path of a file")
        try:
            told = (load_notebook(Path(name)) or {})["metadata"].get("labkit", {}).get("id")
        except Exception as error:  # nbformat has several for what is no notebook
            raise ValueError(f"{name}: not a notebook ({type(error).__name__}: {error})") from None
        yield next((s for s in chosen(None, home) if s.id == told), None), Path(name)


def name_of(file: Path, taken: set[str]) -> str:
    """The file's name; that of its folder before it where another one has the same."""
    names = [file.stem, f"{file.resolve().parent.name}-{file.stem}"]
    names += [f"{names[1]}-{k}" for k in range(2, len(taken) + 3)]
    return next(n for n in names if n not in taken)


def typed(value: str):
    """ "True", "3", "twin" as Python values, like papermill -p."""
    if value in ("True", "False", "true", "false"):
        return value.lower() == "true"
    return int(value) if re.fullmatch(r"-?\d+", value) else value


def one(
    src: Source | None,
    out: Path,
    parameters: dict,
    *,
    timeout: int = TIMEOUT_S,
    solved: bool = False,
    home: Path | None = None,
    file: Path | None = None,
    name: str = "",
    cwd: Path | None = None,
) -> Outcome:
    """Run one notebook into `out`, in the language in force; what its cells do never raises here.
    file: run this one, whatever the workbook has; src then tells title and minutes, where it is known.
    cwd: its working folder; the one that it lies in where not given.
    """
    import papermill
    from papermill.exceptions import PapermillExecutionError

    home = home or paths.notebooks_dir()
    name, lang = name or (src.id if src else file.stem), messages.language()
    if file or not solved:
        notebook = file or translated(src, home, lang)
    else:
        notebook = build_variant(src, out / "solved", Variant("solved", lang=lang), home)
    result = Outcome(name, src.title[lang] if src else "", f"{name}.ipynb", src.minutes if src else 0)
    started = time.perf_counter()
    before = dict(os.environ)
    os.environ.update({k: v for k, v in environment().items() if k not in _KEPT})
    try:
        papermill.execute_notebook(
            str(notebook),
            str(out / result.file),
            parameters,
            cwd=str(cwd or (file or translated(src, home, lang)).resolve().parent),
            kernel_name="python3",
            progress_bar=False,
            execution_timeout=timeout,
            start_timeout=120,
            extra_arguments=KERNEL_ARGUMENTS,
        )
    except PapermillExecutionError as error:
        result.ok, result.error = False, plain(f"cell {error.cell_index + 1}: {error.ename}: {error.evalue}").strip()
    except Exception as error:  # a dead kernel, a time-out, a notebook that is not there: the other notebooks still run
        result.ok, result.error = False, f"{type(error).__name__}: {plain(str(error)).strip()}"
    finally:
        os.environ.clear()
        os.environ.update(before)
    result.seconds = round(time.perf_counter() - started, 2)
    _read(out / result.file, result)
    return result


def translated(src: Source, home: Path, lang: str) -> Path:
    """The notebook in a language, the English one where there is no such."""
    path = src.target(home, lang)
    return path if path.is_file() else src.target(home)


def _read(path: Path, result: Outcome) -> None:
    """Exercise states and cell times of an executed notebook."""
    nb = load_notebook(path)
    for cell in (nb or {}).get("cells", ()):
        if cell["cell_type"] != "code":
            continue
        seconds = cell["metadata"].get("papermill", {}).get("duration") or 0.0
        if seconds > result.slowest[0]:
            result.slowest = (round(seconds, 2), cell["source"].split("\n")[0][:80])
        name = cell["metadata"].get("labkit", {}).get("exercise")
        if name:
            result.exercises.append({"id": name, **_state(cell)})


def _state(cell: dict) -> dict:
    for output in cell["outputs"]:
        found = output.get("data", {}).get(MIME)
        if found:
            return {"state": found["state"], "diagnosis": found["diagnosis"], "target": found["target"]}
        if output["output_type"] == "error":
            match = re.search(r"\b(TODO|FAIL)\b(?:.*\[([\w-]+)\]\s*$)?", output["evalue"].split("\n")[0])
            return {
                "state": match[1] if match else "ERROR",
                "diagnosis": (match[2] if match else None) or output["ename"] * (not match),
                "target": "",
            }
    return {"state": "not run", "diagnosis": "", "target": ""}


def _left(outcomes: list[Outcome], of: int) -> str:
    """How long the rest will take when it takes as long as what has run."""
    if not outcomes:
        return ""
    seconds = sum(o.seconds for o in outcomes) / len(outcomes) * (of - len(outcomes))
    return f", about {seconds:.0f} s left" if seconds < 120 else f", about {seconds / 60:.0f} min left"


def _line(outcome: Outcome) -> str:
    states = ", ".join(f"{e['id']} {e['state']}" for e in outcome.exercises)
    return (
        f"{'ok' if outcome.ok else 'FAILED'}, {outcome.seconds:.1f} s"
        + (f"; {states}" if states else "")
        + (f"\n  {outcome.error}" if outcome.error else "")
    )


def to_html(path: Path) -> None:
    from nbconvert import HTMLExporter

    if not path.is_file():
        return
    try:
        page, _ = HTMLExporter(template_name="lab").from_notebook_node(
            _without_kernel(load_notebook(path)), {"metadata": {"name": path.stem}}
        )
        path.with_suffix(".html").write_text(page, encoding="utf-8")
    except Exception as error:  # the report is extra: its failure is shown, and changes no result
        print(f"{path.name}: no HTML page ({type(error).__name__}: {error})", file=sys.stderr)


def _without_kernel(nb):
    """For a page: of a widget its picture, not the view that its kernel would fill; figures with the words that a
    screen reader says, which an <img> would hide; C++ in the colours of C++.
    """
    nb["metadata"].pop("widgets", None)
    for cell in tidy(nb, nb["metadata"])["cells"]:
        if cell["cell_type"] == "code" and is_cpp(cell["source"]):
            cell["metadata"]["magics_language"] = "cpp"
        for output in cell.get("outputs", ()):
            if figure := output.get("data", {}).pop("image/svg+xml", None):
                output["data"]["text/html"] = figure
    return nb


_STYLE = """:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.35em .7em;border-bottom:1px solid #8886;vertical-align:top}
.no{font-weight:bold}code{font-size:90%}pre{white-space:pre-wrap;margin:.3em 0}"""


def index(outcomes: list[Outcome], parameters: dict) -> str:
    """The report's first page."""
    esc = html.escape
    rows = []
    for o in outcomes:
        link = f"<a href='{esc(Path(o.file).stem)}.html'>{esc(o.id)}</a>"
        states = (
            "<br>".join(
                f"<code>{esc(e['id'])}</code> {esc(e['state'])}"
                + (f" ({esc(e['diagnosis'])})" if e["diagnosis"] else "")
                for e in o.exercises
            )
            or "-"
        )
        error = f"<pre>{esc(o.error)}</pre>" if o.error else ""
        slow = f"{o.slowest[0]:.1f} s: <code>{esc(o.slowest[1])}</code>" if o.slowest[1] else "-"
        rows.append(
            f"<tr><td>{link}<br>{esc(o.title)}</td><td "
            f"class='{'' if o.ok else 'no'}'>{'ok' if o.ok else 'FAILED'}{error}</td>"
            f"<td>{o.seconds:.1f} s</td><td>{o.minutes} min</td><td>{states}</td><td>{slow}</td></tr>"
        )
    counts: dict[str, int] = {}
    for o in outcomes:
        for e in o.exercises:
            counts[e["state"]] = counts.get(e["state"], 0) + 1
    summary = ", ".join(f"{n} {state}" for state, n in sorted(counts.items())) or "none"
    said = ", ".join(f"{k}={v!r}" for k, v in parameters.items()) or "defaults"
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Workbook "
        f"run</title><style>{_STYLE}</style></head><body><h1>Workbook run</h1>"
        f"<p>{sum(o.ok for o in outcomes)} of {len(outcomes)} notebooks ran through in "
        f"{sum(o.seconds for o in outcomes):.0f} s. Exercises: {esc(summary)}. "
        f"Parameters: {esc(said)}. Python "
        f"{sys.version.split()[0]}.</p><table><thead><tr><th>notebook</th><th>run</th><th>took</th><th>planned for "
        "a reader</th>"
        f"<th>exercises</th><th>slowest cell</th></tr></thead><tbody>{''.join(rows)}</tbody></table></body></html>\n"
    )


if __name__ == "__main__":
    sys.exit(main())
