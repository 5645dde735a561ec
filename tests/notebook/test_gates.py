"""Gates over the whole workbook: what its text names exists, figures can be read by everybody, nothing needs a network."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from places import REPO

from labkit import messages, paths
from labkit.exercises.result import _SIGN, STATES, Result
from labkit.exercises.spec import load_all
from labkit.notebook import build, gate, prose, source
from labkit.notebook.cells import Variant
from labkit.notebook.execute import environment
from labkit.notebook.source import Markdown

PAGES = [
    REPO / name for name in ("README.md", "README.zh.md", "CONTRIBUTING.md", "CHANGELOG.md", "labkit/twin/CHECKS.md")
]
PAGES += [REPO / "data" / "README.md", REPO / "data" / "blind_trials.md", REPO / "kernels" / "README.md"]
PAGES += [page for page in sorted((REPO / "labkit").glob("*/README.md")) if page.parent.name != "notebook"]  # a form
WHOLE_BYTES = 8_000_000  # both languages; 4.2 MB in November 2026


def notebooks(lang: str):
    return [source.read(p).target(paths.notebooks_dir(), lang) for p in source.sources()]


def test_all_that_the_text_names_is_there():
    assert list(prose.complaints(source.sources(), PAGES)) == []
    guide = REPO / "labkit/notebook/README.md"  # names files of an example
    text = guide.read_text(encoding="utf-8")
    assert not [*prose.links(text, "guide", guide.parent, text), *prose.labkit_names(text, "guide")]


def test_all_that_exercises_and_messages_name_is_there():
    exercises = load_all()
    assert list(prose.told(exercises, messages.tables())) == []
    wrong = replace(exercises[0], hints=({"en": "`DataCopyPadd`, see 01.77", "zh": "`labkit/none.py`"},))
    said = list(prose.told([wrong], {"x.y": {"en": {"what": "labkit.nothing"}, "zh": "见 01.78"}}))
    assert len(said) == 5 and all(s.startswith((wrong.id, "x.y: ")) for s in said), said


def test_the_page_in_chinese_has_no_number_of_its_own():
    """What is measured is written down once more there, and has to be brought up to date with the other."""

    def numbers(page: str) -> set[str]:
        return set(re.findall(r"\d[\d,]*\.?\d*", (REPO / page).read_text(encoding="utf-8")))

    own = {n for n in numbers("README.zh.md") - numbers("README.md") if not re.fullmatch(r"0\d", n)}  # stages
    assert not own and len(numbers("README.zh.md")) > 15


@pytest.mark.parametrize(
    "check, text, said",
    [
        (prose.links, "see [it](nothing.md)", "leads nowhere"),
        (prose.links, "see [it](README.md#no-such)", "leads to no heading"),
        (prose.links, "see [it](#no-such)", "leads to no heading"),
        (prose.links, "see [it](README.md#two-commands) and [web](https://x.org/a)", ""),
        (prose.files, "`kernels/add/ad.asc`", "no file kernels/add/ad.asc"),
        (prose.files, "`kernels/add/add.asc`", ""),
        (prose.notebook_numbers, "as in 01.77, and 01.01", "no notebook 01.77"),
        (prose.notebook_numbers, "it takes 00.50 us, 0.25, 1.01.02, version 02.77.1", ""),
        (prose.ascend_names, "`DataCopyPadd` moves", "DataCopyPadd is no name"),
        (prose.ascend_names, "`AscendC::SetFlagg<HardEvent>(x)`", "SetFlagg is no name"),
        (prose.ascend_names, "`DataCopyPad(to, from)`, `MyOwn`, `OwnClass`, DataCopyPadd", ""),
        (prose.labkit_names, "call labkit.fusion.anlyze(x)", "no labkit.fusion.anlyze"),
        (prose.labkit_names, "labkit.kernel, labkit.serving.law.little, labkit.", ""),
        (prose.numbers_from_nowhere, "it takes 37 us", "37 us is in no output"),
        (prose.numbers_from_nowhere, "it saves 1,250 MB", "1,250 MB is in no output"),
        (prose.numbers_from_nowhere, "it takes 12.5 us, 40 % less; [published](x) 99 %", ""),
        (prose.numbers_from_nowhere, "it takes 12.5 us, 40 % less", ""),
    ],
)
def test_a_wrong_text_would_be_found(check, text, said):
    more = {
        prose.links: (REPO, text),
        prose.files: (),
        prose.notebook_numbers: ({"01.01"},),
        prose.ascend_names: ("struct MyOwn {}; class OwnClass;",),
        prose.labkit_names: (),
        prose.numbers_from_nowhere: ("12.5 and 40",),
    }[check]
    found = list(check(text, "here", *more))
    assert (len(found) == 1 and said in found[0]) if said else not found, found


# ---- everybody can read it


def test_every_figure_says_in_words_what_it_shows():
    figures = 0
    for lang in ("en", "zh"):
        for file in notebooks(lang):
            for cell in build.load_notebook(file)["cells"]:
                for output in cell.get("outputs", ()):
                    data = output.get("data", {})
                    if "image/svg+xml" in data:
                        figures += 1
                        svg = data["image/svg+xml"]
                        for tag in ("title", "desc|dc:description"):  # matplotlib writes the second
                            found = re.search(rf"<(?:{tag})[^>]*>([^<]+)</(?:{tag})>", svg)
                            assert found and len(found[1].strip()) > 3, (file.name, tag)
                    if {"image/png", "image/svg+xml"} & set(data):
                        assert len(data.get("text/plain", "")) > 10 and "<Figure" not in data["text/plain"], file.name
    assert figures > 50
    for path in source.sources():
        for block in source.read(path).blocks:
            if isinstance(block, Markdown):
                assert not re.search(r"!\[\s*\]\(|<img(?![^>]*\balt=)", block.en + block.zh), path.name
    assert not re.search(r"!\[\s*\]\(", (REPO / "README.md").read_text(encoding="utf-8"))


def luminance(rgb: tuple[float, ...]) -> float:
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(text: tuple[float, ...], behind: tuple[float, ...]) -> float:
    low, high = sorted((luminance(text), luminance(behind)))
    return (high + 0.05) / (low + 0.05)


def hexed(colour: str) -> tuple[float, ...]:
    digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    return tuple(int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))


def pages() -> dict[str, str]:
    """Every source that writes a page, a message or a picture."""
    files = [p for end in ("py", "html") for p in (REPO / "labkit").rglob(f"*.{end}")]
    return {str(p.relative_to(REPO)): p.read_text(encoding="utf-8") for p in files}


def test_text_has_enough_contrast():
    """Text takes the reader's own colour, faded at most so far, or is written with its background beside it."""
    seen = 0
    for name, text in pages().items():
        for faded in re.findall(r"style='[^']*?(?<![-\w])opacity:(\.\d+|0\.\d+)", text):
            part = float(faded)
            ink = 1 - 0.87 * part  # JupyterLab's text is black or white at 87 %
            assert contrast((ink,) * 3, (1.0,) * 3) >= 4.5, (name, faded)
            lit = 17 / 255 + (1 - 17 / 255) * 0.87 * part
            assert contrast((lit,) * 3, (17 / 255,) * 3) >= 4.5, (name, faded)
            seen += 1
        for style in re.findall(r"[{'\"]([^{}'\"]*(?<![-\w])color:\s*#[0-9a-fA-F]{3,6}[^{}'\"]*)", text):
            ink = re.search(r"(?<![-\w])color:\s*(#[0-9a-fA-F]{3,6})", style)[1]
            behind = re.search(r"background(?:-color)?:\s*(#[0-9a-fA-F]{3,6})", style)
            assert behind, f"{name}: {style}: a colour of text without its background fails in the other theme"
            assert contrast(hexed(ink), hexed(behind[1])) >= 4.5, (name, style)
            seen += 1
    assert seen >= 3
    assert contrast(hexed("#777"), hexed("#fff")) < 4.5 < contrast(hexed("#69707a"), hexed("#ffffff"))


