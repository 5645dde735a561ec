"""The benchmarks of a project, for its gate: python suite.py RESULTS.json [--noise SEED]"""

import argparse

import torch
import torch_npu  # noqa: F401

import labkit
from labkit import bench

SIZES = {"small": (64, 256), "odd": (33, 1001), "large": (1024, 1024)}


def function(x):
    return torch.relu(x)


parser = argparse.ArgumentParser()
parser.add_argument("results")
parser.add_argument("--noise", type=int)
given = parser.parse_args()
if given.noise is not None:  # the simulated device as a busy node
    labkit.device.noise(given.noise)
measured = []
for name, shape in SIZES.items():
    x = torch.ones(shape).npu()
    measured.append(bench.measure(lambda: function(x), name=f"relu {name} {shape}"))
bench.save(given.results, measured)
