"""After how many calls has torch.compile paid for itself? The compilation is one of the two figures that are asked for."""
import math
import time

import numpy as np
import torch
import torch_npu


def activation(x, b):
    return torch.nn.functional.silu(x + b) * 0.5 + x


def wall(function, *arguments):
    torch.npu.synchronize()
    begin = time.perf_counter()
    function(*arguments)
    torch.npu.synchronize()
    return time.perf_counter() - begin


def first_calls(arguments, times=3):
    """Each from nothing: what dynamo knows is forgotten before. (Inductor's files on disk stay, as on a second start of a server.)"""
    for _ in range(times):
        torch._dynamo.reset()
        yield wall(torch.compile(activation, dynamic=False), *arguments)


def steady(function, arguments, calls=20):
    def many():
        for _ in range(calls):
            function(*arguments)

    return wall(many) / calls


def main():
    for rows, width in (128, 1024), (512, 2048):
        arguments = torch.randn(rows, width).npu(), torch.randn(width).npu()
        for _ in range(10):
            activation(*arguments)
        torch.compile(activation, dynamic=False)(*arguments)  # fills Inductor's cache on disk
        first = list(first_calls(arguments))
        compiled = torch.compile(activation, dynamic=False)
        torch.testing.assert_close(compiled(*arguments).cpu(), activation(*arguments).cpu(), rtol=1e-4, atol=1e-4)
        for _ in range(10):
            compiled(*arguments)
        pairs = [(steady(activation, arguments), steady(compiled, arguments)) if i % 2 else
                 (steady(compiled, arguments), steady(activation, arguments))[::-1] for i in range(8)]
        eager, fast = (np.array(column) for column in zip(*pairs))
        saved = np.median(eager - fast)
        print(f"{rows} x {width} float32")
        print(f"  first call with compilation: {1e3 * np.median(first):.1f} ms ({1e3 * min(first):.1f} to {1e3 * max(first):.1f} in {len(first)} starts)")
        for name, seconds in ("eager", eager), ("compiled", fast):
            print(f"  {name:9} afterwards {1e6 * np.median(seconds):8.1f} us a call ({1e6 * seconds.min():.1f} to {1e6 * seconds.max():.1f} in {len(pairs)} rounds of 20)")
        print(f"  paid for after {math.ceil(np.median(first) / saved):,} calls of this shape" if saved > 0 else "  never paid for at this shape")


if __name__ == "__main__":
    main()