@pytest.mark.parametrize("state", STATES)
def test_a_state_is_a_sign_and_a_word(state):
    result = Result("add", state, target="twin")
    for shown in (repr(result), result._html()):
        assert state in shown and _SIGN[state] in shown
    assert len(set(_SIGN.values())) == len(STATES)


# ---- sizes, network


def test_sizes():
    every = [p for lang in ("en", "zh") for p in notebooks(lang)]
    large = {p.name: p.stat().st_size for p in every if p.stat().st_size > gate.MAX_BYTES}
    assert not large
    assert sum(p.stat().st_size for p in every) < WHOLE_BYTES


NO_NETWORK = """
import socket
def _local(address):
    return not isinstance(address, tuple) or str(address[0]) in ("127.0.0.1", "::1", "localhost", "", "0.0.0.0")
def _guard(name):
    real = getattr(socket.socket, name)
    def call(self, *arguments):
        if not _local(arguments[-1]):
            open(__file__ + ".log", "a").write(f"{name} {arguments[-1]}\\\\n")
            raise OSError("no network in this test")
        return real(self, *arguments)
    setattr(socket.socket, name, call)
for _name in ("connect", "connect_ex", "bind", "sendto"):
    _guard(_name)
_real = socket.getaddrinfo
def _look_up(host, *more, **words):
    if host not in (None, "", "localhost", "127.0.0.1", "::1", socket.gethostname()):
        open(__file__ + ".log", "a").write(f"getaddrinfo {host}\\\\n")
        raise socket.gaierror("no network in this test")
    return _real(host, *more, **words)
socket.getaddrinfo = _look_up
""".replace("\\\\n", "\\n")


