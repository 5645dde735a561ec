"""Focus and its convolution as one convolution of the picture."""


def one_convolution(weight):
    """The weight [out, c, 2k, 2k] and the padding of a convolution with stride 2 that does Focus and its convolution.

    weight: [out, 4c, k, k], of a convolution with padding k // 2 on cat([x[..., ::2, ::2], x[..., 1::2, ::2],
    x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1). The first of the two slices of a part is the row's, the second the column's.
    """
    out, channels, k, _ = weight.shape
    c = channels // 4
    whole = weight.new_zeros(out, c, 2 * k, 2 * k)
    # >>> exercise: fill `whole` and set `padding` (about 4 lines) | 填充 `whole`，设置 `padding`（约 4 行）
    # stub: padding = 2 * (k // 2)
    for part, (row, column) in enumerate(((0, 0), (1, 0), (0, 1), (1, 1))):
        whole[:, :, row::2, column::2] = weight[:, part * c : (part + 1) * c]
    padding = 2 * (k // 2)
    # <<<
    return whole, padding
