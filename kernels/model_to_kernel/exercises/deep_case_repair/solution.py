"""The activation in the model, without the copies."""


def activate(swiglu, packed, y):
    """y = silu(gate) * up, where gate and up are the left and the right half of packed [rows, 2 * width]. swiglu takes
    (gate, up, y, rows, width, stride of gate's rows, stride of up's rows), strides in elements."""
    rows, width = y.shape
    # >>> exercise: launch swiglu on 48 blocks without a copy; `packed.view(-1)[width:]` begins at up's first element (2 lines) | 在 48 个 block 上启动 swiglu，不做复制；`packed.view(-1)[width:]` 从 up 的第一个元素开始（2 行）
    # stub: gate, up = (half.contiguous() for half in packed.chunk(2, -1))
    # stub: swiglu[48](gate, up, y, rows, width, width, width)
    flat = packed.view(-1)
    swiglu[48](flat, flat[width:], y, rows, width, 2 * width, 2 * width)
    # <<<
