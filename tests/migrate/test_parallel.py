"""One step on several ranks is one step of one process: loss, every gradient, and what memory it takes."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from places import REPO

import labkit
from labkit import device
from labkit.migrate import parallel
from labkit.migrate.parallel import Step, makespan


def close(found: dict, wanted: dict) -> bool:
    return found.keys() <= wanted.keys() and all(
        torch.allclose(g, wanted[n], atol=2e-6, rtol=1e-4) for n, g in found.items()
    )


@pytest.fixture(scope="module")
def one():
    device.install()
    return parallel.single()


def every_way(rank):
    return parallel.data(rank), parallel.pipeline(rank), parallel.experts(rank)


def test_two_ranks_give_the_gradients_of_one_process(one):
    data, pipeline, experts = zip(*labkit.ranks(2, every_way, timeout=240))
    for step in data:
        assert step.gradients.keys() == one.gradients.keys() and close(step.gradients, one.gradients)
        assert abs(step.loss - one.loss) < 1e-5 and step.peak < 0.8 * one.peak
    held = [set(step.gradients) for step in pipeline]
    assert held[0] | held[1] == set(one.gradients) and not held[0] & held[1], "each weight on one stage"
    assert all(close(step.gradients, one.gradients) for step in pipeline) and abs(pipeline[1].loss - one.loss) < 1e-5
    whole, idle = makespan(list(pipeline))
    assert sum(us for *_, us in pipeline[0].actions) < whole and all(0 < share < 0.6 for share in idle)
    alone = parallel.experts(-1)
    for name in ("up", "down"):
        mine = torch.cat([step.gradients[name] for step in experts])
        assert torch.allclose(mine, alone.gradients[name], atol=1e-6) and mine.abs().sum(dim=(1, 2)).min() > 0
    assert (
        close({"router": experts[0].gradients["router"]}, alone.gradients) and abs(experts[0].loss - alone.loss) < 1e-5
    )


def test_parts_and_checkpoints_take_less_memory_and_give_the_same(one):
    parts, again = parallel.single(micro=4), parallel.single(checkpoint=True)
    for step in parts, again:
        assert close(step.gradients, one.gradients) and abs(step.loss - one.loss) < 1e-5 and step.peak < 0.6 * one.peak
    with pytest.raises(ValueError, match="16 rows"):
        parallel.single(micro=3)


def test_a_pipeline_is_put_together_from_its_actions():
    forth = [("F", 0, 10.0), ("F", 1, 10.0), ("B", 0, 20.0), ("B", 1, 20.0)]
    stages = [Step(0.0, {}, 0, tuple(forth)), Step(0.0, {}, 0, tuple(forth))]
    # stage 1: F0 at 11, F1 at 21 to 31, B0 to 51, B1 to 71; stage 0: B0 from 52 to 72, B1 to 92
    assert makespan(stages, 1.0) == (92.0, [pytest.approx(1 - 60 / 92)] * 2)
    assert makespan(stages[:1], 1.0) == (60.0, [0.0])
    with pytest.raises(ValueError, match="wait for each other"):
        makespan([Step(0.0, {}, 0, (("B", 0, 1.0),)), Step(0.0, {}, 0, ())], 1.0)


def test_torchrun_starts_the_same_script():
    asked = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0",
             "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", "-m", "labkit.migrate.parallel", "experts"]  # fmt: skip
    done = subprocess.run(asked, capture_output=True, text=True, timeout=180, cwd=REPO)
    lines = sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))
    assert len(lines) == 2 and all("loss 1.6250" in line for line in lines), done.stdout + done.stderr[-2000:]
