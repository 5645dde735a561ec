"""What the vision-language model learns from: drawn by a seed, true of the image, and nothing held out is shown."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from labkit import migrate
from labkit.migrate import model, scenes

DRAWN = scenes.draw(400, seed=3)


def seen(image: np.ndarray) -> list[tuple[str, str, int]]:
    """(shape, colour, place) of each thing, read from the pixels alone."""
    found = []
    for place in range(4):
        top, left = 16 * (place // 2), 16 * (place % 2)
        cell = np.rint(8 * image[:, top : top + 16, left : left + 16]).astype(int)
        for colour, rgb in scenes.COLOURS.items():
            mask = (cell == np.array(rgb)[:, None, None]).all(0)
            if mask.any():
                for dy, dx in np.ndindex(5, 5):
                    window = mask[dy : dy + 12, dx : dx + 12]
                    for shape, own in scenes._MASKS.items():
                        if window.shape == own.shape and (window == own).all() and mask.sum() == own.sum():
                            found.append((shape, colour, place))
    return found


def test_the_pixels_show_what_the_scene_says():
    for scene in DRAWN[:60]:
        assert sorted(set(seen(scene.image()))) == sorted((t.shape, t.colour, t.place) for t in scene.things)


def test_the_same_seed_gives_the_same_and_another_others():
    assert scenes.draw(20, seed=1) == scenes.draw(20, seed=1) != scenes.draw(20, seed=2)
    one, two = (scenes.batch(scenes.draw(8, seed=1), seed=4) for _ in range(2))
    assert all(torch.equal(one[k], two[k]) for k in one)
    images = np.stack([s.image() for s in DRAWN])
    assert images.min() >= 0 and images.max() <= 1 and (images * 8 == np.rint(images * 8)).all()


def test_nothing_held_out_is_in_training():
    held = scenes.draw(200, seed=3, held_out=True)
    assert not {s.caption for s in held} & {s.caption for s in DRAWN}
    assert len({s.caption for s in scenes.draw(200, seed=5, held_out=True, distinct=True)}) == 200
    with pytest.raises(ValueError, match="200"):
        scenes.draw(201, seed=0, distinct=True)


def answer(things, question: str) -> str:
    """The answer from the things, worked out without the code under test."""
    words = question.split()
    single = {p: s for s, p in zip(scenes.SHAPES, ("squares", "circles", "triangles", "crosses"))}
    if question.startswith("how many"):
        return ["zero", "one", "two", "three", "four"][sum(t.shape == single[words[-1]] for t in things)]
    if question.startswith("what colour"):
        (colour,) = {t.colour for t in things if t.shape == words[-1]}
        return colour
    if question.startswith("what shape"):
        (shape,) = {t.shape for t in things if t.colour == words[-1]}
        return shape
    if question.startswith("is there"):
        return "yes" if any([t.colour, t.shape] == words[-2:] for t in things) else "no"
    (a,), (b,) = ([t.place for t in things if t.shape == word] for word in (words[2], words[-1]))
    true = {"left": a % 2 < b % 2, "right": a % 2 > b % 2, "above": a < 2 <= b}[words[3]]
    return "yes" if true else "no"


def test_every_answer_is_right_and_each_question_fits_its_row():
    answers = []
    for scene in DRAWN:
        for question, given in scene.questions():
            assert given == answer(scene.things, question), (scene.caption, question)
            assert len(scenes.question_row(question, given)[0]) <= scenes.LENGTH
            answers.append(given)
        assert len(scenes.caption_row(scene.caption)[0]) <= scenes.LENGTH
    assert {"yes", "no", "zero", "four", "blue", "cross"} <= set(answers)


def test_captions_name_the_things_and_their_relation():
    T = scenes.Thing
    assert scenes.Scene((T("cross", "red", 1), T("circle", "blue", 2)), 0).caption == (
        "a red cross above and right of a blue circle"
    )
    assert scenes.Scene((T("cross", "red", 1), T("circle", "blue", 2), T("cross", "red", 3)), 0).caption == (
        "two red crosses and one blue circle"
    )
    for scene in DRAWN:
        assert scenes.decode(scenes.encode(scene.caption) + [scenes.END, scenes.IMAGE]) == scene.caption


def test_the_modules_example_says_what_is_drawn():
    assert f"seed=3)[0]\n    scene.caption{'# ':>30}{scenes.draw(1, seed=3)[0].caption!r}\n" in scenes.__doc__


def test_labels_are_what_the_model_has_to_say():
    scene = scenes.Scene((scenes.Thing("cross", "red", 1),), 0)
    b = scenes.batch([scene, scene], seed=0)
    said = [[scenes.WORDS[t] for t in row if t != scenes.IGNORED] for row in b["labels"]]
    assert said[0] == ["one", "red", "cross", "<end>"] and len(said[1]) == 2
    assert ((b["labels"] == scenes.IGNORED) | (b["labels"] == b["input_ids"])).all()
    with pytest.raises(ValueError, match="purple"):
        scenes.encode("a purple cross")
    with pytest.raises(ValueError, match="both"):
        scenes.batch([scene], "all")


def test_the_model_takes_a_batch_and_its_seed_decides_its_weights():
    before = torch.random.get_rng_state()
    one, same, other = model.small(1), model.small(1), migrate.model.small(2)
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters()))
    assert not torch.equal(one.lm_head.weight, other.lm_head.weight)
    assert one.lm_head.weight is one.get_input_embeddings().weight
    out = one(**scenes.batch(DRAWN[:4]))
    assert out.logits.shape == (4, scenes.LENGTH, len(scenes.WORDS)) and out.loss.isfinite()
    assert len(model.small(layers=3).model.language_model.layers) == 3
    with pytest.raises(TypeError, match="depth"):
        model.small(depth=3)
    with pytest.raises(ValueError, match="heads"):
        model.small(hidden=60, heads=8)
    for name, size in {"heads": 0, "patch": 0, "hidden": 0, "inner": -3, "vision_layers": -1}.items():
        with pytest.raises(ValueError, match=f"{name}={size}: give at least 1"):
            model.small(**{name: size})
