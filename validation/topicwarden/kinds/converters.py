"""The conversions of all kinds, in the order of the keys of a file below ``access/``."""

from __future__ import annotations

from typing import Final

from topicwarden.kinds import in_file_order
from topicwarden.kinds.access_converter import AccessConverter

CONVERTERS: Final[tuple[AccessConverter, ...]] = tuple(each.CONVERTER for each in in_file_order("convert"))
