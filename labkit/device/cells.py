"""The LSTM and GRU cells: PyTorch sends those of every extra device to fused operators that the CPU does not have.

Here they are made of elementwise operators, so their modelled time is that of the parts, not of one fused kernel.
"""

from __future__ import annotations

import torch

_keep: list[torch.library.Library] = []


def register() -> None:
    library = torch.library.Library("aten", "IMPL")
    for name, function in (
        ("_thnn_fused_lstm_cell", _lstm),
        ("_thnn_fused_lstm_cell_backward_impl", _lstm_backward),
        ("_thnn_fused_gru_cell", _gru),
        ("_thnn_fused_gru_cell_backward", _gru_backward),
    ):
        library.impl(name, function, "PrivateUse1")
    _keep.append(library)


def _plus(a, bias):
    return a if bias is None else a + bias


def _lstm(from_input, from_hidden, cell, input_bias=None, hidden_bias=None):
    gates = _plus(_plus(from_input + from_hidden, input_bias), hidden_bias)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_cell = f * cell + i * g
    return o * new_cell.tanh(), new_cell, torch.cat([i, f, g, o], 1)


def _lstm_backward(grad_hidden, grad_cell, cell, new_cell, workspace, has_bias):
    i, f, g, o = workspace.chunk(4, 1)
    t = new_cell.tanh()
    grad_hidden = torch.zeros_like(cell) if grad_hidden is None else grad_hidden
    grad = grad_hidden * o * (1 - t * t)
    grad = grad if grad_cell is None else grad + grad_cell
    gates = torch.cat(
        [grad * g * i * (1 - i), grad * cell * f * (1 - f), grad * i * (1 - g * g), grad_hidden * t * o * (1 - o)], 1
    )
    return gates, grad * f, gates.sum(0) if has_bias else None


def _gru(from_input, from_hidden, hidden, input_bias=None, hidden_bias=None):
    input_r, input_z, input_n = _plus(from_input, input_bias).chunk(3, 1)
    hidden_r, hidden_z, hidden_n = _plus(from_hidden, hidden_bias).chunk(3, 1)
    r, z = (input_r + hidden_r).sigmoid(), (input_z + hidden_z).sigmoid()
    n = (input_n + r * hidden_n).tanh()
    return n + z * (hidden - n), torch.cat([r, z, n, hidden, hidden_n], 1)


def _gru_backward(grad, workspace, has_bias):
    r, z, n, hidden, hidden_n = workspace.chunk(5, 1)
    grad_n = grad * (1 - z) * (1 - n * n)
    grad_z = grad * (hidden - n) * z * (1 - z)
    grad_r = grad_n * hidden_n * r * (1 - r)
    to_input, to_hidden = torch.cat([grad_r, grad_z, grad_n], 1), torch.cat([grad_r, grad_z, grad_n * r], 1)
    biases = (to_input.sum(0), to_hidden.sum(0)) if has_bias else (None, None)
    return to_input, to_hidden, grad * z, *biases
