"""Many comparisons at once, and the example of a gate in CI: its steps are run as CI runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import yaml
from places import REPO
from typer.testing import CliRunner

from labkit.bench import many
from labkit.bench.pairs import Comparison
from labkit.bench.statistics import Interval
from labkit.cli import app

CI = REPO / "kernels" / "honest_bench" / "ci"


@pytest.mark.parametrize(
    "chances, counts",
    [
        ([], []),
        ([0.009], [True]),
        ([0.006, 0.006], [False, False]),
        ([0.004, 0.009], [True, True]),
        ([0.001, 0.03, 0.0045], [True, False, True]),
        ([0.006, 0.006, 0.0001], [False, False, True]),
    ],
)
def test_holms_steps(chances, counts):
    assert many.holm(chances) == counts


def test_together_they_raise_no_more_false_alarms_than_one():
    runs = np.random.default_rng(3).uniform(size=(2000, 40))
    red = np.mean([any(many.holm(list(run))) for run in runs])
    assert red < 0.02 and np.mean((runs < 0.01).any(axis=1)) > 0.25


def test_who_is_slower():
    rows = [
        ("a", 1.1, 1e-6, "slower"),
        ("b", 1.1, 0.008, "slower"),
        ("c", 1.0, 0.5, "same"),
        ("d", 0.9, 1e-6, "faster"),
    ]
    compared = [Comparison(n, n, Interval(r, r, r), chance, v, 9, "modelled") for n, r, chance, v in rows]
    assert many.slower(compared) == ["a", "b"] and many.slower(compared, together=True) == ["a"]


def test_the_steps_of_the_example_run_and_judge(tmp_path):
    job = yaml.safe_load((CI / "benchmark.yml").read_text(encoding="utf-8"))["jobs"]["gate"]
    suite = (CI / "suite.py").read_text(encoding="utf-8")
    for side in ("base", "head"):
        (tmp_path / side).mkdir()
        changed = suite.replace("return torch.relu(x)", "return torch.relu(x + 1)")
        assert changed != suite
        (tmp_path / side / "suite.py").write_text(changed if side == "head" else suite, encoding="utf-8")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name, command in (("labkit", f"{sys.executable} -m labkit"), ("python", sys.executable)):
        (bin_folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (bin_folder / name).chmod(0o755)
    path = os.pathsep.join([str(bin_folder), os.environ["PATH"]])
    statuses = []
    for step in job["steps"]:
        if "run" in step:
            said = subprocess.run(
                ["bash", "-e", "-c", step["run"]], cwd=tmp_path / step.get("working-directory", "."), text=True,
                env=dict(os.environ, PATH=path, PYTHONPATH=str(REPO)), capture_output=True, timeout=120,
            )  # fmt: skip
            statuses.append(said.returncode)
    assert statuses == [0, 0, 1] and "3 slower" in said.stdout, said.stdout + said.stderr
    old = str(tmp_path / "old_1.json")
    assert CliRunner().invoke(app, ["bench", "compare", old, old, "--together"]).exit_code == 0
    # what accuses the branch in one order only, as a machine does that gets slower, is no verdict
    shutil.copy(tmp_path / "old_2.json", tmp_path / "new_2.json")
    again = subprocess.run(
        ["bash", "-e", "-c", job["steps"][-2]["run"]], cwd=tmp_path, text=True,
        env=dict(os.environ, PATH=path, PYTHONPATH=str(REPO)), capture_output=True, timeout=120,
    )  # fmt: skip
    assert again.returncode == 0 and "3 slower" in again.stdout, again.stdout + again.stderr
