"""A small vision-language model: the classes of InternVL from transformers, random weights, nothing to download."""

from __future__ import annotations

import torch

from labkit.migrate import scenes

# What small() takes, and what it takes where nothing is said.
SIZES = {"hidden": 64, "layers": 2, "heads": 4, "vision_layers": 2, "inner": 128, "patch": 8}


def small(seed: int = 0, **sizes: int) -> torch.nn.Module:
    """An InternVLForConditionalGeneration for batches of labkit.migrate.scenes; on the CPU, float32, in training mode.

    sizes: hidden (of both towers), layers (of the language model), vision_layers, heads (a divisor of hidden; the
    language model shares keys and values between two), inner (of the MLPs), patch (8: four tokens an image, as scenes
    has them). The same seed gives the same weights, and the caller's random state is left as it was.
    Raises TypeError for another name, ValueError for sizes that do not go together.
    """
    if unknown := sorted(set(sizes) - set(SIZES)):
        raise TypeError(f"small() has no size {', '.join(unknown)}; it has {', '.join(SIZES)}.")
    s = {**SIZES, **sizes}
    if none := [f"{name}={size}" for name, size in s.items() if size < (0 if "layers" in name else 1)]:
        raise ValueError(f"{', '.join(none)}: give at least 1, of layers at least 0.")
    if s["hidden"] % s["heads"] or s["heads"] % 2 or s["hidden"] // s["heads"] % 2:
        raise ValueError(f"hidden={s['hidden']}, heads={s['heads']}: give an even number of heads of an even width.")
    if (scenes.SIDE // s["patch"] // 2) ** 2 != scenes.IMAGE_TOKENS:
        raise ValueError(f"patch={s['patch']}: scenes has {scenes.IMAGE_TOKENS} tokens an image, which takes patch=8.")
    import transformers as hf

    std = 0.5 / s["hidden"] ** 0.5  # not 0.02, which is meant for a hidden size of a thousand
    common = {"num_attention_heads": s["heads"], "hidden_size": s["hidden"], "intermediate_size": s["inner"]}
    text = hf.Qwen2Config(
        vocab_size=len(scenes.WORDS),
        num_hidden_layers=s["layers"],
        num_key_value_heads=s["heads"] // 2,
        max_position_embeddings=64,
        initializer_range=std,
        pad_token_id=scenes.PAD,
        bos_token_id=scenes.START,
        eos_token_id=scenes.END,
        tie_word_embeddings=True,
        use_cache=False,
        **common,
    )
    vision = hf.InternVLVisionConfig(
        num_hidden_layers=s["vision_layers"],
        image_size=scenes.SIDE,
        patch_size=s["patch"],
        initializer_range=std,
        layer_scale_init_value=1.0,
        **common,
    )
    config = hf.InternVLConfig(
        text_config=text, vision_config=vision, image_token_id=scenes.IMAGE, image_seq_length=scenes.IMAGE_TOKENS
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return hf.InternVLForConditionalGeneration(config).train()
