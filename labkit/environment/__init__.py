"""`labkit doctor`: what this machine has, what it lacks, and the command that repairs it.

A line for each thing that the lab needs or can use, always in the same order and under the same id:

    PASS  all is well
    WARN  the lab works, but less well, or something beside it does not; the message says what
    FAIL  the lab can not do its work here until this is repaired (exit code 1)
    SKIP  nothing to look at: not there, not needed, or to be built later

A probe is a function from `Facts` to a `Check`; `Facts` is the one place that touches the machine, and tests replace
it. Neither torch nor torch_npu is imported in this process.
"""

from __future__ import annotations

from labkit.environment import ascend, host
from labkit.environment.facts import Facts
from labkit.environment.report import Check, Report, check

PROBES = (
    ("python", host.python),
    ("compiler", host.compiler),
    ("make", host.make),
    ("cores", host.cores),
    ("memory", host.memory),
    ("cache", host.cache),
    ("disk", host.disk),
    ("torch", host.torch),
    ("jupyterlab", host.jupyterlab),
    ("browser", host.browser),
    ("twin", host.twin),
    ("confined", host.confined),
    ("device", host.device),
    ("npu", ascend.npu),
    ("driver", ascend.driver),
    ("cann", ascend.cann),
    ("bisheng", ascend.bisheng),
    ("torch-npu", ascend.torch_npu),
    ("cann-torch-npu", ascend.cann_torch_npu),
)


def examine(facts: Facts) -> Report:
    """Run every probe on `facts`. A probe that itself breaks is a WARN line, so that the others are still seen."""
    checks = []
    for id, probe in PROBES:
        try:
            checks.append(probe(facts))
        except Exception as error:
            checks.append(_broken(id, error))
    try:
        line, target = ascend.target(facts)
    except Exception as error:
        line, target = _broken("target", error), "twin"
    return Report((*checks, line), target)


def _broken(id: str, error: Exception) -> Check:
    return check(id, "WARN", "broken", error=f"{type(error).__name__}: {error}")


def doctor() -> Report:
    """Examine this machine. The report prints as lines, shows as a table in a notebook, and has `.ok` and `.json()`."""
    return examine(Facts())
