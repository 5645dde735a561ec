"""torch_npu.profiler on the simulated device, as a program uses it."""

from __future__ import annotations

import csv
import gc
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from profile_sessions import ns, partial_overlaps, processes, trace
from torch import nn

import labkit

labkit.device.install()
import torch_npu

P = torch_npu.profiler


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASCEND_WORK_PATH", raising=False)


def program():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.LayerNorm(128), nn.GELU(), nn.Linear(128, 8)).npu()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(32, 64), torch.arange(32) % 8

    def step() -> float:
        loss = nn.functional.cross_entropy(model(x.npu()), y.npu())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    return step


def recorded(
    tmp_path, steps=6, schedule=(1, 2, 1), handler=None, config=None, inside=lambda: None, **how
) -> list[Path]:
    wait, active, warmup = schedule
    run = program()
    labkit.device.reset_clock()
    with P.profile(schedule=P.schedule(wait=wait, active=active, warmup=warmup, repeat=1),
                   on_trace_ready=handler or P.tensorboard_trace_handler(str(tmp_path / "out")),
                   experimental_config=config or P._ExperimentalConfig(profiler_level=P.ProfilerLevel.Level1, aic_metrics=P.AiCMetrics.PipeUtilization),
                   **how) as prof:  # fmt: skip
        for _ in range(steps):
            run()
            inside()
            prof.step()
    return sorted((tmp_path / "out").glob("*"))


def rows(folder, name) -> list[dict]:
    with open(folder / "ASCEND_PROFILER_OUTPUT" / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# ---- a whole recording


def test_the_documented_tree(tmp_path, capsys):
    (folder,) = recorded(tmp_path, record_shapes=True, profile_memory=True, with_stack=True, with_modules=True)
    assert re.fullmatch(r".+_\d+_\d{17}_ascend_pt", folder.name)
    files = {p.name for p in (folder / "ASCEND_PROFILER_OUTPUT").iterdir()}
    assert files >= {"trace_view.json", "kernel_details.csv", "operator_details.csv", "step_trace_time.csv",
                     "op_statistic.csv", "api_statistic.csv", "operator_memory.csv", "memory_record.csv"}  # fmt: skip
    events = trace(folder)
    assert not partial_overlaps(events)
    steps = [e for e in events if e["name"].startswith("ProfilerStep#") and e.get("cat") == "cpu_op"]
    assert [e["name"] for e in steps] == ["ProfilerStep#2", "ProfilerStep#3"]
    out = capsys.readouterr().out
    assert re.search(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] \[INFO\] \[\d+\] profiler.py: Start parsing profiling data in "
                     r"sync mode at: ", out, re.M)  # fmt: skip
    assert "All profiling data parsed in a total time of" in out
    kernels = rows(folder, "kernel_details.csv")
    assert {r["Step Id"] for r in kernels} == {"2", "3"}
    assert any(r["Input Shapes"] == '"128;32,64;64,128"' for r in kernels), "addmm's shapes"
    operators = rows(folder, "operator_details.csv")
    addmm = next(r for r in operators if r["Name"] == "aten::addmm")
    assert float(addmm["Device Self Duration(us)"]) > 0 and float(addmm["Device Self Duration With AICore(us)"]) > 0
    assert "test_torch_npu_profiler.py" in addmm["Call Stack"]
    linear = next(r for r in operators if r["Name"] == "aten::linear")
    assert float(linear["Device Self Duration(us)"]) == 0 and float(linear["Device Total Duration(us)"]) > 0
    assert any(r["Name"] == "nn.Module: GELU_0" for r in operators)
    flows = {e["id"] for e in events if e.get("cat") == "fwdbwd"}
    assert len(flows) >= 8, "forward operators and their backward nodes"
    assert len(rows(folder, "operator_memory.csv")) > 5


def test_time_of_recorded_steps_is_accounted_for(tmp_path):
    (folder,) = recorded(tmp_path)
    events = trace(folder)
    overlap = {pid for pid, name in processes(events).items() if name == "Overlap Analysis"}
    for step in (e for e in events if e["name"].startswith("ProfilerStep#")):
        begin, end = ns(step["ts"]), ns(step["ts"]) + round(step["dur"] * 1000)
        inside = [e for e in events if e["ph"] == "X" and e["pid"] in overlap and begin <= ns(e["ts"]) < end]
        parts = sum(e["dur"] for e in inside if e["name"] in ("Computing", "Communication(Not Overlapped)", "Free"))
        assert parts == pytest.approx(step["dur"], rel=1e-3)
    for row in rows(folder, "step_trace_time.csv"):
        parts = sum(float(row[c]) for c in ("Computing", "Communication(Not Overlapped)", "Free"))
        assert parts == pytest.approx(float(row["Stage"]), rel=1e-3) and parts > 0


