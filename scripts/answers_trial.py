"""What the checks say to answers that a learner might give: tests/exercises/trial_150/*.toml, a row each.

    python scripts/answers_trial.py tests/exercises/trial_150/wrong.toml out.csv [id ...]
    python scripts/answers_trial.py --table      # data/blind_trials.md's, from answers_trial_first.csv

Each goes the way of a notebook's cell, labkit.check(exercise, text) or labkit.predict(exercise, value), in one process
with a session of its own; an answer that takes more than LIMIT seconds ends that process and counts as hung. Columns:
set, id, exercise, verdict, diagnosis, first_sentence, rest, mistake, judged. `judged` is a person's: names, no (does
not name the mistake) or false; a judgement that is in out.csv already is kept while the sentence is the same.
"""

from __future__ import annotations

import csv
import multiprocessing as mp
import os
import queue
import re
import sys
from fractions import Fraction
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

LIMIT = 400  # s
DATA = Path(__file__).resolve().parent.parent / "data"
COLUMNS = "set id exercise verdict diagnosis first_sentence rest mistake judged".split()


def work(todo, done) -> None:
    os.environ.update(LABKIT_PROGRESS="off", LABKIT_STRICT="0")
    import torch

    import labkit

    labkit.setup("twin", 0, 0, False, False)
    names = {"torch": torch, "Fraction": Fraction}
    while (answer := todo.get()) is not None:
        if "value" in answer:
            result = labkit.predict(answer["exercise"], eval(answer["value"], names))
        else:
            result = labkit.check(answer["exercise"], answer["text"].rstrip("\n"))
        place = f"{result.where}  {result.source_line.strip()}".strip()
        rest = [*([place] if place else []), *result.lines[1:]]
        done.put({"verdict": result.state, "diagnosis": result.diagnosis, "first_sentence": (result.lines or [""])[0],
                  "rest": " | ".join(" ".join(line.split()) for line in rest)})  # fmt: skip


def trial(answers: list[dict]):
    """Each answer with what the check said, in order."""
    context, worker = mp.get_context("spawn"), None
    for answer in answers:
        if worker is None:
            todo, done = context.Queue(), context.Queue()
            worker = context.Process(target=work, args=(todo, done))
            worker.start()
        todo.put(answer)
        said = None
        for _ in range(LIMIT):
            try:
                said = done.get(timeout=1)
            except queue.Empty:
                if worker.is_alive():
                    continue
            break
        if said is None:
            said = dict.fromkeys(COLUMNS[4:7], "") | {"verdict": "HUNG" if worker.is_alive() else "ENDED"}
            worker.kill()
            worker.join()
            worker = None
        yield answer | said
    if worker is not None:
        todo.put(None)
        worker.join()


def main(source: Path, target: Path, only: set[str]) -> None:
    answers = tomllib.loads(source.read_text(encoding="utf-8"))["answer"]
    old = {}
    if target.is_file():
        with target.open(encoding="utf-8", newline="") as file:
            old = {(row["set"], row["id"]): row for row in csv.DictReader(file)}
    for row in trial([a for a in answers if not only or a["id"] in only]):
        key = source.stem, row["id"]
        before = old.get(key, {})
        same = all(before.get(k) == row[k] for k in ("verdict", "first_sentence"))
        judged = before.get("judged", "") if same else ""
        mistake = row.get("mistake") or row.get("manner")
        old[key] = {"set": source.stem, "mistake": mistake, "judged": judged, **{k: row[k] for k in COLUMNS[1:7]}}
        print(row["id"], row["exercise"], row["verdict"], row["first_sentence"], sep="  ", flush=True)
        with target.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(old.values())


def table() -> list[str]:
    """A row for each set: what the first run said to its wrong answers, and how many right ones passed."""
    with (DATA / "answers_trial_first.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    lines = [
        "| set | wrong | named | not named | false | passed | right | passed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(re.sub(r"_?(wrong|right)$", "", row["set"]) for row in rows):
        of = [row for row in rows if re.fullmatch(rf"{name}_?(wrong|right)?" if name else "wrong|right", row["set"])]
        wrong = [row for row in of if row["judged"] in ("names", "no", "false")]
        right = [row for row in of if row["judged"] in ("right", "refused") and not row["set"].endswith("wrong")]
        passed = sum(row["verdict"] == "PASS" for row in wrong)
        count = {word: sum(row["judged"] == word for row in wrong) for word in ("names", "no", "false")}
        cells = [name or "first", len(wrong), count["names"], count["no"] - passed, count["false"], passed]
        cells += [len(right), sum(row["verdict"] == "PASS" for row in right)] if right else ["", ""]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def write_table() -> None:
    page = DATA / "blind_trials.md"
    new = "<!-- answers -->\n" + "\n".join(table()) + "\n<!-- end -->"
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"<!-- answers -->.*?<!-- end -->", lambda _: new, text, flags=re.S), encoding="utf-8")


if __name__ == "__main__" and sys.argv[1:] == ["--table"]:
    write_table()
elif __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), set(sys.argv[3:]))
