"""The environment variables of runs, as GitHub Actions and GitLab CI set them."""

from __future__ import annotations

import json
from pathlib import Path


def github(folder: Path, api: str = "", *, head: object = "acme/topics", event: str = "pull_request") -> dict[str, str]:
    """Return the variables of a run for pull request 7, whose branch is in the repository ``head``."""
    path = folder / "event.json"
    repo = {"full_name": head} if isinstance(head, str) else head
    path.write_text(json.dumps({"pull_request": {"number": 7, "head": {"repo": repo}}}), encoding="utf-8")
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": api,
        "GITHUB_EVENT_NAME": event,
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "acme/topics",
        "GITHUB_RUN_ID": "42",
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }


def gitlab(api: str = "", *, project: str = "5") -> dict[str, str]:
    """Return the variables of a pipeline in ``project`` for merge request 7 of project 5, from project 6."""
    return {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": api,
        "CI_JOB_URL": "https://gitlab.example/acme/topics/-/jobs/42",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "6",
        "CI_PROJECT_ID": project,
    }
