"""The stream of a timeline's events: any block size gives the same events, whatever stands in the texts."""

from __future__ import annotations

import json

import pytest

from labkit.trace import json_stream

NASTY = 'a "quoted" }, {"ph": "X"}, \\ [ ] } , { 中文 \r\n'
EVENTS = [
    {"ph": "X", "name": f"{NASTY}{i}", "pid": i % 3, "tid": "MTE2", "ts": f"1736408883704643.{i:03d}", "dur": 1.5 * i,
     "args": {"Call stack": NASTY * 3, "list": [{"a": 1}, {"b": [{}, {}]}], "Task Type": "AI_CORE"}}
    for i in range(40)
]  # fmt: skip


def read(path, block=1 << 20):
    ending = json_stream.Ending()
    found = [e for part in json_stream.events(path, ending, block=block) for e in part]
    return found, ending


@pytest.mark.parametrize("block", [64, 257, 1000, 4096, 1 << 20])
@pytest.mark.parametrize("form", ["list", "object", "object, list last", "pretty", "no spaces"])
def test_every_event_comes_once_in_its_order(tmp_path, block, form):
    whole = EVENTS
    if form.startswith("object"):
        more = {"displayTimeUnit": "ns", "other": [{"x": 1}, {"y": 2}]}
        whole = {**more, "traceEvents": EVENTS} if "last" in form else {"traceEvents": EVENTS, **more}
    separators = (",", ":") if form == "no spaces" else None
    path = tmp_path / "trace_view.json"
    path.write_text(
        json.dumps(whole, ensure_ascii=False, indent=1 if form == "pretty" else None, separators=separators)
    )
    found, ending = read(path, block)
    assert [e.name for e in found] == [e["name"] for e in EVENTS]
    assert [json_stream.nanoseconds(bytes(e.ts)) for e in found[:3]] == [1736408883704643000 + i for i in range(3)]
    assert ending.broken is None and ending.listed and found[1].args.task_type == "AI_CORE"


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.97])
def test_what_is_whole_of_a_truncated_file_is_read(tmp_path, cut):
    text = json.dumps(EVENTS).encode()
    path = tmp_path / "trace_view.json"
    path.write_bytes(text[: int(len(text) * cut)])
    found, ending = read(path, 700)
    assert [e.name for e in found] == [e["name"] for e in EVENTS[: len(found)]]
    assert 40 * cut - 2 <= len(found) < 40 and 0 < ending.broken <= ending.size


def test_times_keep_their_nanoseconds():
    ns = json_stream.nanoseconds
    assert ns(b'"1736408883704643.212"') == 1736408883704643212
    assert ns(b"1736408883704643.212") == 1736408883704643212, "a number keeps its digits as well"
    assert ns(b'"1736408883973810"') == 1736408883973810000 and ns(b'"12.5\t"') == 12500
    assert ns(b"1.5e3") == 1_500_000 and ns(b"") is None and ns(b'"N/A"') is None


def test_elements_that_are_no_events_do_not_stop_the_rest(tmp_path):
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps([EVENTS[0], {"ph": "X", "name": "odd", "ts": "1", "args": "text"}, 17, EVENTS[1]]))
    found, ending = read(path)
    assert [e.name for e in found] == [EVENTS[0]["name"], "odd", EVENTS[1]["name"]] and ending.broken is None
