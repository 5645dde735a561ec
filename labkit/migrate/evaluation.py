"""How good a vision-language model is: retrieval, answers, captions, each with a bootstrap interval.

    results = evaluate(model, scenes.draw(200, seed=9, held_out=True))
    print(results["vqa"])                    # VQA accuracy 0.71 (0.64 to 0.77)

Recall@k counts the pairs whose own partner is among the k best; VQA accuracy is that of the VQA challenge; CIDEr is
computed by pycocoevalcap (its scorer needs no Java, only its tokenizer does, and these captions are words already).
Intervals: percentiles of scipy.stats.bootstrap over images. Where all values are the same the interval has no width;
that says nothing of how sure it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from labkit.migrate import scenes as scenes_

RETRIEVED = 48  # images for retrieval: every one is scored with every caption


@dataclass(frozen=True)
class Metric:
    """value: mean of `each`, one number for each image; low, high: its 95 % interval."""

    name: str
    value: float
    low: float
    high: float
    each: np.ndarray = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def metric(name: str, each: Sequence[float], seed: int = 0) -> Metric:
    """Mean and interval of values, 2000 resamples. Raises ValueError where there are none, or one is not finite."""
    from scipy import stats

    values = np.asarray(each, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"{name}: wants a list of finite numbers, one for each image, and got shape {values.shape}.")
    mean = float(values.mean())
    if (values == values[0]).all():  # one value too, of which the bootstrap makes nothing
        return Metric(name, mean, mean, mean, values)
    interval = stats.bootstrap(
        (values,), np.mean, n_resamples=2000, method="percentile", rng=np.random.default_rng(seed)
    ).confidence_interval
    return Metric(name, mean, float(interval.low), float(interval.high), values)


# ---- from scores and texts to numbers


def recall(scores: np.ndarray, k: int) -> np.ndarray:
    """Whether query i finds item i among its k best, 1.0 or 0.0 each. scores: (n, n), queries down, items across.

    What scores the same as the right one, or has no number (NaN), stands before it: a model that says the same of
    everything finds nothing. (torchmetrics' retrieval_recall drops every score that is 0 or less, so of log
    probabilities it makes 0.)
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or not 1 <= k <= len(scores):
        raise ValueError(f"recall@{k} of scores {scores.shape}: give a square of scores and k from 1 to its side.")
    own = np.diag(scores)[:, None]
    return (np.sum(~(scores < own), axis=1) <= k).astype(np.float64)  # the right one is not below itself


def vqa_accuracy(said: Sequence[str], answers: Sequence[Sequence[str]]) -> np.ndarray:
    """For each question min(people who said so / 3, 1), averaged over leaving each person out. A single known answer
    counts as ten people of one mind: 1.0 or 0.0."""
    if len(said) != len(answers) or not all(len(a) for a in answers):
        raise ValueError(f"{len(said)} answers to {len(answers)} questions: give one each, and who said what.")
    found = []
    for own, people in zip(said, answers):
        people = list(people) * (10 if len(people) == 1 else 1)
        others = [people[:i] + people[i + 1 :] for i in range(len(people))]
        found.append(np.mean([min(rest.count(own) / 3, 1.0) for rest in others]))
    return np.asarray(found)


