"""Compares two files of integers."""

import sys

import numpy as np

result, golden = (np.fromfile(name, np.int32) for name in sys.argv[1:3])
print("right: 3" if np.array_equal(result, golden) else "wrong")
sys.exit(not np.array_equal(result, golden))
