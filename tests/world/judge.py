"""Numbers against golden: how close each kind of result must be, and what the outcome is."""

from __future__ import annotations

from . import Outcome

# relative and absolute tolerance by type, as the operators' own tests have them
_CLOSE = {"float16": (1e-3, 1e-3), "bfloat16": (8e-3, 8e-3), "float32": (1e-4, 1e-5), "float64": (1e-6, 1e-8)}


def outcome(pairs, records, *, rtol: float | None = None, atol: float | None = None, steps: int = 0) -> Outcome:
    """pairs: (result, golden) tensors; records: of the launches that made them;
    steps: how far an int8 may be off, as quantised results are.
    """
    import torch

    records = records if isinstance(records, list) else [records]
    errors = [f for r in records for f in r.errors]
    wrong = []
    for i, (result, golden) in enumerate(pairs):
        golden = torch.as_tensor(golden).reshape(result.shape)
        name = str(golden.dtype).removeprefix("torch.")
        if name in _CLOSE:
            r, a = _CLOSE[name]
            good = torch.isclose(
                result.float(),
                golden.float(),
                rtol=rtol if rtol is not None else r,
                atol=atol if atol is not None else a,
                equal_nan=True,
            )
        elif name == "int8":
            good = (result.int() - golden.int()).abs() <= steps
        else:
            good = result == golden
        if not bool(good.all()):
            at = int((~good).flatten().nonzero()[0])
            wrong.append(
                f"output {i}: {int((~good).sum())} of {good.numel()} wrong, first [{at}] "
                f"{result.flatten()[at].item()} for {golden.flatten()[at].item()}"
            )
    if errors:
        said = "; ".join(f"[{f.code}] {f.place}: {f.lines('en')[0]}"[:170] for f in errors[:2])
        return Outcome("built", said + ("" if wrong else " (numbers right)"))
    return (
        Outcome("built", "; ".join(wrong)[:220])
        if wrong
        else Outcome("verified", "; ".join(f"[{f.code}] {f.place}" for r in records for f in r.findings)[:160])
    )
