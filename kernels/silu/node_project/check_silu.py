"""What any build of lab::silu must do: `python check_silu.py` on a node; the notebook runs it on the twin."""

import torch


def check() -> list[str]:
    """One line for each case: what was tried and whether it holds."""
    said = []
    for shape in (1,), (777,), (64, 4096):
        x = (torch.arange(torch.Size(shape).numel(), dtype=torch.float) % 97 / 8 - 6).reshape(shape).npu()
        right = torch.nn.functional.silu(x.cpu())
        said.append(f"{shape}: {torch.allclose(torch.ops.lab.silu(x).cpu(), right, rtol=1e-5, atol=1e-6)}")
    said.append(f"meta: {torch.ops.lab.silu(torch.empty(3, 5, device='meta')).shape == (3, 5)}")
    try:
        torch.ops.lab.silu(torch.ones(4).half().npu())
        said.append("half is refused: False")
    except RuntimeError:
        said.append("half is refused: True")
    return said


if __name__ == "__main__":
    import lab_silu  # noqa: F401

    print("\n".join(check()))