def test_two_recordings_differ_in_no_number(tmp_path):
    gc.collect()  # tensors that other tests left in cycles would leave the device between the two
    # the names of blocks in device memory are not part of a trace, so even the whole file is the same
    one, two = (recorded(tmp_path / name, record_shapes=True, profile_memory=True)[0] for name in ("a", "b"))
    for path in sorted((one / "ASCEND_PROFILER_OUTPUT").iterdir()):
        assert path.read_bytes() == (two / "ASCEND_PROFILER_OUTPUT" / path.name).read_bytes(), path.name


def test_analysis_later(tmp_path, capsys):
    handler = P.tensorboard_trace_handler(str(tmp_path / "out"), worker_name="node7", analyse_flag=False)
    (folder,) = recorded(tmp_path, handler=handler)
    assert folder.name.startswith("node7_") and not (folder / "ASCEND_PROFILER_OUTPUT").exists()
    from torch_npu.profiler.profiler import analyse

    analyse(str(tmp_path / "out"), export_type=["text", "db"])
    assert rows(folder, "kernel_details.csv") and (folder / "ASCEND_PROFILER_OUTPUT" / "analysis.db").exists()
    capsys.readouterr()
    analyse(str(tmp_path / "nothing"))
    assert "The path does not exist" in capsys.readouterr().out


def test_analysis_beside_the_program(tmp_path):
    from labkit.profiler import recording

    (folder,) = recorded(tmp_path, handler=P.tensorboard_trace_handler(str(tmp_path / "out"), async_mode=True))
    recording._analyses[-1].join(60)
    assert rows(folder, "kernel_details.csv")


def test_marks_of_mstx_are_a_process_of_their_own(tmp_path):
    def marked():
        number = torch_npu.npu.mstx.range_start("load", domain="data")
        torch_npu.npu.mstx.mark("here")
        torch.ones(4).npu()
        torch_npu.npu.mstx.range_end(number, domain="data")

    config = P._ExperimentalConfig(profiler_level=P.ProfilerLevel.Level_none, aic_metrics=P.AiCMetrics.AiCoreNone,
                                   mstx=True, mstx_domain_include=["data"])  # fmt: skip
    (folder,) = recorded(tmp_path, config=config, inside=marked)
    events = trace(folder)
    (pid,) = (pid for pid, name in processes(events).items() if name == "MsprofTx")
    found = [e for e in events if e["pid"] == pid and e["ph"] == "X"]
    assert [e["name"] for e in found] == ["load"] * 2, "the other domain is left out"
    assert all(e["dur"] > 5 and e["args"] == {"event_type": "start/end", "domain": "data"} for e in found)
    assert not torch_npu._C._mstx.watchers


def test_a_recording_that_could_not_begin_leaves_nobody_who_collects_marks(tmp_path, capsys):
    from labkit.profiler.recorder import Recorder

    other = Recorder()
    other.start()
    try:
        profiler = P.profile(experimental_config=P._ExperimentalConfig(mstx=True))
        profiler.start()
        assert "a recording is going on" in capsys.readouterr().out and not torch_npu._C._mstx.watchers
    finally:
        other.stop()
    profiler.stop()


def test_a_file_is_no_recording(tmp_path, capsys):
    from torch_npu.profiler.profiler import analyse

    (tmp_path / "x.json").write_text("{}")
    analyse(str(tmp_path / "x.json"))
    assert "The path is no folder" in capsys.readouterr().out


def test_a_registered_kernel_keeps_its_name_and_has_counters(tmp_path):
    silu = labkit.register(Path(labkit.__file__).parents[1] / "kernels/silu/silu_torch.asc")
    x = torch.randn(4096).npu()
    assert silu is not None
    (folder,) = recorded(tmp_path, inside=lambda: torch.ops.lab.silu(x))
    own = [r for r in rows(folder, "kernel_details.csv") if "aclnn" not in r["Name"]]
    assert len(own) == 2 and {r["Type"] for r in own} == {own[0]["Name"]}
    assert float(own[0]["aiv_time(us)"]) > 0 and 0 < float(own[0]["aiv_mte2_ratio"]) <= 1
    assert own[0]["aiv_icache_miss_rate"] == "N/A" and int(own[0]["Block Num"]) > 0


# ---- exports without a handler


def test_exports_and_what_they_refuse(tmp_path, capsys):
    run = program()
    with P.profile(with_stack=True, record_shapes=True, profile_memory=True) as prof:
        run()
    prof.export_chrome_trace("t.json")
    assert not partial_overlaps(json.loads(Path("t.json").read_text()))
    capsys.readouterr()
    prof.export_chrome_trace("t.json.gz")
    assert "Call export_chrome_trace failed" in capsys.readouterr().out and not Path("t.json.gz").exists()
    prof.export_stacks("s.txt", metric="self_npu_time_total")
    stacks = Path("s.txt").read_text().splitlines()
    assert stacks and all(re.fullmatch(r".+ \d+", line) for line in stacks)
    prof.export_memory_timeline("m.json", device="npu:0")
    times, sizes = json.loads(Path("m.json").read_text())
    assert len(times) == len(sizes) > 3
    del prof
    assert not Path("export_only_prof_dir").exists()


