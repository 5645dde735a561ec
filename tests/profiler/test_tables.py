"""The tables: their headers by generation, which of them a level leaves, and that they agree with each other."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter

import pytest
from profile_sessions import ns, processes, session, trace

from labkit import chips
from labkit.profiler import communication, kernel_names, output_folder, raw
from labkit.profiler.events import Session, Task, TensorFacts
from labkit.profiler.layout import Layout
from labkit.profiler.settings import AiCMetrics, Settings
from labkit.profiler.tables import counter_columns

OUT = "ASCEND_PROFILER_OUTPUT"
LEVEL0 = {"kernel_details.csv", "operator_details.csv", "step_trace_time.csv", "task_time.csv", "trace_view.json",
          "analyse.done"}  # fmt: skip
LEVEL1 = LEVEL0 | {"op_statistic.csv", "api_statistic.csv", "communication.json", "communication_matrix.json"}
MEMORY = {"operator_memory.csv", "memory_record.csv", "npu_module_mem.csv"}


def written(tmp_path, seed=1, rank=None, **how):
    return output_folder.write(
        session(seed), tmp_path / "host_1_20260101000000000_ascend_pt", Settings(**how), 4242, rank
    )


def table(folder, name) -> list[dict]:
    with open(folder / OUT / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def header(folder, name) -> str:
    return (folder / OUT / name).read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.parametrize(
    "how, files",
    [
        ({}, LEVEL0),
        ({"level": "Level1"}, LEVEL1),
        ({"level": "Level2", "profile_memory": True, "l2_cache": True}, LEVEL1 | MEMORY | {"l2_cache.csv"}),
        ({"level": "Level_none"}, {"operator_details.csv", "trace_view.json", "analyse.done"}),
        ({"npu": False}, {"operator_details.csv", "trace_view.json", "analyse.done"}),
        ({"cpu": False}, LEVEL0 - {"operator_details.csv"}),
        ({"export_type": ["db"]}, {"ascend_pytorch_profiler.db", "analysis.db", "analyse.done"}),
    ],
)
def test_files_by_level_and_activities(tmp_path, how, files):
    folder = written(tmp_path, **how)
    assert {p.name for p in (folder / OUT).iterdir()} == files


PIPES = (
    "aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us),aic_scalar_ratio,aic_mte1_time"
    "(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,aic_fixpipe_time(us),aic_fixpipe_ratio,aic_icache_miss_rate,"
    "aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,aiv_scalar_time(us),aiv_scalar_ratio,aiv_mte2_time(us"
    "),aiv_mte2_ratio,aiv_mte3_time(us),aiv_mte3_ratio,aiv_icache_miss_rate,cube_utilization(%)"
)
SHAPES = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID"


def test_headers_are_those_of_published_files(tmp_path):
    """CANN 8: Ascend/msinsight test/data/pytorch/text/level1. CANN 9: profiler-formats.md section 1.3."""
    level = {"level": "Level1", "aic_metrics": AiCMetrics.PipeUtilization, "profile_memory": True}
    eight, nine = written(tmp_path / "8", cann=8, **level), written(tmp_path / "9", cann=9, **level)
    assert header(eight, "kernel_details.csv") == (
        "Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
        f"Block Dim,Mix Block Dim,HF32 Eligible,{SHAPES},{PIPES}"
    )
    assert header(nine, "kernel_details.csv") == (
        "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
        f"Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,{SHAPES},{PIPES}"
    )
    steps = ("Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
             "Communication(Not Overlapped and Exclude Receive),Preparing")  # fmt: skip
    for name, first in (("step_trace_time.csv", steps),
                        ("op_statistic.csv", "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)"),
                        ("api_statistic.csv", "Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance"),
                        ("npu_module_mem.csv", "Component,Timestamp(us),Total Reserved(MB),Device")):  # fmt: skip
        assert header(eight, name) == first and header(nine, name) == f"Device_id,{first}"
    assert header(nine, "memory_record.csv") == (
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type"
    )
    low = written(tmp_path / "0")
    assert header(low, "kernel_details.csv") == (
        "Step Id,Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num"
    )
    assert {row["Type"] for row in table(low, "kernel_details.csv")} == {"N/A"}


def test_style_of_cann_8_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CANN_STYLE", "8")
    assert "Block Dim" in header(written(tmp_path), "kernel_details.csv")


@pytest.mark.parametrize(
    "metrics", [m for m in vars(AiCMetrics).values() if str(m).startswith("ACL") and m[-4:] != "NONE"]
)
def test_counters_of_a_group_are_in_the_table_and_missing_ones_are_na(tmp_path, metrics):
    made = session()
    columns = counter_columns(metrics)
    first = next(t for t in made.tasks if t.kind == "kernel")
    first.ours, first.name, first.pmu = True, "add_custom", {columns[0]: 12.34567, columns[1]: 4321.0}
    folder = output_folder.write(made, tmp_path / "x_ascend_pt", Settings(level="Level1", aic_metrics=metrics), 1)
    rows = table(folder, "kernel_details.csv")
    own = next(r for r in rows if r["Name"] == "add_custom")
    assert (own[columns[0]], own[columns[1]]) == ("12.346", "4321") and own[columns[-1]] == "N/A"
    assert all(r[c] == "N/A" for r in rows if r is not own for c in columns)


def test_tables_agree_with_the_trace_and_the_database(tmp_path):
    folder = written(tmp_path, level="Level1", export_type=["text", "db"], record_shapes=True, with_stack=True)
    rows, events = table(folder, "kernel_details.csv"), trace(folder)
    names = processes(events)
    shown = Counter((e["name"], ns(e["ts"]), round(e["dur"], 3)) for e in events
                    if e["ph"] == "X" and names[e["pid"]] in ("Ascend Hardware", "Communication")
                    and e["args"].get("Task Type", "") not in ("PCIE_DMA_SQE", "EVENT_RECORD"))  # fmt: skip
    listed = Counter((r["Name"], ns(r["Start Time(us)"]), float(r["Duration(us)"])) for r in rows)
    assert listed == shown and rows[0]["Start Time(us)"].endswith("\t")
    with sqlite3.connect(folder / OUT / "ascend_pytorch_profiler.db") as db:
        tasks = db.execute("SELECT s.value, t.startNs, t.endNs - t.startNs FROM TASK t JOIN COMPUTE_TASK_INFO c USING "
                           "(globalTaskId) JOIN STRING_IDS s ON s.id = c.name").fetchall()  # fmt: skip
        joined = db.execute("SELECT count(*) FROM PYTORCH_API a JOIN CONNECTION_IDS i ON i.id = a.connectionId JOIN TASK t"
                            " ON t.connectionId = i.connectionId").fetchone()[0]  # fmt: skip
        assert dict(db.execute("SELECT name, value FROM META_DATA"))["SCHEMA_VERSION"] == "1.0.0"
    assert Counter((n, b, d / 1000) for n, b, d in tasks) == Counter(
        {k: v for k, v in listed.items() if "hcom" not in k[0]}
    )
    assert joined == len([e for e in events if e["ph"] == "f" and e["cat"] == "async_npu" and
                          names[e["pid"]] == "Ascend Hardware"]) + len([e for e in events if e["name"] == "EVENT_RECORD"])  # fmt: skip
    total = sum(float(r["Device Self Duration(us)"]) for r in table(folder, "operator_details.csv"))
    copies = sum(e["dur"] for e in events if e["name"] == "MEMCPY_ASYNC")
    assert total == pytest.approx(sum(float(r["Duration(us)"]) for r in rows) + copies, abs=0.01) and total > 0


def test_simulated_whatever_a_program_adds(tmp_path):
    folder = output_folder.write(
        session(), tmp_path / "x_ascend_pt", Settings(), 1, 3, {"simulated": "false", "mine": "1"}
    )
    meta = json.loads((folder / "profiler_metadata.json").read_text())
    assert meta["simulated"] == "true" and meta["mine"] == "1" and "ASCEND_LAUNCH_BLOCKING" in meta["ENV_VARIABLES"]
    info = json.loads((folder / "profiler_info_3.json").read_text())
    assert info["rank_id"] == 3 and info["config"]["common_config"]["activities"] == [
        "ProfilerActivity.CPU",
        "ProfilerActivity.NPU",
    ]
    (device,) = json.loads(next(folder.glob("PROF_*/device_0/info.json.0")).read_text())["DeviceInfo"]
    chip = chips.load("910B1")
    assert (device["ai_core_num"], device["aiv_num"]) == (chip["cores"]["aic"], chip["cores"]["aiv"])
    assert device["aic_frequency"] == "1850"


def test_two_writings_are_the_same(tmp_path):
    how = dict(level="Level2", export_type=["text"], profile_memory=True, record_shapes=True, with_stack=True)
    first, second = written(tmp_path / "a", **how), written(tmp_path / "b", **how)
    for path in sorted((first / OUT).iterdir()):
        assert path.read_bytes() == (second / OUT / path.name).read_bytes(), path.name


def test_raw_form_comes_back_whole(tmp_path):
    made = raw.Recording(session(3), Settings(level="Level1"), 7, 2, [raw.Mark("m", "marker", "default", 0, 5, 5)])
    raw.save(made, tmp_path)
    assert raw.load(tmp_path) == made
    file = next((tmp_path / "FRAMEWORK").iterdir())
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ValueError, match="cut off"):
        raw.load(tmp_path)


# ---- names


def kernel(name, engine="vector", dtypes=("float32", "float32"), **how):
    given = [TensorFacts((4,), d) for d in dtypes]
    return kernel_names.kernel(Task(name, "kernel", engine, 0, 0, 0, 0, 1, inputs=given[:1], outputs=given[1:], **how))


def test_kernels_have_the_names_of_published_profiles():
    assert kernel("aten::add").name == "aclnnAdd_AddAiCore_Add"
    assert kernel("aten::add_.Tensor").name == "aclnnInplaceAdd_AddAiCore_Add"
    assert kernel("aten::mm", "cube") == ("aclnnMm_MatMulCommon_MatMulV2", "MatMulV2", "AI_CORE", "aclnnMm")
    assert kernel("aten::sum").core == "MIX_AIV"
    assert kernel("aten::copy_", dtypes=("float16", "float32")).type == "Cast"
    assert kernel("aten::copy_").type == "TensorMove"
    assert kernel("aten::special_bessel_j0_") == ("aclnnInplaceSpecialBesselJ0_SpecialBesselJ0AiCore_SpecialBesselJ0",
                                                  "SpecialBesselJ0", "AI_VECTOR_CORE", "aclnnInplaceSpecialBesselJ0")  # fmt: skip
    for name, call in {"index_put_": "aclnnIndexPutImpl", "_fused_adamw_": "aclnnApplyAdamWV2",
                       "_foreach_add_.List": "aclnnForeachAddListV2", "_foreach_tan_": "aclnnForeachTan",
                       "mul_.Scalar": "aclnnInplaceMul", "masked_fill_": "aclnnInplaceMaskedFillScalar",
                       "__lshift__.Scalar": "aclnnLshift", "__ilshift__.Scalar": "aclnnInplaceIlshift"}.items():  # fmt: skip
        assert kernel(f"aten::{name}").call == call
    assert kernel("add_custom", ours=True)[:2] == ("add_custom", "add_custom")


def test_every_name_of_the_table_has_the_form():
    for part in ("seen", "plugin"):
        for operator, entry in kernel_names.table()[part].items():
            name, _, core = entry.partition(" ")
            call, low, kind = name.split("_")
            assert call.startswith("aclnn") and kind and low, operator
            assert core in ("", "MIX_AIV", "MIX_AIC", "AI_CPU")
    assert len(kernel_names.table()["seen"]) + len(kernel_names.table()["plugin"]) >= 120


@pytest.mark.parametrize("name, word, hccl", [("float16", "FLOAT16", "FP16"), ("torch.bfloat16", "DT_BF16", "BFP16"), ("bool", "BOOL", "INT8")])  # fmt: skip
def test_data_types(name, word, hccl):
    assert (kernel_names.dtype(name), kernel_names.dtype(name, hccl=True)) == (word, hccl)


def test_collectives_of_each_step(tmp_path):
    folder = written(tmp_path, level="Level1", rank=1)
    found = json.loads((folder / OUT / "communication.json").read_text())
    rows = [r for r in table(folder, "kernel_details.csv") if r["Accelerator Core"] == "COMMUNICATION"]
    assert rows and sum(len(kinds["collective"]) for kinds in found.values()) == len(rows)
    assert set(found) == {f"step{r['Step Id']}" for r in rows}
    times = [
        f["Communication Time Info"]["Elapse Time(ms)"]
        for kinds in found.values()
        for f in kinds["collective"].values()
    ]
    assert sum(times) * 1000 == pytest.approx(sum(float(r["Duration(us)"]) for r in rows), abs=0.01)
    matrix = json.loads((folder / OUT / "communication_matrix.json").read_text())
    links = next(iter(next(iter(matrix.values()))["collective"].values()))
    assert set(links) == {"1-0", "1-1", "1-2", "1-3"} and links["1-1"]["Transport Type"] == "LOCAL"


@pytest.mark.parametrize(
    "name, ranks, links, megabytes",
    [
        ("c10d::send", 2, {"0-0", "0-1"}, 8.0),
        ("c10d::recv_", 4, {"0-0"}, None),  # from whom is not recorded
        ("c10d::broadcast_", 4, {"0-0", "0-1", "0-2", "0-3"}, 8.0),
        ("c10d::allreduce_", 4, {"0-0", "0-1", "0-2", "0-3"}, 4.0),
        ("c10d::_allgather_base_", 4, {"0-0", "0-1", "0-2", "0-3"}, 2.0),
    ],
)
def test_links_carry_what_the_clock_charges(name, ranks, links, megabytes):
    task = Task(name, "collective", "link", 0, 1, 0.0, 0.0, 4e5, bytes=8e6, ranks=ranks)
    made = communication.matrix(Layout(Session(end=5e5, tasks=[task]), Settings(level="Level1"), 7, 0))["step"]
    kind = "p2p" if "send" in name or "recv" in name else "collective"
    (found,) = made[kind].values()
    assert set(found) == links
    assert megabytes is None or found["0-1"]["Transit Size(MB)"] == megabytes
