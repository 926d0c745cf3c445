"""Amazon MSK Provisioned with Standard brokers."""

from topicwarden.kafka_facts.services.msk_express import PROFILE as EXPRESS
from topicwarden.kafka_facts.services.profile import Fact, LogCode, Recognition, ServiceProfile

_GUIDE = "https://docs.aws.amazon.com/msk/latest/developerguide"

PROFILE = ServiceProfile(
    name="msk",
    title="Amazon MSK",
    log=LogCode(True, Fact("Standard brokers run open-source versions of Apache Kafka.", f"{_GUIDE}/what-is-msk.html")),
    recognition=Recognition(
        hosts=r".+\.kafka(-beta)?\.[a-z0-9-]+\.amazonaws\.com(\.cn)?",
        sources=(f"{_GUIDE}/msk-get-bootstrap-brokers.html",),
    ),
    look_alike=LogCode(
        False,
        Fact(
            "The host names of Standard and Express brokers are alike, and Express brokers do not clean and delete as "
            "Apache Kafka does; write topicwarden:profile: msk or msk-express.",
            EXPRESS.log.fact.source,
        ),
    ),
)
