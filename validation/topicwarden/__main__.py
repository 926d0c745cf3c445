"""Start the command line: the program ``topicwarden``, and ``python -m topicwarden``."""

from __future__ import annotations

import signal
import sys

from topicwarden import __version__


def main() -> None:
    """Load and run the command line. A Ctrl-C while its modules load ends the process as one after that does."""
    if sys.argv[1:] == ["--version"]:
        print(__version__)
        return
    try:
        from topicwarden.cli.main import run  # noqa: PLC0415 -- an interrupt of this import must be caught
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    run()


if __name__ == "__main__":
    main()
