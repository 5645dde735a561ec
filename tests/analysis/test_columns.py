"""Tables of text: a Chinese character is two cells of a terminal wide."""

from labkit.messages import aligned, cells


def test_columns_stand_under_each_other_in_either_language():
    rows = [["", "step 2", "比值"], ["任务时间（us）", "275", "1.00"], ["block 数", "48", ""]]
    left = aligned(rows)
    assert left == ["                step 2  比值", "任务时间（us）  275     1.00", "block 数        48"]
    assert {cells(line[: line.index(part)]) for line, part in zip(left, ("step", "275", "48"))} == {16}
    right = aligned(rows, numbers=True)
    assert right == ["                step 2  比值", "任务时间（us）     275  1.00", "block 数            48"]
    assert aligned([["a", "b"], ["ccc", "d"]]) == ["a    b", "ccc  d"]
