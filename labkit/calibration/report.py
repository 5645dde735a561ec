"""The accuracy table for people: on a terminal, in data/clock_accuracy.csv, and in the README."""

from __future__ import annotations

import re

from rich.console import Console
from rich.table import Table

from labkit import paths
from labkit.calibration.accuracy import NO_MODEL, Accuracy, quantile, table

_NAMES = {"roofline": "roofline (HBM and peaks)", "mskpp": "msKPP's tables", "pto_isa": "pto-isa's cost model"}


def show(a: Accuracy) -> None:
    """Every row, then the medians."""
    out = Table("case", "what", "measured us", "modelled us", "error", "used in the fit")
    for r in a.rows:
        out.add_row(
            r.case,
            r.metric,
            f"{r.measured:.1f}",
            f"{r.modelled:.1f}",
            f"{r.error * 100:+.0f} %",
            "yes" if r.fitted else "",
        )
    Console().print(out)
    print("\n".join(_lines(a)))


def write(a: Accuracy) -> None:
    """data/clock_accuracy.csv, and the README between <!-- clock accuracy --> and <!-- end -->."""
    table(a, paths.data_dir() / "clock_accuracy.csv")
    readme = paths.repo_root() / "README.md"
    text = readme.read_text(encoding="utf-8")
    new = "<!-- clock accuracy -->\n" + "\n".join(_markdown(a)) + "\n<!-- end -->"
    readme.write_text(
        re.sub(r"<!-- clock accuracy -->.*?<!-- end -->", lambda _: new, text, flags=re.S), encoding="utf-8"
    )


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _middle(errors: list[float]) -> str:
    return _percent(quantile(errors, 0.5)) if errors else "-"


def _lines(a: Accuracy) -> list[str]:
    s = a.summary()
    lines = [
        f"task time: {s['cases']} cases, median error {_percent(s['median_abs_error'])}, 90th percentile "
        f"{_percent(s['p90_abs_error'])}, worst {_percent(s['worst_abs_error'])}",
        f"  used in the fit {s['fitted']['cases']}: {_percent(s['fitted']['median_abs_error'])}; not used "
        f"{s['not_fitted']['cases']}: {_percent(s['not_fitted']['median_abs_error'])}",
        f"pipes: {s['pipes']['figures']} figures, median error {_percent(s['pipes']['median_abs_error'])}, 90th "
        f"percentile {_percent(s['pipes']['p90_abs_error'])}",
        f"ladders in the measured order: {s['ladders_in_order']} of {s['ladders']}"
        + "".join(f"\n  not {n}" for n, ok in a.ladders().items() if not ok),
    ]
    lines += [
        f"{_NAMES[m]}: median {_percent(e['median_abs_error'])}, 90th percentile {_percent(e['p90_abs_error'])} of "
        f"{e['cases']} cases"
        for m, e in s["models"].items()
    ]
    return lines + [f"{s['seconds']} s"]


def _markdown(a: Accuracy) -> list[str]:
    s = a.summary()
    asked = Accuracy([r for r in a.rows if not r.case.startswith(NO_MODEL)], 0).errors()
    rows = [("this clock", len(asked), quantile(asked, 0.5), quantile(asked, 0.9))] + [
        (_NAMES[m], e["cases"], e["median_abs_error"], e["p90_abs_error"]) for m, e in s["models"].items()
    ]
    out = ["| task time by | cases | median error | 90th percentile |", "|---|---|---|---|"]
    out += [f"| {name} | {n} | {_percent(median)} | {_percent(p90)} |" for name, n, median, p90 in rows]
    groups = sorted({r.group for r in a.rows})
    out += ["", "| published source | cases | median error of the task's time | of the pipes' |", "|---|---|---|---|"]
    for g in groups:
        part = Accuracy([r for r in a.rows if r.group == g], 0)
        task, pipes = part.errors(), part.errors("pipes")
        if not task and not pipes:
            continue
        out.append(f"| {g} | {len({r.case for r in part.rows})} | {_middle(task)} | {_middle(pipes)} |")
    out += [
        "",
        f"Cases that no constant was taken from ({s['not_fitted']['cases']}): median "
        f"{_percent(s['not_fitted']['median_abs_error'])}; pipes' busy times ({s['pipes']['figures']} figures): "
        f"median {_percent(s['pipes']['median_abs_error'])}. {s['ladders_in_order']} of {s['ladders']} published "
        "optimisation ladders come out in the measured order. "
        "All rows: data/clock_accuracy.csv.",
    ]
    return out
