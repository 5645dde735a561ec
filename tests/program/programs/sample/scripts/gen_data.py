"""Input and golden of the sample."""

import argparse
import os

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--factor", type=float, required=True)
os.makedirs("input", exist_ok=True)
os.makedirs("output", exist_ok=True)
x = np.arange(96, dtype=np.float32)
x.tofile("input/x.bin")
(x * np.float32(parser.parse_args().factor)).tofile("output/golden.bin")
