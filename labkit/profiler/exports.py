"""Single files of a recording: export_chrome_trace, export_stacks, export_memory_timeline of torch_npu.profiler."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from pathlib import Path

from labkit.profiler import host_tables, trace_view
from labkit.profiler.raw import Recording

_CATEGORIES = 8  # columns of sizes: what a block is for is not known here, so all of it is in the first, "unknown"


def chrome_trace(recording: Recording, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    trace_view.write(recording.layout(), path, recording.marks)


def stacks(recording: Recording, path: Path, metric: str = "self_cpu_time_total") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(host_tables.folded_stacks(recording.layout(), metric)), encoding="utf-8")


def memory_timeline(recording: Recording, path: Path, device: str = "npu:0") -> None:
    """[times in us, sizes by category]; .json, .json.gz, .raw.json.gz (each change) or .html (a picture)."""
    number = int(device.partition(":")[2] or 0)
    changes = [e for e in host_tables.memory_events(recording.layout()) if e[1] == number]
    name, content = path.name, None
    times = [at // 1000 for at, *_ in changes]
    sizes = [[allocated] + [0] * (_CATEGORIES - 1) for _, _, _, allocated, _ in changes]
    if name.endswith(".html"):
        content = _page(times, [row[0] for row in sizes], device)
    elif name.endswith((".raw.json", ".raw.json.gz")):
        content = json.dumps([[at, 2, allocated, 0] for at, _, _, allocated, _ in changes])
    else:
        content = json.dumps([times, sizes])
    data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)


def _page(times: list[int], sizes: list[int], device: str) -> str:
    first, last = (times[0], times[-1]) if times else (0, 1)
    peak = max(sizes, default=0) or 1
    points, before = [], 0.0
    for at, size in zip(times, sizes):
        x = 900 * (at - first) / max(1, last - first)
        y = 300 - 280 * size / peak
        points += [f"{x:.2f},{before or y:.2f}", f"{x:.2f},{y:.2f}"]
        before = y
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="320"><polyline fill="none" stroke="#0072b2" '
        f'points="{" ".join(points)}"/><text x="4" y="14">{device}: peak {peak / 2**20:.2f} MiB, simulated</text></svg>'
    )
    return f'<!doctype html><img src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" alt="{device}">'
