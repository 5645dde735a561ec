"""Writes what a profiler of a node would have written of a program of scripts/planted_programs.py.

The layout, headers and events are those of /ASCEND_PROFILER_OUTPUT/ in two generations, CANN 8 and 9; the planted trees are
in temporary folders, marked as simulated, and never committed.
"""

# ruff: noqa: E501  (events and headers as they stand in the files)
from __future__ import annotations

import json
from pathlib import Path

EPOCH_NS = 1_767_225_600_000_000_000
PMU = ("mac", "scalar", "mte1", "mte2", "fixpipe"), ("vec", "scalar", "mte2", "mte3")


def stamp(us: float) -> str:
    ns = EPOCH_NS + round(us * 1000)
    return f"{ns // 1000}.{ns % 1000:03d}"


def write(machine, folder: Path, nine: bool = True, level: int = 1) -> Path:
    """One `*_ascend_pt` folder a rank in `folder`; the folder of the only rank, or `folder` for several."""
    homes = [_rank(machine, rank, folder, nine, level) for rank in machine.ranks]
    return homes[0] if len(homes) == 1 else folder


def _rank(machine, rank, folder: Path, nine: bool, level: int) -> Path:
    home = folder / f"host_{4000 + rank.number}_20260101000000{rank.number:03d}_ascend_pt"
    out = home / "ASCEND_PROFILER_OUTPUT"
    out.mkdir(parents=True)
    several = len(machine.ranks) > 1
    info = {
        "config": {
            "common_config": {
                "activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"],
                "schedule": {"wait": 0, "active": len(rank.steps), "warmup": 1, "repeat": 1, "skip_first": 0},
                "record_shapes": True, "profile_memory": True, "with_stack": False, "with_modules": False,
            },
            "experimental_config": {"_profiler_level": f"Level{level}", "_aic_metrics": "ACL_AICORE_PIPE_UTILIZATION", "_export_type": ["text"]},
        },
        "rank_id": rank.number if several else -1,
    }  # fmt: skip
    (home / (f"profiler_info_{rank.number}.json" if several else "profiler_info.json")).write_text(json.dumps(info))
    (home / "profiler_metadata.json").write_text(json.dumps({"ENV_VARIABLES": {}, "simulated": "true"}))
    device = home / "PROF_000001_20260101000000000_PLANTED" / "device_0"
    device.mkdir(parents=True)
    (device / "info.json.0").write_text(
        json.dumps({"DeviceInfo": [{"id": 0, "ai_core_num": machine.cores[0], "aiv_num": machine.cores[1], "aic_frequency": "1850"}],
                    "platform_version": "5", "devices": "0", "rank_id": -1})
    )  # fmt: skip
    (out / "trace_view.json").write_text(json.dumps(_events(machine, rank, nine, level)))
    _kernels(rank, out, nine, level)
    _steps(rank, out, nine)
    _memory(rank, out)
    if several or rank.comm:
        _communication(machine, rank, out)
    return home


