"""The 64-bit hash by which keys are known: Spark's ``xxhash64``, which is XXH64 with seed 42 (``KeyHash.java``)."""

from __future__ import annotations

from struct import Struct
from typing import Final

_SEED: Final = 42
_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_P1: Final = 0x9E37_79B1_85EB_CA87
_P2: Final = 0xC2B2_AE3D_27D4_EB4F
_P3: Final = 0x1656_67B1_9E37_79F9
_P4: Final = 0x85EB_CA77_C2B2_AE63
_P5: Final = 0x27D4_EB2F_1656_67C5
_STRIPE: Final = Struct("<4Q")
_LONG, _INT = Struct("<Q"), Struct("<I")


def key_hash(key: bytes) -> int:
    """Return the hash of a key, as a signed number."""
    length, at = len(key), 0
    if length >= _STRIPE.size:
        lanes = [_SEED + _P1 + _P2, _SEED + _P2, _SEED, _SEED - _P1]
        while at + _STRIPE.size <= length:
            lanes = [_round(lane, word) for lane, word in zip(lanes, _STRIPE.unpack_from(key, at), strict=True)]
            at += _STRIPE.size
        mixed = sum(_rotate(lane & _MASK, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            mixed = ((mixed ^ _round(0, lane & _MASK)) * _P1 + _P4) & _MASK
    else:
        mixed = _SEED + _P5
    mixed = (mixed + length) & _MASK
    while at + _LONG.size <= length:
        mixed = (_rotate(mixed ^ _round(0, _LONG.unpack_from(key, at)[0]), 27) * _P1 + _P4) & _MASK
        at += _LONG.size
    if at + _INT.size <= length:
        mixed = (_rotate(mixed ^ (_INT.unpack_from(key, at)[0] * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        at += _INT.size
    for byte in key[at:]:
        mixed = _rotate(mixed ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    mixed = (mixed ^ mixed >> 33) * _P2 & _MASK
    mixed = (mixed ^ mixed >> 29) * _P3 & _MASK
    mixed ^= mixed >> 32
    return mixed - (1 << 64) if mixed >> 63 else mixed


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _rotate(number: int, bits: int) -> int:
    return (number << bits | number >> 64 - bits) & _MASK
