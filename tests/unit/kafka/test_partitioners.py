"""Compare the partitions of keys with librdkafka's own functions."""

from __future__ import annotations

import ctypes
import random
from pathlib import Path

import confluent_kafka
import pytest

from topicwarden.kafka.read.partition_functions import PARTITIONERS

_SYMBOLS = {"murmur2": "murmur2", "crc32": "consistent", "fnv1a": "fnv1a", "sarama": "fnv1a"}


def librdkafka(name: str, key: bytes, partitions: int) -> int:
    folder = Path(confluent_kafka.__file__).parents[1]
    (library,) = (*folder.glob("confluent_kafka.libs/librdkafka*"), *folder.glob("confluent_kafka/.dylibs/librdkafka*"))
    function = getattr(ctypes.CDLL(str(library)), f"rd_kafka_msg_partitioner_{name}")
    function.restype = ctypes.c_int32
    function.argtypes = [*[ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32], *[ctypes.c_void_p] * 2]
    return int(function(None, key, len(key), partitions, None, None))


@pytest.mark.parametrize("name", sorted(PARTITIONERS))
def test_keys_go_where_librdkafka_puts_them(name: str) -> None:
    chance = random.Random(name)
    for _ in range(500):
        key, partitions = chance.randbytes(chance.randint(1, 40)), chance.randint(1, 50)
        assert PARTITIONERS[name](key, partitions) == librdkafka(_SYMBOLS[name], key, partitions)


def test_the_signature_of_the_known_example() -> None:
    assert PARTITIONERS["murmur2"](b"100:48069", 12) == 9
    assert PARTITIONERS["crc32"](b"100:48069", 12) == 6
