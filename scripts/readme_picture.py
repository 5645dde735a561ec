"""Draws the README's picture from a real launch on the twin: data/figures/add_timeline.svg."""

from __future__ import annotations

import torch

import labkit
from labkit import figures, paths


def main() -> None:
    """Launches kernels/add/add.asc on 8 blocks of 16384 half and draws block 0."""
    n, blocks = 8 * 16384, 8
    x, y = (torch.arange(n).half().npu() for _ in range(2))
    record = labkit.kernel("kernels/add/add.asc")[blocks](
        x, y, torch.zeros_like(x), {"blockLength": n // blocks, "tileLength": 4096}
    )
    target = paths.data_dir() / "figures" / "add_timeline.svg"
    target.parent.mkdir(parents=True, exist_ok=True)
    figures.pipe_timeline(record, blocks=0).save(target)


if __name__ == "__main__":
    main()
