"""Reading: every generation of headers, odd values, the forms of a recording, and clear answers for what is none."""

from __future__ import annotations

import json
import sqlite3

import planted_programs
import planted_tree
import pytest

from labkit import trace
from labkit.trace import csv_tables
from labkit.trace.refusals import TraceError

KERNELS = [("aclnnAdd_AddAiCore_Add", "Add", "AI_VECTOR_CORE", 1736408883704643212, 53.741), ("aclnnMatmul_MatMulCommon_MatMulV2", "MatMulV2", "AI_CORE", 1736408883704801156, 6.54)]  # fmt: skip
PMU = "aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,aiv_mte2_time(us),aiv_mte2_ratio"
SHAPES = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID"
# one for each generation of profiler-formats.md, 1.3 and 1.4
GENERATIONS = {
    "2023-11": f"Step Id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,{SHAPES},{PMU}",
    "2023 HF32": f"Step Id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,{SHAPES},{PMU}",
    "8.0": f"Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,{SHAPES},{PMU}",
    "7.1": f"Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,{SHAPES},{PMU}",
    "9": f"Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,{SHAPES},{PMU}",
    "Level0 8": "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim",
    "Level0 9": "Step Id,Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num",
    "no steps": "Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num",
    "op_summary 8": f"Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,{SHAPES},{PMU}",
    "op_summary 9": f"Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,{SHAPES},{PMU}",
    "310B": f"Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,{SHAPES},aicore_time(us),total_cycles,vec_exe_time(us),vec_exe_ratio,mac_exe_time(us),mac_exe_ratio,mte2_exe_time(us),mte2_exe_ratio,memory_bound",
}  # fmt: skip
VALUES = {
    "step id": "50", "device_id": "0", "model id": "4294967295", "task id": "7", "stream id": "2", "op state": "dynamic",
    "wait time": "0.0", "task wait time": "0.0", "block dim": "32", "block num": "32", "mix block dim": "0", "mix block num": "0",
    "hf32 eligible": "NO", "input shapes": '"""8,2048;8,2048"""', "input data types": "FLOAT16;FLOAT16", "input formats": "ND;ND",
    "output shapes": '"""8,2048"""', "output data types": "FLOAT16", "output formats": "ND", "context id": "N/A",
    "aic_mac_ratio": "0.25", "aiv_vec_ratio": "0.186", "aiv_mte2_ratio": "0.552", "vec_exe_ratio": "0.186", "mac_exe_ratio": "N/A",
    "mte2_exe_ratio": "0.552",
}  # fmt: skip


def line(heads: list[str], kernel, style: str) -> str:
    name, kind, core, ns, dur = kernel
    whole, part = divmod(ns, 1000)
    start = {
        "tab": f"{whole}.{part:03d}\t",
        "integer": str(whole),
        "one": f"{whole}.{part // 100}",
        "plain": f"{whole}.{part:03d}",
    }[style]
    known = VALUES | {
        "name": name,
        "op name": name,
        "type": kind,
        "op type": kind,
        "accelerator core": core,
        "task type": core,
    }
    known |= {"start time": start, "task start time": start, "duration": str(dur), "task duration": str(dur)}
    return ",".join(known.get(csv_tables.plain(h), "NA" if style == "one" else "N/A") for h in heads)


def table(heads: str, style="tab", end="\r\n", comma="") -> bytes:
    names = heads.split(",")
    return end.join([heads + comma, *(line(names, k, style) + comma for k in KERNELS), ""]).encode()


@pytest.mark.parametrize("which", GENERATIONS)
@pytest.mark.parametrize(
    "style, end, comma", [("tab", "\r\n", ""), ("plain", "\n", ","), ("one", "\n", ""), ("integer", "\r\n", ",")]
)
def test_every_generation_of_headers_says_the_same(tmp_path, which, style, end, comma):
    path = tmp_path / ("op_summary_20260101.csv" if "Op Name" in GENERATIONS[which] else "kernel_details.csv")
    path.write_bytes(table(GENERATIONS[which], style, end, comma))
    found = trace.read(path).kernels
    assert found["name"].to_list() == [k[0] for k in KERNELS] and found["type"].to_list() == [k[1] for k in KERNELS]
    assert found["core"].to_list() == [k[2] for k in KERNELS] and found["dur"].to_list() == [k[4] for k in KERNELS]
    gap = found["start"][1] - found["start"][0]
    assert gap == pytest.approx(157.944, abs={"integer": 1, "one": 0.11}.get(style, 1e-6))
    assert found["blocks"].to_list() == [32, 32]
    if "Input Shapes" in GENERATIONS[which]:
        assert found["in_shapes"].to_list() == ["8,2048;8,2048"] * 2 and found["out_types"][0] == "FLOAT16"
        vec, mte2 = ("ai_vec", "ai_mte2") if which == "310B" else ("aiv_vec", "aiv_mte2")
        assert found[vec][0] == pytest.approx(0.186) and found[mte2][0] == pytest.approx(0.552)
    assert found["step"].to_list() == ([50, 50] if "Step Id" in GENERATIONS[which] else [None, None])


