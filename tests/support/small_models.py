"""Twelve models of transformers in small, with random weights: text, pictures, speech, and several of them together.

The rule, made before any was assessed: for each of these kinds the families that its public leader boards name most,
three or four each, in the smallest configuration that keeps every kind of layer.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import transformers as hf


def _ids(high: int = 96, length: int = 12) -> torch.Tensor:
    return torch.randint(3, high, (2, length), generator=torch.Generator().manual_seed(0))


def _picture(size: int = 32) -> torch.Tensor:
    return torch.rand(2, 3, size, size, generator=torch.Generator().manual_seed(0))


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def bert():
    model = hf.BertForSequenceClassification(hf.BertConfig(vocab_size=96, **SMALL))
    return model, {"input_ids": _ids(), "labels": torch.tensor([0, 1])}


def gpt2():
    model = hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=32))
    return model, {"input_ids": _ids(), "labels": _ids()}


def llama():
    model = hf.LlamaForCausalLM(hf.LlamaConfig(vocab_size=96, num_key_value_heads=2, **SMALL))
    return model, {"input_ids": _ids(), "labels": _ids()}


def t5():
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    model = hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=96, decoder_start_token_id=0, **sizes))
    return model, {"input_ids": _ids(), "labels": _ids()}


def mixtral():
    sizes = {"num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2}
    model = hf.MixtralForCausalLM(hf.MixtralConfig(vocab_size=96, **sizes, **SMALL))
    return model, {"input_ids": _ids(), "labels": _ids()}


def vit():
    model = hf.ViTForImageClassification(hf.ViTConfig(image_size=32, patch_size=8, **SMALL))
    return model, {"pixel_values": _picture(), "labels": torch.tensor([0, 1])}


def resnet():
    sizes = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
    return hf.ResNetForImageClassification(hf.ResNetConfig(**sizes)), {
        "pixel_values": _picture(), "labels": torch.tensor([0, 1])}  # fmt: skip


def segformer():
    sizes = {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [8, 16],
             "patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2],
             "decoder_hidden_size": 16}  # fmt: skip
    model = hf.SegformerForSemanticSegmentation(hf.SegformerConfig(**sizes))
    return model, {"pixel_values": _picture(), "labels": torch.zeros(2, 32, 32, dtype=torch.long)}


def whisper():
    sizes = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
             "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_mel_bins": 16,
             "max_source_positions": 16, "max_target_positions": 32, "pad_token_id": 0, "bos_token_id": 1,
             "eos_token_id": 2, "decoder_start_token_id": 1}  # fmt: skip
    model = hf.WhisperForConditionalGeneration(hf.WhisperConfig(vocab_size=96, **sizes))
    return model, {"input_features": torch.ones(2, 16, 32), "labels": _ids()}


def wav2vec2():
    sizes = {"conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3), "num_feat_extract_layers": 2,
             "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2, "apply_spec_augment": False}  # fmt: skip
    model = hf.Wav2Vec2ForCTC(hf.Wav2Vec2Config(vocab_size=32, **sizes, **SMALL))
    return model, {"input_values": torch.ones(2, 400), "labels": _ids(high=30, length=4)}


def clip():
    model = hf.CLIPModel(
        hf.CLIPConfig(
            text_config={"vocab_size": 96, "max_position_embeddings": 32, "eos_token_id": 2, **SMALL},
            vision_config={"image_size": 32, "patch_size": 8, **SMALL},
            projection_dim=16,
        )
    )
    return model, {"input_ids": _ids(), "pixel_values": _picture(), "return_loss": True}


def internvl():
    text = {"model_type": "qwen2", "vocab_size": 96, "num_key_value_heads": 2, "max_position_embeddings": 64, **SMALL}
    vision = {"image_size": [32, 32], "patch_size": [8, 8], **SMALL}
    model = hf.InternVLForConditionalGeneration(
        hf.InternVLConfig(text_config=text, vision_config=vision, image_token_id=95, image_seq_length=4)
    )
    ids = _ids(high=90)
    ids[:, 2:6] = 95
    return model, {"input_ids": ids, "pixel_values": _picture(), "labels": ids}


MODELS: dict[str, Callable] = {
    f.__name__: f for f in (bert, gpt2, llama, t5, mixtral, vit, resnet, segformer, whisper, wav2vec2, clip, internvl)
}


def build(name: str):
    """(model in training mode without dropout, its arguments by name)."""
    torch.manual_seed(0)
    model, options = MODELS[name]()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model.train(), options
