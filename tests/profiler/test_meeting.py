"""Collectives in the tables: a rank that comes early waits in its collective, as on hardware; the link works equally
long on all ranks."""

from __future__ import annotations

import csv
import glob
import json

import pytest

import labkit


def _program(rank, folder):
    import torch
    import torch.distributed as dist
    import torch_npu

    profiler = torch_npu.profiler
    profile = profiler.profile(
        schedule=profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(folder, worker_name=f"rank{rank}"),
        experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    )
    work, sent = (torch.ones(n, dtype=torch.half, device="npu") for n in (1 << 23, 1 << 20))
    with profile:
        for _ in range(2):
            for _ in range(9 if rank == 1 else 3):
                work = work * 0.5
            for _ in range(3):
                dist.all_reduce(sent)
            profile.step()


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    labkit.ranks(2, _program, str(folder))
    found = [glob.glob(f"{folder}/rank{rank}_*_ascend_pt/ASCEND_PROFILER_OUTPUT")[0] for rank in (0, 1)]
    steps, times, links = [], [], []
    for out in found:
        with open(f"{out}/step_trace_time.csv", encoding="utf-8", newline="") as file:
            steps.append({k: float(v) for k, v in next(csv.DictReader(file)).items() if k != "Step"})
        with open(f"{out}/communication.json", encoding="utf-8") as file:
            times.append(list(json.load(file)["step1"]["collective"].values())[0]["Communication Time Info"])
        with open(f"{out}/communication_matrix.json", encoding="utf-8") as file:
            links.append(list(json.load(file)["step1"]["collective"].values())[0])
    return steps, times, links, labkit.trace.findings(folder)


def test_the_early_rank_waits_in_its_collective(outputs):
    steps, (early, late), *_ = outputs
    assert early["Wait Time(ms)"] > 0.05 and late["Wait Time(ms)"] < 1e-4
    assert early["Synchronization Time(ms)"] == early["Wait Time(ms)"]
    assert early["Transit Time(ms)"] == pytest.approx(late["Transit Time(ms)"], abs=2e-6)
    assert early["Elapse Time(ms)"] == pytest.approx(early["Wait Time(ms)"] + early["Transit Time(ms)"], abs=2e-6)
    assert steps[0]["Computing"] < steps[1]["Computing"] and steps[0]["Communication"] > steps[1]["Communication"]


def test_both_end_together_and_nothing_is_lost(outputs):
    steps = outputs[0]
    for step in steps:
        parts = step["Computing"] + step["Communication(Not Overlapped)"] + step["Free"]
        assert parts == pytest.approx(step["Stage"], rel=1e-3)
    assert steps[0]["Stage"] == pytest.approx(steps[1]["Stage"], rel=1e-3)


def test_a_link_carries_two_halves_of_an_all_reduce_at_its_rate(outputs):
    from labkit import chips

    for rank, links in enumerate(outputs[2]):
        assert set(links) == {f"{rank}-0", f"{rank}-1"} and links[f"{rank}-{rank}"]["Transport Type"] == "LOCAL"
        link = links[f"{rank}-{1 - rank}"]
        assert link["Transit Size(MB)"] == pytest.approx(2 * (1 << 20) / 1e6)
        peer, late = (chips.flat("910B1")[f"links.{name}"] for name in ("peer", "latency"))
        assert link["Transit Time(ms)"] == pytest.approx((2 * (1 << 20) / peer + late) * 1e3, rel=1e-3)


def test_the_analyser_names_the_late_rank(outputs):
    """It is last to one collective of three: to the others all come together."""
    (found,) = [f for f in outputs[3] if f.code == "slow-rank"]
    assert found.rank == 1 and found.fields["cause"] == "computing" and found.fields["last"] == 1


def _beside(rank, folder):
    import torch
    import torch.distributed as dist
    import torch_npu

    profiler = torch_npu.profiler
    profile = profiler.profile(
        schedule=profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(folder, worker_name=f"rank{rank}"),
    )
    work, sent = (torch.ones(n, dtype=torch.half, device="npu") for n in (1 << 23, 1 << 20))
    with profile:
        for _ in range(2):
            sums = dist.all_reduce(sent, async_op=True)
            for _ in range(20):
                work = work * 0.5
            sums.wait()
            sent = sent * 0.5
            torch.npu.synchronize()
            profile.step()


def test_an_asynchronous_collective_overlaps_with_computing(tmp_path):
    labkit.ranks(2, _beside, str(tmp_path))
    for out in glob.glob(f"{tmp_path}/rank*_ascend_pt/ASCEND_PROFILER_OUTPUT"):
        with open(f"{out}/step_trace_time.csv", encoding="utf-8", newline="") as file:
            step = {k: float(v) for k, v in next(csv.DictReader(file)).items() if k != "Step"}
        assert step["Overlapped"] > 0.9 * step["Communication"] > 0
        parts = step["Computing"] + step["Communication(Not Overlapped)"] + step["Free"]
        assert parts == pytest.approx(step["Stage"], rel=1e-3)
        with open(f"{out}/kernel_details.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len([r for r in rows if r["Name"].startswith("hcom_allReduce")]) == 1
