"""The tables of kernels, tasks and steps: kernel_details, op_statistic, task_time, step_trace_time, l2_cache."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from labkit.profiler import kernel_names, overlap
from labkit.profiler.layout import EVENTS, Layout, Work, us, us_text
from labkit.profiler.settings import AiCMetrics

NA = "N/A"

_TIMES = "aicore_time(us),aic_total_cycles", "aiv_time(us),aiv_total_cycles"
# Columns behind Context ID by aic_metrics, of A2 and A3: reference/profiler-formats.md section 1.3
_COLUMNS = {
    AiCMetrics.PipeUtilization: (
        "aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us),aic_scalar_ratio,aic_mte1_time(us),aic_mte1_ratio,"
        "aic_mte2_time(us),aic_mte2_ratio,aic_fixpipe_time(us),aic_fixpipe_ratio,aic_icache_miss_rate",
        "aiv_vec_time(us),aiv_vec_ratio,aiv_scalar_time(us),aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,"
        "aiv_mte3_time(us),aiv_mte3_ratio,aiv_icache_miss_rate,cube_utilization(%)",
    ),
    AiCMetrics.ArithmeticUtilization: (
        "aic_mac_fp16_ratio,aic_mac_int8_ratio,aic_cube_fops",
        "aiv_vec_fp32_ratio,aiv_vec_fp16_ratio,aiv_vec_int32_ratio,aiv_vec_misc_ratio,aiv_vector_fops",
    ),
    AiCMetrics.Memory: (
        "aic_l1_read_bw(GB/s),aic_l1_write_bw(GB/s),aic_main_mem_read_bw(GB/s),aic_main_mem_write_bw(GB/s),"
        "aic_l2_read_bw(GB/s),aic_l2_write_bw(GB/s)",
        "aiv_ub_read_bw(GB/s),aiv_ub_write_bw(GB/s),aiv_main_mem_read_bw(GB/s),aiv_main_mem_write_bw(GB/s),"
        "aiv_l2_read_bw(GB/s),aiv_l2_write_bw(GB/s)",
    ),
    AiCMetrics.MemoryL0: (
        "aic_l0a_read_bw(GB/s),aic_l0a_write_bw(GB/s),aic_l0b_read_bw(GB/s),aic_l0b_write_bw(GB/s),"
        "aic_l0c_read_bw_cube(GB/s),aic_l0c_write_bw_cube(GB/s)",
        "aiv_l0c_read_bw(GB/s),aiv_l0c_write_bw(GB/s)",
    ),
    AiCMetrics.MemoryUB: (
        "aic_ub_read_bw_scalar(GB/s),aic_ub_write_bw_scalar(GB/s)",
        "aiv_ub_read_bw_vector(GB/s),aiv_ub_write_bw_vector(GB/s),aiv_ub_read_bw_scalar(GB/s),"
        "aiv_ub_write_bw_scalar(GB/s)",
    ),
    AiCMetrics.ResourceConflictRatio: (
        "",
        "aiv_vec_bankgroup_cflt_ratio,aiv_vec_bank_cflt_ratio,aiv_vec_resc_cflt_ratio",
    ),
    AiCMetrics.L2Cache: tuple(
        ",".join(
            f"{side}_{name}"
            for name in (
                "write_cache_hit",
                "write_cache_miss_allocate",
                "r0_read_cache_hit",
                "r0_read_cache_miss_allocate",
                "r1_read_cache_hit",
                "r1_read_cache_miss_allocate",
            )  # fmt: skip
        )
        for side in ("aic", "aiv")
    ),
    AiCMetrics.MemoryAccess: tuple(
        ",".join(
            f"{side}_{name}_datas(KB)"
            for name in (
                "read_main_memory",
                "write_main_memory",
                "GM_to_L1",
                "L0C_to_L1",
                "L0C_to_GM",
                "GM_to_UB",
                "UB_to_GM",
            )  # fmt: skip
        )
        for side in ("aic", "aiv")
    ),
}


def counter_columns(metrics: str) -> list[str]:
    """Names of the counters' columns of a group."""
    sides = _COLUMNS.get(metrics)
    if sides is None:
        return []
    return [name for times, names in zip(_TIMES, sides) for name in f"{times},{names}".split(",") if name]


def write_csv(path: Path, header: list[str], rows: Iterable[list], crlf: bool = False) -> None:
    """A table; crlf: torch_npu's own writer ends lines so, msprof's files have a line feed."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n" if crlf else "\n")
        writer.writerow(header)
        writer.writerows(rows)


def _number(value: float):
    return int(value) if float(value).is_integer() and abs(value) >= 1000 else round(float(value), 3)


# ---- kernel_details


def kernel_header(layout: Layout) -> list[str]:
    nine, settings = layout.settings.cann == 9, layout.settings
    blocks = ("Block Num", "Mix Block Num") if nine else ("Block Dim", "Mix Block Dim")
    head = (["Step Id"] if layout.session.steps else []) + (["Device_id"] if nine else [])
    if not settings.detailed:
        return [*head, "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)", "Wait Time(us)", blocks[0]]
    return [*head, "Model ID", "Task ID", "Stream ID", "Name", "Type", "OP State", "Accelerator Core",
            "Start Time(us)", "Duration(us)", "Wait Time(us)", *blocks, "HF32 Eligible", "Input Shapes",
            "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats", "Context ID",
            *counter_columns(settings.aic_metrics)]  # fmt: skip


def kernel_rows(layout: Layout) -> list[list]:
    settings, made = layout.settings, []
    nine, steps = settings.cann == 9, bool(layout.session.steps)
    columns = counter_columns(settings.aic_metrics)
    for device in layout.devices:
        last = 0
        for w in (w for w in layout.rows(device) if w.computes or w.communicates):
            head = ([w.step if w.step is not None else ""] if steps else []) + ([device] if nine else [])
            start, duration = us_text(w.begin) + "\t", us(w.end - w.begin)
            wait = us(max(0, w.begin - last)) if last else 0
            last = max(last, w.end)
            if not settings.detailed:
                made.append([*head, w.name, NA, NA, start, duration, wait, 0])
                continue
            facts = w.task if w.computes else None
            tensors = [f(t) if facts else NA for t in (w.task.inputs, w.task.outputs)
                       for f in (kernel_names.shapes, kernel_names.dtypes, kernel_names.formats)]  # fmt: skip
            where = [w.task_id, w.stream] if facts else [NA, NA]
            made.append([*head, 4294967295, *where, w.name, w.op_type, _state(w), w.core, start, duration, wait,
                         w.task.blocks, 0 if facts else NA, _hf32(w), *tensors, NA,
                         *counter_values(w, columns)])  # fmt: skip
    return made


def _state(work: Work) -> str:
    """A kernel of our own is compiled ahead; CANN's take any shape."""
    return "dynamic" if work.computes and not work.task.ours else NA


