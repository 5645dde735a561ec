"""What autograd needs where x enters the ranks' parts and where the result leaves them."""
import torch
import torch.distributed as dist


def functions():
    """(Enter, Leave): Enter.apply(x) goes into the two products, Leave.apply(y) comes out behind the last.
    Nothing goes by way of the host."""

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            # >>> exercise: Enter.backward: `grad`, the whole gradient of x; the tensor that came in stays as it is | Enter.backward：`grad`，x 的完整梯度；传入的张量保持不变
            grad = grad.clone(memory_format=torch.contiguous_format)
            dist.all_reduce(grad)
            # <<<
            return grad

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, partial):
            # >>> exercise: Leave.forward: `whole`, the sum of all parts; `partial` stays as it is | Leave.forward：`whole`，所有部分之和；`partial` 保持不变
            # stub: whole = partial.clone()
            whole = partial.clone()
            dist.all_reduce(whole)
            # <<<
            return whole

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Enter, Leave
