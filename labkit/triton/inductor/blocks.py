"""Block sizes of Inductor's kernels for vector cores: its own are made for a GPU's threads and registers.

A program is one pass of a core. All cores get some, a program's tile is large enough that its transfers count for more
than its start, and all its tiles lie in UB together.
"""

from __future__ import annotations

import contextlib
import copy
import re

from labkit import messages

TILE = 4096  # elements of a tile, to begin with
LANE, ONE = 0.0003, 0.011  # us of the clock for a lane of a loop over tiles; for one that the scalar unit moves
LAUNCH, MOVED = 5.0, 7e-6  # us of an ATen operator that moves little; for each lane that it reads and writes
LEAST = 256  # elements of a pointwise tile: below, starting a program costs more than its lanes
ROW = 64  # elements of a tile's row that are worth a try: one repeat of the vector unit


class Slow(Exception):
    """A kernel that would take longer than the operators that it is made of."""


def power(n: int) -> int:
    """The power of two that holds n."""
    return 1 << max(0, int(n) - 1).bit_length()


def lanes(source: str) -> dict[str, int]:
    """Of each dimension the lanes that a kernel's source names; Inductor's hints are the next powers of two."""
    return {d: int(n) for d, n in re.findall(r"^\s+(\w*?)numel = (\d+)$", source, re.M)}


