"""The counters of a kernel that the twin ran, by the columns of kernel_details.csv: of all groups of aic_metrics.

As msprof counts: a time is the mean over the cores of a kind, cycles are the sum over them, a ratio is a share of the
mean time, a bandwidth is that of all cores together. What the twin does not model is missing.
"""

from __future__ import annotations

from labkit import chips

AIC = 2  # as LaunchRecord numbers the cores of a block
_KB, _GB = 1024.0, 2.0**30
_PIPES = {
    "aic": {"mac": "M", "scalar": "S", "mte1": "MTE1", "mte2": "MTE2", "fixpipe": "FIX"},
    "aiv": {"vec": "V", "scalar": "S", "mte2": "MTE2", "mte3": "MTE3"},
}


def counters(record) -> dict[str, float]:
    """Of a LaunchRecord; empty where its launch left no counters (on a real NPU)."""
    if not record.cores:
        return {}
    hz = chips.load(record.chip)["clock"]["hz"]
    found: dict[str, float] = {}
    for side in ("aic", "aiv"):
        cores = [core for core in record.cores if (core["core"] == AIC) == (side == "aic")]
        found |= _of_side(side, cores, hz)
    hit, missed = (sum(core[name] for core in record.cores) for name in ("read_hit", "read_miss"))
    if hit + missed:
        found["l2_hit_rate"] = hit / (hit + missed)  # of l2_cache.csv; of bytes, the twin counts no requests
    return found


def _of_side(side: str, cores: list[dict], hz: float) -> dict[str, float]:
    time_name = "aicore_time(us)" if side == "aic" else "aiv_time(us)"
    count = max(1, len(cores))

    def total(*names: str) -> float:
        return float(sum(core[name] for core in cores for name in names))

    time = total("time") / count
    found = {time_name: time, f"{side}_total_cycles": float(round(total("time") * hz / 1e6))}
    for name, pipe in _PIPES[side].items():
        busy = total(f"busy.{pipe}") / count
        found[f"{side}_{name}_time(us)"] = busy
        found[f"{side}_{name}_ratio"] = busy / time if time else 0.0
    if not cores:
        return found
    read, written = total("bytes.to_ub", "bytes.to_l1", "bytes.to_l1_nz"), total("bytes.from_ub", "bytes.from_l0c")
    seconds = time * 1e-6
    if seconds:
        found[f"{side}_main_mem_read_bw(GB/s)"] = read / _GB / seconds
        found[f"{side}_main_mem_write_bw(GB/s)"] = written / _GB / seconds
    found[f"{side}_read_main_memory_datas(KB)"] = read / _KB
    found[f"{side}_write_main_memory_datas(KB)"] = written / _KB
    if side == "aic":
        found["aic_GM_to_L1_datas(KB)"] = total("bytes.to_l1", "bytes.to_l1_nz") / _KB
        found["aic_L0C_to_GM_datas(KB)"] = total("bytes.from_l0c") / _KB
    else:
        found["aiv_GM_to_UB_datas(KB)"] = total("bytes.to_ub") / _KB
        found["aiv_UB_to_GM_datas(KB)"] = total("bytes.from_ub") / _KB
        found["aiv_vector_fops"] = total("vector16", "vector32")
    return found
