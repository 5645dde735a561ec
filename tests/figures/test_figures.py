"""What holds for every figure: the same bytes twice, a whole document,
words for everything a colour says, two languages.
"""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from figure_samples import MAKERS, SVG, all_text, pipeline, race, root

from labkit import figures, messages
from labkit.figures import words
from labkit.figures.svg import COLOURS, MAX_BYTES, PATTERNS, Canvas


@pytest.fixture(params=sorted(MAKERS))
def maker(request):
    return MAKERS[request.param]


@pytest.fixture(params=["en", "zh"])
def lang(request, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", request.param)
    return request.param


# ---------------------------------------------------------------- what holds for every figure


def test_same_bytes_twice(maker, lang):
    assert maker().svg == maker().svg


def test_a_whole_document(maker, lang):
    figure = maker()
    top = root(figure)
    assert top.tag == SVG + "svg" and top.get("role") == "img" and top.get("lang") == lang
    assert top.findtext(SVG + "title") == figure.title and top.findtext(SVG + "desc") == figure.desc
    assert len(figure.svg.encode()) <= MAX_BYTES
    assert len(figure.desc) < 3000 and "?" not in figure.title


def test_nothing_from_outside(maker):
    figure = maker()
    assert set(re.findall(r"https?://[^\"'<\s]+", figure.svg)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<script|<image|<foreignObject|@import|href", figure.svg)
    assert all(target.startswith("#lab-") for target in re.findall(r"url\(([^)]*)\)", figure.svg))


def test_ids_belong_to_the_figure(maker):
    top = root(maker())
    name = top.get("class")
    ids = [e.get("id") for e in top.iter() if e.get("id")]
    assert re.fullmatch(r"lab-[0-9a-f]{8}", name) and len(ids) == len(set(ids))
    assert all(i.startswith(name + "-") for i in ids)
    style = top.findtext(SVG + "style")
    selectors = re.findall(r"([^{}]+)\{", re.sub(r"@media\([^)]*\)\{", "", style))
    assert all(name in s for s in selectors), "a rule without the figure's own class would restyle the page around it"
    used = {c for e in top.iter() if e is not top for c in (e.get("class") or "").split()}
    assert all(c.startswith("lk-") and f".{c}{{" in style for c in used), used


def test_two_decimals(maker):
    for e in root(maker()).iter():
        for key in ("x", "y", "width", "height", "d", "cx", "cy"):
            assert not re.search(r"\.\d{3}|nan|inf|e-", e.get(key) or ""), (e.tag, key, e.get(key))


def test_inside_the_page(maker, lang):
    """No text leaves the picture, by the wide estimate of its width."""
    top = root(maker())
    wide, high = float(top.get("width")), float(top.get("height"))
    for e in top.iter(SVG + "text"):
        classes = (e.get("class") or "").replace("lk-", "").split()
        size = 15 if "h" in classes else 11 if "s" in classes else 12
        length = words.text_width(e.text or "", size)
        x, y = float(e.get("x")), float(e.get("y"))
        left = x - length if "e" in classes else x - length / 2 if "c" in classes else x
        assert left >= -1 and left + length <= wide + 4, (e.text, left, left + length)
        assert 8 <= y <= high, (e.text, y, high)


def test_every_fill_is_a_palette_colour(maker):
    """Nothing outside the palette, so that the contrast test below covers every fill."""
    known = {*COLOURS.values(), "#fff", "currentColor"}
    for e in root(maker()).iter():
        fill = e.get("fill")
        assert fill is None or fill in known or fill.startswith("url(#lab-"), (e.tag, fill)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", sorted(COLOURS))
def test_contrast_in_light_and_dark(name):
    colour = COLOURS[name]
    assert contrast(colour, "#ffffff") >= 4.5, "white text on it"
    assert contrast(colour, "#111111") >= 3, "the shape on JupyterLab's dark background"


def test_plain_and_mime(maker, monkeypatch):
    figure = maker()
    bundle = figure._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/svg+xml"}
    assert bundle["text/plain"] == repr(figure) == f"{figure.title}\n{figure.desc}"
    assert set(figure.inline()._repr_mimebundle_()) == {"text/plain", "text/html"}
    monkeypatch.setenv("LABKIT_PLAIN", "1")
    assert set(figure._repr_mimebundle_()) == set(figure.inline()._repr_mimebundle_()) == {"text/plain"}


def test_save(tmp_path):
    figure = figures.core_on_one_page()
    assert figure.save(tmp_path / "core.svg").read_text(encoding="utf-8") == figure.svg


def test_img_gets_its_own_background():
    """JupyterLab shows SVG in <img>, where currentColor is black on any theme:
    the root brings both colours, inline it brings none.
    """
    style = root(figures.core_on_one_page()).findtext(SVG + "style")
    light, dark = re.findall(r"svg\.lab-\w+:root\{color:(#\w+);background:(#\w+)\}", style)
    for text, paper in (light, dark):
        assert contrast(*(c if len(c) == 7 else "#" + "".join(2 * d for d in c[1:]) for c in (text, paper))) >= 7


def test_patterns_are_well_formed():
    c = Canvas()
    for kind in PATTERNS:
        c.rect(0, 0, 10, 10, f"blue/{kind}")
    figure = c.figure("t", "d", 20)
    assert len(list(root(figure).iter(SVG + "pattern"))) == len(PATTERNS)
    assert c.figure("t", "other", 20).svg.split("class=")[1][:12] != figure.svg.split("class=")[1][:12]


def test_hostile_names_are_text():
    figure = figures.memory_ruler([dict(name='<b a="1">&', pos="VECIN", bytes=92160)])
    assert any('<b a="1">&' in t for t in all_text(figure))


# ---------------------------------------------------------------- words and numbers


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (400, "400 B"), (1023, "1,023 B"), (12800, "12.5 KB"), (196608, "192 KB"), (64 << 30, "64 GB")],
)
def test_size_text(count, said):
    assert words.size_text(count) == said


