"""The process ``pulumi-resource-kafka``: prints its port, and serves the engine until that ends."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the engine whose address is the first of ``arguments`` (default: those of the command line)."""
    try:
        from topicwarden.deploy.provider.server import serve  # noqa: PLC0415 - says what is missing
    except ModuleNotFoundError as missing:
        print(
            f"pulumi-resource-kafka: {missing.name} is not installed: pip install 'topicwarden[deploy]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    addresses = [each for each in (sys.argv[1:] if arguments is None else arguments) if not each.startswith("-")]
    asyncio.run(serve(addresses[0] if addresses else None))
    os._exit(0)  # a request to a broker that does not answer does not delay the end


if __name__ == "__main__":
    main()