def _hf32(work: Work) -> str:
    return "NO" if work.computes else NA


def counter_values(work: Work, columns: list[str]) -> list:
    """By the twin's counters; N/A where nothing is modelled."""
    known = work.task.pmu or {}
    return [_number(known[c]) if c in known else NA for c in columns]


# ---- statistics


def _five(times: list[int]) -> list:
    """Total, min, mean, max in us."""
    return [us(sum(times)), us(min(times)), round(sum(times) / len(times) / 1000, 3), us(max(times))]


def op_statistic(layout: Layout) -> tuple[list[str], list[list]]:
    header = ["OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)", "Max Time(us)",
              "Ratio(%)"]  # fmt: skip
    nine, rows = layout.settings.cann == 9, []
    for device in layout.devices:
        groups: dict[tuple[str, str], list[int]] = {}
        for w in layout.rows(device):
            if w.computes:
                groups.setdefault((w.op_type, w.core), []).append(w.end - w.begin)
        whole = sum(map(sum, groups.values())) or 1
        for (op_type, core), times in sorted(groups.items(), key=lambda g: (-sum(g[1]), g[0])):
            total, least, mean, most = _five(times)
            row = [op_type, core, len(times), total, least, mean, most, round(100 * sum(times) / whole, 3)]
            rows.append([device, *row] if nine else row)
    return (["Device_id"] if nine else []) + header, rows


def api_statistic(layout: Layout) -> tuple[list[str], list[list]]:
    header = ["Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance"]
    nine, groups = layout.settings.cann == 9, {}
    for call, begin, end in layout.calls:
        if call.task < 0:
            groups.setdefault(("acl", call.name), []).append(end - begin)
    for w in layout.works:
        if w.call:
            groups.setdefault(("acl", w.call), []).append(w.issue_end - w.issue_begin)
        if w.computes:
            groups.setdefault(("node", "launch"), []).append(w.issue_end - w.issue_begin)
        if w.communicates:
            level = "communication" if nine else "hccl"
            groups.setdefault((level, "Launch"), []).append(w.issue_end - w.issue_begin)
    rows = []
    for (level, name), times in sorted(groups.items()):
        total, least, mean, most = _five(times)
        variance = sum((t / 1000 - sum(times) / len(times) / 1000) ** 2 for t in times) / len(times)
        row = [level, name, total, len(times), mean, least, most, round(variance, 3)]
        rows.append(["host", *row] if nine else row)
    return (["Device_id"] if nine else []) + header, rows


def task_time(layout: Layout) -> tuple[list[str], list[list]]:
    header = ["kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)", "task_start(us)", "task_stop(us)"]
    rows = []
    for device in layout.devices:
        for w in (w for w in layout.rows(device) if not w.communicates):
            kind = kernel_names.TASK_TYPES.get(w.core, w.type) if w.computes else w.type
            name = w.name if w.task.kind not in EVENTS else NA
            rows.append([device, name, kind, w.stream, w.task_id, us(w.end - w.begin), us_text(w.begin) + "\t",
                         us_text(w.end) + "\t"])  # fmt: skip
    return ["Device_id", *header], rows


def step_trace_time(layout: Layout) -> tuple[list[str], list[list]]:
    nine, rows = layout.settings.cann == 9, []
    for device in layout.devices:
        for s in overlap.step_times(layout, device):
            row = ["" if s.number is None else s.number, us(s.computing), us(s.alone),
                   us(s.communication - s.alone), us(s.communication), us(s.free), us(s.stage), us(s.bubble),
                   us(max(0, s.alone - s.bubble)), us(s.preparing)]  # fmt: skip
            rows.append([device, *row] if nine else row)
    header = ["Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage",
              "Bubble", "Communication(Not Overlapped and Exclude Receive)", "Preparing"]  # fmt: skip
    return (["Device_id"] if nine else []) + header, rows


def l2_cache(layout: Layout) -> tuple[list[str], list[list]]:
    """Hit rates of our own kernels where the twin counted them."""
    nine, rows = layout.settings.cann == 9, []
    for device in layout.devices:
        for w in layout.rows(device):
            if w.computes:
                rate = (w.task.pmu or {}).get("l2_hit_rate")
                row = [w.stream, w.task_id, NA if rate is None else round(rate, 6), NA, w.name]
                rows.append([device, *row] if nine else row)
    return (["Device_id"] if nine else []) + ["Stream Id", "Task Id", "Hit Rate", "Victim Rate", "Op Name"], rows
