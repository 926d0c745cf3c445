"""Aiven for Apache Kafka."""

from topicwarden.kafka_facts.services.profile import Fact, LogCode, Recognition, ServiceProfile

_DOCS = "https://aiven.io/docs/products/kafka"

PROFILE = ServiceProfile(
    name="aiven",
    title="Aiven for Apache Kafka",
    log=LogCode(
        True,
        Fact(
            "Classic topics are stored on the local disks of Apache Kafka's brokers; topics with diskless.enable=true "
            "are not.",
            f"{_DOCS}/classic-kafka-overview",
        ),
        unless=("diskless.enable", "true"),
    ),
    recognition=Recognition(hosts=(r".+\.aivencloud\.com",), sources=(f"{_DOCS}/howto/configure-with-kafka-cli",)),
    own_settings=Fact("`diskless.enable` is Aiven's own.", f"{_DOCS}/diskless/concepts/diskless-overview"),
    notes=(
        Fact(
            "Aiven's own ACLs apply beside Kafka's. If one of them denies, the client is denied.",
            f"{_DOCS}/howto/manage-acls",
        ),
    ),
)
