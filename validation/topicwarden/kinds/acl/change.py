"""ACLs as entries of access. An ACL has no values: it exists or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from topicwarden.kinds.difference import AccessComparison, AccessPart, row
from topicwarden.model.access import ACLS
from topicwarden.model.change_terms import AccessKind

if TYPE_CHECKING:
    from topicwarden.model.planned_change import AccessItem


def _rows(difference: AccessComparison) -> Iterator[AccessItem]:
    for acl, action in difference.of(ACLS).items():
        yield row(AccessKind.ACL, action, str(acl), difference.declared.location(ACLS, acl))


PART = AccessPart(AccessKind.ACL, ACLS, "ACLs", str, lambda declared, live: True, _rows)
