"""The report of a recording: as text, as JSON, and as one page of HTML without anything from a network."""

from __future__ import annotations

import json
from functools import cached_property
from html import escape
from pathlib import Path

import numpy as np

from labkit.messages import aligned, language, text
from labkit.trace import callers, find_kernels, find_memory, find_steps, idle, intervals, model
from labkit.trace.finding import time

TOP = 15
RANKS = 16  # that text and page show


def _short(shapes: str, most: int = 60) -> str:
    """The operator of a whole optimizer has the shapes of all parameters."""
    return shapes if len(shapes) <= most else shapes[: most - 1] + "…"


class Page:
    """What a report and a comparison have in common. A subclass has text(), json(), html() and _body()."""

    def _repr_html_(self) -> str:
        return f"<div>{self._body()}</div>"

    def save(self, path: str | Path) -> Path:
        """Write it; the name's end says how: .html, .json, else text."""
        target = Path(path)
        if target.suffix == ".html":
            content = self.html()
        elif target.suffix == ".json":
            content = json.dumps(self.json(), indent=2, ensure_ascii=False) + "\n"
        else:
            content = self.text() + "\n"
        target.write_text(content, encoding="utf-8", newline="\n")
        return target


class Report(Page):
    """What `labkit trace report` shows. In a notebook the page itself."""

    def __init__(self, profile):
        self.profile = profile
        self.traces: list[model.Trace] = profile.traces

    @property
    def accounts(self) -> list[idle.Idle]:
        return self.profile.accounts

    @property
    def trace(self) -> model.Trace:
        return self.traces[0]

    def problems(self) -> list:
        return [problem for trace in self.traces for problem in trace.problems]

    @cached_property
    def top(self) -> list[dict]:
        return find_kernels.top(self.trace, TOP)

    @cached_property
    def lines(self) -> list[dict]:
        """The program's lines by their kernels' time; [] without call stacks."""
        return callers.top(self.trace)

    def overview(self, i: int = 0) -> dict:
        """The sums of one rank."""
        trace, account = self.traces[i], self.accounts[i]
        _, steps = find_steps.times(trace)
        comm, copies = trace.communicating(), model.spans(trace.copies())
        busy = trace.busy()
        return {
            "rank": trace.rank,
            "steps": trace.steps.height,
            "kernels": trace.compute().height,
            "length_us": account.length,
            "step_us": account.length / trace.step_count(),
            "step_median_us": float(np.median(steps)) if len(steps) else None,
            "step_min_us": float(steps.min()) if len(steps) else None,
            "step_max_us": float(steps.max()) if len(steps) else None,
            "busy_us": account.busy,
            "busy_share": account.busy / account.length if account.length else 0.0,
            "idle_us": {cause: account.total(cause) for cause in idle.CAUSES if account.total(cause) > 0},
            "communication_us": intervals.total(comm),
            "communication_hidden_us": intervals.total(intervals.common(comm, busy)),
            "copies_us": intervals.total(copies),
            "copies_hidden_us": intervals.total(intervals.common(copies, busy)),
            "memory_mb": find_memory.peaks(trace),
        }

    def json(self) -> dict:
        trace = self.trace
        return {
            "path": str(self.profile.path),
            "kind": trace.kind,
            "version": trace.generation,
            "level": trace.level,
            "times": trace.word,
            "files": trace.files,
            "ranks": [self.overview(i) for i in range(len(self.traces))],
            "findings": [f.json() for f in self.profile.findings()],
            "kernels": self.top,
            "lines": self.lines,
            "problems": [p.json() for p in self.problems()],
        }

    # ---- text

    def _kind(self, key: str) -> str:
        return f"trace.report.{'separate-' if self.trace.separate else ''}{key}"

    def _heading(self, trace: model.Trace) -> str:
        home = trace.path.parent if trace.path.name == "ASCEND_PROFILER_OUTPUT" else trace.path
        return text(self._kind("rank"), rank=trace.rank, name=home.name)

    def head(self) -> list[str]:
        trace = self.trace
        known = [trace.kind, trace.generation, trace.level, text(self._kind("ranks"), ranks=len(self.traces))]
        lines = [f"{self.profile.path}", ", ".join(k for k in known if k)]
        if trace.simulated:
            lines.append(text("trace.report.simulated"))
        return lines

    def sums(self, i: int = 0) -> list[str]:
        one = self.overview(i)
        word = text(f"trace.word.{self.traces[i].word}")
        length = max(one["length_us"], 1e-9)
        lines = [
            text(
                "trace.report.sums", steps=one["steps"], kernels=one["kernels"], length=time(one["length_us"]),
                step=time(one["step_us"]), word=word,
            )
        ]  # fmt: skip
        if one["step_median_us"] is not None and one["steps"] > 1:
            lines.append(
                text(
                    "trace.report.spread", median=time(one["step_median_us"]), least=time(one["step_min_us"]),
                    most=time(one["step_max_us"]),
                )
            )  # fmt: skip
        lines.append(text("trace.report.busy", share=f"{100 * one['busy_share']:.1f} %", busy=time(one["busy_us"])))
        for cause, us in sorted(one["idle_us"].items(), key=lambda p: -p[1]):
            lines.append(f"  {text('trace.cause.' + cause)}: {100 * us / length:.1f} % ({time(us)})")
        for what in ("communication", "copies"):
            if one[f"{what}_us"]:
                hidden = 100 * one[f"{what}_hidden_us"] / one[f"{what}_us"]
                lines.append(text(f"trace.report.{what}", us=time(one[f"{what}_us"]), hidden=f"{hidden:.0f} %"))
        if one["memory_mb"]:
            said = ", ".join(f"{text('trace.memory.' + k)} {v:.0f} MB" for k, v in one["memory_mb"].items())
            lines.append(text("trace.report.memory", peaks=said))
        return lines

    def more(self) -> list[str]:
        """How many ranks are not shown."""
        left = len(self.traces) - RANKS
        return [text("trace.report.more", n=left)] if left > 0 else []

    def text(self) -> str:
        lines = [*self.head(), ""]
        for i, trace in enumerate(self.traces[:RANKS]):
            if len(self.traces) > 1:
                lines.append(self._heading(trace))
            lines += self.sums(i) + ([""] if len(self.traces) > 1 else [])
        lines += self.more()
        problems = self.problems()
        lines += ["", text("trace.report.problem")] if problems else []
        lines += [f"  {line}" for problem in problems for line in problem.lines()]
        lines += ["", text("trace.report.findings")]
        found = self.profile.findings()
        for i, finding in enumerate(found, 1):
            what, why, cure = finding.lines()
            rank = ", " + text(self._kind("of"), rank=finding.rank) if finding.rank is not None else ""
            lines += [
                f"{i}. [{text('trace.severity.' + finding.severity)}{rank}] {what}", f"   {why}",
                f"   -> {cure}",
            ]  # fmt: skip
            for row in finding.evidence[:3]:
                lines.append(f"      {self._moment(row)}")
        if not found:
            lines.append("  " + text("trace.report.none" if self.trace.compute().height else "trace.report.nothing"))
        if self.top:
            lines += ["", text("trace.report.top"), *_table(*self._rows())]
        if self.lines:
            lines += ["", text("trace.report.lines"), *_table(*self._line_rows())]
        return "\n".join(lines)

    def _moment(self, row: dict) -> str:
        """A row of evidence: what, when since the beginning of the trace, how long, and what else is known."""
        more = [
            f"{k} {row[k]}" for k in ("core", "blocks", "in_shapes", "in_types", "in_formats", "mb", "free_mb", "rate")
            if row.get(k) not in (None, "")
        ]  # fmt: skip
        return f"{row['name']} @ {row['start'] / 1000:.3f} ms, {time(row['dur'])}" + (
            f" ({', '.join(more)})" if more else ""
        )

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        heads = [
            text(f"trace.column.{c}")
            for c in ("type", "core", "shapes", "count", "total", "share", "mean", "blocks", "pipe")
        ]
        rows = [
            [
                k["type"] or k["name"] or "?", k["core"] or "-", _short(k["shapes"] or "-"), str(k["count"]),
                time(k["total_us"]),
                f"{100 * k['share']:.1f} %", time(k["mean_us"]), "-" if not k["blocks"] else f"{k['blocks']:.0f}",
                "-" if not k["pipe"] else f"{k['pipe']} {100 * k['pipe_share']:.0f} %",
            ]
            for k in self.top
        ]  # fmt: skip
        return heads, rows

    def _line_rows(self) -> tuple[list[str], list[list[str]]]:
        heads = [text(f"trace.column.{c}") for c in ("total", "share", "count", "type", "line")]
        rows = [
            [time(r["total_us"]), f"{100 * r['share']:.1f} %", str(r["kernels"]), r["type"] or "?", _end(r["line"])]
            for r in self.lines
        ]
        return heads, rows

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    # ---- the page

    def html(self) -> str:
        return _page(text("trace.report.title", name=self.profile.path.name), self._body())

    def _body(self) -> str:
        from labkit.trace import figures

        parts = [f"<p>{'<br>'.join(escape(line) for line in self.head())}</p>"]
        for i, trace in enumerate(self.traces[:RANKS]):
            if len(self.traces) > 1:
                parts.append(f"<h2>{escape(self._heading(trace))}</h2>")
            parts.append("<ul>" + "".join(f"<li>{escape(line.strip())}</li>" for line in self.sums(i)) + "</ul>")
        parts += [f"<p>{escape(line)}</p>" for line in self.more()]
        if problems := self.problems():
            parts.append(f"<h2>{escape(text('trace.report.problem'))}</h2>")
            parts += [f"<p>{'<br>'.join(map(escape, problem.lines()))}</p>" for problem in problems]
        parts.append(f"<h2>{escape(text('trace.report.findings'))}</h2>")
        found = self.profile.findings()
        for finding in found:
            what, why, cure = map(escape, finding.lines())
            rank = ", " + text(self._kind("of"), rank=finding.rank) if finding.rank is not None else ""
            label = escape(text("trace.severity." + finding.severity) + rank)
            rows = "".join(f"<li><code>{escape(self._moment(row))}</code></li>" for row in finding.evidence)
            parts.append(
                f'<details class="{finding.severity}" open><summary><b>[{label}]</b> {what}</summary><p>{why}</p>'
                f"<p><b>{escape(text('trace.report.next'))}</b> {cure}</p><ul>{rows}</ul></details>"
            )
        if not found:
            none = "trace.report.none" if self.trace.compute().height else "trace.report.nothing"
            parts.append(f"<p>{escape(text(none))}</p>")
        if self.trace.compute().height:
            trace, account = self.trace, self.accounts[0]
            drawn = [
                figures.share_bar(trace, account), figures.step_timeline(trace, account), figures.steps_chart(trace),
                figures.sunburst(trace),
            ]  # fmt: skip
            parts += [f"<figure>{figure.svg}</figure>" for figure in drawn if figure]
        if self.top:
            parts.append(_html_table(text("trace.report.top"), *self._rows()))
        if self.lines:
            parts.append(_html_table(text("trace.report.lines"), *self._line_rows()))
        return "\n".join(parts)


def _end(line: str) -> str:
    """The last two parts of a frame's path are what one looks for."""
    path, _, rest = line.partition("(")
    return "/".join(path.replace("\\", "/").split("/")[-2:]) + "(" + rest


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    rows = [[cell if len(cell) <= 48 else cell[:47] + "…" for cell in row] for row in [heads, *rows]]
    return [f"  {line}" for line in aligned(rows)]


def _html_table(title: str, heads: list[str], rows: list[list[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<h2>{escape(title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI","Noto Sans CJK SC","Microsoft YaHei",sans-serif;
max-width:960px;margin:24px auto;padding:0 16px}
h1{font-size:22px}h2{font-size:17px;margin-top:28px}figure{margin:20px 0;overflow-x:auto}
details{border-left:4px solid #69707a;padding:4px 12px;margin:10px 0}
details.high{border-left:8px double #c62839}details.medium{border-left-style:dashed}
summary{cursor:pointer}code{font-size:13px;overflow-wrap:anywhere}
table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}
th,td{text-align:left;padding:3px 10px 3px 0;border-bottom:1px solid #8888;vertical-align:top}
"""


def _page(title: str, body: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="{language()}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>\n{body}\n</main></body></html>\n"
    )
