"""Keep one comment on a pull request up to date. Its first line, the marker, distinguishes it from other comments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.ci.ci_run import CiRun, PullRequest
from topicwarden.ci.rest_api import RestApi

_BOT: Final = "github-actions[bot]"
"""The author of comments that a workflow writes with its own token."""
_PERMISSIONS: Final = {
    "github": "the job needs `permissions: {contents: read, pull-requests: write}`",
    "gitlab": "the token must be a project access token with the scope `api` and the role Reporter or higher",
}


@dataclass(frozen=True)
class Comments:
    """The comments of one pull request. ``is_own`` says whether this program's identity wrote a comment.

    Anyone can write the marker, so a comment of another author is never changed. ``update`` is the method and the path
    that change the comment with an id.
    """

    api: RestApi
    path: str
    is_own: Callable[[dict[str, Any]], bool]
    update: Callable[[int], tuple[str, str]]

    def keep(self, text: str) -> str:
        """Create the comment, or replace its text; return what was done. Raises Refusal if the API refuses."""
        marker = text.partition("\n")[0]
        found = (
            comment["id"]
            for comment in self.api.pages(self.path)
            if self.is_own(comment) and str(comment.get("body")).startswith(marker)
        )
        number = next(found, None)
        if number is None:
            self.api.call("POST", self.path, {"body": text})
            return "created"
        self.api.call(*self.update(int(number)), {"body": text})
        return "updated"


def comments(run: CiRun, pull_request: PullRequest, token: str) -> Comments:
    """Return the comments of the pull request, which ``token`` can read and write."""
    return (_github if run.system == "github" else _gitlab)(run, pull_request, token)


def _github(run: CiRun, pull_request: PullRequest, token: str) -> Comments:
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    each = pull_request.comments.rpartition("/issues/")[0] + "/issues/comments"
    return Comments(
        RestApi(run.api, headers, _PERMISSIONS["github"]),
        pull_request.comments,
        lambda comment: (comment.get("user") or {}).get("login") == _BOT,
        lambda number: ("PATCH", f"{each}/{number}"),
    )


def _gitlab(run: CiRun, pull_request: PullRequest, token: str) -> Comments:
    api = RestApi(run.api, {"PRIVATE-TOKEN": token}, _PERMISSIONS["gitlab"])
    user = api.call("GET", "/user")["id"]
    return Comments(
        api,
        pull_request.comments,
        lambda note: (note.get("author") or {}).get("id") == user,
        lambda number: ("PUT", f"{pull_request.comments}/{number}"),
    )
