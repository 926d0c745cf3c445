"""Runs one Pulumi program: the child process of :mod:`topicwarden.deploy.language_host`.

It is started by its path in the program's own virtual environment, so it must not import topicwarden.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

import pulumi
import pulumi.runtime

BAIL = 32  # exit code of a program whose error is already reported, as in Pulumi's own language host


def main(settings: dict[str, str], program: str) -> None:
    """Run ``program`` as a stack. It is the absolute path of a file, or of a folder with ``__main__.py``.

    ``settings`` has the keys project, stack, organization, monitor, engine, parallel and dry_run. PULUMI_CONFIG and
    PULUMI_CONFIG_SECRET_KEYS have the configuration. An exception of the program is logged to the engine, and the exit
    code is BAIL.
    """

    def run() -> None:
        runpy.run_path(program, run_name="__main__")

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, pulumi.RunError):
            pulumi.log.error(str(error))
        else:
            pulumi.log.error(f"Program failed with an unhandled exception:\n{_program_traceback(error, program)}")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(BAIL)  # does not wait for threads of a failed program

    sys.excepthook = report
    # Otherwise each unfinished task of a failed program would be logged after the actual error.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    parallel = max(int(settings["parallel"]), 1)
    pulumi.runtime.set_all_config(pulumi.runtime.get_config_env(), pulumi.runtime.get_config_secret_keys_env())
    pulumi.runtime.configure(
        pulumi.runtime.Settings(
            project=settings["project"],
            stack=settings["stack"],
            organization=settings["organization"],
            monitor=settings["monitor"],
            engine=settings["engine"],
            parallel=parallel,
            dry_run=settings["dry_run"] == "true",
        )
    )
    sys.argv = [program]
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.set_default_executor(ThreadPoolExecutor(max_workers=parallel))
    loop.run_until_complete(pulumi.runtime.run_in_stack(run))


def _program_traceback(error: BaseException, program: str) -> str:
    """Return the traceback from the program's first frame on; without frames if the program could not be loaded."""
    mains = {program, str(Path(program, "__main__.py"))}
    frames = traceback.extract_tb(error.__traceback__)
    first = next((n for n, frame in enumerate(frames) if frame.filename in mains), None)
    if first is None and isinstance(error, (SyntaxError, ImportError)):
        return "".join(traceback.format_exception_only(error))
    return "".join(traceback.format_exception(error, limit=(first or 0) - len(frames)))


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file; its modules must not be importable by the program
    main(json.loads(sys.argv[1]), sys.argv[2])
