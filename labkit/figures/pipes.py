"""The AI Core on one page: the memories, the pipes between them, and the way of a tile through a vector core.

Contract. The vector core (AIV) is drawn in full, the cube core (AIC) greyed until one of its pipes is
the active one. Sizes and core counts come from the chip's table. Pipes have the colours they have in
the timelines, and always their names.
"""

from __future__ import annotations

from labkit import chips
from labkit.figures.svg import Canvas, Figure
from labkit.figures.timeline import FILLS
from labkit.figures.words import fits, size_text
from labkit.messages import text

VECTOR, CUBE = ("MTE2", "V", "MTE3", "S"), ("MTE1", "M", "FIX")
# Where a tile can be: x, y of its token.
PLACES = {"gm_in": (44, 148), "vecin": (462, 135), "vecout": (462, 179), "gm_out": (44, 180)}
# One tile's way: (active pipe, place of the tile); the words are the messages fig_step_0 ... fig_step_7.
STEPS = (
    (None, "gm_in"),
    ("S", "gm_in"),
    ("MTE2", "vecin"),
    ("S", "vecin"),
    ("V", "vecout"),
    ("S", "vecout"),
    ("MTE3", "gm_out"),
    ("S", "gm_out"),
)

_GREY = 0.5


def core_on_one_page(
    active: str | None = None, tile: str | None = None, step: int | None = None, chip: str = "910B1"
) -> Figure:
    """The page. `active`: pipe to highlight; `tile`: where a tile's token lies (a key of PLACES); `step`: 0 to 7, sets
    both and describes the step. Raises ValueError for a pipe, place or step that does not exist.
    """
    if step is not None:
        if isinstance(step, bool) or step not in range(len(STEPS)):
            raise ValueError(f"step {step!r}: the way of a tile has steps 0 to {len(STEPS) - 1}")
        step = int(step)
        active, tile = STEPS[step]
    if active is not None and active not in VECTOR + CUBE:
        raise ValueError(f"pipe {active!r}: the pipes are {', '.join(VECTOR + CUBE)}")
    if tile is not None and tile not in PLACES:
        raise ValueError(f"place {tile!r}: the places are {', '.join(PLACES)}")
    table = chips.load(chip)
    cores, memory = table["cores"], table["memory"]
    title = text("fig_core_title", chip=chip, aic=cores["aic"], aiv=cores["aiv"])
    finding = (
        text("fig_core_way_cube" if active in CUBE else "fig_core_way")
        if step is None
        else text("fig_step", step=step, last=len(STEPS) - 1, words=text(f"fig_step_{step}"))
    )
    c = Canvas()
    c.heading(title, finding)
    cube_on = active in CUBE
    _memory(c, 16, 92, 100, 356, "GM", size_text(memory["hbm"]), note=text("fig_hbm"))
    _vector_core(c, memory, cores, active, 0.55 if cube_on else 1.0)
    _cube_core(c, memory, cores, active, 1.0 if cube_on else _GREY)
    if tile:
        x, y = PLACES[tile]
        c.rect(x, y, 44, 18, "ochre", rx=3, cls="d")
        c.inside(x, y, 44, 18, text("fig_tile_token"), "ochre", size=11)
    sizes = text("fig_core_sizes", **{key: size_text(memory[key]) for key in ("ub", "l1", "l0a", "l0b", "l0c")})
    pipes = [f"{name}: {text(f'fig_pipe_{name}')}" for name in VECTOR + CUBE]
    return c.figure(
        title, "\n".join([finding, *([text("fig_active", pipe=active)] if active else []), sizes, *pipes]), 462
    )


def _memory(c: Canvas, x, y, w, h, name: str, size: str, note: str = "") -> None:
    c.rect(x, y, w, h, cls="o", rx=5)
    c.text(x + w / 2, y + 18, name, "b c")
    c.text(x + w / 2, y + 33, size, "s c")
    if note:
        c.text(x + w / 2, y + 47, note, "s m c")


