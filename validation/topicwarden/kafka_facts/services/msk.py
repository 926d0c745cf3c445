"""Amazon MSK Provisioned with Standard brokers."""

from topicwarden.kafka_facts.services.msk_express import PROFILE as EXPRESS
from topicwarden.kafka_facts.services.profile import AccessLimits, Fact, LogCode, Recognition, ServiceProfile

_GUIDE = "https://docs.aws.amazon.com/msk/latest/developerguide"

PROFILE = ServiceProfile(
    name="msk",
    title="Amazon MSK",
    log=LogCode(True, Fact("Standard brokers run open-source versions of Apache Kafka.", f"{_GUIDE}/what-is-msk.html")),
    recognition=Recognition(
        hosts=(r".+\.kafka(-beta)?\.[a-z0-9-]+\.amazonaws\.com(\.cn)?",),
        sources=(f"{_GUIDE}/msk-get-bootstrap-brokers.html",),
    ),
    access=AccessLimits(
        unmanaged={
            "users": Fact(
                "Users and passwords are secrets of AWS Secrets Manager, which are associated with the cluster.",
                f"{_GUIDE}/msk-password.html",
            )
        }
    ),
    notes=(
        Fact(
            "By default, allow.everyone.if.no.acl.found is true: a resource without any ACL is open to everyone, and "
            "its first ACL shuts out everyone else.",
            f"{_GUIDE}/msk-acls.html",
        ),
        Fact("ACLs have no effect on clients that authenticate with IAM.", f"{_GUIDE}/iam-access-control.html"),
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
