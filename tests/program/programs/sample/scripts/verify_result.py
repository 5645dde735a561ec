"""Compares two files of floats; status 4 when they differ."""

import sys

import numpy as np

result, golden = (np.fromfile(name, np.float32) for name in sys.argv[1:3])
if not np.array_equal(result, golden):
    print(f"{np.count_nonzero(result != golden)} of {golden.size} wrong")
    sys.exit(4)
print(f"all {golden.size} right with factor {sys.argv[3]}")
