"""Z85, the base-85 encoding of the uuids and inline bitmaps of deletion vectors. Source: ZeroMQ RFC 32/Z85."""

from __future__ import annotations

import struct

__all__ = ["decode", "encode"]

_ALPHABET = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = {character: digit for digit, character in enumerate(_ALPHABET)}


def decode(text: str) -> bytes:
    """Decode ``text``: four bytes for each five characters.

    Raises
    ------
    ValueError
        The length is no multiple of five, a character is not in the alphabet, or a group exceeds 2**32 - 1.
    """
    if len(text) % 5:
        raise ValueError("the length is no multiple of five")
    words = []
    try:
        digits = [_DIGITS[character] for character in text.encode()]
    except (KeyError, UnicodeEncodeError):
        raise ValueError("a character is not in the alphabet") from None
    for i in range(0, len(digits), 5):
        a, b, c, d, e = digits[i : i + 5]
        word = (((a * 85 + b) * 85 + c) * 85 + d) * 85 + e
        if word >= 2**32:
            raise ValueError("a group of five characters is too great")
        words.append(word)
    return struct.pack(f">{len(words)}I", *words)


def encode(data: bytes) -> str:
    """Encode ``data``. Raises ValueError where its length is no multiple of four."""
    if len(data) % 4:
        raise ValueError("the length is no multiple of four")
    out = bytearray()
    for (word,) in struct.iter_unpack(">I", data):
        group = bytearray()
        for _ in range(5):
            word, digit = divmod(word, 85)
            group.append(_ALPHABET[digit])
        out += bytes(reversed(group))
    return out.decode()
