"""``audit --bootstrap-server --command-config``: files that Kafka's own tools take work for every client of ours."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka.admin import NewTopic

from tests.support.command import topicwarden
from tests.support.projects import own_cache
from tests.support.secured import PASSWORD, USER, SecuredBroker
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import open_admin
from topicwarden.kafka.connect.connection import Connection
from topicwarden.toolchain import Toolchain

STORE, KEY = "store-secret", "key-secret"
MODULES = "org.apache.kafka.common.security"
Lines = dict[str, str]


def keytool(*arguments: str) -> None:
    done = subprocess.run(["keytool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def trust(broker: SecuredBroker, folder: Path, kind: str) -> Lines:
    (folder / "ca.pem").write_text(broker.ca_pem)
    store = folder / f"trust.{kind.lower()}"
    keytool("-importcert", "-noprompt", "-alias", "ca", "-file", str(folder / "ca.pem"), "-keystore", str(store),
            "-storetype", kind, "-storepass", STORE)  # fmt: skip
    return {"security.protocol": "SSL", "ssl.truststore.location": str(store), "ssl.truststore.password": STORE}


def jks(broker: SecuredBroker, folder: Path) -> tuple[str, Lines]:
    return "TLS", trust(broker, folder, "JKS")


def mutual_pkcs12(broker: SecuredBroker, folder: Path) -> tuple[str, Lines]:
    certificate, key = broker.client_pem()
    (folder / "both.pem").write_text(certificate + key)
    command = ["openssl", "pkcs12", "-export", "-in", str(folder / "both.pem"), "-out", str(folder / "key.p12")]
    subprocess.run([*command, "-passout", f"pass:{STORE}"], check=True, capture_output=True)
    store = {"ssl.keystore.location": str(folder / "key.p12"), "ssl.keystore.password": STORE}
    return "MUTUAL", trust(broker, folder, "PKCS12") | store | {"ssl.keystore.type": "PKCS12"}


def mutual_jks_with_a_password_for_the_key(broker: SecuredBroker, folder: Path) -> tuple[str, Lines]:
    _, lines = mutual_pkcs12(broker, folder)
    store = folder / "key.jks"
    source = ["-srckeystore", str(folder / "key.p12"), "-srcstorepass", STORE, "-srcalias", "1"]
    target = ["-destkeystore", str(store), "-deststoretype", "JKS", "-deststorepass", STORE, "-destkeypass", KEY]
    keytool("-importkeystore", *source, *target)
    return "MUTUAL", {**lines, "ssl.keystore.location": str(store), "ssl.keystore.type": "JKS", "ssl.key.password": KEY}


def host_of_another_name(broker: SecuredBroker, folder: Path) -> tuple[str, Lines]:
    return "OTHERNAME", trust(broker, folder, "JKS") | {"ssl.endpoint.identification.algorithm": ""}


def user(mechanism: str, module: str) -> Callable[[SecuredBroker, Path], tuple[str, Lines]]:
    def lines(broker: SecuredBroker, folder: Path) -> tuple[str, Lines]:
        password = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
        jaas = f'{MODULES}.{module} required username="{USER}" password="{password}";'
        return "SASLTLS", trust(broker, folder, "JKS") | {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": jaas,
        }

    return lines


def oauth(broker: SecuredBroker, folder: Path) -> tuple[str, Lines]:
    secret = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    return "OAUTH", {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": broker.tokens.token_url,
        "sasl.login.callback.handler.class": f"{MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler",
        "sasl.jaas.config": f'{MODULES}.oauthbearer.OAuthBearerLoginModule required clientId="{USER}" '
        f'clientSecret="{secret}";',
    }


WAYS = {
    "jks": jks,
    "pkcs12": mutual_pkcs12,
    "jks with a password for the key": mutual_jks_with_a_password_for_the_key,
    "no comparison of host names": host_of_another_name,
    "plain": user("PLAIN", "plain.PlainLoginModule"),
    "scram": user("SCRAM-SHA-512", "scram.ScramLoginModule"),
    "oauthbearer": oauth,
}


AUDITED = ("jks with a password for the key", "no comparison of host names", "scram", "oauthbearer")
"""The ways that Spark uses, too."""


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


@pytest.fixture(scope="module")
def topic(broker: SecuredBroker) -> str:
    with open_admin(Connection((broker.addresses["PLAINTEXT"],), tls=False)) as admin:
        admin.create_topics([NewTopic("undeclared.v1", 2, 1)])
    with writing([broker.addresses["PLAINTEXT"]]) as writer:
        for number in range(10):
            writer.send("undeclared.v1", f"k{number}", "v")
    return "undeclared.v1"


@pytest.mark.nightly(
    "A key store and a mechanism with an option of its own stay; test_authentication.py keeps each mechanism.",
    stays=("jks with a password for the key", "oauthbearer"),
)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("spark")
def test_the_files_of_kafkas_tools(
    broker: SecuredBroker,
    tools: Toolchain,
    tmp_path: Path,
    topic: str,
    way: str,
) -> None:
    """Kafka's own ``kafka-topics`` connects with the file, and so do our audit with Spark and our usage without it."""
    listener, lines = WAYS[way](broker, tmp_path)
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{name}={escaped(value)}\n" for name, value in lines.items()), encoding="iso-8859-1")
    empty = tmp_path / "empty"
    empty.mkdir()
    server = broker.addresses[listener]
    if way in ("jks with a password for the key", "no comparison of host names", "oauthbearer"):
        kafka_topics(tools, server, file)
    with own_cache(tmp_path):
        options = ["--bootstrap-server", server, "--command-config", str(file), "--topics", topic]
        for command in ("audit", "usage") if way in AUDITED else ("usage",):
            ended = topicwarden(command, *options, cwd=empty)
            assert ended.code == 0, ended.out + ended.err
            assert topic in ended.out
            for secret in (PASSWORD, STORE, KEY):
                assert secret not in ended.out + ended.err
    assert list(empty.iterdir()) == []


def kafka_topics(tools: Toolchain, server: str, file: Path) -> None:
    variables = dict(os.environ)
    urls = [line.partition("=")[2] for line in file.read_text().splitlines() if "token.endpoint" in line]
    if urls:
        variables["JAVA_TOOL_OPTIONS"] = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={urls[0]}"
    command = [str(tools.java), "-cp", f"{tools.kafka_jars}/*", "org.apache.kafka.tools.TopicCommand", "--list"]
    command += ["--bootstrap-server", server, "--command-config", str(file)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "undeclared.v1" in done.stdout
