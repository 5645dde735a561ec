"""Plain data as bytes and back: what crosses between the judge and a worker in which a learner's code runs.

Numbers, text, bytes, lists, tuples, dicts, sets, namespaces, arrays of numbers, tensors, dtypes, tables; and a
function, of which only a number crosses (a call of it goes back to its owner). Nothing else: what arrives is built
here, member by member, and no class, module or code is ever named by it, as a pickle would.
"""

from __future__ import annotations

import functools
import json
import os
import struct
import types
from collections.abc import Callable
from typing import Any

import numpy as np

LONGEST = 256 << 20  # bytes of one message
_SCALARS = (bool, int, float, str)
_ARRAYS = "biufcSU"
# not all that can be called: a module of PyTorch can, and has more than that
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)


class NotPlain(TypeError):
    """A value that cannot cross: the name of its type."""


class Broken(ValueError):
    """Bytes that are no message."""


class Opaque:
    """In place of a result that is no plain data: the name of its type, and what repr says. Equal to nothing."""

    def __init__(self, kind: str, text: str):
        self.kind, self.text = kind, text

    __hash__ = None

    def __eq__(self, other) -> bool:
        return False

    def __repr__(self) -> str:
        return self.text


def encode(value: Any, *, functions: list | None = None, result: bool = False) -> bytes:
    """The message. functions: those met are appended, and their place crosses. result: what is no plain data becomes
    Opaque, and a kind of list, dict or number the plain one. Raises NotPlain.
    """
    blobs: list[bytes] = []
    tree = json.dumps(_pack(value, blobs, functions, result)).encode("utf-8", "surrogatepass")
    sizes = struct.pack(f"<{len(blobs) + 2}Q", len(blobs), len(tree), *map(len, blobs))
    return b"".join([sizes, tree, *blobs])


def _pack(v: Any, blobs: list[bytes], functions: list | None, result: bool) -> Any:
    kind = type(v)
    if v is None or kind in _SCALARS:
        return v if kind is not int or v.bit_length() < 4000 else _opaque(v, result)

    def many(values):
        return [_pack(x, blobs, functions, result) for x in values]

    def blob(data: bytes) -> int:
        blobs.append(data)
        return len(blobs) - 1

    if kind in (list, tuple, set, frozenset):
        return {kind.__name__: many(v)}
    if kind is Opaque:  # of a result that golden.py's `run` hands over again
        return {"opaque": [v.kind, v.text]}
    if kind is dict:
        return {"dict": many([x for pair in v.items() for x in pair])}
    if kind is types.SimpleNamespace:
        return {"namespace": _pack(vars(v), blobs, functions, result)}
    if kind is bytes:
        return {"bytes": blob(v)}
    if kind is complex:
        return {"complex": [v.real, v.imag]}
    if v is Ellipsis:
        return {"ellipsis": 0}
    if isinstance(v, (np.ndarray, np.generic)) and v.dtype.kind in _ARRAYS and (result or kind is not np.matrix):
        array = np.ascontiguousarray(v)
        named = "scalar" if isinstance(v, np.generic) else "array"
        return {named: [array.dtype.str, list(v.shape), blob(array.tobytes())]}
    if kind.__module__.startswith("torch") and (packed := _pack_torch(v, blob, result)) is not None:
        return packed
    if kind.__module__.startswith("pandas") and kind.__name__ == "DataFrame":
        columns = {name: v[name].tolist() for name in v.columns}
        return {"frame": _pack([list(v.index), columns], blobs, functions, result)}
    if functions is not None and isinstance(v, _FUNCTIONS):
        functions.append(v)
        return {"function": len(functions) - 1}
    if result:
        for plain in (bool, int, float, str, dict, tuple, list, set, frozenset):
            if isinstance(v, plain):
                return _pack(plain(v), blobs, functions, result)
    return _opaque(v, result)


def _opaque(v: Any, result: bool) -> dict:
    name = f"{type(v).__module__}.{type(v).__qualname__}"
    if not result:
        raise NotPlain(name)
    try:
        text = repr(v)[:200]
    except Exception:
        text = f"<{name}>"
    return {"opaque": [name, text]}


def _pack_torch(v: Any, blob: Callable, result: bool) -> Any:
    import torch

    if isinstance(v, torch.dtype):
        return {"dtype": str(v).removeprefix("torch.")}
    if isinstance(v, torch.Size):
        return {"size": list(v)}
    parameter = type(v) is torch.nn.Parameter
    if not isinstance(v, torch.Tensor) or not (result or parameter or type(v) is torch.Tensor):
        return None
    if v.layout is not torch.strided or v.is_meta or v.is_quantized:
        return None
    cpu = v.detach().cpu().resolve_conj().resolve_neg().contiguous()
    data = cpu.reshape(-1).view(torch.uint8).numpy().tobytes() if cpu.numel() else b""
    kind = "" if result else "parameter" if parameter else "grad" if v.requires_grad else ""
    made = [str(v.dtype).removeprefix("torch."), list(v.shape), v.device.type, blob(data), kind]
    strided = not result and v.numel() > 1 and not v.is_contiguous() and 0 not in v.stride()
    return {"tensor": [*made, list(v.stride())] if strided else made}  # an operator must get what it has to make dense


