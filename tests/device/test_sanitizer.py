"""torch_npu.npu._sanitizer: races between streams, and memory that may go too early."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest
from places import REPO

import labkit.device

labkit.device.install()

import torch  # noqa: E402
import torch.cuda._sanitizer as pytorch  # noqa: E402


@pytest.fixture
def found():
    """The handler of a sanitizer that is on; found.flush_record_stream_warnings() says what is missing so far."""
    from torch_npu.npu._sanitizer import npu_sanitizer

    npu_sanitizer.enable()
    yield npu_sanitizer.event_handler
    npu_sanitizer.disable()


def streams() -> tuple[torch.npu.Stream, torch.npu.Stream]:
    return torch.npu.current_stream(), torch.npu.Stream()


def test_an_operator_that_waits_for_nobody_races(found):
    x = torch.randn(100, device="npu")
    own, other = streams()
    with pytest.raises(pytorch.CUDASanitizerErrors), torch.npu.stream(other):
        x + 1
    other.wait_stream(own)
    with torch.npu.stream(other):
        x.mul_(2)
    with pytest.raises(pytorch.CUDASanitizerErrors):
        x + 1
    own.wait_stream(other)
    assert x.cpu().shape == (100,)


@pytest.mark.parametrize("wait", ["event", "torch.Event", "stream.synchronize", "event.synchronize", "synchronize",
                                  "accelerator", "item"])  # fmt: skip
def test_every_way_to_wait_counts(found, wait):
    x = torch.ones((), device="npu")
    own, other = streams()
    if wait == "event":
        other.wait_event(own.record_event())
    elif wait == "torch.Event":
        event = torch.Event("npu")
        event.record(own)
        event.wait(other)
    elif wait == "stream.synchronize":
        own.synchronize()
    elif wait == "event.synchronize":
        own.record_event().synchronize()
    elif wait == "synchronize":
        torch.npu.synchronize()
    elif wait == "accelerator":
        torch.accelerator.synchronize()
    else:
        x.item()
    with torch.npu.stream(other):
        y = x + 1
    torch.npu.synchronize()
    assert y.item() == 2


def test_memory_that_may_go_too_early_is_told_when_it_goes(found, capsys):
    own, other = streams()
    x = torch.randn(100, device="npu")
    address = x.data_ptr()
    other.wait_stream(own)
    with torch.npu.stream(other):
        _ = x[10:50] + 1  # of a part: the memory is one
    assert not found._found
    del x
    gc.collect()
    (error,) = found.record_stream_errors
    assert error.data_ptr == address and error.usage_stream == other.npu_stream
    told = capsys.readouterr().err
    assert f"{address:#x}" in told and "record_stream" in told and "test_sanitizer.py" in told
    assert "labkit/device/modules/sanitizer.py" not in told


@pytest.mark.parametrize("cure", ["record_stream", "wait", "synchronize"])
def test_what_keeps_the_memory_is_no_fault(found, cure):
    own, other = streams()
    x = torch.randn(100, device="npu")
    other.wait_stream(own)
    if cure == "record_stream":
        x.record_stream(other)
    with torch.npu.stream(other):
        y = x + 1
    if cure == "wait":
        own.wait_stream(other)
    elif cure == "synchronize":
        torch.npu.synchronize()
    assert found.flush_record_stream_warnings() == []
    del x
    assert y is not None and found.record_stream_errors == []
    if cure == "record_stream":  # and taken back it is one
        import torch_npu

        z = torch.randn(100, device="npu")
        other.wait_stream(own)
        z.record_stream(other)
        torch_npu.erase_stream(z, other)
        with torch.npu.stream(other):
            _ = z + 1
        assert [e.data_ptr for e in found.flush_record_stream_warnings()] == [z.data_ptr()]


def test_a_new_tensor_does_not_race_with_the_one_before_it(found):
    """At the same address: what was done to parts of the old one is forgotten, too."""
    own, other = streams()
    with torch.npu.stream(other):
        x = torch.ones(1000, device="npu")
        x[128:] += 1
        inside, whole = x[128:].data_ptr(), x.data_ptr()
        del x
        torch.npu.empty_cache()
    y = torch.ones(1000, device="npu")
    if y.data_ptr() == whole:  # where nothing else has taken the place
        assert y[128:].data_ptr() == inside
    assert (y[128:] + 1).sum() > 0


def test_off_it_notes_nothing():
    from labkit.device.library import watched

    x = torch.randn(100, device="npu")
    with torch.npu.stream(torch.npu.Stream()):
        x + 1
    torch.npu.synchronize()
    assert watched() == []


def test_a_program_switches_it_on_from_outside():
    program = (
        "import labkit, torch; x = torch.ones(8, device='npu'); torch.npu.set_stream(torch.npu.Stream()); print(x + 1)"
    )
    for on in "01":
        env = {**os.environ, "TORCH_NPU_SANITIZER": on, "PYTHONPATH": str(REPO)}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)
        assert ("data race" in done.stderr) == (on == "1"), done.stderr
        assert (done.returncode != 0) == (on == "1")
