"""The words for settings in messages about a connection: those of the file that the user can change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class RemedySettings:
    """The words for the setting of each remedy, in ``Pulumi.<stack>.yaml`` or in the file of ``--command-config``."""

    servers: str
    tls: str
    no_tls: str
    ca: str
    client_certificate: str
    sasl: str
    no_sasl: str
    user: str
    client: str
    token_url: str
    region: str


STACK_FILE: Final = RemedySettings(
    servers="kafka:bootstrapServers",
    tls="kafka:tlsEnabled: true",
    no_tls="kafka:tlsEnabled: false",
    ca="kafka:caCertFile to the CA's certificate",
    client_certificate="kafka:clientCertFile and kafka:clientKeyFile",
    sasl="kafka:saslMechanism and the user",
    no_sasl="kafka:saslMechanism, kafka:saslUsername, kafka:saslPassword",
    user="kafka:saslUsername or kafka:saslPassword",
    client="kafka:saslUsername, kafka:saslPassword or kafka:saslOauthScopes",
    token_url="kafka:saslTokenUrl",
    region="kafka:saslAwsRegion",
)
CLIENT_PROPERTIES: Final = RemedySettings(
    servers="--bootstrap-server",
    tls="security.protocol=SSL (with a user: SASL_SSL) in the file of --command-config",
    no_tls="security.protocol=PLAINTEXT (with a user: SASL_PLAINTEXT) in the file of --command-config",
    ca="ssl.truststore.location or ssl.truststore.certificates to the CA's certificate in the file of --command-config",
    client_certificate="ssl.keystore.location or ssl.keystore.certificate.chain in the file of --command-config",
    sasl="security.protocol, sasl.mechanism and sasl.jaas.config in the file of --command-config",
    no_sasl="SASL_ from security.protocol, or use the port of a listener with SASL",
    user="the username or password in sasl.jaas.config",
    client="the client, its secret or its scope in sasl.jaas.config",
    token_url="sasl.oauthbearer.token.endpoint.url",
    region="the variable AWS_REGION",
)
