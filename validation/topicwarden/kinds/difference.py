"""The difference between declared, deployed and live access, and what each kind tells about its entries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from topicwarden.model.access import NO_ACCESS, DeclaredAccess, DeployedAccess, Key, LiveAccess, Part, Value
from topicwarden.model.change_terms import AccessKind, Action
from topicwarden.model.problem import Location
from topicwarden.model.units import setting_text

if TYPE_CHECKING:
    from topicwarden.model.planned_change import AccessItem

NOT_DEPLOYED: Final = DeployedAccess()
UNREAD: Final = LiveAccess()
Actions: TypeAlias = Mapping[Any, Action]
NOT_DECLARED: Final = (
    "declare it, or remove it with `kafka-configs --alter --delete-config`: a deploy removes only what the YAML "
    "declared before"
)
"""The remedy for a value that nobody declared, of an entry that is declared."""
ReadEntries: TypeAlias = tuple[Any, str | None]
"""The entries that were read, and why some of them may be missing."""
T = TypeVar("T")


@dataclass(frozen=True)
class AccessComparison:
    """Declared, deployed and live access, and the action of each entry that changes, by part and by key.

    ``destroying`` is true if the command deletes the whole stack.
    """

    declared: DeclaredAccess = NO_ACCESS
    deployed: DeployedAccess = NOT_DEPLOYED
    live: LiveAccess = UNREAD
    destroying: bool = False
    actions: Mapping[str, Actions] = field(default_factory=dict)
    _computed: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, compute: Callable[[AccessComparison], T]) -> T:
        """Return ``compute(self)``, computed once, for the consequences and rows that need it."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        found: T = self._computed[compute]
        return found

    def of(self, part: Part[Key, Any]) -> Mapping[Key, Action]:
        """Return the action of each entry of ``part`` that changes."""
        return self.actions.get(part, {})


@dataclass(frozen=True)
class AccessPart(Generic[Key, Value]):
    """One kind of access, for all that treats the kinds in the same way.

    - ``name``: the part of declared, deployed and live access that has the entries.
    - ``plural``: the words for several changes, such as ``settings of groups``; ``owners`` are what has these.
    - ``title``: an entry in words, such as ``settings of group billing``.
    - ``as_live``: whether a live value is as declared. Values that only the cluster has were set by somebody else.
    - ``rows``: the rows of a plan, in any order.
    """

    kind: AccessKind
    name: Part[Key, Value]
    plural: str
    title: Callable[[Key], str]
    as_live: Callable[[Value, Value], bool]
    rows: Callable[[AccessComparison], Iterator[AccessItem]]
    owners: str = ""

    def items(self, difference: AccessComparison) -> list[AccessItem]:
        """Return the entries that change, sorted by name."""
        return sorted(self.rows(difference), key=lambda item: (item.name, item.action))

    def actions(self, declared: DeclaredAccess, deployed: DeployedAccess, live: LiveAccess) -> dict[Key, Action]:
        """Return the action of each entry that changes. Without live ones, each counts as it was deployed."""
        known = None if self.name in live.missing else live.part(self.name)
        return dict(_actions(declared.part(self.name), deployed.part(self.name), known, self.as_live))


@dataclass(frozen=True)
class LivePart:
    """One kind of access on a cluster.

    - ``name``: the part of the live access that has the entries.
    - ``request``: the request in words, for a service or brokers that do not offer it; ``permission``: what it needs.
    - ``read``: returns the entries, or raises KafkaError. Its arguments are an Admin client, and the groups whose
      settings are read in any case.
    """

    name: str
    request: str
    permission: str
    read: Callable[[Any, Collection[str]], ReadEntries]


def complete(read: Callable[[Any], Any]) -> Callable[[Any, Collection[str]], ReadEntries]:
    """Return ``read`` for a part that brokers always report as a whole."""
    return lambda admin, groups: (read(admin), None)


def row(
    kind: AccessKind,
    action: Action,
    name: str,
    location: Location | None,
    values: tuple[str | None, str | None] = (None, None),
) -> AccessItem:
    """Return a row of a plan; ``values`` are before and after, and an empty text is none."""
    before, after = values
    from topicwarden.model.planned_change import AccessItem  # noqa: PLC0415 -- a check needs no report of a plan

    return AccessItem(
        kind=kind, action=action, name=name, before=before or None, after=after or None, location=location
    )


def setting_rows(
    difference: AccessComparison, kind: AccessKind, part: Part[Key, Mapping[str, str]], name: Callable[[Key], str]
) -> Iterator[AccessItem]:
    """Yield the rows of a part whose values are settings by name; live settings of others are left out."""
    live = difference.live.part(part) or {}
    declared, deployed = difference.declared.part(part), difference.deployed.part(part)
    for key, action in difference.of(part).items():
        after = declared.get(key, {})
        own = {*after, *deployed.get(key, {})}
        before = {setting: value for setting, value in live.get(key, {}).items() if setting in own}
        location = difference.declared.location(part, key)
        yield row(kind, action, name(key), location, (settings_text(before), settings_text(after)))


def settings_text(values: Mapping[str, str] | Mapping[str, str | float]) -> str:
    """Return ``name value, name value``, sorted by name."""
    return ", ".join(f"{name} {setting_text(name, value)}" for name, value in sorted(values.items()))


def settings_after(difference: AccessComparison, part: Part[Key, Mapping[str, str]], key: Key) -> dict[str, str]:
    """Return the settings of an entry after the deploy: those that it writes, and live ones that it does not remove."""
    declared = difference.declared.part(part).get(key, {})
    removed = difference.deployed.part(part).get(key, {}).keys() - declared.keys()
    live = (difference.live.part(part) or {}).get(key, {})
    return {**{name: value for name, value in live.items() if name not in removed}, **declared}


def has_values(declared: Mapping[str, object], live: Mapping[str, object]) -> bool:
    """Return whether ``live`` has all declared values."""
    return all(live.get(name) == value for name, value in declared.items())


def declared_action(
    *, deployed: bool, edited: bool, exists: bool | None, as_live: bool, reverts: bool = False
) -> Action | None:
    """Return what a deploy does with a declared entry of any kind; None if nothing changes.

    - ``deployed``: Pulumi's state has it. ``edited``: it is not declared as the state has it.
    - ``exists``: the cluster, or the registry, has it; None if that is not known. ``as_live``: it is as declared there.
    - ``reverts``: the deploy undoes a change by hand. For access, the engine compares only the declaration and the
      state, so such a change stays until a refresh. For a subject, the program compares the registry, too.
    """
    if exists is None:
        return (Action.UPDATE if deployed else Action.CREATE) if edited else None
    if not exists:
        return Action.CREATE if edited or reverts else Action.DRIFT
    if not deployed:
        return Action.ADOPT if as_live else Action.UPDATE
    if edited or (reverts and not as_live):
        return Action.UPDATE
    return None if as_live else Action.DRIFT


def _actions(
    declared: Mapping[Key, Value],
    deployed: Mapping[Key, Value],
    live: Mapping[Key, Value] | None,
    as_live: Callable[[Value, Value], bool],
) -> Iterable[tuple[Key, Action]]:
    for key, value in declared.items():
        action = declared_action(
            deployed=key in deployed,
            edited=key not in deployed or value != deployed[key],
            exists=None if live is None else key in live,
            as_live=live is not None and key in live and as_live(value, live[key]),
        )
        if action is not None:
            yield key, action
    for key in deployed:
        if key not in declared:
            yield key, Action.DELETE