def _events(machine, rank, nine: bool, level: int) -> list[dict]:
    python = 4000 + rank.number
    bits = 31 if nine else 0
    cann, hardware = python << 10 | 7 << 5 | bits, python << 10 | 13 << 5
    hccl, overlap = python << 10 | 15 << 5, python << 10 | (30 if nine else 23) << 5
    events: list[dict] = []

    def process(pid, name, label):
        events.append({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}})
        events.append({"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": label}})

    def thread(pid, tid, name):
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}})

    npu = "NPU 0" if nine else "NPU"
    process(python, "Python", "CPU")
    process(cann, "CANN", "CPU")
    process(hardware, "Ascend Hardware", npu)
    process(hccl, "Communication" if nine else "HCCL", npu)
    process(overlap, "Overlap Analysis", npu)
    for stream in rank.free:
        thread(hardware, stream, f"Stream {stream}")
    thread(hccl, 0, "Group 0 Communication")
    names = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")
    for i, name in enumerate(names):
        thread(overlap, i, name)
    for number, start, end in rank.steps:
        events.append({"ph": "X", "name": f"ProfilerStep#{number}", "pid": python, "tid": python, "ts": stamp(start), "dur": round(end - start, 3), "cat": "cpu_op", "args": {}})  # fmt: skip
    for name, start, end, shapes, _ in rank.host:
        args = {"Sequence number": -1, "Fwd thread id": 0}
        if shapes:
            args |= {"Input Dims": shapes.replace(";", ";\r\n"), "Input type": "c10::Half"}
        events.append({"ph": "X", "name": name, "pid": python, "tid": python, "ts": stamp(start), "dur": round(end - start, 3), "cat": "cpu_op", "args": args})  # fmt: skip
    if level:
        for sort, name, number, start, end in rank.calls:
            events.append({"name": f"{sort}@{name}", "pid": cann, "tid": python + number, "ts": stamp(start), "dur": round(end - start, 3), "ph": "X",
                           "args": {"Thread Id": python + number, "Mode": "ACL_RTS", "level": "acl", "id": name, "item_id": "0", "connection_id": 0}})  # fmt: skip
    connection = 0

    def flow(start, issued, op, pid, tid):
        nonlocal connection
        connection += 1
        at = stamp(start)
        number = str(connection << 32) if nine else str(connection)
        if level:
            events.append({"name": f"HostToDevice{number}", "ph": "s", "cat": "HostToDevice", "id": number, "pid": cann, "tid": python + 1, "ts": stamp(issued)})  # fmt: skip
            events.append({"name": f"HostToDevice{number}", "ph": "f", "id": number, "ts": at, "cat": "HostToDevice", "pid": pid, "tid": tid, "bp": "e"})  # fmt: skip
        if op is not None:
            ident = int(at.replace(".", ""))
            events.append({"ph": "s", "bp": "e", "name": "torch_to_npu", "id": ident, "pid": python, "tid": python, "ts": stamp(op), "cat": "async_npu"})  # fmt: skip
            events.append({"ph": "f", "bp": "e", "name": "torch_to_npu", "id": ident, "pid": pid, "tid": tid, "ts": at, "cat": "async_npu"})  # fmt: skip
        return connection

    for i, k in enumerate(rank.kernels):
        number = flow(k.start, k.issued, k.op, hardware, k.stream)
        events.append({"name": k.name, "pid": hardware, "tid": k.stream, "ts": stamp(k.start), "dur": round(k.dur, 3), "ph": "X",
                       "args": {"Model Id": 4294967295, "Task Type": k.core, "Physic Stream Id": k.stream, "Task Id": i, "Batch Id": 0,
                                "Subtask Id": 4294967295, "connection_id": number}})  # fmt: skip
    for start, dur, stream, size, issued in rank.copies:
        number = flow(start, issued, issued - 2, hardware, stream)
        events.append({"name": "MEMCPY_ASYNC", "pid": hardware, "tid": stream, "ts": stamp(start), "dur": round(dur, 3), "ph": "X",
                       "args": {"Model Id": 4294967295, "Task Type": "PCIE_DMA_SQE", "Physic Stream Id": stream, "Task Id": 0, "size(B)": size,
                                "connection_id": number}})  # fmt: skip
    for name, start, dur, _, issued, _ in rank.comm:
        number = flow(start, issued, issued - 5, hccl, 0)
        events.append({"name": name, "pid": hccl, "tid": 0, "ts": stamp(start), "dur": round(dur, 3), "ph": "X",
                       "args": {"connection_id": number, "model id": 4294967295, "data_type": "FP32", "alg_type": "MESH-RING", "count": 4097000}})  # fmt: skip
    for i, spans in enumerate(overlaps(rank)):
        for start, end in spans:
            events.append(
                {
                    "name": names[i],
                    "pid": overlap,
                    "tid": i,
                    "ts": stamp(start),
                    "dur": round(end - start, 3),
                    "ph": "X",
                    "args": {},
                }
            )
    return events


