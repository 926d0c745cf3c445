"""Requests of JSON to a catalogue, with errors that name the catalogue and its setting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from topicwarden.deliveries.delivery_error import DeliveryError
from topicwarden.deliveries.post_client import PostClient, RefusedRequest
from topicwarden.report.display import one_line
from topicwarden.stacks.catalogue_settings import CatalogueKind, CatalogueSettings
from topicwarden.stacks.stack_settings import CATALOGUES

_MOST_TEXT: Final = 300
"""The most characters of a catalogue's own message that are shown."""
_LABELS: Final = {CatalogueKind.OPENLINEAGE: "the OpenLineage server", CatalogueKind.DATAHUB: "DataHub"}


class CatalogueClient:
    """A client of one catalogue with a URL. Every failure is a ``DeliveryError``."""

    def __init__(self, settings: CatalogueSettings) -> None:
        url = urlsplit(settings.url or "")
        self._setting = f"{CATALOGUES}.{settings.name}"
        self._token = settings.token
        self.name = f"{_LABELS[settings.kind]} at {url.scheme}://{url.netloc}{url.path.rstrip('/')}"
        headers = {"Authorization": f"Bearer {settings.token}"} if settings.token else {}
        self._client = PostClient(settings.url or "", settings.certificates, {"Accept": "application/json", **headers})

    def post(self, path: str, document: Mapping[str, Any]) -> bytes:
        """Send ``document`` to ``path`` below the URL, and return the answer."""
        body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            return self._client.post(body, path, read=True)
        except DeliveryError as error:
            text = self.shown(error.content.decode("utf-8", "replace")) if isinstance(error, RefusedRequest) else ""
            raise DeliveryError(
                f"{self.name} {error} ({self._setting}{': ' if text else ''}{text})",
                rejected=error.rejected,
                retry_after=error.retry_after,
            ) from None

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def shown(self, text: str) -> str:
        """Return a catalogue's own text on one line, without the token, of limited length; empty for HTML."""
        if text.lstrip().startswith("<"):
            return ""
        line = one_line(text.replace(self._token, "…") if self._token else text)
        return line if len(line) <= _MOST_TEXT else f"{line[:_MOST_TEXT]}…"
