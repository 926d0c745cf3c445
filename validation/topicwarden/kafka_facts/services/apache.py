"""Apache Kafka, wherever it runs."""

from topicwarden.kafka_facts.services.profile import Fact, LogCode, ServiceProfile

PROFILE = ServiceProfile(
    name="apache",
    title="Apache Kafka",
    log=LogCode(True, Fact("Brokers run Apache Kafka's own log.", "https://kafka.apache.org/documentation/#log")),
)
