"""communication.json and communication_matrix.json: collectives by step, their times and the traffic of links.

The simulated server joins its devices in pairs (HCCS, a full mesh). A collective elapses from the moment at which this
rank is there; until the last one is there it waits, then it is in transit. All waiting comes before the first byte, so
it is synchronization. The size of packets is not modelled: one a collective.
"""

from __future__ import annotations

from labkit.profiler.layout import Layout, Work, group_number

_MB = 1e6
_LARGE_MB = 32  # HCCS_MESSAGE_SIZE_THRESHOLD of Ascend/msprof analysis/common_func/ms_constant/number_constant.py


def _label(work: Work, layout: Layout) -> str:
    return f"step{work.step}" if layout.session.steps and work.step is not None else "step"


def _full_name(work: Work) -> str:
    return f"{work.name}@{group_number(work.task.group)}"


def _kind(work: Work) -> str:
    return "p2p" if work.op_type in ("hcom_send_", "hcom_receive_") else "collective"


def _bandwidth(size: float, ns: int) -> dict:
    ms = ns / 1e6
    return {
        "Transit Size(MB)": size / _MB,
        "Transit Time(ms)": ms,
        "Bandwidth(GB/s)": round(size / ns, 4) if ns else 0,
        "Large Packet Ratio": 1.0 if size / _MB >= _LARGE_MB else 0.0,
        "Size Distribution": {str(size / _MB): [1, ms]} if size else {},
    }


def _transit(work: Work) -> int:
    """ns in which the link worked."""
    return min(work.end - work.begin, round(work.task.end - work.task.start))


def _on_a_link(work: Work, ranks: int) -> float:
    """Bytes that pass a link, as the clock charges them (device/csrc/clock.h, collective_ns)."""
    if work.op_type in ("hcom_broadcast_", "hcom_reduce_", "hcom_send_", "hcom_receive_"):
        return work.task.bytes
    # an all-reduce hands every rank its part of the sum to make, and takes it back
    return work.task.bytes / ranks * (2 if work.op_type == "hcom_allReduce_" else 1)


def communication(layout: Layout) -> dict:
    """The whole of communication.json; {} without a collective."""
    made: dict = {}
    for work in (w for w in layout.works if w.communicates):
        elapse, size = work.end - work.begin, work.task.bytes
        ns = _transit(work)
        waited, share = (elapse - ns) / 1e6, round((elapse - ns) / elapse, 4) if elapse else 0
        times = {
            "Start Timestamp(us)": work.begin / 1000,
            "Elapse Time(ms)": elapse / 1e6,
            "Transit Time(ms)": ns / 1e6,
            "Wait Time(ms)": waited,
            "Synchronization Time(ms)": waited,
            "Idle Time(ms)": 0,
            "Wait Time Ratio": share,
            "Synchronization Time Ratio": share,
        }
        links = {name: _bandwidth(0, 0) for name in ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")}
        links["HCCS"] = links["SDMA"] = _bandwidth(size, ns)
        step = made.setdefault(_label(work, layout), {"p2p": {}, "collective": {}})
        step[_kind(work)][_full_name(work)] = {"Communication Time Info": times, "Communication Bandwidth Info": links}
    return made


def matrix(layout: Layout) -> dict:
    """The whole of communication_matrix.json: this rank's links in the longest collective of each kind and step."""
    made: dict = {}
    longest: dict[tuple, Work] = {}
    for work in (w for w in layout.works if w.communicates):
        key = (_label(work, layout), _kind(work), work.op_type, work.task.group)
        if key not in longest or work.end - work.begin > longest[key].end - longest[key].begin:
            longest[key] = work
    for (label, kind, op_type, group), work in longest.items():
        name = f"{op_type.removeprefix('hcom_').strip('_').lower()}-top1@{group_number(group)}"
        ranks = max(2, work.task.ranks)
        me = layout.rank or 0
        part, ns = _on_a_link(work, ranks), _transit(work)
        others = [rank for rank in range(ranks) if rank != me]
        if kind == "p2p" and len(others) > 1:
            others = []  # which of them it was is not recorded: no number is better than one for all
        # a copy within the card, which the model does not have; tools find a group's local ranks by this entry
        links = {
            f"{me}-{me}": {
                "Transport Type": "LOCAL",
                "Transit Size(MB)": 0.0,
                "Transit Time(ms)": 0.0,
                "Bandwidth(GB/s)": 0,
                "Op Name": _full_name(work),
            }
        }
        for other in others:
            links[f"{me}-{other}"] = {
                "Transport Type": "HCCS",
                "Transit Size(MB)": part / _MB,
                "Transit Time(ms)": ns / 1e6,
                "Bandwidth(GB/s)": round(part / ns, 4) if ns else 0,
                "Op Name": _full_name(work),
            }
        made.setdefault(label, {"p2p": {}, "collective": {}})[kind][name] = links
    return made
