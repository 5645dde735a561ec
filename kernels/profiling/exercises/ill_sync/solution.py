"""A loop that waits in each step."""
from torch.nn import functional as F


def train(model, optimizer, batches):
    """One step for each batch; returns the mean of their losses as a Python number."""
    # >>> exercise: before the loop | 循环之前
    # stub: total = 0.0
    total = 0.0
    # <<<
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        # >>> exercise: add the loss without waiting for it, and without keeping its graph | 累加损失，但不等待它，也不保留它的计算图
        # stub: total += loss.item()
        total = total + loss.detach()
        # <<<
    # >>> exercise: `mean`, a Python number | `mean`，Python 数值
    # stub: mean = total / len(batches)
    mean = (total / len(batches)).item()
    # <<<
    return mean