def decode(message: bytes, *, function: Callable[[int], Callable] | None = None, device: bool = False) -> Any:
    """What was encoded. function: makes a callable of a function's number. device: tensors that were on the npu go
    there again, else all are on the CPU. Raises Broken.
    """
    try:
        (count,) = struct.unpack_from("<Q", message)
        if count > 100_000:
            raise Broken("too many parts")
        sizes = struct.unpack_from(f"<{count + 1}Q", message, 8)
        at = 8 * (count + 2)
        if at + sum(sizes) != len(message):
            raise Broken("its lengths do not add up")
        parts = []
        for size in sizes:
            parts.append(message[at : at + size])
            at += size
        return _unpack(json.loads(parts[0].decode("utf-8", "surrogatepass")), parts[1:], function, device)
    except Broken:
        raise
    except (struct.error, ValueError, TypeError, KeyError, IndexError, RecursionError, MemoryError, RuntimeError,
            AttributeError, OverflowError) as error:  # fmt: skip
        raise Broken(f"{type(error).__name__}: {error}"[:200]) from None


def _unpack(v: Any, blobs: list[bytes], function: Callable | None, device: bool) -> Any:
    if v is None or isinstance(v, _SCALARS):
        return v
    if not isinstance(v, dict) or len(v) != 1:
        raise Broken("no value")
    ((kind, of),) = v.items()
    if kind in ("list", "tuple", "set", "frozenset", "dict"):
        parts = [_unpack(x, blobs, function, device) for x in of]
        if kind == "dict":
            return dict(zip(parts[::2], parts[1::2], strict=True))
        return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind](parts)
    if kind == "namespace":
        return types.SimpleNamespace(**_unpack(of, blobs, function, device))
    if kind == "bytes":
        return blobs[of]
    if kind == "complex":
        return complex(*of)
    if kind == "ellipsis":
        return Ellipsis
    if kind in ("array", "scalar"):
        dtype = np.dtype(of[0])
        if dtype.kind not in _ARRAYS or dtype.hasobject or min(of[1], default=0) < 0:
            raise Broken(f"an array of {of[0]!r}")
        array = np.frombuffer(blobs[of[2]], dtype).reshape(of[1])
        return array.copy() if kind == "array" else array.reshape(())[()]
    if kind == "opaque":
        return Opaque(str(of[0])[:200], str(of[1])[:200])
    if kind == "frame":
        import pandas

        index, columns = _unpack(of, blobs, function, device)
        return pandas.DataFrame(columns, index=index)
    if kind == "function" and function is not None:
        return function(int(of))
    if kind in ("dtype", "size", "tensor"):
        return _unpack_torch(kind, of, blobs, device)
    raise Broken(f"no kind of value: {kind!r}"[:100])


def _strided(tensor: Any, strides: list) -> Any:
    """The same numbers, as far apart as they were."""
    import torch

    apart = [int(n) for n in strides]
    fits = len(apart) == tensor.dim() and min(apart, default=1) > 0
    if not fits or sum((n - 1) * s for n, s in zip(tensor.shape, apart)) > 64 * tensor.numel():
        raise Broken(f"strides that cannot be: {strides!r}"[:100])
    try:
        return torch.empty_strided(tensor.shape, apart, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
    except RuntimeError as error:  # elements over one another
        raise Broken(str(error)[:100]) from None


def _unpack_torch(kind: str, of: Any, blobs: list[bytes], device: bool) -> Any:
    import torch

    def dtype(name: str) -> torch.dtype:
        found = getattr(torch, name) if isinstance(name, str) and name.isidentifier() else None
        if not isinstance(found, torch.dtype):
            raise Broken(f"no dtype: {name!r}"[:100])
        return found

    if kind == "dtype":
        return dtype(of)
    if kind == "size":
        return torch.Size(of)
    name, shape, place, number, kind, *strides = of
    shape = [int(n) for n in shape]
    data = bytearray(blobs[number])
    flat = torch.frombuffer(data, dtype=dtype(name)) if data else torch.empty(0, dtype=dtype(name))
    tensor = flat.reshape(shape)
    tensor = tensor.to("npu") if device and place == "npu" else tensor
    tensor = _strided(tensor, strides[0]) if strides else tensor
    if kind not in ("", "grad", "parameter"):
        raise Broken(f"a tensor of kind {kind!r}"[:100])
    return torch.nn.Parameter(tensor) if kind == "parameter" else tensor.requires_grad_(kind == "grad")


# ---- over a pipe


def send(fd: int, message: bytes) -> None:
    """One message. Raises OSError."""
    data = memoryview(struct.pack("<Q", len(message)) + message)
    while data:
        data = data[os.write(fd, data[: 1 << 20]) :]


def receive(fd: int) -> bytes:
    """The next message. Raises EOFError at the end, Broken where it says that it is too long."""
    (size,) = struct.unpack("<Q", _read(fd, 8))
    if size > LONGEST:
        raise Broken(f"a message of {size} bytes")
    return _read(fd, size)


def _read(fd: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
