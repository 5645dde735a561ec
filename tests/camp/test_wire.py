"""Plain data crosses unchanged; nothing else does, and bytes that a submission made up build nothing."""

import json
import os
import random
import struct
import types

import numpy as np
import pytest
import torch

from labkit.camp import wire, worker
from labkit.camp.asked import fields_of
from labkit.exercises import spec as specs

PLAIN = [
    None, True, 3, -(2**70), 1.5, float("inf"), "文", b"\0x", [1, [2]], (1, (2,)), {"a": 1, (1, 2): [3]}, {1, 2},
    frozenset({3}), 1 + 2j, ..., torch.Size([2, 3]), torch.bfloat16, types.SimpleNamespace(a=[1]),
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_it_comes_back(value):
    back = wire.decode(wire.encode(value))
    assert back == value and type(back) is type(value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.half, torch.bfloat16, torch.int8, torch.bool, torch.int64])
def test_tensors(dtype):
    for tensor in (
        torch.arange(12).to(dtype).reshape(3, 4),
        torch.arange(12).to(dtype).reshape(3, 4).T,
        torch.zeros(0, 5).to(dtype),
    ):
        back = wire.decode(wire.encode(tensor))
        assert back.dtype == tensor.dtype and back.shape == tensor.shape and torch.equal(back, tensor)


def test_an_argument_keeps_its_strides():
    base = torch.arange(24.0).reshape(4, 6)
    for tensor in (base.T, base[:, 1:3], base[::2, ::3], base):
        back = wire.decode(wire.encode(tensor))
        assert torch.equal(back, tensor) and back.stride() == tensor.stride()
    for strides in ([1], [0, 1], [10**9, 1], ["x", 1]):
        with pytest.raises((wire.Broken, ValueError)):
            wire._unpack_torch("tensor", ["float32", [2, 2], "cpu", 0, "", strides], [bytes(16)], False)


def test_a_tensor_that_requires_grad_crosses_with_its_flag():
    """Also one that was made of others: here it begins."""
    leaf = torch.ones(2, requires_grad=True)
    for value, kind in ((leaf, torch.Tensor), (leaf * 2, torch.Tensor), (torch.nn.Parameter(leaf), torch.nn.Parameter)):
        back = wire.decode(wire.encode([value]))[0]
        assert back.requires_grad and back.is_leaf and type(back) is kind and torch.equal(back, value)
        assert not wire.decode(wire.encode([value], result=True))[0].requires_grad
    assert not wire.decode(wire.encode([torch.ones(2)]))[0].requires_grad


def test_the_arguments_of_every_exercise_that_goes_by_value_cross():
    """A case that cannot cross is an ERROR for every submission, seen or not before one comes so far."""
    every = [s for s in specs.load_all() if s.kind == "python" and not s.run and not s.on_device and s.needs != "npu"]
    assert len(every) > 20
    for spec in every:
        for case in spec.function(spec.cases)(3, True):
            wire.encode(fields_of(case), functions=[])


def test_arrays_and_tables():
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    back = wire.decode(wire.encode([array, array[0, 1], np.array(["ab", "c"])]))
    assert np.array_equal(back[0], array) and back[0].flags.writeable and back[1] == 1 and list(back[2]) == ["ab", "c"]
    assert type(back[1]) is np.float16
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", None]}, index=[5, 6])
    assert wire.decode(wire.encode(frame)).equals(frame)


def test_functions_cross_as_numbers():
    functions = []
    message = wire.encode([len, 3], functions=functions)
    assert functions == [len]
    assert wire.decode(message, function=lambda k: functions[k])[0]([1, 2]) == 2
    with pytest.raises(wire.Broken):
        wire.decode(message)


class Odd:
    def __repr__(self):
        raise ValueError


@pytest.mark.parametrize(
    "value", [object(), Odd(), len, torch.nn.Linear(1, 1), torch.ones(1).to_sparse()], ids=lambda v: type(v).__name__
)
def test_what_is_not_plain_is_refused_as_an_argument(value):
    with pytest.raises(wire.NotPlain):
        wire.encode([value])


def test_and_is_opaque_as_a_result():
    back = wire.decode(wire.encode([Odd(), object()], result=True))
    again = wire.decode(wire.encode(back))  # a golden's `run` may hand it back to the learner's function
    assert [x.kind for x in again] == [x.kind for x in back]
    assert all(isinstance(x, wire.Opaque) for x in back) and back[0] != back[0]


class Sly(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


def test_a_result_that_equals_everything_becomes_a_plain_number():
    back = wire.decode(wire.encode(Sly(3), result=True))
    assert type(back) is float and back == 3 and back != 4


def message(tree, *blobs: bytes) -> bytes:
    text = json.dumps(tree).encode()
    return struct.pack(f"<{len(blobs) + 2}Q", len(blobs), len(text), *map(len, blobs)) + text + b"".join(blobs)


@pytest.mark.parametrize(
    "tree",
    [
        {"tensor": ["float32", [2], "cpu", 0, "pickle"]}, {"tensor": ["int64", [1], "cpu", 0, "grad"]}, {"array": ["|O", [1], 0]}, {"array": ["<f4", [10**12], 0]}, {"array": ["<f4", [-5], 0]}, {"tensor": ["load", [1], "cpu", 0, ""]},
        {"tensor": ["float32", [99], "cpu", 0, ""]}, {"dtype": "__class__"}, {"pickle": 0}, {"bytes": 7}, {"dict": [1]}, {"set": [{"list": []}]},
        {"list": 5}, {"a": 1, "b": 2}, {"frame": 0}, [1], {"complex": ["x", "y"]}, {"function": 0},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_what_a_submission_makes_up_is_broken(tree):
    with pytest.raises(wire.Broken):
        wire.decode(message(tree, b"\0" * 8))


def test_noise_is_broken():
    rng = random.Random(1)
    good = bytearray(wire.encode({"a": [torch.ones(4), (1, "x")]}))
    for _ in range(400):
        bad = bytearray(good)
        for _ in range(rng.randrange(1, 6)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        try:
            wire.decode(bytes(bad))
        except wire.Broken:
            pass
    for cut in range(0, len(good), 7):
        with pytest.raises(wire.Broken):
            wire.decode(bytes(good[:cut]))


# ---- a worker that is asked over its pipes


ANSWERS = """
class Sly(dict):
    def keys(self):
        raise ValueError("no keys")
    __iter__ = keys

class Mute(Exception):
    def __str__(self):
        raise ValueError("no words")

def f(what):
    around = []
    around.append(around)
    if what == "mute":
        raise Mute
    return {"around": around, "sly": Sly(a=1), "plain": 3}[what]
"""


def test_a_result_that_cannot_be_told_is_an_answer_and_the_worker_goes_on():
    asked, told = os.pipe(), os.pipe()
    requests = [dict(do="function", text=ANSWERS, filename="f.py", entry="f")]
    requests += [dict(do="call", args=(what,), named={}) for what in ("around", "sly", "mute", "plain")]
    for request in requests:
        wire.send(asked[1], wire.encode({"token": "t", **request}))
    os.close(asked[1])
    worker.Worker(asked[0], told[1]).serve()
    os.close(told[1])
    _, around, sly, mute, plain = (wire.decode(wire.receive(told[0])) for _ in requests)
    assert (around["raised"], sly["raised"], sly["message"]) == ("RecursionError", "ValueError", "no keys")
    assert mute["raised"] == "Mute" and plain == {"token": "t", "value": 3}
    for fd in (asked[0], told[0]):
        os.close(fd)
