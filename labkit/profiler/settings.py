"""What a recording is asked to hold: torch_npu.profiler's levels, metrics and export types, _ExperimentalConfig with
its checks, and Settings, what the writers go by. Names, values and warnings are torch_npu's (torch_npu/profiler of
Ascend/pytorch, 2026-08).
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass, field
from enum import Enum


def log(level: str, message: str) -> None:
    """A line as torch_npu's profiler prints it."""
    stamp = time.strftime("[%Y-%m-%d %H:%M:%S]", time.localtime())
    print(f"{stamp} [{level}] [{os.getpid()}] profiler.py: {message}", flush=True)


def info(message: str) -> None:
    log("INFO", message)


def warn(message: str) -> None:
    log("WARNING", message)


def error(message: str) -> None:
    log("ERROR", message)


class ProfilerActivity(Enum):
    CPU = 0
    NPU = 1
    CUDA = 1  # for programs of CUDA after transfer_to_npu

    def __str__(self) -> str:
        return f"ProfilerActivity.{self.name}"

    __repr__ = __str__


class ProfilerLevel:
    Level0, Level1, Level2, Level_none = "Level0", "Level1", "Level2", "Level_none"


class AiCMetrics:
    PipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"
    ArithmeticUtilization = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    Memory = "ACL_AICORE_MEMORY_BANDWIDTH"
    MemoryL0 = "ACL_AICORE_L0B_AND_WIDTH"
    MemoryUB = "ACL_AICORE_MEMORY_UB"
    ResourceConflictRatio = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    L2Cache = "ACL_AICORE_L2_CACHE"
    MemoryAccess = "ACL_AICORE_MEMORY_ACCESS"
    AiCoreNone = "ACL_AICORE_NONE"


class ExportType:
    Db, Text = "db", "text"


class HostSystem:
    CPU, MEM, DISK, NETWORK, OSRT, NUMA = "cpu", "mem", "disk", "network", "osrt", "numa"


def _values(names: type) -> set[str]:
    return {value for key, value in vars(names).items() if not key.startswith("__")}


def supported_activities() -> set[ProfilerActivity]:
    return set(ProfilerActivity)


def supported_profiler_level() -> set[str]:
    return _values(ProfilerLevel)


def supported_ai_core_metrics() -> set[str]:
    return _values(AiCMetrics)


def supported_export_type() -> set[str]:
    return _values(ExportType)


