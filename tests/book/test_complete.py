"""Completion of Ascend C in C++ cells, through a kernel as a front end asks it; Shift-Tab; the lines themselves."""

from __future__ import annotations

import re

import pytest

import labkit
from labkit.book.complete import is_cpp, offers
from labkit.book.names import _words, names, starting

CELL = "%%ascendc mine\nvoid f() {\n    LocalTensor<half> tensorOfMine = queue.AllocTensor<half>();\n    "


@pytest.fixture(scope="module")
def client():
    manager = pytest.importorskip("jupyter_client.manager")
    kernel, client = manager.start_new_kernel(kernel_name="python3")
    reply = client.execute_interactive("import labkit\nlabkit.setup()", timeout=120, output_hook=lambda m: None)
    assert reply["content"]["status"] == "ok", reply["content"]
    yield client
    client.stop_channels()
    kernel.shutdown_kernel(now=True)


def complete(client, cell: str) -> dict[str, str]:
    """Name -> type, as the front end gets them, and that they replace the word before the cursor."""
    content = client.complete(cell, len(cell), reply=True, timeout=60)["content"]
    assert content["status"] == "ok"
    if content["matches"]:
        assert cell[content["cursor_start"] : content["cursor_end"]] == re.search(r"\w*$", cell)[0]
    return {c["text"]: c["type"] for c in content["metadata"]["_jupyter_types_experimental"]}


def test_names_with_their_line(client):
    found = complete(client, CELL + "DataC")
    assert found["DataCopy"].startswith("Copies between GM and UB") and "DataCopyPad" in found
    assert all(name.startswith("DataC") for name in found), "nothing of Python's"


def test_members_other_letters_and_the_cells_own_words(client):
    assert "InitBuffer" in complete(client, CELL + "pipe.Init")
    assert "DataCopy" in complete(client, CELL + "datacop")
    assert complete(client, CELL + "tensorOf") == {"tensorOfMine": "in this cell"}


def test_in_an_exercise_of_c_and_of_python(client):
    assert "AllocTensor" in complete(client, "%%exercise add_copy_in\nx = queueX.Alloc")
    assert "DataCopy" not in complete(client, "%%exercise add_tiling\nDataC"), "that one is Python"


def test_a_python_cell_is_python_s(client):
    assert "DataCopy" not in complete(client, "DataC") and "labkit" in complete(client, "labk")
    assert "register" in complete(client, "labkit.regis")


def test_shift_tab(client):
    for cell in (CELL + "DataCopyPad(out, gm", CELL + "DataCopyPad"):
        content = client.inspect(cell, len(cell), reply=True, timeout=60)["content"]
        assert content["found"] and "Copies any number of BYTES" in content["data"]["text/plain"]
    content = client.inspect("labkit.check", 12, reply=True, timeout=60)["content"]
    assert content["found"] and "BYTES" not in content["data"]["text/plain"]
    assert not client.inspect("nothing_of_the_kind", 9, reply=True, timeout=60)["content"]["found"]


# ---- without a kernel


def test_every_line_is_of_a_name_that_the_twin_has():
    ours = [n for n in names().values() if n.line]
    assert len(ours) > 150 and len(names()) > 350
    for n in ours:
        assert n.name in _words(), f"{n.name}: the twin's headers have no such name"
        assert n.name in n.use and n.says[0].endswith(".") and n.says[1].endswith(("。", "…")), n.name
        assert len(n.says[0]) <= 110, n.name


def test_asking_for_one(monkeypatch):
    assert repr(labkit.api("DataCopy")).startswith("DataCopy(dst, src, count)\nCopies between GM")
    assert labkit.api("Acosh").line == "" and "a name of Ascend C" in repr(labkit.api("Acosh"))
    with pytest.raises(KeyError, match="did you mean DataCopy"):
        labkit.api("DataCopi")
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "搬运" in labkit.api("DataCopy").line


def test_where_nothing_is_offered():
    assert offers("%%ascendc Data", "%%ascendc Data") == ("", []), "the magic's own line"
    assert offers("DataC", "DataC") == ("", []) and offers("%%ascendc a\nx + ", "%%ascendc a\nx + ") == ("", [])
    assert is_cpp("%%exercise no_such_exercise\n") and not is_cpp("%%time\n") and not starting("zzz")
