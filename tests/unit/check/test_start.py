"""Test the start of the program, before the command line is loaded."""

from __future__ import annotations

import subprocess
import sys

from topicwarden import __version__

INTERRUPTED = """
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "topicwarden.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from topicwarden.__main__ import main
main()
"""


def run(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_module_is_the_program() -> None:
    assert run("-m", "topicwarden", "--version") == (0, f"{__version__}\n", "")


def test_an_interrupt_while_modules_load_prints_no_traceback() -> None:
    assert run("-c", INTERRUPTED) == (130, "", "")
