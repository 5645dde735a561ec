"""Launches of the attention kernels in kernels/attention: the sizes where they can go wrong, and what must come out."""

from __future__ import annotations

import torch
from ops_lab import close, golden, values

import labkit
from labkit import paths
from labkit.launch.record import LaunchError

GOLD = golden("attention")
HOME = paths.kernels_dir() / "attention"
HALF, BF16 = torch.float16, torch.bfloat16

# sequences, heads, KV heads, numbers of a head, tokens of a page, keys of each sequence, cores. In turn: no key, one key,
# two cores a sequence; odd sizes; a group that takes several chunks; more cores than tiles; four cores for one head
PAGED = (
    (4, 4, 2, 64, 16, (5, 133, 0, 300), 5),
    (2, 3, 3, 80, 7, (150, 65), 4),
    (1, 16, 1, 64, 32, (1200,), 2),
    (2, 2, 1, 16, 1, (1, 9), 7),
    (1, 1, 1, 128, 16, (500,), 7),
)
# sequences, heads, KV heads, queries, keys, numbers of a head, mask, keys of a block, cores. In turn: a causal mask over
# several blocks and tasks; a mask that hides a whole row, odd sizes; numbers added, one row for all; one query, one key
PROMPTS = (
    (1, 4, 2, 140, 140, 64, "causal", 128, 2),
    (2, 2, 2, 99, 77, 80, "bool", 128, 1),
    (1, 1, 1, 130, 600, 128, "added", 256, 1),
    (1, 2, 2, 200, 40, 32, "causal", 64, 3),
    (1, 1, 1, 1, 1, 16, None, 64, 1),
)
# as PROMPTS, with at most 256 keys; rows of a step or None, and cores. In turn: a mask that hides a whole row, kept for
# the next head; numbers added, one row for all, two pieces of keys; parts of heads at both ends, heads that share keys;
# one query, one key; a head's mask of its own, in steps that are dealt out one by one; few rows and many keys, whose sums
# of a small tile follow each other
SHORT = (
    (2, 2, 2, 99, 77, 80, "bool", None, 2),
    (1, 2, 1, 130, 256, 128, "added", 64, 2),
    (2, 4, 2, 75, 40, 32, None, None, 3),
    (1, 1, 1, 1, 1, 16, None, None, 1),
    (1, 3, 3, 200, 197, 64, "shared", None, 2),
    (1, 5, 1, 18, 140, 48, None, 16, 1),
    (1, 2, 2, 40, 77, 32, "steep", None, 2),  # exp of these scores overflows
    (1, 1, 1, 20, 256, 128, None, None, 1),  # keys in turn, none behind the last whole set
    (1, 3, 1, 77, 197, 80, None, None, 2),  # keys in turn; a head that is left over, shared by both blocks
    (1, 26, 1, 5, 9, 16, None, None, 6),  # two such heads, each of 16 rows and less, so that only one block has any
)


