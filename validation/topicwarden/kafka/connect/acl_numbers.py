"""The numbers in Kafka's protocol for the parts of an access control list (ACL).

kafka-python has fewer: it lacks the operation ``TWO_PHASE_COMMIT`` (KIP-939).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topicwarden.model.access import Operation, PatternType, PermissionType, ResourceType

ANY: Final = 1
"""Matches every value of a part, in a filter."""

OPERATIONS: Final[Mapping[Operation, int]] = {operation: number for number, operation in enumerate(Operation, 2)}
RESOURCE_TYPES: Final[Mapping[ResourceType, int]] = {kind: number for number, kind in enumerate(ResourceType, 2)}
PATTERN_TYPES: Final[Mapping[PatternType, int]] = {PatternType.LITERAL: 3, PatternType.PREFIXED: 4}
PERMISSIONS: Final[Mapping[PermissionType, int]] = {PermissionType.DENY: 2, PermissionType.ALLOW: 3}