def drawn() -> list[str]:
    """One notebook of less than half an hour a run of the tests, drawn from the size of the workbook, so that another
    one comes when it grows; LABKIT_OFFLINE=all takes every one. All of them, in both languages and solved, in a network
    namespace of their own: `unshare -rn sh -c "ip link set lo up; python -m labkit.notebook.verify --notebooks"`.
    """
    read = [source.read(p) for p in source.sources()]
    if os.environ.get("LABKIT_OFFLINE") == "all":
        return [s.id for s in read]
    quick = sorted(s.id for s in read if s.minutes <= 30 and s.exercises and s.number < "03")
    return [random.Random(len(read)).choice(quick)]


@pytest.mark.parametrize("notebook", drawn())
def test_solved_without_a_network(notebook, tmp_path):
    """Python's sockets refuse and say who asked; where Linux lets a user make one, the process is in a network
    namespace besides, so that a program that it starts reaches nothing either.
    """
    (tmp_path / "sitecustomize.py").write_text(NO_NETWORK)
    [src] = build.chosen([notebook])
    file = build.build_variant(src, tmp_path / "solved", Variant("solved"))
    words = environment(LABKIT_STRICT="1")
    words["PYTHONPATH"] = os.pathsep.join([str(tmp_path), words["PYTHONPATH"]])
    code = (
        "import sys, socket\n"
        "try: socket.create_connection(('192.0.2.1', 80), 1)\n"
        "except OSError as error: assert 'no network in this test' in str(error), error\n"
        "from labkit.camp import inside\n"
        "try: inside.no_network()\n"
        "except OSError: pass\n"
        "else: assert [name for _, name in socket.if_nameindex()] == ['lo']\n"
        "from nbclient import execute; import nbformat\n"
        "execute(nbformat.read(sys.argv[1], 4), timeout=300, kernel_name='python3', cwd=sys.argv[2])\n"
    )
    folder = src.target(paths.notebooks_dir()).parent
    done = subprocess.run(
        [sys.executable, "-c", code, str(file), str(folder)], env=words, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    tried = (tmp_path / "sitecustomize.py.log").read_text().splitlines()
    assert len(tried) == 1 and "192.0.2.1" in tried[0], f"the notebook asked for a network: {tried}"
