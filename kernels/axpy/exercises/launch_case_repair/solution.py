"""The tiling of scale_case as bytes, for a kernel that reads it through a pointer to its own struct."""
import struct


def packed(factor: float, length: int, tile: int, offset: int, bias: float) -> bytes:
    """struct CaseTiling { float factor; uint32_t length, tile; int64_t offset; float bias; }"""
    # >>> exercise: `data`, the bytes as the kernel's struct has them; the end is filled up below | `data`：与核函数结构体一致的字节；末尾由下面补齐
    # stub: data = struct.pack("<fIIqf", factor, length, tile, offset, bias)
    data = struct.pack("<fII4xqf4x", factor, length, tile, offset, bias)
    # <<<
    return data.ljust(32, b"\0")