class _ExperimentalConfig:
    """torch_npu's: what it holds goes into profiler_info.json under these names."""

    def __init__(self, profiler_level=ProfilerLevel.Level0, aic_metrics=AiCMetrics.PipeUtilization, l2_cache=False,
                 msprof_tx=False, mstx=False, data_simplification=True, record_op_args=False, op_attr=False,
                 gc_detect_threshold=None, export_type=ExportType.Text, host_sys=None, mstx_domain_include=None,
                 mstx_domain_exclude=None, sys_io=False, sys_interconnection=False):  # fmt: skip
        self._profiler_level = profiler_level
        self._aic_metrics = aic_metrics
        self._l2_cache = l2_cache
        self._msprof_tx = msprof_tx
        self._mstx = mstx
        self._data_simplification = data_simplification
        self.record_op_args = record_op_args
        self._export_type = self._as_list(export_type)
        self._host_sys = host_sys or []
        self._op_attr = op_attr
        self._gc_detect_threshold = gc_detect_threshold
        self._mstx_domain_include = mstx_domain_include or []
        self._mstx_domain_exclude = mstx_domain_exclude or []
        self._sys_io = sys_io
        self._sys_interconnection = sys_interconnection
        self._check_level()
        self._check_switches()
        self._check_values()
        self._check_domains()

    @property
    def export_type(self) -> list[str]:
        return self._export_type

    @property
    def with_gc(self) -> bool:
        return self._gc_detect_threshold is not None

    @property
    def gc_detect_threshold(self):
        return self._gc_detect_threshold

    @property
    def tx_enabled(self) -> bool:
        return self._msprof_tx or self._mstx

    @staticmethod
    def _as_list(export_type) -> list[str]:
        if isinstance(export_type, str) and export_type:
            return [export_type]
        if isinstance(export_type, list) and export_type:
            try:
                return sorted(set(export_type))
            except TypeError as problem:
                warn(f"Invalid parameter export_type: {export_type}, reset it to text. Error is {problem}")
                return [ExportType.Text]
        warn(f"Invalid parameter export_type: {export_type}, reset it to text.")
        return [ExportType.Text]

    def _check_level(self) -> None:
        low = self._profiler_level in (ProfilerLevel.Level0, ProfilerLevel.Level_none)
        if low and self._aic_metrics != AiCMetrics.AiCoreNone:
            warn("Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!")
            self._aic_metrics = AiCMetrics.AiCoreNone

    def _check_switches(self) -> None:
        for name in ("l2_cache", "msprof_tx", "mstx", "data_simplification", "op_attr", "sys_io",
                     "sys_interconnection"):  # fmt: skip
            if not isinstance(getattr(self, f"_{name}"), bool):
                default = name == "data_simplification"
                if default and self._data_simplification is None:
                    continue
                to = "default" if default else "False"
                warn(f"Invalid parameter {name}, which must be of bool type, reset it to {to}.")
                setattr(self, f"_{name}", default)
        if not isinstance(self.record_op_args, bool):
            warn("Invalid parameter record_op_args, which must be of bool type, reset it to False.")
            self.record_op_args = False
        if self._msprof_tx:
            warnings.warn(
                "The parameter msprof_tx will be deprecated. Please use the new parameter mstx instead.", stacklevel=4
            )
        if self._profiler_level == ProfilerLevel.Level_none and not self.tx_enabled:
            self._mstx = True
            warn("Parameter mstx or msprof_tx must be True if profiler_level is set to Level_none.")

    def _check_values(self) -> None:
        if self._profiler_level not in supported_profiler_level():
            warn("Invalid parameter profiler_level, reset it to ProfilerLevel.Level0.")
            self._profiler_level = ProfilerLevel.Level0
        if self._aic_metrics not in supported_ai_core_metrics():
            warn("Invalid parameter aic_metrics, reset it to default.")
            level0 = self._profiler_level == ProfilerLevel.Level0
            self._aic_metrics = AiCMetrics.AiCoreNone if level0 else AiCMetrics.PipeUtilization
        if not all(kind in (ExportType.Text, ExportType.Db) for kind in self._export_type):
            warn("Invalid parameter export_type, reset it to text.")
            self._export_type = [ExportType.Text]
        if self._op_attr and ExportType.Db not in self._export_type:
            warn("op_attr switch is invalid with export type set as text.")
            self._op_attr = False
        threshold = self._gc_detect_threshold
        if threshold is not None:
            if not isinstance(threshold, (int, float)):
                warn("Parameter gc_detect_threshold is not int or float type, reset it to default.")
                self._gc_detect_threshold = None
            elif threshold < 0.0:
                warn("Parameter gc_detect_threshold can not be negative, reset it to default.")
                self._gc_detect_threshold = None
            elif threshold == 0.0:
                info("Parameter gc_detect_threshold is set to 0, it will collect all gc events.")
            if self._gc_detect_threshold is not None:
                warn("On the simulated device Python's garbage collection takes no time: the virtual clock moves with "
                     "the device's calls only, so the trace gets no rows of Python GC.")  # fmt: skip
        if not isinstance(self._host_sys, list):
            warn("Invalid parameter host_sys, which must be of list type, reset it to empty.")
            self._host_sys = []
        if not all(one in _values(HostSystem) for one in self._host_sys):
            warn("Invalid parameter host_sys, reset it to empty.")
            self._host_sys = []
        self._host_sys = sorted({str(one) for one in self._host_sys})

    def _check_domains(self) -> None:
        names = ("mstx_domain_include", "mstx_domain_exclude")
        if not self.tx_enabled:
            if self._mstx_domain_include or self._mstx_domain_exclude:
                warn("mstx_domain_include and mstx_domain_exclude are valid when msprof_tx or mstx is True.")
            self._mstx_domain_include, self._mstx_domain_exclude = [], []
            return
        for name in names:
            given = getattr(self, f"_{name}")
            if not given:
                continue
            kept = []
            if not isinstance(given, list):
                warn(f"Invalid parameter {name}, which must be of list type, reset it to default.")
            elif any(not isinstance(domain, str) for domain in given):
                warn(f"Invalid parameter {name}, which contents must be of str type, reset it to default.")
            else:
                kept = sorted(set(given))
            setattr(self, f"_{name}", kept)
        if self._mstx_domain_include and self._mstx_domain_exclude:
            warn("Parameter mstx_domain_include and mstx_domain_exclude can not be both set, "
                 "only mstx_domain_include will work.")  # fmt: skip
            self._mstx_domain_exclude = []


def cann_style(wanted: int | None = None) -> int:
    """9 or 8: whose headers the tables have. LABKIT_CANN_STYLE=8 asks for those of CANN 8."""
    return 8 if str(wanted or os.environ.get("LABKIT_CANN_STYLE") or 9).startswith("8") else 9


@dataclass
class Settings:
    """What the writers go by."""

    cpu: bool = True
    npu: bool = True
    record_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    # Taken and without effect, as in torch_npu, whose documentation says that it is not evaluated yet. torch.profiler's
    # with_flops does count.
    with_flops: bool = False
    with_modules: bool = False
    level: str = ProfilerLevel.Level0
    aic_metrics: str = AiCMetrics.AiCoreNone
    l2_cache: bool = False
    mstx: bool = False
    export_type: list[str] = field(default_factory=lambda: [ExportType.Text])
    schedule: dict | None = None
    experimental: dict = field(default_factory=dict)
    cann: int = field(default_factory=cann_style)

    @property
    def detailed(self) -> bool:
        """Level1 and above: shapes of kernels, rows of CANN, statistics."""
        return self.level in (ProfilerLevel.Level1, ProfilerLevel.Level2)

    @property
    def tasks(self) -> bool:
        """Whether tasks of the device are recorded at all."""
        return self.npu and self.level != ProfilerLevel.Level_none
