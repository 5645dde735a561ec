"""Input and golden of the sample."""

import numpy as np

x = np.arange(32, dtype=np.int32)
x.tofile("input/input_x.bin")
(x * 2).tofile("output/golden.bin")