def merged(spans) -> list[tuple[float, float]]:
    found: list[list[float]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return [tuple(s) for s in found]


def without(spans, other) -> list[tuple[float, float]]:
    found = []
    for start, end in spans:
        at = start
        for s, e in other:
            if e <= at or s >= end:
                continue
            if s > at:
                found.append((at, s))
            at = max(at, e)
        if at < end:
            found.append((at, end))
    return found


def overlaps(rank):
    busy = merged((k.start, k.start + k.dur) for k in rank.kernels)
    comm = merged((c[1], c[1] + c[2]) for c in rank.comm)
    every = merged([*busy, *comm])
    free = without([(every[0][0], every[-1][1])], every) if every else []
    return busy, comm, without(comm, busy), free


def _kernels(rank, out: Path, nine: bool, level: int) -> None:
    heads = ["Step Id"] + (["Device_id"] if nine else [])
    if level:
        heads += ["Model ID", "Task ID", "Stream ID"]
    heads += (
        ["Name", "Type"]
        + (["OP State"] if level else [])
        + ["Accelerator Core", "Start Time(us)", "Duration(us)", "Wait Time(us)"]
    )
    heads += ["Block Num" if nine else "Block Dim"]
    if level:
        heads += ["Mix Block Num" if nine else "Mix Block Dim", "HF32 Eligible", "Input Shapes", "Input Data Types",
                  "Input Formats", "Output Shapes", "Output Data Types", "Output Formats", "Context ID"]  # fmt: skip
        heads += [
            "aicore_time(us)",
            "aic_total_cycles",
            *(f"aic_{p}_{w}" for p in PMU[0] for w in ("time(us)", "ratio")),
        ]
        heads += ["aiv_time(us)", "aiv_total_cycles", *(f"aiv_{p}_{w}" for p in PMU[1] for w in ("time(us)", "ratio"))]
        heads += ["cube_utilization(%)"]
    lines = [",".join(heads)]
    last = 0.0
    for i, k in enumerate(sorted(rank.kernels, key=lambda k: k.start)):
        row = [str(k.step)] + (["0"] if nine else [])
        wait = max(k.start - last, 0.0)
        last = k.start + k.dur
        if level:
            row += ["4294967295", str(i), str(k.stream)]
        row += [k.name, k.type if level else "N/A"] + (["dynamic"] if level else [])
        row += [
            k.core if level else "N/A",
            stamp(k.start) + "\t",
            f"{k.dur:.3f}",
            f"{wait:.3f}",
            str(k.blocks if level else 0),
        ]
        if level:
            shapes = f'"""{k.shapes}"""'
            first = k.shapes.split(";")[0]
            row += ["0", "NO", shapes, k.types, k.formats, f'"""{first}"""', _out(k), _format(k), "N/A"]
            cube = k.core == "AI_CORE"
            for names, on in ((PMU[0], cube), (PMU[1], not cube)):
                time = k.dur * 0.95 if on else 0.0
                row += [f"{time:.3f}", str(int(time * 1850))]
                for pipe in names:
                    ratio = k.ratios.get(pipe, 0.02) if on and k.core != "AI_CPU" else 0.0
                    row += [f"{ratio * time:.3f}", f"{ratio:.3f}"]
            row += ["0"]
        lines.append(",".join(row))
    (out / "kernel_details.csv").write_bytes(("\r\n".join(lines) + "\r\n").encode())


def _out(k) -> str:
    if k.type == "Cast":
        return "FLOAT" if k.types == "FLOAT16" else "FLOAT16"
    return k.types.split(";")[0]


def _format(k) -> str:
    if k.type == "TransData":
        return "NC1HWC0" if k.formats == "NCHW" else "NCHW"
    return "ND"


def _steps(rank, out: Path, nine: bool) -> None:
    heads = "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing"
    lines = [("Device_id," if nine else "") + heads]
    busy, comm, exposed, free = overlaps(rank)
    for number, start, _ in rank.steps:
        mine = [(k.start, k.start + k.dur) for k in rank.kernels if k.step == number]
        mine += [(c[1], c[1] + c[2]) for c in rank.comm if c[5] == number]
        if not mine:
            continue
        first, last = min(s for s, _ in mine), max(e for _, e in mine)
        inside = [sum(max(min(e, last) - max(s, first), 0) for s, e in spans) for spans in (busy, exposed, comm, free)]
        values = [
            inside[0],
            inside[1],
            inside[2] - inside[1],
            inside[2],
            inside[3],
            last - first,
            0,
            inside[1],
            first - start,
        ]
        lines.append(("0," if nine else "") + f"{number}," + ",".join(str(v) for v in values))
    (out / "step_trace_time.csv").write_text("\n".join(lines) + "\n")


def _memory(rank, out: Path) -> None:
    lines = ["Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),Allocation Total Allocated(MB),"
             "Allocation Total Reserved(MB),Allocation Total Active(MB),Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type"]  # fmt: skip
    record = ["Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type"]
    for name, kb, time, released, allocated, reserved in rank.allocations:
        lines.append(
            f"{name},{kb},{stamp(time)}\t,{stamp(released)}\t,{stamp(released)}\t,400,400,{allocated},{reserved},{allocated},{allocated - kb / 1024},{reserved},{allocated - kb / 1024},1,NPU:0"
        )
        record.append(f"PTA,{stamp(time)}\t,{allocated},{reserved},{allocated},1,NPU:0")
    if rank.allocations:
        (out / "operator_memory.csv").write_text("\n".join(lines) + "\n")
        (out / "memory_record.csv").write_text("\n".join(record) + "\n")


def _communication(machine, rank, out: Path) -> None:
    times: dict = {}
    matrix: dict = {}
    for name, start, dur, transit, _, step in rank.comm:
        entry = {
            "Communication Time Info": {
                "Start Timestamp(us)": (EPOCH_NS / 1000) + start, "Elapse Time(ms)": dur / 1000, "Transit Time(ms)": transit / 1000,
                "Wait Time(ms)": max(dur - transit, 0) / 1000, "Synchronization Time(ms)": max(dur - transit, 0) / 1000, "Idle Time(ms)": 0,
                "Wait Time Ratio": max(dur - transit, 0) / dur, "Synchronization Time Ratio": max(dur - transit, 0) / dur,
            },
            "Communication Bandwidth Info": {
                kind: {"Transit Size(MB)": 25 if kind == "HCCS" else 0, "Transit Time(ms)": transit / 1000 if kind == "HCCS" else 0,
                       "Bandwidth(GB/s)": 25 / transit * 1000 if kind == "HCCS" else 0, "Large Packet Ratio": 1 if kind == "HCCS" else 0,
                       "Size Distribution": {}} for kind in ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
            },
        }  # fmt: skip
        times.setdefault(f"step{step}", {"p2p": {}, "collective": {}})["collective"][f"{name}@586"] = entry
    others = [r.number for r in machine.ranks if r is not rank]
    slow = {(a, b): rate for a, b, rate in machine.links}
    for number, _, _ in rank.steps:
        pairs = {
            f"{rank.number}-{other}": {"Transport Type": "HCCS", "Transit Size(MB)": 25.0, "Transit Time(ms)": 25.0 / slow.get((rank.number, other), 18.0),
                                       "Bandwidth(GB/s)": slow.get((rank.number, other), 18.0), "Op Name": "hcom_allReduce__586_1_1"}
            for other in others
        }  # fmt: skip
        matrix[f"step{number}"] = {"p2p": {}, "collective": {"allreduce-top1@586": pairs}}
    (out / "communication.json").write_text(json.dumps(times))
    (out / "communication_matrix.json").write_text(json.dumps(matrix))
