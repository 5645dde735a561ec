"""torch_npu.profiler.dynamic_profile: a recording that profiler_config.json asks for while the program runs.

On a node a process of its own watches the file and hands it over by shared memory; here each step() looks at the file.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import socket
from logging.handlers import RotatingFileHandler

from labkit.profiler.api import profile, tensorboard_trace_handler
from labkit.profiler.output_folder import rank
from labkit.profiler.recording import no_exception
from labkit.profiler.schedule import Schedule
from labkit.profiler.settings import AiCMetrics, ProfilerActivity, ProfilerLevel, _ExperimentalConfig, error, info, warn

FILE = "profiler_config.json"
_EXPERIMENTAL = """l2_cache op_attr gc_detect_threshold data_simplification record_op_args export_type msprof_tx mstx
    mstx_domain_include mstx_domain_exclude host_sys sys_io sys_interconnection""".split()
# what torch_npu writes where there is no profiler_config.json yet
TEMPLATE = {
    "activities": ["CPU", "NPU"],
    "prof_dir": "./",
    "analyse": False,
    "record_shapes": False,
    "profile_memory": False,
    "with_stack": False,
    "with_flops": False,
    "with_modules": False,
    "active": 1,
    "warmup": 0,
    "start_step": 0,
    "is_rank": False,
    "rank_list": [],
    "experimental_config": {
        "profiler_level": "Level0",
        "aic_metrics": "AiCoreNone",
        "l2_cache": False,
        "op_attr": False,
        "gc_detect_threshold": None,
        "data_simplification": True,
        "record_op_args": False,
        "export_type": ["text"],
        "mstx": False,
        "mstx_domain_include": [],
        "mstx_domain_exclude": [],
        "host_sys": [],
        "sys_io": False,
        "sys_interconnection": False,
    },
    "metadata": {},
    "is_valid": False,
}
_log = logging.getLogger("DynamicProfiler")


def _whole(value, least: int, default: int, name: str) -> int:
    if not isinstance(value, int) or value < least:
        _log.warning("Invalid parameter %s, reset it to %d.", name, default)
        return default
    return value


class Asked:
    """A profiler_config.json. start_step: -1 begins at once. Raises ValueError where the file holds something else."""

    def __init__(self, content: dict):
        given = content.get("experimental_config") if isinstance(content, dict) else None
        for part in (content, given or {}):
            if not isinstance(part, dict):
                raise ValueError(f"an object is wanted, not {json.dumps(part)[:80]}")
        self.valid = content.get("is_valid", False) is True and self._for_this_rank(content)
        activities = content.get("activities") or []
        self.activities = {
            getattr(ProfilerActivity, str(one).upper())
            for one in ([activities] if isinstance(activities, str) else activities)
            if hasattr(ProfilerActivity, str(one).upper())
        }
        self.folder = content.get("prof_dir", "./")
        self.analyse = content.get("analyse") is True
        self.async_mode = content.get("async_mode") is True
        self.wishes = {
            name: content.get(name) is True
            for name in ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
        }
        self.active = _whole(content.get("active", 1), 1, 1, "active")
        self.warmup = _whole(content.get("warmup", 0), 0, 0, "warmup")
        self.start_step = _whole(content.get("start_step", 0), -1, 0, "start_step")
        self.metadata = content.get("metadata") if isinstance(content.get("metadata"), dict) else {}
        self.config = None
        if given:
            level, metrics = given.get("profiler_level", "Level0"), given.get("aic_metrics", "AiCoreNone")
            chosen = {name: given[name] for name in _EXPERIMENTAL if given.get(name) is not None}
            self.config = _ExperimentalConfig(profiler_level=getattr(ProfilerLevel, str(level), level),
                                              aic_metrics=getattr(AiCMetrics, str(metrics), metrics),
                                              **chosen)  # fmt: skip

    @staticmethod
    def _for_this_rank(content: dict) -> bool:
        if content.get("is_rank") is not True:
            return True
        ranks = content.get("rank_list")
        return isinstance(ranks, list) and (-1 if rank() is None else rank()) in ranks


class _DynamicProfile:
    def __init__(self):
        self.folder = ""
        self.prof: profile | None = None
        self.asked: Asked | None = None
        self.changed = 0
        self.steps_left = 0
        self.step_number = 0

    def init(self, folder: str) -> None:
        if self.folder:
            return warn("Init dynamic profiling repeatedly")
        if not os.path.isdir(folder):
            return error(f"The path '{folder}' is invalid, and profiler will not be enabled.")
        self.folder = os.path.abspath(folder)
        self._open_log()
        if not os.path.exists(self.path):
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump(TEMPLATE, file, indent=4)
            self.changed = os.stat(self.path).st_mtime_ns
        atexit.register(self.close)

    @property
    def path(self) -> str:
        return os.path.join(self.folder, FILE)

    def _open_log(self) -> None:
        log_folder = os.path.join(self.folder, "log")
        os.makedirs(log_folder, exist_ok=True)
        name = f"dp_{socket.gethostname()}_{os.getpid()}_rank_{-1 if rank() is None else rank()}.log"
        handler = RotatingFileHandler(os.path.join(log_folder, name), maxBytes=200 * 1024, backupCount=1, delay=False)
        handler.setFormatter(logging.Formatter("%(asctime)s [%(levelname)s] [%(process)d] %(filename)s: %(message)s"))
        _log.setLevel(logging.DEBUG)
        _log.addHandler(handler)

    def close(self) -> None:
        if self.prof is not None:
            self.prof.stop()
            self.prof = None
            warn("Profiler stop when process exit, check cfg json active whether over all step!")

    def _look(self) -> None:
        """Takes the file over when it has changed since the last look."""
        try:
            changed = os.stat(self.path).st_mtime_ns
            if changed == self.changed:
                return
            self.changed = changed
            with open(self.path, encoding="utf-8") as file:
                asked = Asked(json.load(file))
        except (OSError, ValueError) as problem:
            _log.error("%s can not be read: %s", self.path, problem)
            return
        if asked.valid:
            self.asked = asked

    def step(self) -> None:
        if not self.folder and self.prof is None:
            return
        self.step_number += 1
        if self.folder:  # else start(config_path) began without init()
            self._look()
        if self.prof is not None:
            self.prof.step()
            self.steps_left -= 1
            if self.steps_left == 0:
                self.prof.stop()
                self.prof = None
                _log.info("Stop Dynamic Profiler at %d step.", self.step_number)
        elif self.asked is not None:
            at = self.asked.start_step
            if at in (-1, self.step_number):
                self._enable()
            elif self.step_number > at:
                warn(f"Dynamic Profiler config is not effective. The start_step={at}, current_step={self.step_number}")
                self.asked = None

    def start(self, config_path: str | None) -> None:
        if self.prof is not None:
            return error("Profiler already started. Cannot call start interface while the profiler is active. ")
        path = config_path if config_path and os.path.isfile(config_path) else ""
        if config_path and not path:
            error(f"The provided config_path is invalid: {config_path}. Details: no such file")
        path = path or self.path
        info(f"The start interface profiler enable config path is set to {path}")
        try:
            with open(path, encoding="utf-8") as file:
                self.asked = Asked(json.load(file))
        except (OSError, ValueError):
            return error(f"Failed to read config from : {path}. Please check the config file. ")
        self._enable()
        atexit.register(self.close)  # init() may not have been called; a second time does nothing

    def _enable(self) -> None:
        asked, self.asked = self.asked, None
        self.steps_left = asked.active + asked.warmup
        self.prof = profile(
            activities=asked.activities,
            schedule=Schedule(wait=0, warmup=asked.warmup, active=asked.active, repeat=1),
            on_trace_ready=tensorboard_trace_handler(
                asked.folder, analyse_flag=asked.analyse, async_mode=asked.async_mode
            ),
            experimental_config=asked.config,
            **asked.wishes,
        )
        self.prof._set_step_num_offset_for_dynamic_prof(self.step_number)
        self.prof.start()
        for key, value in asked.metadata.items():
            self.prof.add_metadata_json(str(key), json.dumps(value))
        _log.info("Start Dynamic Profiler at %d step.", self.step_number)

    def set_state(self, state: dict) -> None:
        if not isinstance(state, dict):
            return error("Dynamic profiler state_step must be dict.")
        number = state.get("cur_step", 0)
        if not isinstance(number, int) or number < 0:
            return error("Dynamic profiler cur_step must be a non-negative integer.")
        self.step_number = number


_the_one = _DynamicProfile()


@no_exception()
def init(path: str):
    """Begins to look at profiler_config.json in the folder `path`."""
    _the_one.init(path)


@no_exception()
def step():
    """The end of a step of the program."""
    _the_one.step()


@no_exception()
def start(config_path: str | None = None):
    """Begins a recording now."""
    _the_one.start(config_path)


@no_exception()
def set_state(state_step: dict):
    _the_one.set_state(state_step)
