"""Test that Kafka's Java clients (``JaasConfig``, a ``StreamTokenizer``) read usernames and passwords unchanged."""

from __future__ import annotations

import base64
import random
import subprocess
from pathlib import Path

from tests.support.java_programs import compiled
from topicwarden.kafka.connect.connection import Connection
from topicwarden.toolchain import Toolchain

READER = Path(__file__).with_name("ReadJaas.java")
NAMED = [
    "plain", "", " ", "se\"cret", "it's",
    'a\\b', "\\", "\\\\", '\\"', "\\n", "a\nb", "a\rb", "a\r\nb", "\t", "\b\f\v\a",
    "\x00", "\\0", "\\101", "\x1b1", "pässwörd", "пароль", "密码", "😀", "é", "\u2028", ";", "=", "//", "/* x", "#",
    "{}", "${env:HOME}", "$x", "%s", "\u00a0", "\x7f", "\ufeff", "\\u00e9", "\n1",
]  # fmt: skip


def _random(seed: int) -> list[str]:
    """Return texts of characters that are special to a tokenizer, mixed with random other characters."""
    draw = random.Random(seed)
    special = "\"'\\\n\r\t01789uxabfnrtv/*;= ÿé\u0100😀"
    anywhere = [chr(draw.choice([draw.randrange(0xD800), draw.randrange(0xE000, 0x110000)])) for _ in range(200)]
    return ["".join(draw.choices([*special, *anywhere], k=draw.randrange(1, 20))) for _ in range(3000)]


def test_java_reads_the_jaas_settings(tools: Toolchain) -> None:
    passwords = NAMED + _random(1)
    names = [password[::-1] for password in passwords]
    configs = [_config(*each) for each in zip(names, passwords, strict=True)]
    jars = f"{tools.kafka_jars}/*"
    done = subprocess.run(
        [str(tools.java), "-cp", f"{compiled(tools.java, READER, jars)}:{jars}", READER.stem],
        input="\n".join(map(_encoded, configs)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    read = [line.split(" ") for line in done.stdout.splitlines()]
    assert read == [[_encoded(name), _encoded(password)] for name, password in zip(names, passwords, strict=True)]


def _config(username: str, password: str) -> str:
    connection = Connection(("a:1",), sasl_mechanism="SCRAM-SHA-512", username=username, password=password)
    return connection.for_java()["sasl.jaas.config"]


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
