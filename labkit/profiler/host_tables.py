"""The tables of the host's operators and of device memory: operator_details, operator_memory, memory_record,
npu_module_mem.
"""

from __future__ import annotations

from labkit.profiler.events import Allocation
from labkit.profiler.layout import Layout, calendar_ns, us, us_text
from labkit.profiler.trace_view import input_shapes

_KB, _MB = 1024.0, 1024.0 * 1024.0


def operator_details(layout: Layout) -> tuple[list[str], list[list]]:
    """One row a call of an operator; steps are left out, as torch_npu does."""
    header = ["Name", "Input Shapes", "Call Stack", "Host Self Duration(us)", "Host Total Duration(us)",
              "Device Self Duration(us)", "Device Total Duration(us)", "Device Self Duration With AICore(us)",
              "Device Total Duration With AICore(us)"]  # fmt: skip
    settings, rows = layout.settings, []
    device = layout.subtree_device_ns() if settings.tasks else [(0, 0, 0, 0)] * len(layout.spans)
    for span, (own, total, own_cores, total_cores) in zip(layout.spans, device):
        if span.range.kind == "step":
            continue
        inside = sum(layout.spans[c].end - layout.spans[c].begin for c in span.children
                     if layout.spans[c].range.thread == span.range.thread)  # fmt: skip
        whole = span.end - span.begin
        shapes = ";\r\n".join(input_shapes(span.range.inputs)) if settings.record_shapes and span.range.inputs else ""
        stack = ";\r\n".join(span.range.stack) if settings.with_stack else ""
        rows.append([span.name, shapes, stack, us(max(0, whole - inside)), us(whole), us(own), us(total),
                     us(own_cores), us(total_cores)])  # fmt: skip
    return header, rows


# ---- memory


def stream_pointer(device: int, stream: int) -> int:
    """A stream as a number, as torch_npu's Stream.npu_stream has it."""
    return (device << 32) | (stream + 1)


def operator_memory(layout: Layout) -> tuple[list[str], list[list]]:
    header = ["Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)", "Active Release Time(us)",
              "Duration(us)", "Active Duration(us)", "Allocation Total Allocated(MB)",
              "Allocation Total Reserved(MB)", "Allocation Total Active(MB)", "Release Total Allocated(MB)",
              "Release Total Reserved(MB)", "Release Total Active(MB)", "Stream Ptr", "Device Type"]  # fmt: skip
    rows = []
    for a in sorted(layout.session.allocations, key=lambda a: a.time):
        at, allocated, reserved = calendar_ns(a.time), a.allocated / _MB, a.reserved / _MB
        row = [owner(layout, a), a.bytes / _KB, us_text(at) + "\t"]
        if a.freed is None:
            row += [""] * 4 + [allocated, reserved, allocated] + [""] * 3
        else:
            end = calendar_ns(a.freed)
            then = a.allocated_then / _MB
            row += [us_text(end) + "\t"] * 2 + [us_text(end - at) + "\t"] * 2
            row += [allocated, reserved, allocated, then, a.reserved_then / _MB, then]
        rows.append([*row, stream_pointer(a.device, a.stream), f"NPU:{a.device}"])
    return header, rows


def owner(layout: Layout, a: Allocation) -> str:
    """The operator that asked for the memory: its own range, not a user's around it."""
    return layout.spans[a.range].name if 0 <= a.range < len(layout.spans) else ""


def memory_events(layout: Layout) -> list[tuple[int, int, int, int, int]]:
    """(ns, device, stream, allocated, reserved) right after each change, in the order of time."""
    found = []
    for i, a in enumerate(layout.session.allocations):
        found.append((a.time, 0, i, a.device, a.stream, a.allocated, a.reserved))
        if a.freed is not None:
            found.append((a.freed, 1, i, a.device, a.stream, a.allocated_then, a.reserved_then))
    found.sort(key=lambda e: e[:3])
    return [(calendar_ns(e[0]), *e[3:]) for e in found]


def memory_record(layout: Layout) -> tuple[list[str], list[list]]:
    """Of PyTorch's allocator (PTA); CANN's own memory (GE) is not modelled, so their sum is the same."""
    header = ["Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)",
              "Stream Ptr", "Device Type"]  # fmt: skip
    rows = []
    for at, device, stream, allocated, reserved in memory_events(layout):
        values = [us_text(at) + "\t", allocated / _MB, reserved / _MB, allocated / _MB,
                  stream_pointer(device, stream), f"NPU:{device}"]  # fmt: skip
        rows += [["PTA", *values], ["PTA+GE", *values]]
    return header, rows


def npu_module_mem(layout: Layout) -> tuple[list[str], list[list]]:
    """What the device has given to its users: only the allocator's part is modelled, on a node the row APP."""
    nine, rows = layout.settings.cann == 9, []
    for at, device, _, _, reserved in memory_events(layout):
        row = ["APP", us_text(at) + "\t", reserved / _MB, f"NPU:{device}"]
        rows.append([device, *row] if nine else row)
    return (["Device_id"] if nine else []) + ["Component", "Timestamp(us)", "Total Reserved(MB)", "Device"], rows


# ---- stacks


def folded_stacks(layout: Layout, metric: str) -> list[str]:
    """Lines "outer;inner 12" for a flame graph, as export_stacks writes them: whole microseconds of the operators' own
    time under each stack. metric: self_cpu_time_total or self_npu_time_total."""
    device = layout.subtree_device_ns()
    sums: dict[str, int] = {}
    for span in layout.spans:
        if not span.range.stack:
            continue
        inside = sum(layout.spans[c].end - layout.spans[c].begin for c in span.children)
        ns = device[span.index][0] if metric == "self_npu_time_total" else span.end - span.begin - inside
        if ns > 0:
            key = ";".join(frame.replace(";", ",").strip() for frame in reversed(span.range.stack))
            sums[key] = sums.get(key, 0) + ns
    return [f"{stack} {ns // 1000}" for stack, ns in sorted(sums.items()) if ns >= 1000]
