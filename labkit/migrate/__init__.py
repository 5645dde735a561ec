"""labkit.migrate: what stands between a model that runs on the CPU and one that trains on an NPU.

    report = labkit.migrate.assess(model, example)       # operators, types, shapes, waits, memory, arithmetic, risks
    report.json()                                        # the same for a machine
    labkit.migrate.scan("train.py")                      # what transfer_to_npu will mend in a program, and what not

recording.py runs the model on the npu without computing and notes each operator, support.py says who runs it on a card,
needs.py what it takes, risks.py what may go wrong, programs.py reads source text, report.py puts all of it together.

    labkit.migrate.bisect(model, reference, example)     # the first module that is wrong on the npu, by itself
    with labkit.migrate.faulty("aten::gelu", "tanh"): ...  # an operator of the simulated device made wrong, to find it

bisecting.py compares with a reference module by module, faults.py plants the fault, probing.py does it by msprobe.
parallel.py is one step on several cards: the batch in parts, layers in a row, experts apart; it starts by torchrun too.

    model = labkit.migrate.model.small(seed=0)           # InternVL's classes, random weights, 180 thousand of them
    labkit.migrate.scenes.batch(labkit.migrate.scenes.draw(32, seed=0))

model.py makes the vision-language model that stage 08 brings to the npu, scenes.py what it learns from: images with
captions, questions and answers by a seed. training.py is the loop, precision.py its types, loss scale and master
weights, evaluation.py says how good the result is, monitor.py watches a run, failures.py plants what it should see.

    print(labkit.migrate.capstone.judge(source))         # the open project: an operator and its report, by a rubric

capstone_tasks.py says what it may be for, capstone_entry.py reads what is handed in, capstone.py gives the marks,
leaderboard.py lists entries and believes no number in its file.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

__all__ = [
    "Assessment",
    "Difference",
    "assess",
    "bisect",
    "capstone",
    "differences",
    "evaluation",
    "failures",
    "faulty",
    "leaderboard",
    "model",
    "monitor",
    "parallel",
    "precision",
    "scan",
    "scenes",
    "training",
]
_MODULES = (
    "capstone", "evaluation", "failures", "leaderboard", "model", "monitor", "parallel", "precision", "scenes",
    "support", "training",
)  # fmt: skip
_HOMES = {
    "assess": "report", "Assessment": "report", "scan": "programs",
    "bisect": "bisecting", "differences": "bisecting", "Difference": "bisecting", "faulty": "faults",
}  # fmt: skip


def __getattr__(name: str) -> Any:  # torch is imported when somebody asks
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        if not name.startswith("_") and importlib.util.find_spec(f"{__name__}.{name}") is not None:
            return importlib.import_module(f"{__name__}.{name}")  # probing and others that are named by their room
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
