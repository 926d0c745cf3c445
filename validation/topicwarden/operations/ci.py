"""Runs of CI on GitHub and GitLab, and the comments that they write on a pull request.

Sources: https://docs.github.com/actions/reference/workflows-and-actions/variables and
https://docs.gitlab.com/ci/variables/predefined_variables/.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import Request, build_opener

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks.http_redirects import NoRedirects

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
        return _github_run(variables)
    return _gitlab_run(variables) if variables.get("GITLAB_CI") == "true" else CiRun()


def _github_run(variables: Mapping[str, str]) -> CiRun:
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


def _gitlab_run(variables: Mapping[str, str]) -> CiRun:
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


_TIMEOUT_S: Final = 30.0
_TRANSIENT: Final = frozenset({429, 502, 503, 504})
_PAGE: Final = 100


_BOT: Final = "github-actions[bot]"
"""The author of comments that a workflow writes with its own token."""
_PERMISSIONS: Final = {
    "github": "the job needs `permissions: {contents: read, pull-requests: write}`",
    "gitlab": "the token must be a project access token with the scope `api` and the role Reporter or higher",
}


class ReadOnlyToken(Refusal):
    """The token may not write comments, as that of a run of Dependabot."""


class _Unavailable(Refusal):
    """The API did not answer, or answered with a transient error."""


@dataclass(frozen=True)
class RestApi:
    """The REST API at ``url``. ``headers`` have the token. ``hint`` says what to do if the API refuses the token."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    hint: str

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield all objects of a list, from the oldest. The list ends with the first empty page."""
        page = 1
        while objects := self.call("GET", f"{path}?per_page={_PAGE}&page={page}&sort=asc"):
            yield from objects
            page += 1

    def call(self, method: str, path: str, content: Mapping[str, str] | None = None) -> Any:
        """Return the answer. Requests that can be repeated are, three times. Raises Refusal with what to do."""
        if method == "POST":  # a repeated POST could create two comments
            return self._call(method, path, content)
        return _retrying(self._call)(method, path, content)

    def _call(self, method: str, path: str, content: Mapping[str, str] | None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        headers = {**self.headers, "Content-Type": "application/json", "User-Agent": "topicwarden"}
        address = f"{self.url.rstrip('/')}{path}"
        try:
            request = Request(address, body, headers, method=method)
            with build_opener(NoRedirects).open(request, timeout=_TIMEOUT_S) as response:
                return json.load(response)
        except HTTPError as error:
            error.close()
            hint = f"; {self.hint}" if error.code in (401, 403, 404) else ""
            problem = f"{method} {address} answers HTTP {error.code} {error.reason}{hint}"
            read_only = error.code == HTTPStatus.FORBIDDEN and method != "GET"
            kind = _Unavailable if error.code in _TRANSIENT else ReadOnlyToken if read_only else Refusal
            raise kind(problem) from error
        except (URLError, HTTPException, OSError) as error:
            raise _Unavailable(f"{method} {address}: no answer: {getattr(error, 'reason', error)}") from error
        except ValueError as error:
            raise Refusal(f"{method} {address}: expected an http(s) address and an answer in JSON: {error}") from error


_retrying = retry(
    retry=retry_if_exception_type(_Unavailable), stop=stop_after_attempt(3), wait=wait_exponential(1), reraise=True
)


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
    return (_github_comments if run.system == "github" else _gitlab_comments)(run, pull_request, token)


def _github_comments(run: CiRun, pull_request: PullRequest, token: str) -> Comments:
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


def _gitlab_comments(run: CiRun, pull_request: PullRequest, token: str) -> Comments:
    api = RestApi(run.api, {"PRIVATE-TOKEN": token}, _PERMISSIONS["gitlab"])
    user = api.call("GET", "/user")["id"]
    return Comments(
        api,
        pull_request.comments,
        lambda note: (note.get("author") or {}).get("id") == user,
        lambda number: ("PUT", f"{pull_request.comments}/{number}"),
    )
