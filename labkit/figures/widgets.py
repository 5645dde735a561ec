"""Sliders on the memory ruler and on the way of a tile: a thin layer of ipywidgets over the same pure functions.

Contract. Every state of a widget is one call of a pure function (`plan`, `ruler_state`, `core_on_one_page`), so a test
needs no browser. The picture is the `value` of an HTML widget, set by an observer: no Output contexts, no clear_output,
nothing that nbval trips over. Beside the view stands the first picture, for pages with no kernel behind them. Without
ipywidgets, or under LABKIT_PLAIN=1, the static figure comes back instead. `repr` is short and always the same.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape

from labkit.figures.pipes import STEPS, core_on_one_page
from labkit.figures.ruler import KB, blocks_text, memory_ruler
from labkit.figures.svg import Figure, plain
from labkit.figures.words import percent, size_text
from labkit.messages import text

DTYPES = {"half": 2, "bfloat16_t": 2, "float": 4, "int32_t": 4, "int16_t": 2, "int8_t": 1}
ALIGN = 32
_LABEL = {"description_width": "170px"}
POSITION_LIMIT = 8  # buffers on one TPosition: A2 has eight event ids for them


def plan(tile: int, dtype: str, depth: int, queues: int) -> list[dict]:
    """The buffers of a kernel with `queues` queues of `depth` slots, each slot one tile of `tile` elements; the last
    queue carries the result out. bytes: of the tile; InitBuffer rounds each slot up to 32 B.
    """
    count = tile * DTYPES[dtype]
    slots = []
    for q in range(queues):
        out = q == queues - 1 and queues > 1
        name, pos = ("out", "VECOUT") if out else (f"in {q}", "VECIN")
        slots += [dict(name=name, pos=pos, bytes=count, kind="queue", index=i) for i in range(depth)]
    return slots


def ruler_state(
    tile: int, dtype: str, depth: int, queues: int, size: int = 192 * KB, reserved: int = 8 * KB
) -> tuple[Figure, list[str]]:
    """The figure for one position of the sliders, and what to read off it."""
    slots = plan(tile, dtype, depth, queues)
    count = tile * DTYPES[dtype]
    each = -(-count // ALIGN) * ALIGN
    total, usable = each * len(slots), size - reserved
    said = [
        text("fig_tile_is", n=f"{tile:,}", dtype=dtype, blocks=blocks_text(count, ALIGN)),
        text(
            "fig_sum",
            n=len(slots),
            each=f"{each:,}",
            total=f"{total:,}",
            share=percent(total / usable),
            usable=size_text(usable),
        ),
    ]
    most = max(sum(s["pos"] == pos for s in slots) for pos in ("VECIN", "VECOUT"))
    if most > POSITION_LIMIT:
        said.append(text("fig_too_many", n=most, limit=POSITION_LIMIT))
    zoom = ((len(slots) - 1) * each, count) if count % ALIGN else None
    return memory_ruler(slots, size=size, reserved=reserved, align=ALIGN, zoom=zoom), said


def _html(figure: Figure, said: list[str]) -> str:
    rows = "".join(f"<li>{escape(row)}</li>" for row in said)
    return (f"<ul style='margin:4px 0;line-height:1.5'>{rows}</ul>" if rows else "") + figure.svg


@lru_cache(maxsize=1)
def _panel():
    """VBox with a name instead of a list of its children, or None where ipywidgets is not installed."""
    try:
        import ipywidgets
    except ImportError:
        return None

    class Panel(ipywidgets.VBox):
        words, still = "", None

        def __repr__(self) -> str:
            return self.words

        def _repr_mimebundle_(self, **options) -> dict:
            return {**super()._repr_mimebundle_(**options), "image/svg+xml": self.still.svg}

    return Panel


def _build(words: str, controls: dict, show):
    """A panel of `controls` above a picture; `show(**values)` returns (figure, sentences)."""
    import ipywidgets

    picture = ipywidgets.HTML()

    def update(_change=None) -> None:
        picture.value = _html(*show(**{name: control.value for name, control in controls.items()}))

    for control in controls.values():
        control.observe(update, names="value")
    update()
    panel = _panel()([*controls.values(), picture])
    panel.words, panel.controls, panel.picture = words, controls, picture
    panel.still = show(**{name: control.value for name, control in controls.items()})[0]
    return panel


def _slider(key: str, value: int, low: int, high: int):
    import ipywidgets

    return ipywidgets.IntSlider(
        value=value, min=low, max=high, description=text(key), style=_LABEL, layout={"width": "620px"}
    )


def memory_ruler_widget(
    size: int = 192 * KB, reserved: int = 8 * KB, tile: int = 4096, dtype: str = "half", depth: int = 2, queues: int = 3
):
    """Tile length, type, slots and queues against UB, live. size, reserved: bytes. Raises ValueError for a type that
    DTYPES does not have, and for numbers that leave no room or no tile.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r} is none of {', '.join(DTYPES)}")
    if min(tile, depth, queues) < 1 or size <= reserved:
        raise ValueError("tile, depth and queues are at least 1, and size is more than reserved")
    if plain() or _panel() is None:
        figure, said = ruler_state(tile, dtype, depth, queues, size, reserved)
        return Figure(figure.svg, figure.title, "\n".join([*said, figure.desc]))
    import ipywidgets

    controls = {
        "tile": _slider("fig_control_tile", tile, 8, max(size // 8, tile)),
        "dtype": ipywidgets.Dropdown(
            options=list(DTYPES), value=dtype, description=text("fig_control_dtype"), style=_LABEL
        ),
        "depth": _slider("fig_control_depth", depth, 1, max(4, depth)),
        "queues": _slider("fig_control_queues", queues, 1, max(6, queues)),
    }
    return _build(
        text("fig_ruler_widget"), controls, lambda **values: ruler_state(**values, size=size, reserved=reserved)
    )


def pipes_widget(step: int = 0, chip: str = "910B1"):
    """One tile's way through MTE2, V and MTE3, a step at a time."""
    if plain() or _panel() is None:
        figure = core_on_one_page(chip=chip)
        steps = [text("fig_step", step=i, last=len(STEPS) - 1, words=text(f"fig_step_{i}")) for i in range(len(STEPS))]
        return Figure(figure.svg, figure.title, "\n".join([figure.desc, *steps]))
    controls = {"step": _slider("fig_control_step", step, 0, len(STEPS) - 1)}
    return _build(text("fig_pipes_widget"), controls, lambda step: (core_on_one_page(step=step, chip=chip), []))
