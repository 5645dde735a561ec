# lies: one_shape
"""How fast is the NPU's softmax?"""

import torch, torch_npu
import torch.utils.benchmark as tb

x = torch.randn(1000, 1000).npu()
m = tb.Timer("torch.softmax(x, -1)", globals={"torch": torch, "x": x}).blocked_autorange(min_run_time=0.02)
print(f"softmax on the NPU takes {m.median * 1e6:.1f} us (IQR {m.iqr * 1e6:.2f})")
