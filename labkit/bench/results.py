"""Results on disk: JSON with every sample, CSV and Parquet of the rows, pytest-benchmark's JSON, a SQLite file of runs.

Each has the environment in it: versions, chip, host, date, the commit. A gate compares two of them.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np

from labkit import messages
from labkit.bench import foreign
from labkit.bench.environment import environment
from labkit.bench.pairs import Comparison, against
from labkit.bench.timing import Measurement

FORMAT = "labkit.bench/1"


def save(path: str | Path, measurements: list[Measurement]) -> Path:
    """Writes by the name's ending: .json (all samples), .csv, .parquet (rows), .db (adds a run to a SQLite file)."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    about = environment()
    if path.suffix == ".json":
        path.write_text(json.dumps(_document(measurements, about), indent=1), encoding="utf-8")
    elif path.suffix in (".csv", ".parquet"):
        frame = table(measurements).assign(**about)
        frame.to_csv(path, index=False) if path.suffix == ".csv" else _parquet(path, frame)
    elif path.suffix == ".db":
        _add_run(path, measurements, about)
    else:
        raise ValueError(messages.text("bench.ending", name=path.name))
    return path


def _parquet(path: Path, frame) -> None:
    import polars  # pandas needs pyarrow for it, which the lab does not have

    polars.DataFrame(frame.to_dict("list")).write_parquet(path)


def table(measurements: list[Measurement]):
    """A pandas frame, a row each; microseconds."""
    import pandas

    return pandas.DataFrame([m.row() for m in measurements])


def _document(measurements: list[Measurement], about: dict) -> dict:
    return {
        "format": FORMAT,
        "environment": about,
        "measurements": [
            {
                "name": m.name,
                "unit": "us",
                "time": m.time_kind,
                "cache": m.cache,
                "warm": list(map(float, m.warm)),
                "samples": list(map(float, m.samples)),
            }
            for m in measurements
        ],
    }


def load(path: str | Path) -> list[Measurement]:
    """From a .json of save(), one of pytest-benchmark, or the newest run of a .db.
    Raises ValueError for anything else, FileNotFoundError."""
    path = Path(path)
    if path.suffix == ".db":
        return _newest_run(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(messages.text("bench.not_a_result", name=path.name)) from error
    if isinstance(document, dict) and document.get("format") == FORMAT:
        return [
            Measurement(m["name"], np.array(m["samples"]), np.array(m["warm"]), m["time"], m["cache"])
            for m in document["measurements"]
        ]
    if isinstance(document, dict) and "benchmarks" in document:
        return foreign.measurements(document, path.name)
    raise ValueError(messages.text("bench.not_a_result", name=path.name))


_TABLES = """
create table if not exists run (id integer primary key, date text, environment text);
create table if not exists measurement (run integer references run(id), name text, time text, cache text, samples text,
    warm text, median real, p90 real, p99 real);
"""


def _add_run(path: Path, measurements: list[Measurement], about: dict) -> None:
    with sqlite3.connect(path) as db:
        db.executescript(_TABLES)
        run = db.execute(
            "insert into run (date, environment) values (?, ?)", (about["date"], json.dumps(about))
        ).lastrowid
        for m in measurements:
            row = m.row()
            samples, warm = (json.dumps(list(map(float, values))) for values in (m.samples, m.warm))
            kept = (run, m.name, m.time_kind, m.cache, samples, warm, row["median"], row["p90"], row["p99"])
            db.execute("insert into measurement values (?, ?, ?, ?, ?, ?, ?, ?, ?)", kept)
    db.close()


def _newest_run(path: Path) -> list[Measurement]:
    if not path.is_file():
        raise FileNotFoundError(path)
    try:
        db = sqlite3.connect(path)
        rows = db.execute(
            "select name, samples, warm, time, cache from measurement where run = (select max(id) from run)"
        ).fetchall()
        db.close()
    except sqlite3.DatabaseError as error:
        raise ValueError(messages.text("bench.not_a_result", name=path.name)) from error
    return [Measurement(n, np.array(json.loads(s)), np.array(json.loads(w)), t, c) for n, s, w, t, c in rows]


# ---- the gate


def gate(old: str | Path, new: str | Path) -> tuple[list[Comparison], list[str]]:
    """(a comparison for each name that both have, what one of them lacks). Raises ValueError where modelled and
    measured times would be compared."""
    before, after = ({m.name: m for m in load(path)} for path in (old, new))
    compared = []
    for name in [n for n in before if n in after]:
        if before[name].time_kind != after[name].time_kind:
            raise ValueError(messages.text("bench.two_kinds", name=name))
        compared.append(against(before[name], after[name]))
    lacking = [messages.text("bench.only_in", name=n, file=Path(old).name) for n in before if n not in after]
    lacking += [messages.text("bench.only_in", name=n, file=Path(new).name) for n in after if n not in before]
    return compared, lacking
