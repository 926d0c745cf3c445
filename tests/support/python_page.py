"""Run the Python code of docs/reference/python.md, with stand-ins for the schedulers that it imports."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import pytest

PAGE: Final = (Path(__file__).parents[2] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
BLOCKS: Final = dict(re.findall(r"^```python\n# ([\w/]+)\.py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


def block(name: str) -> ModuleType:
    """Return the code block of the file ``name`` as a module."""
    module = ModuleType(name)
    exec(compile(BLOCKS[name], name, "exec", dont_inherit=True), module.__dict__)
    return module


def scheduled(name: str, tasks: ModuleType, patch: pytest.MonkeyPatch) -> ModuleType:
    """Return the block ``name`` of a scheduler: its decorators change nothing, and the flow of tasks is not run."""
    airflow, dagster = ModuleType("airflow.sdk"), ModuleType("dagster")
    airflow.__dict__.update(task=_plain, dag=lambda **_: lambda flow: lambda: None)
    dagster.__dict__.update(asset_check=_plain, AssetCheckResult=SimpleNamespace)
    stand_ins = {"kafka_tasks": tasks, "airflow": ModuleType("airflow"), "airflow.sdk": airflow, "dagster": dagster}
    for module, stand_in in stand_ins.items():
        patch.setitem(sys.modules, module, stand_in)
    return block(name)


def _plain(function: Callable[..., Any] | None = None, **_: object) -> Any:
    """Return the decorated function, for a decorator with or without arguments."""
    return function or (lambda decorated: decorated)
