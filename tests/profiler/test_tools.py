"""The tools of the trade on what the lab wrote: msprof-analyze, the TensorBoard plugin for Ascend, Perfetto's trace
processor, Holistic Trace Analysis. They live in run/tools-venv; `python scripts/profiler_tools.py` makes it.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import profiler_tools
import pytest
import torch
from profile_sessions import session
from torch import nn

import labkit
from labkit import profiler
from labkit.profiler.settings import AiCMetrics, Settings

labkit.device.install()
import torch_npu

pytestmark = [pytest.mark.tools, pytest.mark.slow]
HERE = Path(__file__).parent / "tools"
P = torch_npu.profiler


@pytest.fixture(scope="module")
def tools() -> Path:
    """The bin folder of the tools. LABKIT_REQUIRE_TOOLS=1: made where there is none."""
    found = profiler_tools.make() if os.environ.get("LABKIT_REQUIRE_TOOLS") == "1" else profiler_tools.python()
    if found is None:
        pytest.skip("no run/tools-venv: python scripts/profiler_tools.py makes it")
    return found.parent


def run(tools: Path, *words, cwd: Path) -> str:
    done = subprocess.run(
        [tools / words[0], *map(str, words[1:])], cwd=cwd, capture_output=True, text=True, timeout=600
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-4000:]
    return said


def recorded(place: Path, cann: int = 9) -> Path:
    """A training loop with a disease: a copy back to the host, and a wait, between small operators."""
    os.environ["LABKIT_CANN_STYLE"] = str(cann)
    # Times since 1970 are doubles to these tools, quarters of a us: which rows of some ns vanish in that hangs on the
    # clock's offset, and so on the tests that ran before.
    labkit.device.reset_clock()
    try:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU(), nn.Linear(512, 16)).npu()
        optimizer = torch.optim.AdamW(model.parameters())
        x, y, probe = torch.randn(64, 512), torch.arange(64) % 16, torch.ones(4, device="npu")
        config = P._ExperimentalConfig(profiler_level=P.ProfilerLevel.Level1, aic_metrics=AiCMetrics.PipeUtilization)
        with P.profile(schedule=P.schedule(wait=1, warmup=1, active=2, repeat=1), record_shapes=True, profile_memory=True,
                       with_stack=True, experimental_config=config,
                       on_trace_ready=P.tensorboard_trace_handler(str(place))) as prof:  # fmt: skip
            for _ in range(4):
                for _ in range(90):
                    probe.sum().item()
                loss = nn.functional.cross_entropy(model(x.npu()), y.npu())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                prof.step()
    finally:
        del os.environ["LABKIT_CANN_STYLE"]
    return next(place.glob("*_ascend_pt"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return recorded(tmp_path_factory.mktemp("run"))


@pytest.mark.parametrize("cann", (8, 9))
def test_advisor_names_the_disease(tools, tmp_path, cann):
    one = recorded(tmp_path / "prof", cann)
    said = run(tools, "msprof-analyze", "advisor", "all", "-l", "en", "-d", one, "-o", tmp_path / "out", cwd=tmp_path)
    assert not re.search(r"\[ERROR\]|Traceback", said), said
    # its check of block dims leaves kernels out that take any shape ("OP State" dynamic), as all of aclnn do
    for category in ("Overall Summary", "Environment Variable Issues", "Synchronize Stream Issues"):
        assert category in said, said
    free = float(re.search(r"Free Time is ([\d.]+)ms", said)[1])
    computing = float(re.search(r"Computing Time is ([\d.]+)ms", said)[1])
    assert free > computing > 0, "ninety waits a step leave the device idle"
    assert list((tmp_path / "out").glob("mstt_advisor_*.html"))


@pytest.mark.parametrize("cann", (8, 9))
def test_compare_has_device_times(tools, tmp_path, cann):
    one = recorded(tmp_path / "prof", cann)
    said = run(tools, "msprof-analyze", "compare", "-d", one, "-bp", one, "-o", tmp_path / "out", cwd=tmp_path)
    assert not re.search(r"\[ERROR\]|Traceback", said), said
    book = next((tmp_path / "out").glob("performance_comparison_result_*.xlsx"))
    script = (
        "import sys, json, openpyxl\n"
        "book = openpyxl.load_workbook(sys.argv[1], read_only=True)\n"
        "rows = list(book['OperatorCompare'].iter_rows(values_only=True))\n"
        "head = next(i for i, r in enumerate(rows) if 'Device Duration(us)' in r)\n"
        "at = rows[head].index('Device Duration(us)')\n"
        "print(json.dumps([book.sheetnames, sum(float(r[at] or 0) for r in rows[head + 1:])]))\n"
    )
    sheets, total = json.loads(run(tools, "python", "-c", script, book, cwd=tmp_path).splitlines()[-1])
    assert total > 100 and {"OverallMetrics", "KernelCompare", "MemoryCompare"} <= set(sheets)


def test_cluster_of_two_ranks(tools, tmp_path):
    for rank in (0, 1):
        place = tmp_path / "cluster" / f"host_{rank}1_20260101000000000_ascend_pt"
        profiler.write(session(5 + rank, steps=2), place, Settings(level="Level1"), 100 + rank, rank,
                       {"parallel_group_info": {"1": {"group_name": "default_group", "group_rank": rank, "global_ranks": [0, 1]}}})  # fmt: skip
    said = run(tools, "msprof-analyze", "cluster", "-d", tmp_path / "cluster", "-o", tmp_path / "out", cwd=tmp_path)
    assert not re.search(r"\[ERROR\]|Traceback", said), said
    found = {p.name for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert {"cluster_step_trace_time.csv", "cluster_communication.json", "cluster_communication_matrix.json"} <= found
    table = next((tmp_path / "out").rglob("cluster_step_trace_time.csv")).read_text().splitlines()
    assert len(table) >= 1 + 4, table


def test_cluster_by_the_databases(tools, tmp_path):
    for rank in (0, 1):
        place = tmp_path / "cluster" / f"host_{rank}1_20260101000000000_ascend_pt"
        settings = Settings(level="Level1", export_type=["db"], experimental={"_export_type": ["db"]})
        profiler.write(session(5 + rank, steps=2), place, settings, 100 + rank, rank)
    for recipe in ("compute_op_sum", "cann_api_sum", "hccl_sum"):
        said = run(tools, "msprof-analyze", "cluster", "-m", recipe, "--export_type", "db", "-d", tmp_path / "cluster",
                   "-o", tmp_path / recipe, cwd=tmp_path)  # fmt: skip
        assert not re.search(r"\[ERROR\]|Traceback", said), said
        assert list((tmp_path / recipe).rglob("cluster_analysis.db")), said


def test_tensorboards_plugin(tools, folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([tools / "tensorboard", "--logdir", folder.parent, "--port", str(port), "--host", "127.0.0.1"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    def ask(route: str):
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/data/plugin/pytorch_profiler/{route}", timeout=60
        ) as answer:
            data = answer.read()
            return json.loads(gzip.decompress(data) if answer.headers.get("Content-Encoding") == "gzip" else data)

    try:
        until = time.monotonic() + 120
        while True:
            try:
                if (runs := ask("runs"))["runs"] and not runs["loading"]:
                    break
            except OSError:
                pass
            assert time.monotonic() < until, "TensorBoard did not load the run"
            time.sleep(0.5)
        name = runs["runs"][0]
        assert set(ask(f"views?run={name}")["views"]) >= {"Operator", "Kernel", "Trace", "Memory"}
        worker = ask(f"workers?run={name}&view=Operator")[0]
        spans = ask(f"spans?run={name}&worker={worker}")
        where = f"run={name}&worker={worker}&span={spans[0]}"
        operators = ask(f"operation/table?{where}&group_by=Operation")
        data = operators["data"] if isinstance(operators, dict) else operators
        times = {row["name"]: row["device_self_duration"] for row in data}
        assert times["aten::addmm"] > 0 and sum(times.values()) > 100
        kernels = ask(f"kernel/table?{where}")["data"]
        assert any("MatMul" in row[0] for row in kernels["rows"])
        assert len(ask(f"trace?{where}")) > 1000
        assert ask(f"memory_curve?{where}") and ask(f"memory_events?{where}")
    finally:
        server.terminate()
        server.wait(30)


def test_perfettos_trace_processor_takes_every_event(tools, folder, tmp_path):
    for source in (folder, session(11)):
        path = profiler.viewer_json(source, tmp_path / "view.json")
        events = json.loads(path.read_text())["traceEvents"]
        found = json.loads(run(tools, "python", HERE / "ask_perfetto.py", path, cwd=tmp_path).splitlines()[0])
        assert found["problems"] == []
        assert found["slices"] == [sum(e["ph"] == "X" for e in events)]
        assert found["flows"] == [sum(e["ph"] == "s" for e in events)]
        kernels = [e["dur"] for e in events if e["ph"] == "X" and re.match(r"aclnn.*AiCore", e["name"])]
        assert found["kernels"][0] == len(kernels) and found["kernels"][1] == pytest.approx(
            sum(kernels) * 1000, rel=1e-6
        )


def test_holistic_trace_analysis(tools, tmp_path):
    model, x = nn.Linear(256, 256).npu(), torch.randn(64, 256)
    path = tmp_path / "trace.json"
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.PrivateUse1]
    with torch.profiler.profile(activities=activities, record_shapes=True) as prof:
        for _ in range(3):
            model(x.npu()).relu().sum().backward()
            prof.step()
    prof.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    said = run(tools, "python", HERE / "ask_hta.py", path, cwd=tmp_path)
    found = json.loads(next(line for line in reversed(said.splitlines()) if line.startswith('{"busy"')))
    assert found["busy"] == pytest.approx(sum(e["dur"] for e in kernels), rel=0.3)
    assert set(found["kernels"]) == {e["name"] for e in kernels} | {"Memcpy HtoD (Pinned -> Device)"}
    # HTA adds ts and dur as floats. Where a copy begins in the nanosecond in which a kernel ends, the sum can be
    # 1e-14 us too long, and HTA then has a kind "COMPUTATION overlapping MEMORY" of 0 us.
    assert {kind for kind, us in found["kinds"].items() if us > 0} == {"COMPUTATION", "MEMORY"}, found["kinds"]
    assert found["idle_rows"] > 0


@pytest.mark.browser
def test_catapult_imports_every_event(tools, folder, tmp_path, monkeypatch):
    """chrome://tracing, as the TensorBoard plugin carries it, takes trace_view.json as it is."""
    import functools
    import http.server
    import shutil
    import threading

    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "browser"))
    from jupyter_page import open_browser

    if not shutil.which("chromedriver"):
        if os.environ.get("LABKIT_REQUIRE_BROWSER") == "1":
            pytest.fail("LABKIT_REQUIRE_BROWSER=1, but no chromedriver", pytrace=False)
        pytest.skip("no chromedriver")
    (static,) = tools.parent.glob("lib/python*/site-packages/torch_tb_profiler/static")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(static))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = open_browser(tmp_path)
    script = """
        const model = new tr.Model();
        new tr.importer.Import(model).importTraces([arguments[0]]);
        let slices = 0;
        for (const thread of model.getAllThreads()) slices += thread.sliceGroup.slices.length;
        return {slices, flows: model.flowEvents.length, warnings: model.importWarnings.map(w => w.message)};
    """
    try:
        browser.get(f"http://127.0.0.1:{server.server_port}/trace_embedding.html")
        until = time.monotonic() + 120
        while not browser.execute_script("return !!(window.tr && tr.Model && tr.importer && tr.importer.Import)"):
            assert time.monotonic() < until, "catapult did not load"
            time.sleep(0.5)
        browser.set_script_timeout(120)
        text = (folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text(encoding="utf-8")
        found = browser.execute_script(script, text)
        events = json.loads(text)
        assert found["warnings"] == []
        assert found["slices"] == sum(e["ph"] == "X" for e in events)
        assert found["flows"] == sum(e["ph"] == "s" for e in events)
    finally:
        browser.quit()
        server.shutdown()
