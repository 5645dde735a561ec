"""Property tests draw what they name: every value of a short range, others for each parameter, the same in every
run."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SEEN: dict[object, list] = {}


@pytest.mark.parametrize("t", ["F16", "F32", "I8", "U8", "again", "again2"])
def test_a_nested_property_test_draws_the_whole_range(t, request, draws, monkeypatch):
    """20 examples, as most tests of instructions have: each of six values at least once, none in more than half."""
    import zlib

    import hypothesis.core

    if t.startswith("again"):  # the seed that the first of them had
        monkeypatch.setattr(
            hypothesis.core, "global_force_seed", zlib.crc32(request.node.name.replace(t, "F16").encode())
        )
    drawn = SEEN.setdefault(t, [])

    @settings(max_examples=20)
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        drawn.append((seed, data.draw(st.booleans()), *(data.draw(st.integers(0, 5)) for _ in range(4))))

    check()
    assert len(drawn) == 20 and len(set(drawn)) >= 18
    for place in range(2, 6):
        seen = Counter(row[place] for row in drawn)
        assert len(seen) >= 5 and max(seen.values()) <= 10, f"value {place} of the example: {seen}"
    assert {row[1] for row in drawn} == {False, True}
    for other, rows in SEEN.items():
        if other != t and not (t.startswith("again") and other == "F16") and not (other.startswith("again")):
            assert rows != drawn, f"{t} draws what {other} drew"
    if t.startswith("again") and "F16" in SEEN:
        assert drawn == SEEN["F16"], "the same seed, and other examples"


def test_no_module_put_another_profile_in_place():
    """PyTorch's test library does at its import; all test modules are imported before the first test runs."""
    assert settings.get_current_profile_name() == "lab"
