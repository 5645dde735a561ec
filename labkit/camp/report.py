"""Where a class stands: exercises x students, hints used, commonest diagnoses, who is stuck and what to ask. From
grades.json and, where a submission holds the learner's log, its attempts and hints. One table, one page, no server.
"""

from __future__ import annotations

import csv
import html
import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from labkit import messages
from labkit.camp import guide
from labkit.camp.collect import PROGRESS
from labkit.camp.grade import _cell
from labkit.exercises import order
from labkit.exercises.progress_log import PAUSE_S, Row, _count, _minutes, events

# symbol, background, text: contrast of each pair is 7 or more; the word stands beside the symbol for who asks for it
LOOK = {"PASS": ("✓", "#d7f0dd", "#0b3d1c"), "FAIL": ("✗", "#f8d3d0", "#5c0f0a"), "TODO": ("○", "#eeeeee", "#333333"),
        "SKIP": ("–", "#e3e3f5", "#26264d"), "MISSING": ("·", "#ffffff", "#444444"),
        "ERROR": ("!", "#fff0c2", "#4d3800")}  # fmt: skip
STUCK_ATTEMPTS, STUCK_HINTS = 3, 3


@dataclass
class Line:
    """One exercise of one learner. state, diagnosis: of the grade; the others of the learner's log, -1 without one.
    minutes: from its first event to the first PASS; spent: with what came before, from the last event of any exercise
    on, so with the reading."""

    student: str
    assignment: str
    exercise: str
    state: str
    diagnosis: str = ""
    attempts: int = -1
    hints: int = -1
    minutes: float = -1.0
    stuck: bool = False
    ask: str = ""
    spent: float = -1.0


def lines(grades: Path, submitted: Path | None = None) -> list[Line]:
    """grades: the folder with grades.json. submitted: the one with STUDENT/ASSIGNMENT, for the learners' logs.
    Raises FileNotFoundError, ValueError.
    """
    file = grades / "grades.json" if grades.is_dir() else grades
    if not file.is_file():
        raise FileNotFoundError(messages.text("camp.no-grades", file=file))
    made = []
    logs: dict[tuple[str, str], tuple[dict[str, Row], dict[str, float]]] = {}
    for g in json.loads(file.read_text(encoding="utf-8"))["grades"]:
        key = (g["student"], g["assignment"])
        if key not in logs:
            logs[key] = _log(submitted, *key)
        line = Line(g["student"], g["assignment"], g["exercise"], g["state"], g["diagnosis"])
        row = logs[key][0].get(line.exercise)
        if row is not None:
            line.spent = round(logs[key][1].get(line.exercise, -1.0), 1)
            line.attempts, line.hints, line.minutes = row.attempts, row.hints, round(row.minutes, 1)
            line.diagnosis = line.diagnosis or (row.diagnosis if line.state != "PASS" else "")
        line.stuck = line.state in ("FAIL", "TODO", "MISSING") and (
            line.attempts >= STUCK_ATTEMPTS or line.hints >= STUCK_HINTS or line.attempts < 0 and line.state == "FAIL"
        )
        line.ask = guide.question(line.diagnosis) if line.stuck else ""
        made.append(line)
    return made


def _log(submitted: Path | None, student: str, assignment: str) -> tuple[dict[str, Row], dict[str, float]]:
    """What a learner's log says, and Line.spent for each exercise. It can say anything: it counts for no grade."""
    if submitted is None:
        return {}, {}
    home = submitted / "submitted" if (submitted / "submitted").is_dir() else submitted
    rows: dict[str, Row] = {}
    minutes: dict[str, float] = {}
    for path in (home / student / assignment / PROGRESS, home / student / PROGRESS):
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 64 << 20:
            log = [e for e in events(path) if isinstance(e.get("time"), (int, float))]
            for event in log:
                try:
                    _count(rows.setdefault(event["id"], Row(event["id"])), event)
                except (TypeError, ValueError):
                    continue  # a level that is no number
            for name, row in rows.items():
                row.minutes = _minutes([e for e in log if e["id"] == name])
            minutes = _spent(log)
            break
    return rows, minutes


def _spent(log: list[dict]) -> dict[str, float]:
    """Exercise -> minutes before its events up to the first PASS, each from the event before it on; pauses of more than
    30 minutes count as none, and what the log begins with counts for nothing."""
    minutes: dict[str, float] = {}
    passed: set[str] = set()
    for before, event in zip(log, log[1:]):
        name, gap = event["id"], event["time"] - before["time"]
        if isinstance(name, str) and name not in passed and 0 <= gap <= PAUSE_S:
            minutes[name] = minutes.get(name, 0.0) + gap / 60
        if event.get("state") == "PASS" and isinstance(name, str):
            passed.add(name)
    return minutes


