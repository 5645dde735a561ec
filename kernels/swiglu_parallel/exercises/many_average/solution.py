"""Data parallel by hand: the same model on every rank, another part of the batch, one gradient."""
import torch.distributed as dist


def average_gradients(model, world):
    """After backward(): every gradient becomes its mean over all `world` ranks, in place."""
    for parameter in model.parameters():
        # >>> exercise: parameter.grad, the mean over the ranks: in place, and on the device | parameter.grad：所有 rank 的平均，就地修改，并且留在设备上
        # stub: parameter.grad /= world
        dist.all_reduce(parameter.grad)
        parameter.grad /= world
        # <<<