def cider(said: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """CIDEr-D of each caption, 0 to 10, words divided by spaces. How rare a phrase is comes from all references, so at
    least two images are wanted. Raises ValueError, and ImportError without pycocoevalcap (extra `migrate`)."""
    if len(said) != len(references) or len(said) < 2 or not all(len(r) for r in references):
        raise ValueError(f"CIDEr of {len(said)} captions, {len(references)} images: give one each, two or more.")
    try:
        from pycocoevalcap.cider.cider import Cider
    except ImportError as error:
        raise ImportError("CIDEr is computed by pycocoevalcap: pip install 'labkit[migrate]'.") from error
    truth = {i: list(r) for i, r in enumerate(references)}
    return np.asarray(Cider().compute_score(truth, {i: [text] for i, text in enumerate(said)})[1])


# ---- from a model to scores and texts


def likelihoods(model: Callable, images: list[scenes_.Scene], captions: Sequence[str]) -> np.ndarray:
    """(images, captions): the mean log probability of a caption's words beside an image."""
    rows = [scenes_.caption_row(caption) for caption in captions]
    found = [_log_probabilities(model, scenes_.tensors([image] * len(rows), rows)) for image in images]
    return np.stack(found)


def captions(model: Callable, images: list[scenes_.Scene]) -> list[str]:
    """What the model says of each, the likeliest word at each place."""
    rows = [scenes_.caption_row() for _ in images]
    return [scenes_.decode(words) for words in _continue(model, images, rows, scenes_.LENGTH - len(rows[0][0]))]


def answers(model: Callable, images: list[scenes_.Scene], questions: Sequence[str]) -> list[str]:
    """The word with which the model answers each image's question."""
    rows = [scenes_.question_row(question) for question in questions]
    return [scenes_.decode(words) for words in _continue(model, images, rows, 1)]


def evaluate(model: Callable, images: list[scenes_.Scene], seed: int = 0) -> dict[str, Metric]:
    """retrieval of captions by images and of images by captions (`i2t@1`, `t2i@10` ...), `vqa`, `cider`.

    model: a module of labkit.migrate.model on any device. Retrieval uses the first 48 scenes with captions of their
    own; a question of each scene is drawn by `seed`. The model is put back into training mode if it was.
    Raises ValueError where fewer than ten captions differ.
    """
    rng = np.random.default_rng(seed)
    asked = [(found := scene.questions())[rng.integers(len(found))] for scene in images]
    distinct = list({scene.caption: scene for scene in reversed(images)}.values())[:RETRIEVED]
    if len(distinct) < 10:
        raise ValueError(f"{len(distinct)} captions that differ: Recall@10 wants ten or more.")
    training, _ = model.training, model.eval()
    try:
        scores = likelihoods(model, distinct, [scene.caption for scene in distinct])
        said = captions(model, images)
        answered = answers(model, images, [question for question, _ in asked])
    finally:
        model.train(training)
    found = {}
    for key, name, table in (("i2t", "image to text", scores), ("t2i", "text to image", scores.T)):
        found |= {f"{key}@{k}": metric(f"Recall@{k} {name}", recall(table, k), seed) for k in (1, 5, 10)}
    found["vqa"] = metric("VQA accuracy", vqa_accuracy(answered, [[answer] for _, answer in asked]), seed)
    found["cider"] = metric("CIDEr", cider(said, [[scene.caption] for scene in images]), seed)
    return found


def _logits(model: Callable, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    place = next(model.parameters()).device
    with torch.no_grad():
        out = model(input_ids=batch["input_ids"].to(place), pixel_values=batch["pixel_values"].to(place))
    return out.logits.float().cpu()


def _log_probabilities(model: Callable, batch: dict[str, torch.Tensor]) -> np.ndarray:
    labels = batch["labels"][:, 1:]
    wanted = labels != scenes_.IGNORED
    chances = _logits(model, batch)[:, :-1].log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    return (chances.where(wanted, torch.tensor(0.0)).sum(1) / wanted.sum(1)).numpy()


def _continue(model: Callable, images: list, rows: list, words: int) -> list[list[int]]:
    """Up to `words` tokens after each row, greedily. No cache of keys and values: rows are short."""
    batch = scenes_.tensors(images, rows)
    ids, ends = batch["input_ids"], torch.tensor([len(tokens) for tokens, _ in rows])
    each = torch.arange(len(rows))
    for step in range(words):
        ids[each, ends + step] = _logits(model, batch)[each, ends + step - 1].argmax(-1)
        if (ids == scenes_.END).any(1).all():
            break
    return [row[end : end + words].tolist() for row, end in zip(ids, ends)]