def write(made: list[Line], folder: Path) -> list[Path]:
    """report.csv, a line for each exercise of each learner, and report.html."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "report.csv", folder / "report.html"]
    with open(files[0], "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(Line.__dataclass_fields__), lineterminator="\n")
        table.writeheader()
        for line in made:
            words = {k: "" if v == -1 else v for k, v in asdict(line).items()}
            table.writerow({k: _cell(v) for k, v in words.items()})
    files[1].write_text(page(made), encoding="utf-8")
    return files


# ---- the page


def page(made: list[Line]) -> str:
    say = messages.text
    title = html.escape(say("camp.report-title"))
    parts = [f"<h1>{title}</h1>", f"<p>{html.escape(_summary(made))}</p>", _heat(made)]
    hints: Counter = Counter()
    for line in made:
        hints[line.exercise] += max(line.hints, 0)
    found = Counter(line.diagnosis for line in made if line.diagnosis and line.state != "PASS")
    parts.append(_counted("camp.report-hints", hints, len(made)))
    parts.append(_counted("camp.report-diagnoses", found, len(made)))
    stuck = sorted((x for x in made if x.stuck), key=lambda x: (-x.attempts, -x.hints, x.student))
    heads = ("student", "exercise", "diagnosis", "attempts", "hints", "ask")
    body = [
        [x.student, x.exercise, x.diagnosis or "-", _number(x.attempts), _number(x.hints), x.ask] for x in stuck[:200]
    ]
    title_of = html.escape(say("camp.report-stuck"))
    parts.append(f"<h2>{title_of}</h2>" + _table([say(f"camp.col-{n}") for n in heads], body))
    style = ("body{font:15px/1.45 sans-serif;margin:2em;color:#222;background:#fff}"
             "table{border-collapse:collapse;margin:1em 0}td.c{text-align:center;min-width:1.6em}"
             "td,th{padding:.25em .6em;border:1px solid #bbb;text-align:left}"
             "th.r{writing-mode:vertical-rl}div{overflow-x:auto}")  # fmt: skip
    lang = messages.language()
    return (f'<!doctype html>\n<html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title>'
            f"<style>{style}</style></head><body>{''.join(parts)}</body></html>\n")  # fmt: skip


def _summary(made: list[Line]) -> str:
    states = Counter(x.state for x in made)
    told = ", ".join(f"{n} {s}" for s, n in states.most_common())
    return messages.text("camp.report-summary", students=len({x.student for x in made}),
                         exercises=len({x.exercise for x in made}), states=told)  # fmt: skip


def _heat(made: list[Line]) -> str:
    students = sorted({x.student for x in made})
    place = {name: k for k, name in enumerate(order.in_order())}
    exercises = sorted({x.exercise for x in made}, key=lambda n: (place.get(n, 10**6), n))
    cells = {(x.exercise, x.student): x for x in made}
    head = "".join(f'<th class="r" scope="col">{html.escape(s)}</th>' for s in students)
    rows = ""
    for name in exercises:
        row = ""
        for student in students:
            x = cells.get((name, student))
            symbol, back, ink = LOOK[x.state if x and x.state in LOOK else "MISSING"]
            tip = " ".join(filter(None, (student, name, x.state if x else "-", x.diagnosis if x else "")))
            row += (f'<td class="c" style="background:{back};color:{ink}" title="{html.escape(tip)}" '
                    f'aria-label="{html.escape(tip)}">{symbol}</td>')  # fmt: skip
        rows += f'<tr><th scope="row">{html.escape(name)}</th>{row}</tr>'
    legend = ", ".join(f"{symbol} {state}" for state, (symbol, _, _) in LOOK.items())
    caption = html.escape(f"{messages.text('camp.report-heat')}: {legend}")
    head = f"<thead><tr><td></td>{head}</tr></thead>"
    return f"<div><table><caption>{caption}</caption>{head}<tbody>{rows}</tbody></table></div>"


def _counted(key: str, counts: Counter, most: int) -> str:
    top = [(name, n) for name, n in counts.most_common(12) if n]
    rows = [[name, str(n)] for name, n in top] or [["-", "0"]]
    return f"<h2>{html.escape(messages.text(key))}</h2>" + _table(None, rows)


def _table(head: list[str] | None, rows: list[list[str]]) -> str:
    top = f"<thead><tr>{''.join(f'<th>{html.escape(h)}</th>' for h in head)}</tr></thead>" if head else ""
    body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _number(n: int) -> str:
    return "-" if n < 0 else str(n)
