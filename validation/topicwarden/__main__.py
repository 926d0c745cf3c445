"""Start the command line: the program ``topicwarden``, and ``python -m topicwarden``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import ModuleType

from topicwarden import __version__


def main() -> None:
    """Load and run the command line. A Ctrl-C at any time ends the process with 130, and without a traceback."""
    if sys.argv[1:] == ["--version"]:
        print(__version__)
        return
    if _is_watch(sys.argv[1:]):
        # A watch ends with 0, also before its modules are loaded and it has its own handlers (``cli.watch``).
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: os._exit(0))
    _disable_pydantic_plugins()
    try:
        try:
            from topicwarden.cli.main import run  # noqa: PLC0415 -- an interrupt of this import must be caught
        except KeyboardInterrupt:
            print("topicwarden: interrupted before the command began", file=sys.stderr)
            raise
        run()
    except KeyboardInterrupt:  # before a command has begun, or after it has ended: typer catches it in between
        sys.exit(128 + signal.SIGINT)


def _disable_pydantic_plugins() -> None:
    """Keep pydantic from looking for plugins in each installed package, and from loading what it would look with."""
    if os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true") == "true":
        loader = ModuleType("pydantic.plugin._loader")  # imports importlib.metadata and email, for nothing
        loader.__dict__["get_plugins"] = tuple
        sys.modules[loader.__name__] = loader


def _is_watch(arguments: Sequence[str]) -> bool:
    return next((each for each in arguments if not each.startswith("-")), "") == "watch"


if __name__ == "__main__":
    main()
