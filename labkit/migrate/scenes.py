"""Images with captions, questions and answers, drawn by a seed: something to learn that needs no download.

A scene has one or two kinds of things (a shape in a colour) on a grid of two by two places, 32 x 32 pixels. A caption
says what there is, how many, and where one thing stands to another; questions ask for each of these. Training and the
held-out part never share a caption: combinations are held out that training does not show. Pixels are multiples of
1/8, so that an image is the same on each host.

    scene = scenes.draw(1, seed=3)[0]
    scene.caption                            # 'a red circle left of a yellow square'
    scenes.batch(scenes.draw(32, seed=0))    # tensors for labkit.migrate.model.small()
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import torch

SHAPES = ("square", "circle", "triangle", "cross")
COLOURS = {"red": (8, 1, 1), "green": (1, 7, 1), "blue": (1, 2, 8), "yellow": (8, 7, 1)}  # in eighths
COUNTS = ("zero", "one", "two", "three", "four")
SIDE, CELL = 32, 16
IMAGE_TOKENS = 4  # what model.small() makes of an image: (32 / 8 / 2) squared
LENGTH = 4 + IMAGE_TOKENS + 14  # of every row of a batch: shapes that never change

_PLAIN = (
    "<pad> <start> <end> <image> <caption> <question> <answer> a and left right of above the how many what colour is "
    "shape there yes no"
)
WORDS = (*_PLAIN.split(), *SHAPES, *(s + ("es" if s == "cross" else "s") for s in SHAPES), *COLOURS, *COUNTS)
PAD, START, END, IMAGE, CAPTION, QUESTION, ANSWER = range(7)
_IDS = {word: i for i, word in enumerate(WORDS)}
IGNORED = -100  # as a label: no loss there


@dataclass(frozen=True)
class Thing:
    """A shape in a colour at a place of the grid, 0 to 3 in reading order."""

    shape: str
    colour: str
    place: int

    @property
    def kind(self) -> str:
        return f"{self.colour} {self.shape}"


@dataclass(frozen=True)
class Scene:
    """things: in reading order. noise: seeds what does not matter, the exact places and the background."""

    things: tuple[Thing, ...]
    noise: int

    @property
    def caption(self) -> str:
        first, last = self.things[0], self.things[-1]
        if len(self.things) == 2 and first.kind != last.kind:
            return f"a {first.kind} {_relation(first.place, last.place)} a {last.kind}"
        kinds = list(dict.fromkeys(thing.kind for thing in self.things))
        counts = [sum(thing.kind == kind for thing in self.things) for kind in kinds]
        return " and ".join(
            f"{COUNTS[n]} {kind.split()[0]} {_plural(kind.split()[1], n)}" for kind, n in zip(kinds, counts)
        )

    @property
    def held_out(self) -> bool:
        return zlib.crc32(self.caption.encode()) % 5 == 0

    def image(self) -> np.ndarray:
        """float32 (3, 32, 32), 0 to 1 in steps of 1/8."""
        rng = np.random.default_rng(self.noise)
        pixels = rng.integers(0, 2, (3, SIDE, SIDE))
        for thing in self.things:
            dy, dx = rng.integers(0, 4, 2)
            top, left = CELL * (thing.place // 2) + dy, CELL * (thing.place % 2) + dx
            window = pixels[:, top : top + _SIZE, left : left + _SIZE]
            window[:] = np.where(_MASKS[thing.shape], np.array(COLOURS[thing.colour])[:, None, None], window)
        return pixels.astype(np.float32) / 8

    def questions(self) -> list[tuple[str, str]]:
        """All (question, answer) whose answer is one word, in a fixed order; what is asked for twice has two answers
        and is left out."""
        found = [(f"how many {_plural(shape, 2)}", COUNTS[self._count(shape)]) for shape in SHAPES]
        for shape in SHAPES:
            colours = {thing.colour for thing in self.things if thing.shape == shape}
            found += [(f"what colour is the {shape}", colours.pop())] if len(colours) == 1 else []
        for colour in COLOURS:
            shapes = {thing.shape for thing in self.things if thing.colour == colour}
            found += [(f"what shape is {colour}", shapes.pop())] if len(shapes) == 1 else []
        first, last = self.things[0], self.things[-1]
        if len(self.things) == 2 and first.shape != last.shape:
            across, down = last.place % 2 - first.place % 2, last.place // 2 - first.place // 2
            for word, true in (("left of", across > 0), ("right of", across < 0), ("above", down > 0)):
                found.append((f"is the {first.shape} {word} the {last.shape}", "yes" if true else "no"))
        present = {thing.kind for thing in self.things}
        there = self.things[self.noise % len(self.things)]
        colours = list(COLOURS)
        other = f"{colours[(colours.index(there.colour) + 1 + self.noise % 3) % 4]} {there.shape}"
        found.append((f"is there a {there.kind}", "yes"))
        found += [(f"is there a {other}", "no")] if other not in present else []
        return found

    def _count(self, shape: str) -> int:
        return sum(thing.shape == shape for thing in self.things)


def draw(count: int, seed: int, held_out: bool = False, distinct: bool = False) -> list[Scene]:
    """`count` scenes. held_out: of those that training never sees; distinct: no caption twice (for retrieval).
    Raises ValueError where there are not so many."""
    if count < 0 or distinct and count > 200:
        raise ValueError(f"{count} scenes: give 0 or more, with distinct=True at most 200.")
    rng = np.random.default_rng([seed, int(held_out)])
    found: list[Scene] = []
    captions: set[str] = set()
    while len(found) < count:
        scene = _one(rng)
        if scene.held_out != held_out or distinct and scene.caption in captions:
            continue
        captions.add(scene.caption)
        found.append(scene)
    return found


def batch(scenes: list[Scene], tasks: str = "both", seed: int = 0) -> dict[str, torch.Tensor]:
    """input_ids and labels int64 (n, 22), pixel_values float32 (n, 3, 32, 32), of n scenes.

    tasks: "caption", "question" (one of each scene's, drawn by `seed`), or "both": even rows and odd rows. Labels are
    there only for what the model has to say. Rows end in <pad>; a causal model needs no mask for it.
    """
    if tasks not in ("caption", "question", "both"):
        raise ValueError(f'tasks="{tasks}": give "caption", "question" or "both".')
    rng = np.random.default_rng(seed)
    rows = []
    for i, scene in enumerate(scenes):
        asks = tasks == "question" or tasks == "both" and i % 2 == 1
        found = scene.questions()
        rows.append(question_row(*found[rng.integers(len(found))]) if asks else caption_row(scene.caption))
    return tensors(scenes, rows)


def tensors(scenes: list[Scene], rows: list[tuple[list[int], int]]) -> dict[str, torch.Tensor]:
    """A batch of scenes and rows of (tokens, how many of them are the prompt)."""
    ids = torch.full((len(rows), LENGTH), PAD)
    labels = torch.full((len(rows), LENGTH), IGNORED)
    for i, (tokens, prompt) in enumerate(rows):
        ids[i, : len(tokens)] = torch.tensor(tokens)
        labels[i, prompt : len(tokens)] = ids[i, prompt : len(tokens)]
    images = np.stack([scene.image() for scene in scenes]) if scenes else np.zeros((0, 3, SIDE, SIDE), np.float32)
    return {"input_ids": ids, "labels": labels, "pixel_values": torch.from_numpy(images)}


def caption_row(caption: str = "") -> tuple[list[int], int]:
    """(tokens, tokens of the prompt); without a caption the prompt alone."""
    prompt = [START, *[IMAGE] * IMAGE_TOKENS, CAPTION]
    return [*prompt, *(encode(caption) + [END] if caption else [])], len(prompt)


def question_row(question: str, answer: str = "") -> tuple[list[int], int]:
    """The same for a question and its answer."""
    prompt = [START, *[IMAGE] * IMAGE_TOKENS, QUESTION, *encode(question), ANSWER]
    return [*prompt, *(encode(answer) + [END] if answer else [])], len(prompt)


def encode(text: str) -> list[int]:
    """One token for each word. Raises ValueError naming a word that the vocabulary lacks."""
    for word in text.split():
        if word not in _IDS:
            raise ValueError(f'"{word}" is none of the {len(WORDS)} words of labkit.migrate.scenes.WORDS.')
    return [_IDS[word] for word in text.split()]


def decode(tokens: list[int]) -> str:
    """The words up to <end>; what is no word of a text (<pad>, <image>) is left out."""
    tokens = list(tokens)
    return " ".join(WORDS[t] for t in (tokens[: tokens.index(END)] if END in tokens else tokens) if t > ANSWER)


def _one(rng: np.random.Generator) -> Scene:
    """A scene of one kind (one to four of it) or two kinds, each as likely."""
    colours = list(COLOURS)
    pairs = rng.choice(16, 2, replace=False)
    most = int(rng.integers(1, 5))
    count = [most] if rng.integers(2) else [1, 1] if rng.integers(2) else [1 + most // 3, 1 + most % 2]
    kinds = [(SHAPES[p % 4], colours[p // 4]) for p, n in zip(pairs, count) for _ in range(n)]
    places = rng.permutation(4)[: len(kinds)]
    things = sorted((Thing(*kind, int(place)) for kind, place in zip(kinds, places)), key=lambda t: t.place)
    return Scene(tuple(things), int(rng.integers(2**31)))


def _relation(first: int, last: int) -> str:
    """Where the first of two places stands to the last, which comes later in reading order."""
    sides = {-1: "right of", 0: "", 1: "left of"}[last % 2 - first % 2]
    return " and ".join(part for part in ("above" if last // 2 > first // 2 else "", sides) if part)


def _plural(shape: str, count: int) -> str:
    return shape if count == 1 else WORDS[_IDS[shape] + len(SHAPES)]


def _masks(size: int) -> dict[str, np.ndarray]:
    y, x = np.mgrid[:size, :size]
    half = size // 2
    return {
        "square": (x > 0) & (x < size - 1) & (y > 0) & (y < size - 1),
        "circle": (2 * x - size + 1) ** 2 + (2 * y - size + 1) ** 2 <= size * size,
        "triangle": abs(2 * x - size + 1) <= y + 1,
        "cross": (abs(x - half + 0.5) < 2) | (abs(y - half + 0.5) < 2),
    }


_SIZE = 12
_MASKS = _masks(_SIZE)
