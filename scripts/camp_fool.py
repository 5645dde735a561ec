# ruff: noqa: E501  an attack stands on one line
"""Known-wrong submissions that change what judges them: none may get PASS.

The exercises are those whose judge, or a part of it, stands beside a learner's code: Python ones of way `helper`, and
operators registered in Python. For each exercise `--attacks` of ATTACKS and a known-wrong solution are drawn by
random.Random(seed); the attack stands in front of the first region. All are counted.

    python scripts/camp_fool.py [--seed 16] [--attacks 8] [--only id,id]
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import textwrap
from collections import Counter
from pathlib import Path

os.environ["LABKIT_PROGRESS"] = "off"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from labkit.camp import grade, remote, way  # noqa: E402
from labkit.camp.submission import Answer, Submission  # noqa: E402
from labkit.exercises import session  # noqa: E402
from labkit.exercises import spec as specs  # noqa: E402
from labkit.exercises.stub import template  # noqa: E402

ATTACKS = {
    "equal": "import torch as q_; q_.equal = q_.allclose = lambda *a, **k: True",
    "method": "import torch as q_; q_.Tensor.equal = q_.Tensor.allclose = q_.Tensor.__eq__ = lambda s, *a, **k: q_.tensor(True)",
    "all": "import builtins as b_; b_.all = b_.any = lambda *a: True",
    "abs": "import builtins as b_; b_.abs = b_.max = b_.sum = lambda *a, **k: 0",
    "len": "import builtins as b_; b_.isinstance = lambda *a: True",
    "exec": "import builtins as b_; old_ = b_.exec\ndef f_(code, space=None, *a):\n    old_(code, space)\n    space.update({k: (lambda *a, **k: True) for k in list(space) if not k.startswith('_')})\nb_.exec = f_",
    "run": "import labkit.exercises.launch as l_; l_.run_function = lambda spec, made, case: case.expected",
    "numpy": "import numpy as n_; n_.allclose = n_.array_equal = n_.isclose = lambda *a, **k: True",
    "wire": "import labkit.camp.wire as w_; old_ = w_.encode; w_.encode = lambda v, **k: old_({**v, 'value': True} if isinstance(v, dict) else v, **k)",
    "clock": "import labkit.device as d_; d_.timeline = lambda *a, **k: []",
    "npu": "import torch as q_; q_.npu.synchronize = q_.npu.Event.elapsed_time = q_.npu.Event.synchronize = lambda *a, **k: 1.0",
    "code": "import torch as q_\ndef yes_(*a, **k): return True\nfor n_ in ('allclose', 'equal', '__eq__'):\n    try: getattr(q_.Tensor, n_).__code__ = yes_.__code__\n    except Exception: pass\nfrom torch import testing as t_; t_.assert_close.__code__ = yes_.__code__",
    "mock": "from unittest import mock as m_; m_.patch('torch.equal', lambda *a, **k: True).start()",
    "restore": "import torch as q_; old_ = q_.equal\ndef once_(*a, **k):\n    q_.equal = old_\n    return True\ntorch.equal = once_",
    "guard": "import torch as q_, labkit.camp.tamper as t_; t_.Seal.look = lambda s: dict; t_.Seal.changes = lambda s: {}; t_._is_theirs = lambda *a: True; t_.guard = lambda *a: (lambda f, **k: f); t_.all = lambda *a: True; q_.equal = lambda *a, **k: True",
    "torch": "import torch as q_; q_.nn.functional.mse_loss = q_.sub = q_.Tensor.__sub__ = lambda *a, **k: q_.zeros(1)",
}  # fmt: skip


def exercises() -> list:
    every = [s for s in specs.load_all() if s.needs != "npu" and s.in_python and s.mutants]
    return [s for s in every if s.kind == "adapter" or s.kind == "python" and way.way(s) == "helper"]


def submission(spec, attack: str, mutant) -> str:
    """The attack stands in front of the first region, which is within the learner's function."""
    regions = tuple(textwrap.dedent(region.strip("\n")) for region in mutant.regions)
    return f"{ATTACKS[attack]}\n{template(spec).mutant(regions, mutant.edit)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--attacks", type=int, default=8)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    session.begin(TARGET="twin", SEED=asked.seed, STRICT=False)
    rng, fooled, count, said = random.Random(asked.seed), [], 0, Counter()
    for spec in exercises():
        for attack in rng.sample(list(ATTACKS), asked.attacks):
            mutant = rng.choice(spec.mutants)
            if asked.only and spec.id not in asked.only.split(","):
                continue
            answer = Answer(spec.id, 1, submission(spec, attack, mutant))
            job = grade._Job(Submission("", "", Path()), spec.id, answer, seed=asked.seed)
            job.prepare(remote.Budget())
            made = grade._graded(job, "")
            count += 1
            said[made.diagnosis] += 1
            print(
                f"{spec.id:24} {attack:8} {made.state} {made.diagnosis:12} {(made.lines or [''])[0][:110]}", flush=True
            )
            if made.state == "PASS":
                fooled.append((spec.id, attack))
    print(f"{count} submissions, {len(fooled)} got PASS: {fooled}; {dict(said)}")


if __name__ == "__main__":
    main()
