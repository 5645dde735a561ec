#!/usr/bin/env python3
"""Does the upload of the next batch hide behind the activations of this one?

Two ways to run the same section (one upload of 2 MiB, a dozen GELUs):
  serial   everything on the current stream
  overlap  the upload on a stream of its own
One JSON document on stdout, milliseconds of the device between two events.
"""
import json
import statistics
import sys

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

ROUNDS = 16
DEPTH = 12


class Section:
    def __init__(self):
        self.side = torch.npu.Stream()
        self.host = torch.randn(512, 1024).pin_memory()
        self.incoming = torch.empty(512, 1024, device="npu")
        self.current = torch.randn(1024, 2048, device="npu")
        self.begin = torch.npu.Event(enable_timing=True)
        self.end = torch.npu.Event(enable_timing=True)

    def activations(self):
        for _ in range(DEPTH):
            F.gelu(self.current)

    def upload(self):
        self.incoming.copy_(self.host, non_blocking=True)

    def serial(self):
        self.upload()
        self.activations()

    def overlap(self):
        main = torch.npu.current_stream()
        self.side.wait_stream(main)
        with torch.npu.stream(self.side):
            self.upload()
        self.activations()
        main.wait_stream(self.side)

    def lap(self, body):
        self.begin.record()
        body()
        self.end.record()
        self.end.synchronize()
        return self.begin.elapsed_time(self.end)


def main():
    section = Section()
    ways = {"serial": section.serial, "overlap": section.overlap}
    for body in ways.values():
        for _ in range(6):
            section.lap(body)

    laps = {name: [] for name in ways}
    for turn in range(ROUNDS):
        names = list(ways) if turn % 2 == 0 else list(ways)[::-1]
        for name in names:
            laps[name].append(section.lap(ways[name]))

    report = {
        "device": torch.npu.get_device_name(0),
        "section": f"H2D 512x1024 float32 (pinned) + {DEPTH} gelu on 1024x2048 float32, device idle at the start",
        "unit": "ms",
        "laps_each": ROUNDS,
        "results": {
            name: {
                "median": round(statistics.median(values), 4),
                "min": round(min(values), 4),
                "max": round(max(values), 4),
            }
            for name, values in laps.items()
        },
    }
    medians = {name: statistics.median(values) for name, values in laps.items()}
    report["saved_by_overlap_ms"] = round(medians["serial"] - medians["overlap"], 4)
    json.dump(report, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
