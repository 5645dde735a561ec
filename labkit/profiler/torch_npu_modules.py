"""torch_npu.profiler and its modules, by name, on the simulated device: labkit.device.package hands them out."""

from __future__ import annotations

from labkit.profiler import api, dynamic_profile, non_intrusive, recording, schedule, settings

_CONFIG = {
    name: getattr(settings, name)
    for name in """_ExperimentalConfig supported_profiler_level supported_ai_core_metrics supported_export_type
    ProfilerLevel AiCMetrics ExportType HostSystem""".split()
}
_DYNAMIC = {name: getattr(dynamic_profile, name) for name in ("init", "step", "start", "set_state")}
_SCHEDULER = {"ProfilerAction": schedule.ProfilerAction, "Schedule": schedule.Schedule}
_PROFILER = {
    "supported_activities": settings.supported_activities,
    "analyse": api.analyse,
    "tensorboard_trace_handler": api.tensorboard_trace_handler,
    "profile": api.profile,
}
# __all__ of torch_npu/profiler/__init__.py (Ascend/pytorch 9e73e708a, 2026-08-21)
PUBLIC = """profile ProfilerActivity supported_activities tensorboard_trace_handler schedule ProfilerAction
    _ExperimentalConfig supported_profiler_level supported_ai_core_metrics supported_export_type ProfilerLevel
    AiCMetrics ExportType HostSystem""".split()

MODULES = {
    "profiler": {
        **_PROFILER,
        **_CONFIG,
        "_KinetoProfile": api._KinetoProfile,
        "_NonIntrusiveProfile": non_intrusive._NonIntrusiveProfile,
        "ProfilerActivity": settings.ProfilerActivity,
        "ProfilerAction": schedule.ProfilerAction,
        "schedule": schedule.Schedule,
        "__all__": PUBLIC,
    },
    "profiler.profiler": {**_PROFILER, "_KinetoProfile": api._KinetoProfile, "__all__": list(_PROFILER)},
    "profiler.profiler_interface": {
        "supported_activities": settings.supported_activities,
        "_ProfInterface": recording.ProfInterface,
        "__all__": ["supported_activities"],
    },
    "profiler.scheduler": {**_SCHEDULER, "_default_schedule_fn": schedule.always, "__all__": list(_SCHEDULER)},
    "profiler.experimental_config": {**_CONFIG, "__all__": list(_CONFIG)},
    "profiler.dynamic_profile": {**_DYNAMIC, "__all__": list(_DYNAMIC)},
    "profiler._non_intrusive_profile": {"_NonIntrusiveProfile": non_intrusive._NonIntrusiveProfile, "__all__": []},
}


def contents(name: str) -> dict:
    """What the module torch_npu.{name} holds."""
    return dict(MODULES[name])
