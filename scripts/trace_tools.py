"""Side by side on planted programs: ours, msprof-analyze's advisor, and Holistic Trace Analysis on torch.profiler's form.

python scripts/trace_tools.py --advisor VENV/bin/msprof-analyze --hta VENV/bin/python [--seeds 1] [--healthy 5] [--write]
Both tools come from the registry, each into an environment of its own (msprof-analyze==26.2.0 needs pandas<3). Per case:
does each tool name the planted disease, what else does it say, and how long does it take (process and all). The trees
have CANN 8's headers, the only ones that all of the advisor's checks understand. The advisor names a disease when it has
a category of NAMES for it that no healthy program gets ("always" where they do); HTA has no findings, only figures: it counts as pointing at a disease when the figure of
POINTS is above the floor of ours (a twentieth). --write: data/trace_tools.csv.
"""

# ruff: noqa: E501  (events as they stand in the files)
from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
HEADS = ["case", "seed", "wanted", "ours", "advisor", "hta", "ours_says", "advisor_says", "hta_says", "ours_s", "advisor_s", "hta_s"]  # fmt: skip
# which of the advisor's categories name a disease (its documentation's list of checks)
NAMES = {
    "host_bound": "Operator Dispatch|Fusible Operator", "sync_in_loop": "SynchronizeStream", "pageable_copies": "Memory Operator|Copy",
    "exposed_communication": "Communication|Packet|Byte Alignment|Bandwidth", "slow_rank": "slow rank|Slow Rank",
    "ai_cpu": "AICPU|AI CPU", "cast_round_trips": "Cast|Fusible Operator", "format_conversions": "TransData|Fusible Operator",
    "dynamic_shapes": "Dynamic Shape|Operator Dispatch", "fragmentation": "Memory", "slow_steps": "Dataloader|dataloader",
    "bad_tiling": "Block Dim",
}  # fmt: skip
# and which of HTA's figures point at one, as a share of the step; "idle" says that the device waits, not for what (its
# breakdown of idle time sums over streams and calls all of these waiting for the host)
POINTS = {
    "host_bound": "idle", "sync_in_loop": "idle", "pageable_copies": "memory", "exposed_communication": "exposed_communication",
    "dynamic_shapes": "idle", "fragmentation": "idle", "slow_steps": "idle", "slow_rank": "rank_spread",
}  # fmt: skip


def kineto(rank, ranks: int) -> dict:
    """The rank as torch.profiler's export with CUDA would have it."""
    events = []
    for number, start, end in rank.steps:
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": 1, "ts": start, "dur": end - start, "args": {}})  # fmt: skip
    for i, (name, start, end, _, _) in enumerate(rank.host):
        events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": end - start, "args": {"External id": i}})  # fmt: skip
    number = 0

    def launched(cat, name, start, dur, stream, issued):
        nonlocal number
        number += 1
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel" if cat == "kernel" else "cudaMemcpyAsync", "pid": 1, "tid": 2, "ts": issued, "dur": 2.0, "args": {"correlation": number, "External id": number}})  # fmt: skip
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": start, "dur": dur, "args": {"correlation": number, "External id": number, "stream": stream, "device": 0}})  # fmt: skip

    for k in rank.kernels:
        launched("kernel", k.name, k.start, k.dur, k.stream, k.issued)
    for start, dur, stream, _, issued in rank.copies:
        launched("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", start, dur, stream, issued)
    for _, start, dur, _, issued, _ in rank.comm:
        launched("kernel", "ncclDevKernel_AllReduce_Sum_f16_RING_LL", start, dur, 20, issued)
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank.number, "world_size": ranks}, "traceEvents": events}  # fmt: skip


def hta(folder: Path) -> dict:
    """In the environment of HTA: its figures as shares of the recording."""
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_dir=str(folder))
    whole = analysis.get_temporal_breakdown(visualize=False)
    total = float(whole["kernel_time(us)"].max())
    found = {
        "idle": float((whole["idle_time(us)"] / whole["kernel_time(us)"]).max()),
        "rank_spread": float((whole["compute_time(us)"].max() - whole["compute_time(us)"].min()) / total),
    }
    found["non_compute"] = float((whole["non_compute_time(us)"] / whole["kernel_time(us)"]).max())
    try:
        causes, _ = analysis.get_idle_time_breakdown(ranks=sorted(whole["rank"].tolist()), visualize=False)
        for name, us in causes.groupby("idle_category")["idle_time"].sum().items():
            found[str(name).lower().replace(" ", "_")] = float(us) / total / len(whole)
    except Exception as error:
        found["idle_error"] = type(error).__name__
    try:
        share = analysis.get_comm_comp_overlap(visualize=False)
        overlap = float(share["comp_comm_overlap_pctg"].mean()) / 100
        found["comm_overlap"] = overlap
    except Exception:
        pass
    try:
        kinds, _ = analysis.get_gpu_kernel_breakdown(visualize=False)
        for kind, us in zip(kinds["kernel_type"], kinds["sum"]):
            found[str(kind).lower()] = float(us) / total / len(whole)
    except Exception as error:
        found["kernel_error"] = type(error).__name__
    if "communication" in found and "comm_overlap" in found:
        found["exposed_communication"] = found["communication"] * (1 - found["comm_overlap"])
    return found


