"""Connect the program and the provider to Pulumi's engine, and the engine to them."""

from __future__ import annotations

from typing import Final

import grpc

NO_LIMIT: Final = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
"""Options of a server or a channel whose messages may have any size."""
_OWN: Final = ("grpc.use_local_subchannel_pool", 1)


def engine_channel(address: str) -> grpc.Channel:
    """Return a channel to the engine at ``address``, which shares no connection with another channel.

    Otherwise gRPC would refuse a new engine (UNAVAILABLE) on the port of an earlier one, as long as a channel of this
    process still tries to reach the earlier one.
    """
    return grpc.insecure_channel(address, options=(*NO_LIMIT, _OWN))