def test_columns_count_by_name_not_by_place(tmp_path):
    heads = GENERATIONS["9"].split(",")
    (tmp_path / "kernel_details.csv").write_bytes(table(",".join(reversed(heads))))
    assert trace.read(tmp_path / "kernel_details.csv").kernels["dur"].to_list() == [53.741, 6.54]


def test_a_block_of_a_csv_ends_at_a_line_and_not_in_a_quoted_field(tmp_path, monkeypatch):
    heads = GENERATIONS["9"]
    rows = [line(heads.split(","), KERNELS[i % 2], "tab").replace("8,2048;8,2048", "8,\n2048") for i in range(60)]
    (tmp_path / "kernel_details.csv").write_text("\r\n".join([heads, *rows, ""]), newline="")
    monkeypatch.setattr(csv_tables, "_BLOCK", 333)
    found = trace.read(tmp_path / "kernel_details.csv").kernels
    assert found.height == 60 and set(found["in_shapes"]) == {"8,\n2048"}


@pytest.mark.parametrize("nine", [True, False])
def test_a_tree_of_both_generations_reads_the_same(tmp_path, nine):
    machine, _ = planted_programs.well(4)  # several ranks
    profile = trace.read(planted_tree.write(machine, tmp_path, nine))
    assert len(profile.traces) == len(machine.ranks)
    for one, rank in zip(profile.traces, machine.ranks):
        assert one.rank == rank.number and one.simulated and one.word == "modelled"
        assert one.kernels.height == len(rank.kernels) == one.kernels["issued"].drop_nulls().len()
        assert one.comm.height == len(rank.comm) and one.copies().height == len(rank.copies)
        assert one.kernels["issued"].sort().to_list() == pytest.approx(sorted(k.issued - rank.host[0][1] for k in rank.kernels), abs=0.01)  # fmt: skip
        assert one.steps["step"].to_list() == [s[0] for s in rank.steps] and one.cores == {"aic": 24, "aiv": 48}


def test_rows_are_known_by_their_process_and_not_by_pid_or_order(tmp_path):
    machine, _ = planted_programs.well(1)
    home = planted_tree.write(machine, tmp_path)
    file = home / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
    events = json.loads(file.read_text())
    names = {pid: f"p{i}" for i, pid in enumerate(sorted({e["pid"] for e in events}))}
    moved = [e | {"pid": names[e["pid"]]} for e in reversed(events)]  # texts as pids, the names at the end
    (tmp_path / "trace_view.json").write_text(json.dumps({"traceEvents": moved, "schemaVersion": 1}))
    a, b = trace.read(file).trace, trace.read(tmp_path / "trace_view.json").trace
    for table in ("kernels", "host", "calls", "tasks", "steps"):
        assert getattr(a, table).height == getattr(b, table).height > 0, table
    assert a.kernels["issued"].sum() == b.kernels["issued"].sum() and b.kernels["issued"].null_count() == 0


