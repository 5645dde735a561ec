"""A kernel that somebody wrote: its template parameters, defines and launch arguments as a space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import labkit
from labkit import chips
from labkit.launch.kernel import Kernel
from labkit.tuning import clock as clocks
from labkit.tuning.problem import Point, Problem


def written(
    path: str | Path,
    parameters: dict[str, Sequence],
    launch: Callable[[Kernel, Point], object],
    *,
    entry: str | None = None,
    defines: dict[str, str] | None = None,
    refuse: Callable[[Point], str | None] | None = None,
    predict: Callable[[Point], float] | None = None,
    start: Point | None = None,
    chip: str | None = None,
    name: str | None = None,
    about: Sequence = (),
) -> Problem:
    """parameters: names and their values. entry, defines: texts in which {name} stands for a candidate's value, such as
    entry="axpy<half, {tile}>". launch: starts the kernel with a candidate's arguments and gives back the record.

        p = labkit.tuning.written("kernels/axpy/axpy.asc", {"tile": (1024, 2048, 4096), "blocks": (8, 24, 48)},
                                  lambda k, p: k[p["blocks"]](x, y, 2.0, n), entry="axpy<half, {tile}>", about=[n])

    What the compiler or the launch refuses is not possible; refuse says so without building. about: what else the time
    depends on, as the sizes of the tensors."""
    text = Path(path).read_text(encoding="utf-8") if Path(path).exists() else _of_checkout(path)
    built: dict[tuple, Kernel] = {}
    chip, modelled = chip or chips.chosen(), clocks.kind() == "modelled"

    def kernel(point: Point, timing_only: bool = False) -> Kernel:
        words = (entry and entry.format(**point), tuple((k, v.format(**point)) for k, v in (defines or {}).items()))
        if (*words, timing_only) not in built:
            built[(*words, timing_only)] = labkit.kernel(
                path, entry=words[0], defines=dict(words[1]), chip=chip, checks=not timing_only,
                timing_only=timing_only, timeout=60, l2="cold",
            )  # fmt: skip
        return built[(*words, timing_only)]

    def run(point: Point) -> float:
        it = kernel(point, modelled)
        return launch(it, point).time_us if modelled else clocks.measured(lambda: launch(it, point))

    return Problem(
        name or Path(path).stem,
        {k: tuple(v) for k, v in parameters.items()},
        clocks.guarded(run),
        refuse or (lambda point: None),
        predict,
        start,
        clocks.kind(),
        clocks.about(chip, text, entry, defines, *about),
        kernel,
    )


def _of_checkout(path: str | Path) -> str:
    from labkit import paths

    return (paths.repo_root() / path).read_text(encoding="utf-8")
