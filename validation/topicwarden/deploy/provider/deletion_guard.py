"""Refuses deletions that the engine wants and the YAML does not allow, whatever command asked for them.

The program judges what a deploy changes. It does not run for `pulumi destroy`, and does not see a resource that
`pulumi state taint` or `--replace` marked for replacement. So the provider, which sends the deletion, judges it again:
by what the engine has asked in this deploy, or else by Pulumi's state.
"""

from __future__ import annotations

from topicwarden.deploy.access_state import ACCESS_TYPES, access_title
from topicwarden.model.access import AccessKey
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.problem import Refusal
from topicwarden.model.timestamps import today
from topicwarden.model.topic import AllowedChange, allowed_on

_ANOTHER_RESOURCE = (
    "Pulumi's state has another resource of this topic, so deleting this one would delete the topic itself: "
    "`pulumi state delete --force '{urn}'` removes this resource from the state and does not change the topic"
)
_UNDECLARED = (
    "no deploy has declared this topic, so nothing allows its deletion: "
    "`pulumi state delete --force '{urn}'` removes it from the state and does not change the topic"
)


class DeletionGuard:
    """The resources that the engine has asked all providers about in this deploy."""

    def __init__(self) -> None:
        self._registered: dict[str, str] = {}
        self._replaced: set[str] = set()
        self._deleted: set[str] = set()
        self._access: set[tuple[str, str]] = set()

    def register(self, urn: str, name: str) -> None:
        """Note that a program registers the topic."""
        self._registered[urn] = name

    def replace(self, urn: str) -> None:
        """Note that only a new topic can have the registered properties."""
        self._replaced.add(urn)

    def deleted(self, name: str) -> bool:
        """Return whether this deploy has deleted the topic."""
        return name in self._deleted

    def check_adoption(self, name: str, state: DeployedStack | None) -> None:
        """Refuse to adopt a topic that ``state`` has: the engine would delete it as the replaced one."""
        if state is not None and (name in state.topics or name in state.duplicates):
            raise Refusal(
                "the engine would replace this topic, as `pulumi state taint` or `--replace` asks: it would adopt the "
                "topic that exists, and then delete it with its records; run the command without that"
            )

    def registers(self, urn: str, name: str) -> bool:
        """Return whether a program has registered the topic in this deploy."""
        return self._registered.get(urn) == name

    def register_access(self, token: str, id: str) -> None:
        """Note that a program registers an entry of access."""
        self._access.add((token, id))

    def keeps_access(self, token: str, id: str) -> bool:
        """Return whether a program registers what this resource of the type ``token`` is, as this or another resource.

        Then only the state loses the resource: two resources of one ACL are one ACL, and a replaced one is the same.
        """
        return (token, id) in self._access

    @property
    def judged(self) -> bool:
        """True if a program runs: it has predicted who loses which access."""
        return bool(self._registered or self._access)

    def check_delete(self, urn: str, name: str, state: DeployedStack | None) -> None:
        """Refuse a deletion that no YAML allows by name.

        ``state``: Pulumi's state, needed if no program ``registers`` the topic; None if no program of topicwarden has
        deployed the stack.
        """
        if any(registered == name and other != urn for other, registered in self._registered.items()):
            raise Refusal(_ANOTHER_RESOURCE.format(urn=urn))
        if self.registers(urn, name):
            if urn not in self._replaced:
                raise Refusal("the engine would delete this topic, which the program registers, to replace it")
        elif state is not None:
            _check_state(state, urn, name)
        self._deleted.add(name)


def check_access(state: DeployedStack, urn: str, key: AccessKey, type: str, *, judged: bool) -> None:
    """Refuse to remove the access ``key``, whose resource is of ``type``, if the last deploy has not allowed that.

    ``judged``: the command has predicted who loses access, so the deploy only has to have declared the access. For any
    other command, each file that declared an ACL or a user must have allowed the removal.
    """
    access, title = state.access, access_title(key, type)
    kind = ACCESS_TYPES[type]
    ours = kind.registered(urn) and urn.endswith(f"::{kind.name(key)}")
    if (
        not ours
        or key not in access.homes
        or any(each.urn == urn and not each.as_declared for each in access.undeclared)
    ):
        raise Refusal(
            f"no deploy has declared {title} as it is in Pulumi's state, so nothing allows its removal: "
            f"`pulumi state delete --force '{urn}'` removes it from the state and does not change the cluster"
        )
    needed = kind.allowance(key)
    if judged or needed is None:
        return
    allow = {**access.allow, **state.allow}
    lacking = [home for home in access.homes[key] if needed not in allowed_on(allow.get(home, ()), today())]
    if lacking:
        raise Refusal(
            f"`topicwarden destroy` says who would lose {title}, and this command does not: run that, or write "
            f"{needed.line} into {' and '.join(map(_file, lacking))} and deploy it first"
        )


def _file(home: str) -> str:
    """Return the file of a home in words; the name of a topic has no slash."""
    return home if "/" in home else f"the YAML of {home}"


def _check_state(state: DeployedStack, urn: str, name: str) -> None:
    topic, duplicates = state.topics.get(name), state.duplicates.get(name, ())
    if (topic is not None) + len(duplicates) > 1:
        raise Refusal(_ANOTHER_RESOURCE.format(urn=urn))
    if topic is None or topic.declared is None:
        raise Refusal(_UNDECLARED.format(urn=urn))
    if AllowedChange.DELETE in topic.declared.allowed(today()):
        return
    expired = [
        allowance.until
        for allowance in topic.declared.allow
        if allowance.change is AllowedChange.DELETE and allowance.until
    ]
    raise Refusal(
        f"the YAML {f'allowed its deletion until {max(expired)} only' if expired else 'does not allow its deletion'}: "
        f"write {AllowedChange.DELETE.line} into it and deploy that first, or keep the topic"
    )
