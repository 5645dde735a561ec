"""The losses of rank 0, read without holding up its device."""
import torch


def train(model, batches, rank):
    """The gradients of all batches, added up; returns on rank 0 the batches' losses as numbers, else []."""
    losses = []
    for batch in batches:
        loss = model(batch).square().mean()
        loss.backward()
        if rank == 0:
            # >>> exercise: keep this loss, without waiting for the device; its graph is not needed any more (1 line) | 保留这个损失，不等待设备；它的计算图不再需要（1 行）
            # stub: losses.append(loss.item())
            losses.append(loss.detach())
            # <<<
    if losses:
        # >>> exercise: `losses` as numbers, with one copy for all (1 line) | `losses` 变成数值，一次复制完成（1 行）
        # stub: losses = list(losses)
        losses = torch.stack(losses).tolist()
        # <<<
    return losses