def least_waste(n: int, most: int) -> int:
    """The block of a row of n lanes: the largest power of two that leaves least of its last one empty."""
    blocks = [1 << i for i in range(LEAST.bit_length() - 1, most.bit_length())]
    return min(reversed(blocks), key=lambda b: -(-n // b) * b, default=most)


def sizes(
    hints: dict[str, int], names: set[str], cores: int, inner: bool = True, exact: dict[str, int] | None = None
) -> dict[str, int]:
    """Block sizes by Inductor's names. hints: lanes of each dimension ("x", "y", "z", "r0_", "r1_"), powers of two.
    names: the blocks that the kernel takes; a reduction whose row is one tile takes none for it. inner: a reduction's
    row lies in one piece. exact: the lanes themselves, where they are known."""
    from torch._inductor.runtime.hints import TRITON_MAX_BLOCK

    n = {d: power(hints.get(d, 1)) for d in ("x", "y", "z", "r0_", "r1_")}
    most = {d: min(n[d], TRITON_MAX_BLOCK[d.upper()]) for d in n}
    made = {}
    if "r0_" in hints:
        row = n["r0_"] if "R0_BLOCK" not in names else min(most["r0_"], TILE if inner else max(1, TILE // 256))
        share = power(-(-n["x"] // cores))
        columns = share if inner else max(share, min(256, n["x"]))
        made["XBLOCK"] = max(1, min(columns, most["x"], max(1, TILE // row)))
        made["R0_BLOCK"] = max(1, min(row, most["r0_"], max(1, TILE // made["XBLOCK"])))
        made["R1_BLOCK"] = min(most["r1_"], max(1, TILE // made["XBLOCK"] // made["R0_BLOCK"]))
    else:
        share = max(LEAST, power(-(-n["x"] * n["y"] * n["z"] // cores)))
        tile = min(TILE, share)
        made["XBLOCK"] = min(most["x"], max(tile, LEAST))
        if exact and "YBLOCK" in names and exact.get("x", 0) > LEAST:
            made["XBLOCK"] = least_waste(exact["x"], made["XBLOCK"])
        made["YBLOCK"] = min(most["y"], max(1, tile // made["XBLOCK"]))
        made["ZBLOCK"] = min(most["z"], max(1, tile // made["XBLOCK"] // made["YBLOCK"]))
    return {k: v for k, v in made.items() if k in names}


def smaller(kwargs: dict[str, int]) -> dict[str, int] | None:
    """The largest block halved; None where all are 1."""
    blocks = {k: v for k, v in kwargs.items() if k.endswith("BLOCK") and v > 1}
    if not blocks:
        return None
    largest = max(blocks, key=blocks.__getitem__)
    return kwargs | {largest: blocks[largest] // 2}


def worth(kwargs: dict[str, int], hints: dict[str, int]) -> bool:
    """Whether autotune tries these blocks: a GPU's threads take rows of two elements, a vector unit starts for each."""
    return "XBLOCK" not in kwargs or "r0_" in hints or kwargs["XBLOCK"] >= min(ROW, hints.get("x", 1))


def estimate(text: str, hints: dict[str, int], blocks: dict[str, int], cores: int) -> float:
    """Microseconds that the emitted kernel takes, from the modelled costs of its lanes."""
    from math import prod

    lanes = prod(hints.values())
    programs = prod(-(-n // blocks.get(f"{d.upper()}BLOCK", 1)) for d, n in hints.items() if not d.startswith("r"))
    return lanes / min(cores, max(1, programs)) * (LANE + ONE * text.count("element by element"))


def eager(hints: dict[str, int], operators: int) -> float:
    """The same of as many ATen operators, each over all lanes."""
    from math import prod

    return operators * (LAUNCH + prod(hints.values()) * MOVED)


@contextlib.contextmanager
def quiet(log):
    """Without what Inductor writes of a kernel that is not taken: the kernel and two stacks."""
    was, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = was


def touch(error: type[Exception], refused: list, operators) -> None:
    """error: raised for a kernel that is not taken; refused: where (name, why) is noted; operators(name): of how many
    a kernel is made."""
    from torch._inductor.runtime import triton_heuristics as heuristics

    from labkit.triton.driver import cores

    autotune, precompile = heuristics.cached_autotune, heuristics.CachingAutotuner._precompile_config

    def cached_autotune(size_hints, configs, triton_meta, *args, **named):
        if not size_hints or getattr(triton_meta.get("device"), "type", "") != "npu":
            return autotune(size_hints, configs, triton_meta, *args, **named)
        meta = named.get("inductor_meta") or (args[2] if len(args) > 2 else None) or {}
        inner = "OUTER" not in str(meta.get("reduction_hint", ""))
        every = meta.get("max_autotune") or meta.get("max_autotune_pointwise")

        def decorator(fn):
            exact = lanes(getattr(fn, "src", ""))
            for c in configs[:1]:
                c.kwargs |= sizes(size_hints, set(c.kwargs), cores("vector"), inner, exact)
            chosen = [c for i, c in enumerate(configs) if not i or every and worth(c.kwargs, size_hints)]
            return autotune(size_hints, chosen, triton_meta, *args, **named)(fn)

        return decorator

    def slow(name: str, text, hints, blocks) -> None:
        text = text.decode() if isinstance(text, bytes) else text
        if not hints or not operators(name):
            return
        ours, others = estimate(text, hints, blocks, cores("vector")), eager(hints, operators(name))
        if ours > others:
            raise Slow(messages.text("triton.inductor_slow", name=name, ours=round(ours), others=round(others)))

    def _precompile_config(self, cfg):
        if self.device_props.type != "npu":
            return precompile(self, cfg)
        while True:
            try:
                with quiet(heuristics.log):
                    made = precompile(self, cfg)
                name = self.inductor_meta.get("kernel_name", self.fn.__name__)
                slow(name, made.kernel.asm["asc"], self.size_hints, cfg.kwargs)
                made.kernel._init_handles()  # the C++ compiler speaks now, not at the first launch
                return made
            except Exception as why:
                less = smaller(cfg.kwargs) if isinstance(why, heuristics.OutOfResources) else None
                if less is None:
                    name = self.inductor_meta.get("kernel_name", self.fn.__name__)
                    refused.append((name, why))
                    raise error(f"{name}: {why}") from why
                cfg = copy.deepcopy(cfg)
                cfg.kwargs = less

    heuristics.cached_autotune = cached_autotune
    heuristics.CachingAutotuner._precompile_config = _precompile_config