def paged(sequences, heads, kv_heads, dim, page, lengths, dtype, seed=0):
    """(q, key_cache, value_cache, block_table, lengths); pages in any order, of no sequence the ones that follow."""
    most = max(1, max(-(-n // page) for n in lengths))
    pages = sequences * most + 2
    cache = (pages, page, kv_heads, dim)
    table = torch.randperm(pages, generator=torch.Generator().manual_seed(seed))[: sequences * most]
    table = table.view(sequences, most).int()
    for row, n in zip(table, lengths):
        row[-(-n // page) :] = -1  # nobody may read it
    q, k, v = (
        values((sequences, heads, dim), dtype, seed, 2.0),
        values(cache, dtype, 1, 1.0),
        values(cache, dtype, 2, 1.0),
    )
    return q, k, v, table, torch.tensor(lengths, dtype=torch.int32)


def prompt(sequences, heads, kv_heads, rows, keys, dim, masked, dtype, seed=0):
    """(q, k, v, mask, causal)."""
    q = values((sequences, heads, rows, dim), dtype, seed, 30.0 if masked == "steep" else 2.0)
    k, v = (values((sequences, kv_heads, keys, dim), dtype, i, 1.0) for i in (1, 2))
    mask = None
    if masked == "bool":
        mask = values((sequences, heads, rows, keys), torch.float32, 3) > 1
        mask[:, -1, rows // 2] = False
    elif masked == "shared":
        mask = values((sequences, 1, rows, keys), torch.float32, 3) > 0
    elif masked == "added":
        mask = values((sequences, heads, 1, keys), dtype, 3)
        mask[..., 1::7] = -torch.inf
    return q, k, v, mask, masked == "causal"


def run_paged(case, dtype, kernel=None, **how):
    """The record, then (result, what it must be, the size of its terms)."""
    *shape, lengths, blocks = case
    given = paged(*shape, lengths, dtype)
    record, out = GOLD.launch_paged(*(t.npu() for t in given), blocks=blocks, made=kernel, **how)
    yield record
    q, k, v, table, lengths = given
    # the result is rounded once; sums and exponentials in float lose what 16 bits do not show
    yield out, GOLD.paged_attention(*given).to(dtype), GOLD.paged_attention(q, k, v.abs(), table, lengths) * 2**-5


def run_grouped(case, dtype, kernel=None, **how):
    *shape, lengths, blocks = case
    given = paged(*shape, lengths, dtype)
    record, out = GOLD.launch_grouped(*(t.npu() for t in given), blocks=blocks, wide=128, made=kernel, **how)
    yield record
    q, k, v, *rest = given
    yield out, GOLD.paged_attention(*given).to(dtype), GOLD.paged_attention(q, k, v.abs(), *rest)


def run_prompt(case, dtype, kernel=None, **how):
    *shape, wide, blocks = case
    q, k, v, mask, causal = prompt(*shape, dtype)
    on = [None if t is None else t.npu() for t in (q, k, v, mask)]
    record, out = GOLD.launch_attention(*on, causal=causal, blocks=blocks, wide=wide, made=kernel, **how)
    yield record
    # shares are rounded to 16 bits before they meet V
    yield out, GOLD.attention(q, k, v, mask, causal).to(dtype), GOLD.terms(q, k, v, mask, causal)


def run_short(case, dtype, kernel=None, **how):
    *shape, most, blocks = case
    q, k, v, mask, _ = prompt(*shape, dtype)
    on = [None if t is None else t.npu() for t in (q, k, v, mask)]
    lse = torch.full(q.shape[:3], -1216.0).npu()
    record, out = GOLD.launch_short(*on, blocks=blocks, most=most, made=kernel, lse=lse, **how)
    yield record
    yield out, GOLD.attention(q, k, v, mask).to(dtype), GOLD.terms(q, k, v, mask)
    sums = GOLD.log_sums(q, k, mask).float()
    yield lse.cpu().clamp_min(-1e29), sums.clamp_min(-1e29), 100.0  # of a row that sees no key: far below


class Both:
    """Two launches as one record."""

    def __init__(self, records):
        self.records = records

    def codes(self):
        return [code for record in self.records for code in record.codes()]


def backward_of(q, k, v, mask, causal, dtype, scale=None, seed=5):
    """(grad, result, log-sum-exp) as the forward pass leaves them, rounded once; then what dq, dk, dv must be and the
    size of their terms. In 16 bits the least share is 2^-24: below that the sizes are not followed."""
    grad = values(q.shape, dtype, seed, 1.0)
    out, sums = GOLD.attention(q, k, v, mask, causal, scale).to(dtype), GOLD.log_sums(q, k, mask, causal, scale).float()
    wanted = [t.to(dtype) for t in GOLD.gradients(grad, q, k, v, mask, causal, scale)]
    terms = GOLD.gradient_terms(grad, q, k, v, mask, causal, scale)
    return (grad, out, sums), wanted, [t.mul(n).clamp_min(2**-6) for t, n in zip(terms, (0.25, 0.25, 1.0))]


def run_backward(case, dtype, kernel=None, **how):
    *shape, wide, blocks = case
    q, k, v, mask, causal = prompt(*shape, dtype)
    (grad, out, sums), wanted, sizes = backward_of(q, k, v, mask, causal, dtype)
    on = [None if t is None else t.npu() for t in (grad, q, k, v, out, sums, mask)]
    kernels = {} if kernel is None else {"made": kernel}
    records, found = GOLD.launch_backward(*on, causal=causal, blocks=blocks, wide=wide, **kernels, **how)
    yield Both(records)
    yield from zip(found, wanted, sizes)


# as PROMPTS, with blocks of keys, and of queries, of at most 256. In turn also: keys that no query sees, heads that share
# one; several tasks a core with a mask
BACKWARD = (
    (1, 4, 2, 140, 140, 64, "causal", 128, 1),
    (2, 2, 2, 99, 77, 80, "bool", 64, 1),
    (1, 1, 1, 130, 300, 128, "added", 256, 1),
    (1, 2, 1, 40, 260, 32, "causal", 64, 2),
    (1, 1, 1, 1, 1, 16, None, 64, 1),
)
# as PAGED; in the last, two of three cores find no key at all
GROUPED = ((4, 8, 2, 64, 16, (5, 133, 0, 300), 2), (2, 3, 3, 80, 7, (150, 65), 1), (3, 20, 1, 32, 32, (0, 0, 40), 3))
WAYS = {
    "paged_attention": (run_paged, PAGED),
    "attention": (run_prompt, PROMPTS),
    "short_attention": (run_short, SHORT),
    "grouped_attention": (run_grouped, GROUPED),
    "attention_grad": (run_backward, BACKWARD),
}
FILES = {way: HOME / f"{way.replace('grouped', '').strip('_')}.asc" for way in WAYS}


def entries(way: str, dtype=HALF) -> list[str]:
    """The kernels of a way."""
    if way == "attention_grad":
        return [f"attention_grad_{side}<{GOLD.CTYPE[dtype]}, 2>" for side in ("queries", "keys")]
    return [f"{way}<{GOLD.CTYPE[dtype]}>"]


def build(way: str, dtype=HALF, text: str | None = None, **how):
    """The kernel, or what `text` makes of it; of the backward both."""
    path = FILES[way]
    given = {"path": path} if text is None else {"text": text, "filename": str(path)}
    made = [labkit.kernel(**given, entry=entry, **how) for entry in entries(way, dtype)]
    return made if len(made) > 1 else made[0]


def wrong(way: str, kernel, dtype=HALF, until: str = "") -> list[str]:
    """What is wrong with a kernel: codes of findings, "numbers" where results are off, "bits" where they are not those
    that were rounded once. until: it is enough when this is found."""
    run, cases = WAYS[way]
    found = []
    for case in cases:
        steps = run(case, dtype, kernel)
        try:
            found += next(steps).codes()
            for got, want, scale in steps:
                got = got.cpu()
                if way == "paged_attention" and want.numel() > 500 and (got == want).double().mean() < 0.9:
                    found.append("bits")
                close(got, want, 1.5, scale)
        except LaunchError as error:
            found += error.record.codes()
        except AssertionError:
            found.append("numbers")
        if until in found:
            break
    return list(dict.fromkeys(found))
