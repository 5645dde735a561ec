"""A tokenizer that needs no file: each byte of the text is a token."""

from __future__ import annotations


def encode(text: str) -> list[int]:
    return list(text.encode("utf-8"))


def decode(token: int) -> str:
    """What the endpoint shows of a token: a letter. The weights are random, so that nothing is lost by it; and a
    sequence of bytes that is no UTF-8 could not be sent token by token."""
    return chr(ord("a") + token % 26) if token % 8 else " "
