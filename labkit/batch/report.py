"""What a batch leaves for people and for CI, and the line that says how far it is."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from xml.etree import ElementTree

from labkit import messages
from labkit.batch.state import write
from labkit.notebook.run import Outcome, index

_OUTCOME = {f.name for f in fields(Outcome)}
# XML has no such characters, nor has UTF-8 the halves of a surrogate pair
_CONTROLS = dict.fromkeys([*(c for c in range(32) if c not in (9, 10, 13)), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF])


def outcome(result: Mapping) -> Outcome:
    return Outcome(**{k: tuple(v) if k == "slowest" else v for k, v in result.items() if k in _OUTCOME})


def junit(results: list[dict]) -> str:
    """JUnit XML: a suite for each notebook; a case for its run and one for each exercise. TODO and SKIP are skipped."""
    root = ElementTree.Element("testsuites", name="labkit batch")
    for r in results:
        suite = ElementTree.SubElement(root, "testsuite", name=r["id"], hostname=str(r.get("host") or ""))
        _case(suite, r["id"], "runs through", f"{r['seconds']:.2f}", "" if r["ok"] else (r["error"] or "failed"))
        for e in r["exercises"]:
            said = f"{e['state']} {e['diagnosis']}".strip()
            wrong = said if e["state"] in ("FAIL", "ERROR") else ""
            skipped = said if e["state"] in ("TODO", "SKIP", "not run") else ""
            _case(suite, r["id"], e["id"], "0", wrong, skipped)
        cases = suite.findall("testcase")
        for name, tag in (("failures", "failure"), ("skipped", "skipped")):
            suite.set(name, str(sum(c.find(tag) is not None for c in cases)))
        suite.set("tests", str(len(cases)))
        suite.set("errors", "0")
        suite.set("time", f"{r['seconds']:.2f}")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite, notebook: str, name: str, seconds: str, wrong: str, skipped: str = "") -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=notebook, name=name, time=seconds)
    for tag, text in (("failure", wrong), ("skipped", skipped)):
        if text:
            text = text.translate(_CONTROLS)
            ElementTree.SubElement(case, tag, message=text.split("\n")[0][:200]).text = text


def write_all(out: Path, results: list[dict], parameters: Mapping) -> None:
    """result.json, junit.xml, index.html."""
    write(out / "result.json", json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    write(out / "junit.xml", junit(results))
    write(out / "index.html", index([outcome(r) for r in results], dict(parameters)))


class Progress:
    """A bar on a terminal, a line for each notebook elsewhere. On standard error; closed by `with`."""

    def __init__(self, of: int, done: int, stream=None) -> None:
        self._of, self._done, self._stream = of, done, stream or sys.stderr
        self._began, self._first, self._bar = time.monotonic(), done, None
        if self._stream.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                console=Console(file=self._stream),
            )  # fmt: skip

    def __enter__(self) -> "Progress":
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("labkit batch", total=self._of, completed=self._done)
        return self

    def __exit__(self, *_) -> None:
        if self._bar is not None:
            self._bar.stop()

    def ended(self, result: Mapping) -> None:
        """One more is done."""
        self._done += 1
        state = "ok" if result["ok"] else "FAILED"
        line = f"{self._done}/{self._of} {result['id']} {state}, {result['seconds']:.1f} s{self._left()}"
        if result["error"]:
            line += "\n  " + result["error"].translate(_CONTROLS)  # colours, a cursor that moves
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
            if not result["ok"]:
                self._bar.console.print(line, markup=False, highlight=False)
        else:
            print(line, file=self._stream, flush=True)

    def _left(self) -> str:
        ran = self._done - self._first
        seconds = (time.monotonic() - self._began) / ran * (self._of - self._done)
        return messages.text("batch.left", minutes=f"{seconds / 60:.0f}") if seconds >= 90 else ""