@pytest.mark.parametrize(
    ("us", "said"),
    [
        (0, "0"),
        (0.0421, "0.0421"),
        (1.239, "1.24"),
        (12.37, "12.4"),
        (123.7, "124"),
        (999.6, "1,000"),
        (1239689.1, "1,239,689"),
        (200, "200"),
        (20, "20"),
    ],
)
def test_time_text(us, said):
    assert words.time_text(us) == said


@pytest.mark.parametrize(
    ("share", "said"), [(0, "0 %"), (0.001, "<1 %"), (0.5, "50 %"), (0.9999, ">99 %"), (1, "100 %")]
)
def test_percent(share, said):
    assert words.percent(share) == said


def test_ticks_are_round_and_inside():
    for low, high in ((0, 13.2), (5, 5.001), (0, 1e6), (0.3, 0.31)):
        marks = words.ticks(low, high)
        assert 2 <= len(marks) <= 12 and all(low - 1e-9 <= m <= high * (1 + 1e-9) for m in marks)


def test_wrap_loses_nothing():
    for said in (
        "one two three four five six seven eight nine ten",
        "一个 tile 的路线：GM → UB → V，各流水并行工作，只在事件或队列处互相等待。",
    ):
        rows = words.wrap(said, 120)
        assert "".join(rows).replace(" ", "") == said.replace(" ", "") and all(words.text_width(r) <= 135 for r in rows)
        assert not any(r[0] in "，。；：）" for r in rows)


def test_both_languages_name_the_same_numbers():
    file = Path(messages.__file__).parent / "figures.toml"
    keys = [line.split(" =")[0] for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("fig_")]
    assert len(keys) > 100
    for key in keys:
        entry = messages.tables()[key]
        fields = {lang: {f for _, f, _, _ in string.Formatter().parse(entry[lang]) if f} for lang in ("en", "zh")}
        assert fields["en"] == fields["zh"], key


def test_chinese_is_chinese(maker, monkeypatch):
    english = maker()
    monkeypatch.setenv("LABKIT_LANG", "zh")
    figure = maker()
    assert re.search("[一-鿿]", figure.title) and re.search("[一-鿿]", figure.desc) and figure.svg != english.svg


@pytest.mark.parametrize("step", [-1, 8, True, 2.5, "3"])
def test_a_step_that_does_not_exist(step):
    from labkit.figures.pipes import core_on_one_page

    with pytest.raises(ValueError, match="steps 0 to 7"):
        core_on_one_page(step=step)
    assert core_on_one_page(step=2.0).svg == core_on_one_page(step=2).svg


def test_bars_have_the_words_of_the_kernels_text():
    """The twin's CopyIn is DataCopy in a kernel. One kind of name in a lane, and what L23 means stands below."""
    record = pipeline(3)
    record.op_names = ["CopyIn", "Add", "CopyOut"]
    record.timeline["op"][record.timeline["pipe"] == 5] = 2
    vector = record.timeline["pipe"] == 1
    record.timeline["op"][vector] = [1, 3, 3]
    record.op_names += ["Exp"]
    figure = figures.pipe_timeline(record)
    said = " ".join(all_text(figure))
    assert "Copy" not in said.replace("DataCopy", "") and "DataCopy" in said
    names = [e.text for e in root(figure).iter(SVG + "text") if "lk-w" in (e.get("class") or "")]
    assert {"L21", "L41"} <= set(names) and "Exp" in " ".join(names) and "L33" not in names, names
    assert "Exp, …" in said and re.search(r"L(21|41): line \1 of the kernel", said)


def test_the_marks_of_a_race_stand_beside_the_names():
    """A triangle on the first letters and a circle on the last hid which instruction it was."""
    top = root(figures.pipe_timeline(race()))
    bars = [e for e in top.iter(SVG + "text") if "lk-w" in (e.get("class") or "") and (e.text or "").startswith("L")]
    circle = next(top.iter(SVG + "circle"))
    triangle = next(e for e in top.iter(SVG + "path") if "l9 15h-18z" in e.get("d"))
    tip = float(re.match(r"M[\d.]+ ([\d.]+)", triangle.get("d"))[1])
    for e in bars:  # a name of 11 px stands on its baseline y
        low, high = float(e.get("y")) - 9, float(e.get("y"))
        assert not low < float(circle.get("cy")) + 4.5 or not float(circle.get("cy")) - 4.5 < high
        assert tip + 15 <= low or tip >= high


def test_a_number_keeps_its_unit_on_its_line():
    for said in (
        "Two or more pipes at work at once: 0 % of the time shown.",
        "It needs 1,234 us and 12.5 KB more",
        "跑满需要 38 % 的时间",
    ):
        for width in range(60, 400, 7):
            for row in words.wrap(said, width):
                assert not re.match(r"(%|us|KB)( |$)", row) and not re.search(r"[\d]$", row.replace("KB more", "")), (
                    width,
                    row,
                )


def test_marks_and_counts_of_one():
    assert "seen 1 time." in repr(figures.pipe_timeline(race(count=1)))
    assert "seen 5 times." in repr(figures.pipe_timeline(race()))
