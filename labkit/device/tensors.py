"""torch.npu.FloatTensor and the like: the old way to make an npu tensor, and to ask for a type with isinstance()."""

from __future__ import annotations

import torch

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
