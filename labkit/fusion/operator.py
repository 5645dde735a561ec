"""A fused kernel as an operator of PyTorch, registered on the fly."""

from __future__ import annotations

from labkit import messages

_libraries: dict[str, object] = {}


def register(kernel, name: str):
    """torch.ops.<ns>.<name>: on npu one launch, elsewhere the function itself; shapes are free, the tiling is chosen
    from them at each call. Its backward is the function's, by PyTorch's operators. Registering a name again replaces
    it. Gives back the operator. Raises ValueError for a name without "::"."""
    import torch

    ns, _, op = name.partition("::")
    if not ns or not op.isidentifier():
        raise ValueError(messages.text("fusion.operator_name", name=name))
    names = kernel.prepare(kernel.example).traced.names[: kernel.count]
    single = kernel.prepare(kernel.example).traced.single
    outputs = len(kernel.prepare(kernel.example).traced.outputs)
    result = "Tensor" if single else f"({', '.join(['Tensor'] * outputs)})"
    if name in _libraries:
        _libraries.pop(name)._destroy()
        getattr(torch.ops, ns).__dict__.pop(op, None)
    library = torch.library.Library(ns, "FRAGMENT")
    _libraries[name] = library
    library.define(f"{op}({', '.join(f'Tensor {n}' for n in names)}) -> {result}")

    def native(*tensors):
        made = kernel.function(*tensors)
        if isinstance(made, torch.Tensor):
            return made.contiguous() if all(made is not t for t in tensors) else made.clone()
        return tuple(m.contiguous() for m in made)

    library.impl(op, lambda *tensors: kernel(*tensors), "PrivateUse1")
    library.impl(op, native, "CPU")
    library.impl(op, native, "Meta")
    whole = getattr(getattr(torch.ops, ns), op).default

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, *grads):
        with torch.enable_grad():
            own = [t.detach().requires_grad_(t.is_floating_point()) for t in ctx.saved_tensors]
            made = kernel.function(*own)
            made = [made] if isinstance(made, torch.Tensor) else list(made)
            pairs = [(m, g) for m, g in zip(made, grads) if g is not None and m.requires_grad]
            wanted = [t for t in own if t.requires_grad]
            found = iter(torch.autograd.grad([m for m, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True))
        return tuple(next(found) if t.requires_grad else None for t in own)

    torch.library.register_autograd(name, backward, setup_context=setup, lib=library)
    return whole