def test_exports_ask_for_what_they_need(capsys):
    with P._KinetoProfile() if hasattr(P._KinetoProfile, "__enter__") else P.profile() as prof:
        torch.ones(4).npu()
    prof.export_stacks("s.txt")
    prof.export_memory_timeline("m.html")
    out = capsys.readouterr().out
    assert "Function export_stacks() requires with_stack=True." in out
    assert "record_shapes=True, profile_memory=True, with_stack=True or with_modules=True required" in out
    assert not hasattr(prof, "key_averages"), "torch_npu.profiler has none either"


# ---- settings


@pytest.mark.parametrize("how", [dict(wait=1, warmup=1, active=2), dict(wait=0, warmup=1, active=1, repeat=2),
                                 dict(wait=2, warmup=1, active=3, repeat=1, skip_first=5, skip_first_wait=1)])  # fmt: skip
def test_schedules_are_pytorchs(how):
    ours, theirs = P.schedule(**how), torch.profiler.schedule(**how)
    assert [ours(i).name for i in range(40)] == [theirs(i).name for i in range(40)]


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: P.schedule(wait=1, active=0, warmup=1), "Invalid parameter active, reset it to 1."),
        (lambda: P.schedule(wait=0, active=1), "Profiler won't be using warmup, this can skew profiler results"),
        (lambda: P._ExperimentalConfig(), "Please use level1 or level2 if you want to collect aic metrics"),
        (
            lambda: P._ExperimentalConfig(profiler_level="7", aic_metrics="ACL_AICORE_NONE"),
            "Invalid parameter profiler_level",
        ),
        (lambda: P._ExperimentalConfig(export_type=3), "Invalid parameter export_type: 3, reset it to text."),
        (lambda: P._ExperimentalConfig(gc_detect_threshold=-1), "can not be negative"),
        (lambda: P._ExperimentalConfig(gc_detect_threshold=1.0), "the trace gets no rows of Python GC"),
        (lambda: P._ExperimentalConfig(mstx_domain_include=["a"]), "are valid when msprof_tx or mstx is True"),
        (lambda: P.profile(activities=["gpu"]), "Invalid activities, only CPU and NPU are supported"),
        (lambda: P.profile(with_stack=1), "Parameter with_stack is of boolean type, reset it to False."),
        (lambda: P.profile(use_cuda=True), "This is npu environment, use_cuda is invalid"),
        (lambda: P.profile().step(), "Profiler is stopped, step takes no effect!"),
        (lambda: P.profile().add_metadata(1, "x"), "The key and value of metadata must be string."),
        (lambda: P.profile().add_metadata_json("k", "{"), "must be json format string"),
        (lambda: P.tensorboard_trace_handler(dir_name=3), "Invalid parameter dir_name, reset it to default."),
    ],
)
def test_wrong_settings_warn_and_never_raise(make, said, capsys):
    make()
    assert said in capsys.readouterr().out


def test_stopping_early_warns_as_torch_npu_does(tmp_path, capsys):
    run = program()
    prof = P.profile(
        schedule=P.schedule(wait=0, warmup=1, active=4), on_trace_ready=P.tensorboard_trace_handler(str(tmp_path))
    )
    prof.start()
    prof.stop()
    assert "Stop profiler while current state is WARMUP" in capsys.readouterr().out
    assert not list(tmp_path.glob("*_ascend_pt"))
    prof.start()
    prof.step()
    run()
    prof.stop()
    assert "Stop profiler while current state is RECORD which may" in capsys.readouterr().out
    assert len(list(tmp_path.glob("*_ascend_pt"))) == 1


def test_metadata_and_trace_id(tmp_path):
    run = program()
    with P.profile(
        on_trace_ready=P.tensorboard_trace_handler(str(tmp_path)), custom_trace_id_callback=lambda: "id 7"
    ) as prof:
        prof.add_metadata("model", "mlp")
        prof.add_metadata_json("sizes", "[1, 2]")
        assert prof.get_trace_id() == "id 7"
        run()
    (folder,) = tmp_path.glob("*_ascend_pt")
    meta = json.loads((folder / "profiler_metadata.json").read_text())
    assert (meta["model"], meta["sizes"], meta["trace_id"], meta["simulated"]) == ("mlp", [1, 2], "id 7", "true")
    info = json.loads((folder / "profiler_info.json").read_text())
    assert info["config"]["experimental_config"]["_export_type"] == ["text"]


