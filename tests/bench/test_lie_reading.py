"""What the lie detector reads in a script's text."""

from __future__ import annotations

import pytest

from labkit.bench.lies import reading

DEVICE = """
class Series:
    def steady(self):
        v = np.asarray(self.raw)
        return v[np.abs(v - np.median(v)) <= 6 * {limit}]

def serve(series):
    begin = labkit.device.clock().{clock}
    model(x)
    series.raw.append(labkit.device.clock().{clock} - begin)
"""
TABLE = """
table = pd.DataFrame(rows)
table["us"] = [1e3 * a.elapsed_time(b) for a, b in marks]
near = table[table["us"] < 5.0]
print({use})
"""


def kinds(source: str) -> list[str]:
    return [d.how for d in reading.read({"script.py": source}).drops]


@pytest.mark.parametrize("clock, found", [("host_us", ["mask"]), ("device_us", ["mask"]), ("chip", [])])
def test_the_devices_clock_is_a_clock(clock, found):
    assert kinds(DEVICE.format(limit="mad(v)", clock=clock)) == found


@pytest.mark.parametrize(
    "use, found",
    [
        ("len(near), list(near.index)", []),
        ("near.index, near.empty", []),
        ("len(near), near.us.mean()", ["mask"]),
        ("near.mean(), len(table)", ["mask"]),
    ],
)
def test_rows_that_are_only_named_are_not_left_out(use, found):
    assert kinds(TABLE.format(use=use)) == found
