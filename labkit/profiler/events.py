"""What a recording holds: the ranges of the host, the tasks of the devices, calls, memory, steps.

Times are nanoseconds of the virtual clock. Indices point into the lists of the same Session; -1 means none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# The virtual clock's zero on the calendar: 2026-01-01 00:00:00 UTC. A fixed one, so that two recordings of the same
# program are the same to the byte.
EPOCH_NS = 1_767_225_600_000_000_000


@dataclass(slots=True)
class TensorFacts:
    """A tensor's sizes, its dtype as PyTorch names it ("float16"), and its format on the device."""

    shape: tuple[int, ...]
    dtype: str
    format: str = "ND"


@dataclass(slots=True)
class HostRange:
    """What a host thread was in: an operator, an autograd node, a module, the user's own range, a step.

    kind: "op", "backward", "user", "module", "step", "mark". thread: 0 is the one that started the recording, others
    in the order of their first event. inputs: one entry an argument, a TensorFacts, a list of them, or a text for what
    is no tensor ("Scalar", "None"); None where shapes are not recorded. sequence: autograd's number, which a
    forward operator and its backward node share; -1 where there is none. stack: innermost frame first, as
    "file(line): function".
    """

    name: str
    kind: str
    thread: int
    start: float
    end: float
    parent: int = -1
    sequence: int = -1
    forward_thread: int = 0
    inputs: list | None = None
    stack: tuple[str, ...] = ()


@dataclass(slots=True)
class Task:
    """One piece of work of a device.

    kind: "kernel", "copy_in" (host to device), "copy_out", "copy" (to another device), "collective", "event_record",
    "event_wait". name: the operator's or the kernel's. engine: "vector", "cube", "cores" (both), "copy_in",
    "copy_out", "link". issued: the host had issued it. queued: through torch_npu's host queue. range: the innermost
    HostRange that issued it. blocks: cores that it used, 0 where that is not modelled. pmu: of a kernel of ours, its
    counters by the columns of kernel_details.csv; None where nothing is modelled. ranks, group, waited: of a
    collective; waited: ns before `start` in which this rank was there and another one was not.
    """

    name: str
    kind: str
    engine: str
    device: int
    stream: int
    issued: float
    start: float
    end: float
    bytes: float = 0.0
    flops: float = 0.0
    queued: bool = True
    range: int = -1
    thread: int = 0
    blocks: int = 0
    inputs: list[TensorFacts] = field(default_factory=list)
    outputs: list[TensorFacts] = field(default_factory=list)
    pmu: dict[str, float] | None = None
    ours: bool = False  # a kernel that the twin ran
    ranks: int = 0
    group: str = ""
    waited: float = 0.0


@dataclass(slots=True)
class Call:
    """A call of the host into the runtime. name as in ACL ("aclrtSynchronizeStream"); task: what it issued, -1: none;
    waited: ns of it in which the host was blocked until the device was ready."""

    name: str
    thread: int
    start: float
    end: float
    waited: float = 0.0
    device: int = 0
    stream: int = -1
    range: int = -1
    task: int = -1


@dataclass(slots=True)
class Allocation:
    """A block of device memory. freed is None for one that outlives the recording; allocated and reserved: the device's
    totals in bytes right after each of the two."""

    address: int
    bytes: int
    device: int
    stream: int
    time: float
    allocated: int
    reserved: int
    range: int = -1
    freed: float | None = None
    allocated_then: int = 0
    reserved_then: int = 0


@dataclass(slots=True)
class Step:
    """One step of the schedule: number, and the host's times at its two ends."""

    number: int
    start: float
    end: float


@dataclass
class Session:
    """One recorded window. begin, end: the host's times at which recording began and ended, behind the last task."""

    begin: float = 0.0
    end: float = 0.0
    ranges: list[HostRange] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    allocations: list[Allocation] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    chip: str = "910B1"
    threads: int = 1
    lost: int = 0  # events that the recorder had no room for
