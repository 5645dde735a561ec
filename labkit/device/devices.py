"""Which device an argument means, the context managers that make it current, and torch.npu.FloatTensor and the like:
the old way to make an npu tensor, and to ask for a type with isinstance().
"""

from __future__ import annotations

import functools
import importlib

import torch

from labkit import messages
from labkit.device.library import lib

KINDS = {"npu"}  # transfer_to_npu adds "cuda"


def index(device=None) -> int:
    """Index of the device that an argument of torch.npu names: None (the current one), 0, "npu:0" or a torch.device.

    Raises ValueError for a device of another kind.
    """
    if device is None:
        return lib().lab_get_device()
    if isinstance(device, int):
        return device
    wanted = torch.device(device)
    if wanted.type not in KINDS:
        raise ValueError(f"Expected a npu device, but got: {wanted}")
    return lib().lab_get_device() if wanted.index is None else wanted.index


def existing(device=None, error: type[Exception] = RuntimeError) -> int:
    """The same for a device that must exist. Raises `error` where there is none of that number."""
    i = index(device)
    if not 0 <= i < device_count():
        raise error(messages.text("device.bad_argument", index=i, count=device_count()))
    return i


def device_count() -> int:
    return lib().lab_device_count()


def current_device() -> int:
    return lib().lab_get_device()


def set_device(device) -> None:
    """Makes `device` (index, "npu:0", torch.device) current on this thread. Raises RuntimeError when there is none."""
    i = index(device)
    if lib().lab_set_device(i):
        raise RuntimeError(messages.text("device.no_device", index=i, count=device_count()))


class device:
    """Context manager: `device` is current inside. None or a negative index changes nothing."""

    def __init__(self, device):
        self.idx = -1 if device is None else index(device)
        self.prev_idx = -1

    def __enter__(self):
        self.prev_idx = lib().lab_get_device()
        if self.idx >= 0:
            set_device(self.idx)
        return self

    def __exit__(self, *_):
        lib().lab_set_device(self.prev_idx)
        return False


class device_of(device):
    """Context manager: the device of a tensor is current inside; a tensor elsewhere changes nothing."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.device.type == "npu" else None)


# ---- types of tensors

_TYPES = {
    "BFloat16Tensor": torch.bfloat16,
    "BoolTensor": torch.bool,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "DoubleTensor": torch.float64,
    "FloatTensor": torch.float32,
    "HalfTensor": torch.float16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "ShortTensor": torch.int16,
}


class _TensorType(type):
    def __instancecheck__(cls, value) -> bool:
        return isinstance(value, torch.Tensor) and value.device.type == "npu" and value.dtype == cls.dtype

    def __call__(cls, *args, device=None):
        """(2, 3) makes an uninitialised tensor of that shape; a list, an array or a tensor gives its values."""
        where = torch.device("npu") if device is None else torch.device(device)
        if len(args) == 1 and not isinstance(args[0], (int, torch.Size)):
            values = args[0]
            if isinstance(values, torch.Tensor):
                return values.to(where, cls.dtype)
            return torch.tensor(values, dtype=cls.dtype, device=where)
        shape = args[0] if len(args) == 1 and isinstance(args[0], torch.Size) else args or (0,)
        return torch.empty(shape, dtype=cls.dtype, device=where)


def tensor_types() -> dict[str, type]:
    return {name: _TensorType(name, (), {"dtype": dtype, "__module__": "torch.npu"}) for name, dtype in _TYPES.items()}


def storage_types() -> dict[str, type]:
    """torch.npu.FloatStorage and the like: torch's own kind of typed storage, which knows the device by its module."""
    return {
        f"{name.removesuffix('Tensor')}Storage": type(
            f"{name.removesuffix('Tensor')}Storage",
            (torch.storage._LegacyStorage,),
            {"dtype": dtype, "_dtype": dtype, "__module__": "torch.npu"},
        )
        for name, dtype in _TYPES.items()
    }


def teach_type() -> None:
    """x.type(torch.npu.HalfTensor), or that name as a text, gives a tensor of that type on the device."""
    plain = torch.Tensor.type

    @functools.wraps(plain)
    def as_type(self, dtype=None, non_blocking=False, **kwargs):
        wanted = dtype
        if isinstance(wanted, str) and wanted.partition(".npu.")[0] == "torch":
            wanted = getattr(torch.npu, wanted.rpartition(".")[2], dtype)
        if isinstance(wanted, _TensorType):
            return self.to("npu", wanted.dtype, non_blocking=non_blocking)
        return (
            plain(self, non_blocking=non_blocking, **kwargs)
            if dtype is None
            else plain(self, dtype, non_blocking, **kwargs)
        )

    torch.Tensor.type = as_type


# ---- between processes


def _received(raw: bytes, dtype: torch.dtype, shape, index: int, kind: type, requires_grad: bool) -> torch.Tensor:
    importlib.import_module("labkit.device").install()
    where = torch.device("npu", index if index < device_count() else 0)
    values = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(dtype) if raw else torch.empty(0, dtype=dtype)
    tensor = values.view(shape).to(where)
    return (
        torch.nn.Parameter(tensor, requires_grad)
        if kind is torch.nn.Parameter
        else tensor.requires_grad_(requires_grad)
    )


def send_by_value() -> None:
    """A queue of torch.multiprocessing takes npu tensors: the receiver gets a copy (on a card: the same memory)."""
    from multiprocessing import reduction

    from torch.multiprocessing.reductions import reduce_tensor

    def reduced(tensor):
        if (
            tensor.device.type != "npu"
            or tensor.layout != torch.strided
            or (tensor.requires_grad and not tensor.is_leaf)
        ):
            return reduce_tensor(tensor)
        values = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
        raw = values.view(-1).view(torch.uint8).numpy().tobytes() if values.numel() else b""
        return _received, (raw, tensor.dtype, tensor.shape, tensor.get_device(), type(tensor), tensor.requires_grad)

    for kind in (torch.Tensor, torch.nn.Parameter):
        reduction.register(kind, reduced)