def test_a_database_gives_what_the_text_gives(tmp_path):
    path = tmp_path / "host_1_20260101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_3.db"
    path.parent.mkdir(parents=True)
    base = sqlite3.connect(path)
    base.executescript(
        """create table STRING_IDS(id integer, value text); create table TASK(startNs, endNs, deviceId, connectionId, globalTaskId, taskType, streamId, taskId);
        create table COMPUTE_TASK_INFO(name, globalTaskId, blockNum, mixBlockNum, taskType, opType, inputShapes, waitNs);
        create table CANN_API(startNs, endNs, type, globalTid, connectionId, name);
        create table PYTORCH_API(startNs text, endNs text, globalTid, connectionId, name, inputShapes, type);
        create table CONNECTION_IDS(id, connectionId); create table STEP_TIME(id, startNs, endNs); create table TASK_PMU_INFO(globalTaskId, name, value);
        create table RANK_DEVICE_MAP(rankId, deviceId); insert into RANK_DEVICE_MAP values (3, 0);
        insert into STRING_IDS values (1, 'Add'), (2, 'AI_VECTOR_CORE'), (3, 'launch'), (4, 'aten::add'), (5, '8,2048'), (6, 'aiv_vec_ratio'), (7, 'MEMCPY_ASYNC');
        insert into TASK values (5000, 9000, 0, 11, 100, 2, 2, 1), (10000, 12000, 0, 12, 101, 7, 3, 2);
        insert into COMPUTE_TASK_INFO values (1, 100, 40, 0, 2, 1, 5, 500); insert into CANN_API values (2000, 3000, 0, 9, 11, 3);
        insert into PYTORCH_API values ('1000', '4000', 8, 70, 4, 5, 50001); insert into CONNECTION_IDS values (70, 11);
        insert into STEP_TIME values (2, 500, 20000); insert into TASK_PMU_INFO values (100, 6, 0.5);"""
    )
    base.commit()
    found = trace.read(path.parent.parent).trace
    row = found.kernels.row(0, named=True)
    assert (row["name"], row["core"], row["blocks"], row["dur"], row["wait"], row["aiv_vec"]) == (
        "Add",
        "AI_VECTOR_CORE",
        40,
        4.0,
        0.5,
        0.5,
    )
    assert row["start"] - row["issued"] == 3.0 and row["issued"] - row["op_time"] == 1.0 and row["step"] == 2
    assert found.copies().height == 1 and found.rank == 3 and found.host["shapes"][0] == "8,2048"


@pytest.mark.parametrize("folder", ["run 100%25", "a?b#c", "ünter 中文"])
def test_a_database_is_found_whatever_its_folder_is_called(tmp_path, folder):
    path = tmp_path / folder / "ascend_pytorch_profiler_3.db"
    path.parent.mkdir()
    base = sqlite3.connect(path)
    base.executescript("create table TASK(startNs, endNs, globalTaskId); insert into TASK values (5000, 9000, 100)")
    base.close()
    assert trace.read(path).trace.tasks["dur"].to_list() == [4.0]


def test_a_database_whose_rows_have_no_times(tmp_path):
    path = tmp_path / "ascend_pytorch_profiler.db"
    base = sqlite3.connect(path)
    base.executescript("create table TASK(startNs, endNs, globalTaskId); insert into TASK values (null, null, 100)")
    base.close()
    assert trace.read(path).trace.base_ns == 0


def prepared(folder, what: str):
    """A path for each refusal."""
    tree = folder / "host_1_20260101000000000_ascend_pt"
    output = tree / "ASCEND_PROFILER_OUTPUT"
    if what == "no_path":
        return folder / "absent"
    if what in ("empty_file", "not_trace", "no_events"):
        path = folder / "trace_view.json"
        path.write_text(
            {"empty_file": "", "not_trace": "hello", "no_events": '[{"ph":"M","name":"process_name","pid":1}]'}[what]
        )
        return path
    if what == "not_kernels":
        (folder / "kernel_details.csv").write_text("OP Type,Count,Ratio(%)\nAdd,3,1\n")
        return folder / "kernel_details.csv"
    if what in ("bad_database", "not_database"):
        path = folder / "ascend_pytorch_profiler.db"
        path.write_bytes(b"not a database at all, but long enough" * 9) if what == "bad_database" else sqlite3.connect(
            path
        ).executescript("create table X(a)")
        return path
    if what in ("packed", "unknown_file", "side_file"):
        path = (
            folder / {"packed": "trace_view.json.gz", "unknown_file": "x.txt", "side_file": "communication.json"}[what]
        )
        path.write_text("{}")
        return path
    if what == "not_analysed":
        (tree / "FRAMEWORK").mkdir(parents=True)
    elif what == "nothing_in_tree":
        output.mkdir(parents=True)
    elif what == "one_kernel":
        (folder / "OPPROF_20261123_X" / "dump").mkdir(parents=True)
        (folder / "OPPROF_20261123_X" / "PipeUtilization.csv").write_text("block_id,sub_block_id\n0,vector0\n")
        return folder / "OPPROF_20261123_X"
    elif what == "not_exported":
        (folder / "PROF_000001_X" / "device_0").mkdir(parents=True)
        return folder / "PROF_000001_X"
    return tree if tree.exists() else folder


