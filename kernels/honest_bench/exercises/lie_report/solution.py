"""Sum up samples."""
import numpy as np


def report(samples):
    """What a reader needs of an array of times: no sample is left out."""
    # >>> exercise: p50, p90, p99, as numpy's percentile has them | p50、p90、p99（按 numpy 的 percentile 计算）
    # stub: p50 = p90 = p99 = samples.mean()
    p50, p90, p99 = np.percentile(samples, [50, 90, 99])
    # <<<
    return {"P50": p50, "P90": p90, "P99": p99, "samples": len(samples)}
