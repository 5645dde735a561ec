"""pytest-benchmark's JSON: written, so that its own tools (`pytest-benchmark compare`, `--benchmark-compare`) read our
results, and read, so that the gate compares what it has measured. Checked with 5.3.1."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import numpy as np

from labkit import messages
from labkit.bench.environment import environment
from labkit.bench.timing import Measurement

VERSION = "5.3.1"  # of the form
_FENCE = 1.5  # its outliers lie so many interquartile ranges outside of the quartiles


def save_for_pytest_benchmark(path: str | Path, measured: list[Measurement]) -> Path:
    """The file that pytest-benchmark's own tools read: seconds. Raises ValueError for a measurement without times."""
    about = environment()
    document = {
        "machine_info": {
            "node": platform.node(),
            "processor": platform.processor(),
            "machine": about["machine"],
            "system": platform.system(),
            "python_implementation": platform.python_implementation(),
            "python_version": about["python"],
        }
        | about,
        "commit_info": {"id": about["commit"], "dirty": about["changed"], "time": about["date"]},
        "benchmarks": [_entry(m) for m in measured],
        "datetime": about["date"],
        "version": VERSION,
    }
    path = Path(path)
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def _entry(m: Measurement) -> dict:
    if not len(m.samples):
        raise ValueError(messages.text("bench.no_samples", name=m.name))
    data = np.asarray(m.samples) * 1e-6
    q1, median, q3 = (float(q) for q in np.percentile(data, [25, 50, 75]))
    fence = _FENCE * (q3 - q1)
    inside = data[(data >= q1 - fence) & (data <= q3 + fence)]
    mean, std = float(data.mean()), m.std * 1e-6
    far = int((np.abs(data - mean) > std).sum())
    return {
        "group": None,
        "name": m.name,
        "fullname": m.name,
        "params": None,
        "param": None,
        "extra_info": {"time": m.time_kind, "cache": m.cache},
        "options": {
            "disable_gc": False,
            "timer": "npu events",
            "min_rounds": len(data),
            "max_time": float(data.sum()),
            "min_time": float(data.min()),
            "warmup": len(m.warm) > 0,
        },
        "stats": {
            "min": float(data.min()),
            "max": float(data.max()),
            "mean": mean,
            "stddev": std,
            "rounds": len(data),
            "median": median,
            "iqr": q3 - q1,
            "q1": q1,
            "q3": q3,
            "iqr_outliers": len(data) - len(inside),
            "stddev_outliers": far,
            "outliers": f"{far};{len(data) - len(inside)}",
            "ld15iqr": float(inside.min()),
            "hd15iqr": float(inside.max()),
            "ops": 1 / mean if mean else 0,  # as pytest-benchmark has it
            "total": float(data.sum()),
            "iterations": 1,
            "data": data.tolist(),
        },
    }


def measurements(document: dict, name: str) -> list[Measurement]:
    """Those of a file. Raises ValueError where it is none, or keeps no single times."""
    try:
        found = [b for b in document["benchmarks"] if b["stats"].get("data")]
        if len(found) == len(document["benchmarks"]):
            return [
                Measurement(
                    b["fullname"],
                    np.array(b["stats"]["data"]) * 1e6,
                    np.array([]),
                    b.get("extra_info", {}).get("time", "measured"),
                    b.get("extra_info", {}).get("cache", "warm"),
                )
                for b in found
            ]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(messages.text("bench.not_a_result", name=name)) from error
    raise ValueError(messages.text("bench.no_data", name=name))