@pytest.mark.parametrize(
    "code", ["no_path", "empty_file", "not_trace", "no_events", "not_kernels", "bad_database", "not_database", "packed", "unknown_file",
             "side_file", "not_analysed", "nothing_in_tree", "not_exported", "no_profile", "one_kernel"],
)  # fmt: skip
def test_what_is_no_recording_gets_a_clear_answer(tmp_path, code):
    with pytest.raises(TraceError) as error:
        trace.read(prepared(tmp_path, code))
    assert error.value.code == code
    for lang in ("en", "zh"):
        what, why, cure = error.value.problem.lines(lang)
        assert what and why and cure and "?" not in what


@pytest.mark.parametrize(
    "config, code",
    [
        ({"activities": ["ProfilerActivity.CPU"]}, "cpu_only"),
        ({"schedule": {"wait": 9, "active": 1}}, "no_step"),
        ({}, "no_kernels"),
    ],
)
def test_a_trace_without_kernels_says_which_step_did_not_record(tmp_path, config, code):
    machine, _ = planted_programs.well(1)
    home = planted_tree.write(machine, tmp_path)
    output = home / "ASCEND_PROFILER_OUTPUT"
    events = [
        e for e in json.loads((output / "trace_view.json").read_text()) if e.get("cat") == "cpu_op" or e["ph"] == "M"
    ]
    (output / "trace_view.json").write_text(json.dumps([e for e in events if "ProfilerStep" not in e["name"]]))
    (output / "kernel_details.csv").unlink()
    (home / "profiler_info.json").write_text(json.dumps({"config": {"common_config": config}}))
    profile = trace.read(home)
    assert [p.code for p in profile.trace.problems] == [code] and profile.findings() == []
    assert profile.trace.problems[0].lines()[0] in profile.report().text()


def test_a_truncated_timeline_is_said_and_the_rest_is_used(tmp_path):
    machine, _ = planted_programs.well(1)
    home = planted_tree.write(machine, tmp_path)
    file = home / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
    file.write_bytes(file.read_bytes()[:-5000])
    profile = trace.read(home)
    assert [p.code for p in profile.trace.problems] == ["truncated"]
    assert profile.kernels.height == len(machine.ranks[0].kernels) and "breaks off at byte" in profile.report().text()


def test_a_kernel_belongs_to_the_step_that_issued_it(tmp_path):
    """A host that runs ahead: most kernels run when the host's marks of their step are long past."""
    machine, _ = planted_programs.well(8)
    rank = machine.ranks[0]
    issued = sorted((k.start, k.step) for k in rank.kernels)
    marks = [(start, number) for number, start, _ in rank.steps]
    for k in rank.kernels:  # as a writer does that goes by the device's time
        k.step = max((m for m in marks if m[0] <= k.start), default=marks[0])[1]
    assert [s for _, s in issued] != [k.step for k in sorted(rank.kernels, key=lambda k: k.start)]
    found = trace.read(planted_tree.write(machine, tmp_path)).kernels
    assert found["step"].to_list() == [s for _, s in issued]


def test_torch_profilers_export_joins_launch_and_kernel_by_a_number(tmp_path):
    def x(cat, name, tid, ts, dur, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}

    events = [
        x("user_annotation", "ProfilerStep#3", 1, 100.0, 50.0),
        x("cpu_op", "aten::add", 1, 101.0, 9.0, **{"External id": 5, "Input Dims": [[8, 4], []]}),
        x("cuda_runtime", "cudaLaunchKernel", 1, 105.25, 2.0, correlation=77),
        x("kernel", "add_kernel", 7, 120.5, 30.0, correlation=77, stream=7, device=0),
        x("kernel", "orphan", 7, 151.0, 1.0, correlation=78, stream=7),
        x("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, 160.0, 4.0, correlation=79, stream=7),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events, "traceName": "x.json"}))
    one = trace.read(path).trace
    assert one.kernels["name"].to_list() == ["add_kernel", "orphan"] and one.kernels["step"].to_list() == [3, None]
    assert (one.kernels["start"] - one.kernels["issued"]).to_list() == [15.25, None]
    assert one.copies().height == 1 and one.host.filter(one.host["kind"] == "op")["name"].to_list() == ["aten::add"]