# ---- names: __all__ of torch_npu/profiler/*.py, Ascend/pytorch 9e73e708a (2026-08-21)

REAL = {
    "torch_npu.profiler": """profile ProfilerActivity supported_activities tensorboard_trace_handler schedule
        ProfilerAction _ExperimentalConfig supported_profiler_level supported_ai_core_metrics supported_export_type
        ProfilerLevel AiCMetrics ExportType HostSystem _KinetoProfile _NonIntrusiveProfile""",
    "torch_npu.profiler.profiler": "supported_activities analyse tensorboard_trace_handler profile _KinetoProfile",
    "torch_npu.profiler.profiler_interface": "supported_activities _ProfInterface",
    "torch_npu.profiler.scheduler": "ProfilerAction Schedule",
    "torch_npu.profiler.experimental_config": """_ExperimentalConfig supported_profiler_level supported_ai_core_metrics
        supported_export_type ProfilerLevel AiCMetrics ExportType HostSystem""",
    "torch_npu.profiler.dynamic_profile": "init step start set_state",
}


@pytest.mark.parametrize("module", REAL)
def test_every_public_name_is_there(module):
    import importlib

    there = importlib.import_module(module)
    assert not [name for name in REAL[module].split() if not hasattr(there, name)]
    methods = "start stop step export_chrome_trace export_stacks export_memory_timeline add_metadata add_metadata_json"
    assert all(callable(getattr(P.profile, m)) for m in [*methods.split(), "get_trace_id", "set_custom_trace_id_callback",
                                                          "enable_profiler_in_child_thread",
                                                          "disable_profiler_in_child_thread"])  # fmt: skip


def test_enumerations_have_torch_npus_values():
    assert P.supported_profiler_level() == {"Level0", "Level1", "Level2", "Level_none"}
    assert P.AiCMetrics.MemoryL0 == "ACL_AICORE_L0B_AND_WIDTH" and len(P.supported_ai_core_metrics()) == 9
    assert str(P.ProfilerActivity.NPU) == "ProfilerActivity.NPU" and len(P.supported_activities()) == 2
    assert [a.value for a in P.ProfilerAction] == [0, 1, 2, 3]


def test_a_module_that_is_not_there_says_so():
    with pytest.raises(ModuleNotFoundError, match="stand-in"):
        __import__("torch_npu.profiler.analysis")
    with pytest.raises(AttributeError, match="nonsense"):
        P.nonsense


# ---- dynamic_profile


def test_dynamic_profile_by_its_file(tmp_path):
    script = textwrap.dedent("""
        import json, os, torch, torch_npu
        from torch_npu.profiler import dynamic_profile as dp
        dp.init("conf")
        given = json.load(open("conf/profiler_config.json"))
        assert given["is_valid"] is False
        for i in range(8):
            if i == 2:
                given.update(is_valid=True, start_step=5, active=2, prof_dir="out", analyse=True, metadata={"a": 1})
                given["experimental_config"].update(profiler_level="Level1", aic_metrics="PipeUtilization")
                json.dump(given, open("conf/profiler_config.json", "w"))
                os.utime("conf/profiler_config.json", ns=(1, i + 1))
            torch.ones(4).npu() + 1
            dp.step()
    """)
    Path("conf").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", "import labkit\n" + script], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (folder,) = Path("out").iterdir()
    names = {e["name"] for e in trace(folder) if e["name"].startswith("ProfilerStep#")}
    assert names == {"ProfilerStep#5", "ProfilerStep#6"}
    assert json.loads((folder / "profiler_metadata.json").read_text())["a"] == 1
    assert "Start Dynamic Profiler at 5 step" in next(Path("conf/log").iterdir()).read_text()


def test_dynamic_profile_without_init_and_a_file_that_asks_for_nothing(tmp_path):
    script = textwrap.dedent("""
        import json, torch, torch_npu
        from labkit.profiler import dynamic_profile as ours
        from torch_npu.profiler import dynamic_profile as dp
        given = {**ours.TEMPLATE, "active": 2, "prof_dir": "out", "analyse": True, "activities": "NPU"}
        json.dump(given, open("asked.json", "w"))
        dp.start("asked.json")
        for _ in range(4):
            torch.ones(4).npu() + 1
            dp.step()
        print("ended", ours._the_one.prof)
        dp.init("conf")
        for other in ([1], {"is_valid": True, "experimental_config": "Level1"}):
            json.dump(other, open("conf/profiler_config.json", "w"))
            dp.step()
    """)
    Path("conf").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", "import labkit\n" + script], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and "ended None" in done.stdout, done.stderr
    assert len(list(Path("out").iterdir())) == 1
    said = next(Path("conf/log").iterdir()).read_text()
    assert "can not be read: an object is wanted, not [1]" in said and 'not "Level1"' in said, said
