"""The credentials of a client of an HTTP server, such as a Schema Registry: a user and a password, or a token."""

from __future__ import annotations

from typing import Final, NamedTuple

from topicwarden.specs.stacks.settings_reader import SettingsReader

USER: Final = "username"
PASSWORD: Final = "password"
TOKEN: Final = "token"


class HttpCredentials(NamedTuple):
    """The credentials of a client; None for those that are absent or encrypted."""

    username: str | None
    password: str | None
    token: str | None


def read_http_credentials(reader: SettingsReader) -> HttpCredentials:
    """Return the credentials in the settings, and note what is wrong with them."""
    for name, other in ((USER, PASSWORD), (PASSWORD, USER)):
        if name in reader.settings and other not in reader.settings:
            reader.problem(name, f"needs {other}; write it")
    if USER in reader.settings and TOKEN in reader.settings:
        reader.problem(TOKEN, f"{USER} is set, too; remove one of them")
    read = HttpCredentials(reader.text(USER), reader.text(PASSWORD), reader.text(TOKEN))
    if read.token == "":
        reader.problem(TOKEN, "is empty; write the token, or remove the key")
    elif read.token is not None and not (read.token.isascii() and read.token.isprintable() and " " not in read.token):
        reader.problem(TOKEN, "has white space or a character that HTTP does not allow; correct it")
    if read.username and ":" in read.username:
        reader.problem(USER, "has a colon, which HTTP's basic authentication does not allow; correct it")
    return read
