"""The folder that torch_npu.profiler leaves: which file at which level, and all of them written."""

from __future__ import annotations

import json
import os
import platform
import socket
from pathlib import Path

from labkit import chips
from labkit.profiler import communication, database, host_tables, tables, trace_view
from labkit.profiler.events import Session
from labkit.profiler.layout import Layout, calendar_ns
from labkit.profiler.settings import ExportType, Settings

OUTPUT = "ASCEND_PROFILER_OUTPUT"
_ENVIRONMENT = (
    "ASCEND_GLOBAL_LOG_LEVEL HCCL_RDMA_TC HCCL_RDMA_SL ACLNN_CACHE_LIMIT HOST_CACHE_CAPACITY ASCEND_ENHANCE_ENABLE "
    "PYTORCH_NPU_ALLOC_CONF ASCEND_LAUNCH_BLOCKING HCCL_ALGO"
).split()


def rank() -> int | None:
    """This process' rank: RANK, else the default process group's; None where there is neither."""
    text = os.environ.get("RANK")
    if text is not None:
        return int(text) if text.isdecimal() else None  # isdigit() holds for "²" too
    import torch.distributed as dist

    return dist.get_rank() if dist.is_available() and dist.is_initialized() else None


def write(session: Session, folder: str | os.PathLike, settings: Settings | None = None, pid: int | None = None,
          rank: int | None = None, metadata: dict | None = None) -> Path:  # fmt: skip
    """A whole *_ascend_pt folder of a Session. settings: Level1 with all that it holds, where none are given;
    settings.cann=8 writes the headers of CANN 8."""
    settings = settings or Settings(level="Level1", record_shapes=True, profile_memory=True, with_stack=True)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_info(folder, session, settings, dict(metadata or {}), rank)
    write_tables(Layout(session, settings, pid, rank), folder)
    return folder


def write_tables(layout: Layout, folder: Path, export: list[str] | None = None, marks: list | None = None) -> None:
    """Everything of ASCEND_PROFILER_OUTPUT, by activities and level."""
    out = folder / OUTPUT
    out.mkdir(parents=True, exist_ok=True)
    settings = layout.settings
    export = export or settings.export_type
    if ExportType.Text in export:
        _write_text(layout, out, marks)
    if ExportType.Db in export:
        database.write(layout, out)
    (out / "analyse.done").touch()


def _write_text(layout: Layout, out: Path, marks: list | None) -> None:
    settings = layout.settings
    trace_view.write(layout, out / "trace_view.json", marks)

    def table(name: str, made: tuple[list[str], list[list]], crlf: bool = True) -> None:
        tables.write_csv(out / name, *made, crlf)

    if settings.cpu:
        table("operator_details.csv", host_tables.operator_details(layout))
    if settings.profile_memory:
        table("operator_memory.csv", host_tables.operator_memory(layout))
        table("memory_record.csv", host_tables.memory_record(layout))
        if settings.npu:
            table("npu_module_mem.csv", host_tables.npu_module_mem(layout))
    if not settings.tasks:
        return
    table("kernel_details.csv", (tables.kernel_header(layout), tables.kernel_rows(layout)))
    table("step_trace_time.csv", tables.step_trace_time(layout))
    table("task_time.csv", tables.task_time(layout), crlf=False)
    if settings.l2_cache:
        table("l2_cache.csv", tables.l2_cache(layout), crlf=False)
    if settings.detailed:
        table("op_statistic.csv", tables.op_statistic(layout), crlf=False)
        table("api_statistic.csv", tables.api_statistic(layout), crlf=False)
        if any(w.communicates for w in layout.works):
            _json(out / "communication.json", communication.communication(layout))
            _json(out / "communication_matrix.json", communication.matrix(layout))


def _json(path: Path, content, indent: int | None = None) -> None:
    path.write_text(json.dumps(content, indent=indent), encoding="utf-8")


def write_info(folder: Path, session: Session, settings: Settings, metadata: dict, rank: int | None) -> None:
    """profiler_info.json, profiler_metadata.json and PROF_*/device_*/info.json.0."""
    import torch

    activities = [f"ProfilerActivity.{a}" for a, on in (("CPU", settings.cpu), ("NPU", settings.npu)) if on]
    common = {
        "activities": activities,
        "schedule": settings.schedule,
        "record_shapes": settings.record_shapes,
        "profile_memory": settings.profile_memory,
        "with_stack": settings.with_stack,
        "with_flops": settings.with_flops,
        "with_modules": settings.with_modules,
    }
    info = {
        "config": {"common_config": common, "experimental_config": settings.experimental},
        "start_info": {"syscnt_enable": False, "freq": 100, "start_cnt": 0, "start_monotonic": round(session.begin)},
        "end_info": {"collectionTimeEnd": calendar_ns(session.end), "MonotonicTimeEnd": round(session.end)},
        "torch_npu_version": f"{torch.__version__.split('+')[0]}+sim",
        "cann_version": "9.0.0" if settings.cann == 9 else "8.0.0",
    }
    if rank is not None:
        info["rank_id"] = rank
    _json(folder / ("profiler_info.json" if rank is None else f"profiler_info_{rank}.json"), info, 4)
    meta = {"simulated": "true", "simulated_chip": session.chip, **metadata}
    meta["simulated"] = "true"  # whatever a program adds: nobody is to take these times for a measurement
    meta.setdefault("ENV_VARIABLES", {name: os.environ.get(name, "") for name in _ENVIRONMENT})
    if session.lost:
        meta["simulated_events_lost"] = str(session.lost)
    _json(folder / "profiler_metadata.json", meta)
    if settings.npu:
        _write_device_info(folder, session, rank)


def _write_device_info(folder: Path, session: Session, rank: int | None) -> None:
    """What an advisor asks of the chip: its cores and its clock, from the chip's table."""
    table = chips.load(session.chip)
    mhz = f"{table['clock']['hz'] / 1e6:.0f}"
    for device in sorted({t.device for t in session.tasks}) or [0]:
        facts = {
            "id": device,
            "ai_core_num": table["cores"]["aic"],
            "aiv_num": table["cores"]["aiv"],
            "aic_frequency": mhz,
            "aiv_frequency": mhz,
        }
        stamp = folder.name.split("_")[-3] if folder.name.endswith("_ascend_pt") else "0" * 17
        prof = folder / f"PROF_000001_{stamp}_SIMULATED" / f"device_{device}"
        prof.mkdir(parents=True, exist_ok=True)
        info = {
            "DeviceInfo": [facts],
            "platform_version": "5",
            "devices": str(device),
            "rank_id": -1 if rank is None else rank,
            "pid": str(os.getpid()),
            "pid_name": "python3",
            "version": "1.0",
            "OS": platform.platform(terse=True),
            "hostname": socket.gethostname(),
            "simulated": "true",
        }
        _json(prof / f"info.json.{device}", info)
