"""Which engine reads a trace: a file of a gigabyte is made, each engine reads it in a process of its own.

python scripts/trace_engines.py [--gigabytes 1] [--keep DIR] [--only NAME ...]: time, CPU time and the peak of memory of
each engine, into data/trace_engines.csv. `ours` and `duckdb_model` build the whole model of labkit/trace: their tables are
compared by a hash of all rows. The others only parse, and show what that alone takes (their numbers of kernels, operators
and flows are compared). load: of the machine just before; on a shared one CPU time says more than time. The made file
is not committed.
"""

# ruff: noqa: E501  (events and headers as they stand in the files)
from __future__ import annotations

import argparse
import csv
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
PID, HOST, CANN, NPU = 1000, 1000, 1024319, 1024416
EPOCH_NS = 1_736_408_883_000_000_000
TYPES = ["MatMulV2", "Add", "Mul", "LayerNormV4", "SoftmaxV2", "Cast", "GeluGrad", "Transpose"]


def stamp(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def make(folder: Path, size: int, seed: int = 1) -> Path:
    """A tree with a trace_view.json of `size` bytes and the CSVs that belong to it."""
    draw = random.Random(seed)
    out = folder / "host_1000_20250109000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    out.mkdir(parents=True)
    (out.parent / "profiler_info.json").write_text(
        json.dumps({"config": {"experimental_config": {"_profiler_level": "Level1"}, "common_config": {}}})
    )
    kernels = []
    with open(out / "trace_view.json", "w", encoding="utf-8", newline="") as file:
        names = [(PID, "Python"), (CANN, "CANN"), (NPU, "Ascend Hardware")]
        file.write(
            "["
            + ", ".join(
                json.dumps({"ph": "M", "name": "process_name", "pid": p, "tid": 0, "args": {"name": n}})
                for p, n in names
            )
        )
        written, now, index, step = file.tell(), EPOCH_NS, 0, 0
        stacks = [
            ";\\r\\n".join(f"/usr/lib/python3.11/site-packages/torch/nn/{i}_{j}.py({j}): forward" for j in range(5))
            for i in range(200)
        ]
        while written < size:
            index += 1
            if index % 4000 == 1:
                step += 1
            kind = TYPES[draw.randrange(len(TYPES))]
            name = f"aclnn{kind}_{kind}AiCore_{kind}"
            n = draw.choice((256, 512, 1024, 4096))
            start = now + 60_000
            dur = draw.randrange(5_000, 90_000)
            connection = index
            rows = [
                f'{{"ph":"X","name":"aten::{kind.lower()}","pid":{PID},"tid":{HOST},"ts":"{stamp(now)}","dur":{dur / 900:.2f},'
                f'"cat":"cpu_op","args":{{"Sequence number":{index},"Fwd thread id":0,"Input Dims":"{n},{n};\\r\\n{n},{n}",'
                f'"Input type":"c10::Half;\\r\\nc10::Half","Call stack":"{stacks[index % 200]}"}}}}',
                f'{{"ph":"X","name":"torch/nn/modules/linear.py({index % 150}): forward","pid":{PID},"tid":{HOST},"ts":"{stamp(now - 500)}",'
                f'"dur":{dur / 700:.2f},"cat":"python_function","args":{{"Python id":{index},"Python parent id":{index - 1}}}}}',
                f'{{"ph":"X","name":"Enqueue@aclnn{kind}","pid":{PID},"tid":{HOST},"ts":"{stamp(now + 2000)}","dur":1.2,"cat":"enqueue",'
                f'"args":{{"correlation_id":{index}}}}}',
                f'{{"ph":"s","bp":"e","name":"torch_to_npu","id":{start},"pid":{PID},"tid":{HOST},"ts":"{stamp(now)}","cat":"async_npu"}}',
                f'{{"ph":"f","bp":"e","name":"torch_to_npu","id":{start},"pid":{NPU},"tid":2,"ts":"{stamp(start)}","cat":"async_npu"}}',
                f'{{"name":"AscendCL@aclnn{kind}","pid":{CANN},"tid":1001,"ts":"{stamp(now + 20_000)}","dur":21.5,"ph":"X",'
                f'"args":{{"Thread Id":1001,"Mode":"ACL_NN","level":"acl","id":"aclnn{kind}","item_id":"0","connection_id":{connection}}}}}',
                f'{{"name":"HostToDevice{connection << 32}","ph":"s","cat":"HostToDevice","id":"{connection << 32}","pid":{CANN},"tid":1001,"ts":"{stamp(now + 20_000)}"}}',
                f'{{"name":"HostToDevice{connection << 32}","ph":"f","id":"{connection << 32}","ts":"{stamp(start)}","cat":"HostToDevice","pid":{NPU},"tid":2,"bp":"e"}}',
                f'{{"name":"{name}","pid":{NPU},"tid":2,"ts":"{stamp(start)}","dur":{dur / 1000},"ph":"X","args":{{"Model Id":4294967295,"Task Type":"AI_CORE",'
                f'"Physic Stream Id":2,"Task Id":{index % 65536},"Batch Id":0,"Subtask Id":4294967295,"connection_id":{connection}}}}}',
            ]
            text = ", " + ", ".join(rows)
            file.write(text)
            written += len(text)
            kernels.append((step, index % 65536, name, kind, start, dur, n))
            now += max(dur, 25_000)
        file.write("]")
    pmu = ",".join(["12.5,120000,3.1,0.248,1.2,0.096,0.5,0.04,4.4,0.352,2.2,0.176,0.01"] + ["0.0"] * 11)
    with open(out / "kernel_details.csv", "w", encoding="utf-8", newline="") as file:
        file.write(
            "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
            "Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,"
            "Output Data Types,Output Formats,Context ID,aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,"
            "aic_scalar_time(us),aic_scalar_ratio,aic_mte1_time(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,"
            "aic_fixpipe_time(us),aic_fixpipe_ratio,aic_icache_miss_rate,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),"
            "aiv_vec_ratio,aiv_scalar_time(us),aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte3_time(us),"
            "aiv_mte3_ratio,aiv_icache_miss_rate\r\n"
        )
        for step, task, name, kind, start, dur, n in kernels:
            file.write(
                f"{step},0,4294967295,{task},2,{name},{kind},dynamic,AI_CORE,{stamp(start)}\t,{dur / 1000},0.0,24,0,NO,"
                f'"""{n},{n};{n},{n}""",FLOAT16;FLOAT16,ND;ND,"""{n},{n}""",FLOAT16,ND,N/A,{pmu}\r\n'
            )
    return out.parent


# ---- the engines: each returns (kernels, host operators, flows joined, sum of the kernels' ns, one start in ns)


def ours(tree: Path):
    from labkit import trace

    read = trace.read(tree, progress=False)
    linked = int((read.kernels["issued"].is_not_null()).sum())
    return read.kernels.height, read.host.height, linked, read.kernels["dur"].sum(), read.trace


def duckdb_model(tree: Path):
    """Everything as ours, but the timeline is parsed, sorted out and joined by DuckDB."""
    import trace_duckdb

    from labkit.trace import timeline_file

    timeline_file.read = trace_duckdb.read
    return ours(tree)


def digest(trace) -> str:
    """Of all tables: the same for the same rows, whatever the order of rows with equal times."""
    import polars as pl

    found = 0
    for name in ("kernels", "host", "calls", "tasks", "comm", "steps", "overlap"):
        table = getattr(trace, name)
        for column in sorted(table.columns):  # with the start of each row, so that a column cannot move against another
            pair = [pl.col(column).cast(pl.String)] + [pl.col(c) for c in ("start",) if c in table.columns]
            rows = table.select(*pair[:1], *(p.alias("at") for p in pair[1:])).hash_rows(seed=len(column))
            found = (found + sum(divmod(int(rows.cast(pl.Int128).sum() or 0), 2**64))) % 2**64
    return f"{found:016x}"


def duckdb_json(tree: Path):
    import duckdb

    base = duckdb.connect(config={"threads": 2, "memory_limit": "900MB", "temp_directory": str(tree / "spill")})
    base.execute("set preserve_insertion_order = false")
    file = tree / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
    base.execute(
        f"""create table e as select * from read_json('{file}', format='array', columns={{ph:'VARCHAR', name:'VARCHAR',
        pid:'BIGINT', tid:'BIGINT', ts:'DECIMAL(22,3)', dur:'DOUBLE', cat:'VARCHAR', id:'VARCHAR',
        args: 'STRUCT("name" VARCHAR, "Task Type" VARCHAR, connection_id VARCHAR, "Input Dims" VARCHAR, "Call stack" VARCHAR)'}},
        maximum_object_size=16777216)"""
    )
    kernels = (tree / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").as_posix()
    base.execute(f"create table k as select * from read_csv('{kernels}', all_varchar=true)")
    linked = base.execute(
        """select count(*) from e f join e s on f.id = s.id and s.ph='s' and f.ph='f' and s.cat='async_npu' and f.cat='async_npu'"""
    ).fetchone()[0]
    host = base.execute("select count(*) from e where cat='cpu_op'").fetchone()[0]
    count, total = base.execute('select count(*), sum(cast("Duration(us)" as double)) from k').fetchone()
    return count, host, linked, total


def ijson_stream(tree: Path):
    import ijson

    kernels = host = total = 0
    starts: dict[str, str] = {}
    linked = 0
    with open(tree / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", "rb") as file:
        for event in ijson.items(file, "item", use_float=True):
            if event.get("cat") == "cpu_op":
                host += 1
            elif event.get("cat") == "async_npu":
                if event["ph"] == "s":
                    starts[event["id"]] = event["ts"]
                elif event["id"] in starts:
                    linked += 1
            elif event["pid"] == NPU and event["ph"] == "X":
                kernels += 1
                total += event["dur"]
    return kernels, host, linked, total


def orjson_blocks(tree: Path):
    """orjson in place of msgspec on the same blocks: whole dictionaries instead of the chosen fields."""
    import orjson

    from labkit.trace import json_stream

    kernels = host = total = linked = 0
    starts: dict[int, str] = {}

    def decode(part: bytes):
        try:
            return orjson.loads(part)
        except orjson.JSONDecodeError:
            return None

    json_stream._decode = decode
    for rows in json_stream.events(tree / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", json_stream.Ending()):
        for event in rows:
            if event.get("cat") == "cpu_op":
                host += 1
            elif event.get("cat") == "async_npu":
                if event["ph"] == "s":
                    starts[event["id"]] = event["ts"]
                elif event["id"] in starts:
                    linked += 1
            elif event["pid"] == NPU and event["ph"] == "X":
                kernels += 1
                total += event["dur"]
    return kernels, host, linked, total


def report(tree: Path):
    """Not an engine: the whole of `labkit trace report` with ours."""
    from labkit import trace

    return len(trace.report(tree, progress=False).text()), 0, 0, 0.0


ENGINES = {f.__name__: f for f in (ours, duckdb_model, duckdb_json, orjson_blocks, ijson_stream, report)}
WHAT = {
    "ours": "msgspec on blocks of the list, Polars for tables and CSVs; the whole model is built",
    "duckdb_model": "DuckDB (memory_limit 200 MB, spills to disk) and Polars; the whole model is built; lists with times in quotes only",
    "duckdb_json": "DuckDB's read_json and read_csv, memory_limit 900 MB",
    "orjson_blocks": "orjson on the same blocks; only counts, no tables",
    "ijson_stream": "ijson (yajl2_c); only counts, no tables, no CSVs",
    "report": "the whole of labkit trace report",
}


def one(name: str, tree: Path) -> None:
    load = os.getloadavg()[0]
    start = time.perf_counter()
    found = ENGINES[name](tree)
    seconds = round(time.perf_counter() - start, 1)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "engine": name,
                "seconds": seconds,
                "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
                "peak_mb": round(used.ru_maxrss / 1024),
                "kernels": found[0],
                "host_operators": found[1],
                "linked": found[2],
                "kernel_ms": round(float(found[3]) / 1000, 3),
                "load": round(load, 1),
                "tables": digest(found[4]) if len(found) > 4 else "",
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--keep", type=Path, help="Make the file here, or use the one that is there.")
    parser.add_argument("--only", nargs="*", choices=sorted(ENGINES))
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "TREE"), help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="Write data/trace_engines.csv.")
    given = parser.parse_args()
    if given.one:
        one(given.one[0], Path(given.one[1]))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        tree = next(iter(folder.glob("*_ascend_pt")), None) or make(folder, int(given.gigabytes * 1e9))
        size = (tree / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").stat().st_size
        rows = []
        for name in given.only or ENGINES:
            run = subprocess.run(
                [sys.executable, __file__, "--one", name, str(tree)],
                capture_output=True,
                text=True,
                env=os.environ | {"PYTHONPATH": str(REPO), "POLARS_MAX_THREADS": "2"},
            )
            row = (
                json.loads(run.stdout.splitlines()[-1])
                if run.returncode == 0
                else {"engine": name, "seconds": "failed"}
            )
            row |= {"gigabytes": round(size / 1e9, 2), "what": WHAT[name]}
            print(row, run.stderr[-600:] if run.returncode else "", flush=True)
            rows.append(row)
    if given.write:
        heads = [
            "engine",
            "gigabytes",
            "seconds",
            "cpu_seconds",
            "peak_mb",
            "kernels",
            "host_operators",
            "linked",
            "kernel_ms",
            "tables",
            "load",
            "what",
        ]
        with open(REPO / "data" / "trace_engines.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, heads, lineterminator="\n", restval="")
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main()
