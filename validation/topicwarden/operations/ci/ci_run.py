"""Describe a run of GitHub Actions or GitLab CI by the environment variables that the CI system sets.

Sources: https://docs.github.com/actions/reference/workflows-and-actions/variables and
https://docs.gitlab.com/ci/variables/predefined_variables/.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from topicwarden.model.problem import Refusal

_PULL_REQUEST_EVENT: Final = "pull_request"
_DEPENDABOT: Final = "dependabot[bot]"


@dataclass(frozen=True)
class PullRequest:
    """A pull request of GitHub, or a merge request of GitLab. ``fork`` says that the run has only the permissions of a
    fork; ``dependabot``, that Dependabot started it, without the secrets of Actions.

    ``comments`` is the path of its comments in the REST API.
    """

    comments: str
    fork: bool
    dependabot: bool = False


@dataclass(frozen=True)
class CiRun:
    """A run. ``log`` is the address of its log, empty outside of CI. ``summary`` is the file of GitHub's job summary.

    ``api`` is the address of the REST API.
    """

    system: str = ""
    log: str = ""
    api: str = ""
    summary: Path | None = None
    pull_request: PullRequest | None = None


def ci_run(variables: Mapping[str, str]) -> CiRun:
    """Return the run that the environment ``variables`` describe. Raises Refusal if they are wrong."""
    if variables.get("GITHUB_ACTIONS") == "true":
        return _github(variables)
    return _gitlab(variables) if variables.get("GITLAB_CI") == "true" else CiRun()


def _github(variables: Mapping[str, str]) -> CiRun:
    repository = variables.get("GITHUB_REPOSITORY", "")
    summary = variables.get("GITHUB_STEP_SUMMARY")
    return CiRun(
        "github",
        f"{variables.get('GITHUB_SERVER_URL', '')}/{repository}/actions/runs/{variables.get('GITHUB_RUN_ID', '')}",
        variables.get("GITHUB_API_URL") or "https://api.github.com",
        Path(summary) if summary else None,
        _github_pull_request(variables, repository),
    )


def _github_pull_request(variables: Mapping[str, str], repository: str) -> PullRequest | None:
    """Return the pull request of the event ``pull_request``. A fork may be deleted; then ``head.repo`` is null."""
    if variables.get("GITHUB_EVENT_NAME") != _PULL_REQUEST_EVENT:
        return None
    path = Path(variables.get("GITHUB_EVENT_PATH", ""))
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))["pull_request"]
        number, head = int(found["number"]), found["head"]["repo"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Refusal(f"GITHUB_EVENT_PATH: expected the JSON of a pull request, got {str(path)!r}") from error
    name = head.get("full_name") if isinstance(head, dict) else None
    return PullRequest(
        f"/repos/{repository}/issues/{number}/comments",
        name != repository,
        variables.get("GITHUB_ACTOR") == _DEPENDABOT,
    )


def _gitlab(variables: Mapping[str, str]) -> CiRun:
    number = variables.get("CI_MERGE_REQUEST_IID")
    project = variables.get("CI_MERGE_REQUEST_PROJECT_ID", "")
    # A member of the project can also run the pipeline of a fork in the project itself, with its variables.
    fork = variables.get("CI_PROJECT_ID") != project
    pull_request = PullRequest(f"/projects/{project}/merge_requests/{number}/notes", fork)
    return CiRun(
        "gitlab",
        variables.get("CI_JOB_URL", ""),
        variables.get("CI_API_V4_URL", ""),
        None,
        pull_request if number else None,
    )
