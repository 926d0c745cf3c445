"""A missing Python package, and the extra of topicwarden that installs it."""

from __future__ import annotations

from typing import Final

from topicwarden.model.problem import Refusal

_EXTRAS: Final = {
    **dict.fromkeys(("pyspark", "py4j"), "audit"),
    **dict.fromkeys(("pulumi", "pulumi_kafka", "pulumi_policy", "grpc", "google"), "deploy"),
    **dict.fromkeys(("kafka", "cramjam", "cryptography", "javaproperties", "urllib3", "waitress"), "cluster"),
}
"""The extra of this package that installs a module."""


class MissingExtra(Refusal, ModuleNotFoundError):
    """An operation needs an extra that is not installed. The message has the command that installs it.

    ``extra`` is its name, and ``name`` the name of the missing module.
    """

    def __init__(self, module: str, extra: str) -> None:
        package = "pyspark" if extra == "audit" else module  # whichever of its modules is imported first
        super().__init__(f"the Python package {package} is not installed: `pip install 'topicwarden[{extra}]'`")
        self.name, self.extra = module, extra


def missing_extra(error: ModuleNotFoundError) -> MissingExtra | None:
    """Return the extra that would install the module of ``error``; None if no extra does."""
    module = (error.name or "").partition(".")[0]
    extra = _EXTRAS.get(module)
    return None if extra is None else MissingExtra(module, extra)
