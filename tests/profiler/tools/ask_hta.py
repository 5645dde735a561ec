"""What Holistic Trace Analysis finds in a file of torch.profiler: python ask_hta.py TRACE. Prints JSON."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.filterwarnings("ignore")
with contextlib.redirect_stdout(sys.stderr):
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=os.path.dirname(sys.argv[1]))
    times = analysis.get_temporal_breakdown(visualize=False)
    kinds, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    idle, _ = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
print(json.dumps({
    "busy": float(times["compute_time(us)"][0]),
    "idle": float(times["idle_time(us)"][0]),
    "kernels": sorted(set(kernels["name"])),
    "kinds": {kind: int(us) for kind, us in zip(kinds["kernel_type"], kinds["sum"], strict=True)},
    "idle_rows": len(idle),
}))  # fmt: skip
