import statistics
import time

import pytest
import torch
import torch_npu

torch.set_num_threads(1)
HEADS, WIDTH, TOKENS, SEQUENCES = 8, 64, 64, 30


@pytest.fixture(scope="module")
def fresh():
    return make_tokens()


def make_tokens():
    torch.manual_seed(23)
    return [t.contiguous() for t in torch.randn(TOKENS, HEADS, 1, WIDTH, dtype=torch.float16).npu()]


def grow_by_cat(tokens):
    cache = tokens[0]
    for token in tokens[1:]:
        cache = torch.cat((cache, token), dim=1)
    return cache


def write_in_place(tokens):
    cache = torch.empty(HEADS, TOKENS, WIDTH, dtype=torch.float16, device="npu")
    for position, token in enumerate(tokens):
        cache[:, position:position + 1].copy_(token)
    return cache


def sequences(build, tokens):
    for _ in range(4):
        build(tokens)
    torch.npu.synchronize()
    taken = []
    for _ in range(SEQUENCES):
        start = time.perf_counter()
        build(tokens)
        torch.npu.synchronize()
        taken.append((time.perf_counter() - start) * 1e3)
    return taken


def test_same_cache(fresh):
    assert torch.equal(grow_by_cat(fresh), write_in_place(fresh))


def test_report(fresh):
    report(fresh)


def report(tokens):
    cat, place = sequences(grow_by_cat, tokens), sequences(write_in_place, tokens)
    print(
        f"A cache of {TOKENS} tokens ({HEADS} heads of {WIDTH}, float16) was filled one token at a time, {SEQUENCES} times over, "
        f"in two ways. Appending with torch.cat took a median of {statistics.median(cat):.3f} ms for the whole sequence, and writing into "
        f"a buffer of full length took {statistics.median(place):.3f} ms, of which the allocation of that buffer is a part. "
        f"Every sequence was kept, the slow ones too: the slowest were {max(cat):.3f} ms with cat and {max(place):.3f} ms in place, "
        f"the quickest {min(cat):.3f} and {min(place):.3f} ms. The clock is the host's. It starts with an idle device and stops after a wait "
        f"for it, once a sequence and not once a token, so what is compared is launches and copies together. Four sequences of each went "
        f"before. Each way makes the same cache, byte for byte, from the same tokens. All of this holds for {TOKENS} tokens: what cat copies "
        f"grows with the square of the length, so longer caches must be measured again."
    )


if __name__ == "__main__":
    held = make_tokens()
    assert torch.equal(grow_by_cat(held), write_in_place(held))
    report(held)