def judge(name: str, seed: int, machine, wanted: str, scratch: Path, given) -> dict:
    import planted_tree

    folder = scratch / f"{name}{seed}"
    path = planted_tree.write(machine, folder / "npu", nine=False)
    (folder / "cuda").mkdir()
    for rank in machine.ranks:
        (folder / "cuda" / f"rank{rank.number}.json").write_text(json.dumps(kineto(rank, len(machine.ranks))))
    row = {"case": name, "seed": seed, "wanted": wanted or "nothing"}

    start = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-m", "labkit", "trace", "report", str(path), "--json"], capture_output=True, text=True
    )
    row["ours_s"] = round(time.perf_counter() - start, 1)
    codes = [f["code"] for f in json.loads(run.stdout)["findings"]]
    row |= {"ours": "yes" if wanted in codes else "no", "ours_says": "; ".join(codes)}

    start = time.perf_counter()
    run = subprocess.run(
        [given.advisor, "advisor", "all", "-d", str(path), "-l", "en", "-o", str(folder / "out")],
        capture_output=True, text=True, cwd=folder, env={"COLUMNS": "400", "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )  # fmt: skip
    row["advisor_s"] = round(time.perf_counter() - start, 1)
    said = re.findall(r"^\|\s*\d+\s*\|\s*([^|]+?)\s*\|", run.stdout, re.M)
    row |= {
        "advisor": "yes" if any(re.search(NAMES.get(name, "$^"), c) for c in said) else "no",
        "advisor_says": "; ".join(said),
    }

    start = time.perf_counter()
    run = subprocess.run([given.hta, __file__, "--figures", str(folder / "cuda")], capture_output=True, text=True)
    row["hta_s"] = round(time.perf_counter() - start, 1)
    figures = (
        json.loads(run.stdout.splitlines()[-1])
        if run.returncode == 0
        else {"failed": run.stderr.strip().splitlines()[-1:]}
    )
    point = figures.get(POINTS.get(name, ""), 0.0)
    row |= {
        "hta": "yes" if point >= 0.05 else "no",
        "hta_says": "; ".join(f"{k} {100 * v:.0f} %" if isinstance(v, float) else f"{k} {v}" for k, v in figures.items()),
    }  # fmt: skip
    if not wanted:
        row |= {"ours": "quiet" if not codes else "says", "advisor": "says" if said else "quiet", "hta": "figures"}
    return row


def weighed(rows: list[dict]) -> list[dict]:
    """What the advisor also raises for a healthy program says nothing of a disease: such a "yes" becomes "always"."""
    always = {c for r in rows if r["wanted"] == "nothing" for c in r["advisor_says"].split("; ")}
    for r in rows:
        named = [c for c in r["advisor_says"].split("; ") if re.search(NAMES.get(r["case"], "$^"), c)]
        if r["advisor"] == "yes" and set(named) <= always:
            r["advisor"] = "always"
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--advisor")
    parser.add_argument("--hta")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--healthy", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--figures", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.figures:
        print(json.dumps(hta(given.figures)))
        return
    import planted_programs as programs

    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for family in programs.FAMILIES:
            for seed in range(1, given.seeds + 1):
                machine, _ = programs.sick(family, seed)
                rows.append(judge(family, seed, machine, programs.CODES[family], Path(scratch), given))
                print(" | ".join(str(rows[-1][h]) for h in HEADS), flush=True)
        for seed in range(1, given.healthy + 1):
            machine, _ = programs.well(seed)
            rows.append(judge("healthy", seed, machine, "", Path(scratch), given))
            print(" | ".join(str(rows[-1][h]) for h in HEADS), flush=True)
    if given.write:
        with open(REPO / "data" / "trace_tools.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, HEADS, lineterminator="\n")
            table.writeheader()
            table.writerows(weighed(rows))


if __name__ == "__main__":
    main()