def _pipe(c: Canvas, x, y, w, h, name: str, active: str | None, note: str = "") -> None:
    """A pipe: a capsule. Coloured, or, when another pipe is the active one, an outline;
    the active one has a frame and the word.
    """
    on = active is None or active == name
    fill, label = FILLS[name], name
    if active == name:
        c.rect(x - 3.5, y - 3.5, w + 7, h + 7, cls="k", rx=min(h / 2 + 3.5, 19))
        label = text("fig_now", pipe=name)
        if not fits(label, w - 8):  # a short capsule: the word goes below
            c.text(x + w / 2, y + h + 17, label, "b c")
            label = name
    c.rect(x, y, w, h, fill if on else None, rx=min(h / 2, 16), cls="" if on else "l")
    middle = y + h / 2 + (4.5 if not note else -2)
    c.text(x + w / 2, middle, label, "w c" if on else "b c")
    if note:
        c.text(x + w / 2, middle + 15, note, "w c s" if on else "m c s")


def _begin(c: Canvas, opacity: float) -> None:
    c.add(f'<g opacity="{opacity}">' if opacity < 1 else "<g>")


def _vector_core(c: Canvas, memory: dict, cores: dict, active: str | None, opacity: float) -> None:
    _begin(c, opacity)
    c.rect(136, 92, 608, 154, cls="g", rx=8)
    c.text(150, 111, text("fig_aiv", n=cores["aiv"]), "b")
    c.rect(372, 100, 168, 136, cls="o", rx=5)
    c.text(384, 118, "UB", "b")
    c.text(528, 118, size_text(memory["ub"]), "s e")
    for y, name, fill in ((128, "VECIN", "blue"), (172, "VECOUT", "green")):
        c.rect(382, y, 148, 32, cls="o", rx=3)
        c.rect(382, y, 5, 32, fill)
        c.text(394, y + 20, name, "s")
    c.text(456, 226, text("fig_ub_blocks"), "s m c")
    for y, name, inward in ((144, "MTE2", True), (188, "MTE3", False)):
        points = [(118, y), (200, y)] if inward else [(380, y), (300, y)]
        c.line(*points[0], *points[1])
        c.arrow([(300, y), (380, y)] if inward else [(200, y), (118, y)])
        _pipe(c, 200, y - 15, 100, 30, name, active)
        c.text(338, y - 6, text("fig_in" if inward else "fig_out"), "s m c")
    c.arrow([(532, 144), (608, 144)])
    c.arrow([(608, 188), (532, 188)])
    _pipe(c, 614, 134, 110, 64, "V", active, text("fig_computes"))
    _pipe(c, 614, 98, 110, 26, "S", active)
    c.text(606, 115, text("fig_sends"), "s m e")
    c.add("</g>")


def _cube_core(c: Canvas, memory: dict, cores: dict, active: str | None, opacity: float) -> None:
    _begin(c, opacity)
    c.rect(136, 260, 608, 188, cls="g", rx=8)
    c.text(150, 280, text("fig_aic", n=cores["aic"]), "b")
    y = 338
    c.line(118, y, 150, y)
    c.arrow([(210, y), (236, y)])
    inner = active if active in CUBE else None
    for x, w, name in ((150, 60, "MTE2"), (346, 60, "MTE1"), (546, 48, "M")):
        if name == "MTE2":
            c.rect(x, y - 15, w, 30, cls="l", rx=15)
            c.text(x + w / 2, y + 4.5, name, "b c")
        else:
            c.line(x - 26, y, x, y)
            c.arrow([(x + w, y), (x + w + 26, y)])
            _pipe(c, x, y - 15, w, 30, name, inner)
    _memory(c, 238, 300, 84, 76, "L1", size_text(memory["l1"]))
    _memory(c, 434, 292, 86, 42, "L0A", size_text(memory["l0a"]))
    _memory(c, 434, 342, 86, 42, "L0B", size_text(memory["l0b"]))
    _memory(c, 622, 300, 104, 76, "L0C", size_text(memory["l0c"]))
    c.path("M674 378V420H520", "l")
    c.arrow([(440, 420), (118, 420)])
    _pipe(c, 440, 405, 80, 30, "FIX", inner)
    c.add("</g>")
