"""Keep one comment on a pull request up to date. Its first line, the marker, distinguishes it from other comments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from topicwarden.model.problem import Refusal
from topicwarden.operations.ci.ci_run import CiRun, PullRequest

_TIMEOUT_S: Final = 30.0
_TRANSIENT: Final = frozenset({429, 502, 503, 504})
_PAGE: Final = 100


_BOT: Final = "github-actions[bot]"
"""The author of comments that a workflow writes with its own token."""
_PERMISSIONS: Final = {
    "github": "the job needs `permissions: {contents: read, pull-requests: write}`",
    "gitlab": "the token must be a project access token with the scope `api` and the role Reporter or higher",
}


class _NoRedirects(HTTPRedirectHandler):
    """Makes a redirect an error, because urllib would send the token to the other host."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


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
            with build_opener(_NoRedirects).open(request, timeout=_TIMEOUT_S) as response:
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
