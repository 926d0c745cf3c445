"""The forms in which receivers of notifications get the payloads of their queues."""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections.abc import Sequence

from topicwarden.deliveries.delivery_queue import DeliveryQueue
from topicwarden.deliveries.delivery_thread import DeliverySender
from topicwarden.deliveries.post_client import PostClient
from topicwarden.notices import alertmanager_alerts
from topicwarden.notices.finding_changes import ReceiverMemory
from topicwarden.notices.notification import FindingChange, Notification
from topicwarden.notices.slack_message import render_slack
from topicwarden.report.display import printable
from topicwarden.stacks.receiver_settings import Receiver


def stored_memory(state: str) -> ReceiverMemory:
    """Return what a receiver knows, from the state of its queue; nothing if another version has written ``state``."""
    try:
        return ReceiverMemory.model_validate(json.loads(state))
    except ValueError:
        return ReceiverMemory()


class WebhookSender(DeliverySender):
    """Sends each notification, as JSON or as a message of Slack."""

    def __init__(self, receiver: Receiver) -> None:
        self._client, self._slack = _client(receiver), receiver.format == "slack"

    def deliver(self, content: bytes) -> None:
        """Send a notification. Raises DeliveryError."""
        notification = Notification.model_validate_json(content)
        body = render_slack(notification) if self._slack else printable(notification.model_dump_json()).encode()
        self._client.post(body, headers=_key(notification.id))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class AlertmanagerSender(DeliverySender):
    """Sends changes as alerts, and all open findings again and again, because Alertmanager forgets them."""

    def __init__(self, receiver: Receiver, queue: DeliveryQueue, report_url: str | None) -> None:
        self._client, self._queue, self._report_url = _client(receiver), queue, report_url

    def deliver(self, content: bytes) -> None:
        """Send the changes of a notification. Raises DeliveryError."""
        notification = Notification.model_validate_json(content)
        self._post(notification.changes, self._open(), notification.report_url, notification.id)

    def repeat(self) -> None:
        """Send all open findings again. Raises DeliveryError."""
        if changes := self._open():
            self._post(changes, changes, self._report_url, uuid.uuid4().hex)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _open(self) -> Sequence[FindingChange]:
        return stored_memory(self._queue.state()).open

    def _post(
        self, changes: Sequence[FindingChange], still_open: Sequence[FindingChange], report_url: str | None, key: str
    ) -> None:
        now = int(time.time() * 1000)
        body = alertmanager_alerts.render_alerts(changes, still_open, report_url, now)
        self._client.post(body, alertmanager_alerts.PATH, _key(key))


def _client(receiver: Receiver) -> PostClient:
    headers = {}
    if receiver.token is not None:
        headers["Authorization"] = f"Bearer {receiver.token}"
    elif receiver.username is not None:
        pair = base64.b64encode(f"{receiver.username}:{receiver.password or ''}".encode()).decode()
        headers["Authorization"] = f"Basic {pair}"
    return PostClient(receiver.url, receiver.certificates, headers)


def _key(notification_id: str) -> dict[str, str]:
    return {"Idempotency-Key": notification_id}
