"""Retrieval, answers and captions: against cases worked by hand, against the field's libraries, with known-wrong models."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from labkit.migrate import evaluation, model, scenes


@pytest.fixture(autouse=True)
def one_thread():
    """Operators this small take longer on two threads than on one, much longer on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_recall_by_hand():
    scores = [[9, 1, 2], [5, 4, 3], [7, 8, 6]]  # the right one comes first, second, third
    assert [evaluation.recall(scores, k).tolist() for k in (1, 2, 3)] == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert evaluation.recall(np.zeros((4, 4)), 3).sum() == 0, "who says the same of everything finds nothing"
    assert evaluation.recall(np.full((4, 4), np.nan), 3).sum() == 0
    for wrong in (np.zeros((3, 4)), np.zeros(3)):
        with pytest.raises(ValueError, match="square"):
            evaluation.recall(wrong, 1)
    with pytest.raises(ValueError, match="k from 1"):
        evaluation.recall(np.zeros((3, 3)), 4)


def test_recall_as_torchmetrics_has_it():
    retrieval = pytest.importorskip("torchmetrics.functional.retrieval")
    rng = np.random.default_rng(1)
    for n in (2, 5, 17):
        scores = rng.permutation(n * n).reshape(n, n) + 1  # no two the same; theirs finds nothing that scores 0 or less
        for k in {1, min(5, n), n}:
            theirs = [
                float(retrieval.retrieval_recall(torch.tensor(row) / 1.0, torch.arange(n) == i, top_k=k))
                for i, row in enumerate(scores)
            ]
            assert evaluation.recall(scores, k).tolist() == theirs


def test_vqa_accuracy_by_hand():
    people = ["red"] * 3 + ["blue"] * 7
    # three of ten said red: leaving out one of them 2/3, leaving out another 1
    assert evaluation.vqa_accuracy(["red"], [people])[0] == pytest.approx((3 * 2 / 3 + 7) / 10)
    assert evaluation.vqa_accuracy(["blue", "green", "two"], [people, people, ["two"]]).tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="one each"):
        evaluation.vqa_accuracy(["red"], [])


def test_cider_by_hand():
    # Two images, phrases in one reference each: idf log 2 for all. The first is said word for word: cosine 1 for one to
    # four words, so 10. Of the second's two words one is right: cosine 1/2 for single words and no pair; the length
    # differs by no pair: (1/2 + 0 + 0 + 0) / 4 * 10.
    both = evaluation.cider(["a b c d", "x y"], [["a b c d"], ["x z"]])
    assert both == pytest.approx([10, 1.25])
    # One word too many: 2 of 3 words in the caption, both words of the reference: 2 / sqrt(6); pairs 1 / sqrt(2);
    # one pair more than the reference has: exp(-1 / 72).
    longer = evaluation.cider(["x y y2", "p"], [["x y"], ["q"]])[0]
    assert longer == pytest.approx(10 / 4 * (2 / math.sqrt(6) + 1 / math.sqrt(2)) * math.exp(-1 / 72))
    with pytest.raises(ValueError, match="two or more"):
        evaluation.cider(["a"], [["a"]])


def test_intervals():
    half = evaluation.metric("share", [0, 1] * 50)
    assert half.value == 0.5 and 0.38 < half.low < 0.43 and 0.57 < half.high < 0.62  # 0.5 +- 1.96 * sqrt(0.25 / 100)
    assert evaluation.metric("share", [0, 1] * 800).high < 0.53
    assert evaluation.metric("share", [0, 1] * 50) == half, "the same seed, the same interval"
    assert str(evaluation.metric("CIDEr", [3.0, 3.0])) == "CIDEr 3.00 (3.00 to 3.00)"
    for wrong in ([], [1.0, math.nan]):
        with pytest.raises(ValueError, match="finite"):
            evaluation.metric("share", wrong)


class Knows(torch.nn.Module):
    """Says what `says(scene)` says of the scene whose image it is given: all logits there."""

    def __init__(self, images, says):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.known = {scene.image().tobytes(): says(scene) for scene in images}
        self.answers = {s.image().tobytes(): dict(s.questions()) for s in images}

    def forward(self, input_ids, pixel_values):
        logits = torch.zeros(*input_ids.shape, len(scenes.WORDS))
        for row, ids, image in zip(logits, input_ids.tolist(), pixel_values):
            key = image.numpy().tobytes()
            if scenes.CAPTION in ids:
                tokens = scenes.caption_row(self.known[key])[0]
            else:
                question = scenes.decode(ids[: ids.index(scenes.ANSWER)])
                tokens = scenes.question_row(question, self.answers[key][question])[0]
            for place, token in enumerate(tokens[1:]):
                row[place, token] = 9.0
        return SimpleNamespace(logits=logits)


def test_a_model_that_knows_and_one_that_is_wrong():
    images = scenes.draw(40, seed=9, held_out=True)
    right = evaluation.evaluate(Knows(images, lambda s: s.caption), images)
    assert {k: m.value for k, m in right.items() if k != "cider"} == dict.fromkeys(
        [f"{d}@{k}" for d in ("i2t", "t2i") for k in (1, 5, 10)] + ["vqa"], 1.0
    )
    long = [len(s.caption.split()) > 3 for s in images]  # CIDEr of a caption without four words is below 10
    assert right["cider"].each[long] == pytest.approx(10)
    wrong = evaluation.evaluate(Knows(images, lambda s: "four red crosses"), images)
    assert wrong["i2t@1"].value < 0.1 and wrong["cider"].value < 1 and wrong["vqa"].value == 1


def test_an_untrained_model_knows_nothing_and_stays_in_training():
    m = model.small(0)
    found = evaluation.evaluate(m, scenes.draw(16, seed=9, held_out=True))
    assert m.training and found["cider"].value < 1 and found["i2t@1"].value < 0.5
    with pytest.raises(ValueError, match="ten or more"):
        evaluation.evaluate(m, scenes.draw(4, seed=9))
