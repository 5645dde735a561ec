"""Which way an exercise goes: what a worker must hold beside the learner's code, and so what a verdict rests on.

value    arguments go over, results come back by value, and are compared here with values that the worker never had
proxy    golden.py's `run` stays here and calls the learner's function over the wire
helper   `run` needs models, streams or devices: it runs beside the learner's code, from a copy of that function
         alone; what it says about the submission is compared here, but the submission could make it say so
"""

from __future__ import annotations

import re
from typing import Any

from labkit.camp import helper, wire
from labkit.exercises import launch
from labkit.exercises.diagnose import compare_values
from labkit.exercises.spec import Spec
from labkit.exercises.stub import template

_ways: dict[str, str] = {}


def start_of(spec: Spec) -> str:
    """What a worker for this exercise needs from the beginning: "device", "torch", or "" for neither."""
    if spec.on_device or spec.is_kernel or way(spec) == "helper":
        return "device"
    if spec.kind != "python":
        return ""
    golden = spec.golden_path.read_text(encoding="utf-8")
    reached = helper.alone(golden, spec.cases, *([spec.run] if spec.run else []))
    return "torch" if re.search(r"\btorch\b", reached + spec.solution_path.read_text(encoding="utf-8")) else ""


def way(spec: Spec) -> str:
    """value, proxy or helper: found by our own solution, whose arguments and results are sent through the wire and
    back here. Where they cannot, or where its check then fails, `run` must stand beside the learner's code.
    """
    if spec.id not in _ways:
        _ways[spec.id] = _find_way(spec)
    return _ways[spec.id]


def _find_way(spec: Spec) -> str:
    if not spec.run or spec.kind in ("adapter", "predict", "program"):
        return "value"
    if spec.is_kernel:
        return (
            "proxy"
            if "case.expected" in helper.alone(spec.golden_path.read_text(encoding="utf-8"), spec.run)
            else "helper"
        )
    if spec.on_device:
        return "helper"
    ours, name = template(spec), f"way of {spec.id}"
    made = launch.function(ours.join(ours.solution(), name).text, name, spec.entry)
    functions: list = []

    def over(value: Any) -> Any:
        return wire.decode(wire.encode(value, functions=functions), function=lambda k: functions[k])

    def by_value(*args, **named):
        args, named = over([args, named])
        return wire.decode(wire.encode(made(*args, **named)))

    try:
        with launch.quietly():
            cases = spec.function(spec.cases)(0, True)
            right = all(
                compare_values(launch.run_function(spec, by_value, c), c.expected, c.tolerance) is None for c in cases
            )
    except Exception:
        return "helper"
    return "proxy" if right else "helper"
