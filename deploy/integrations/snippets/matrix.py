"""Rolls into a Matrix room, without a library: `python matrix.py '!room:example.org' roll character=Zoé base=4`.

Set MATRIX_URL and MATRIX_TOKEN (the bot's own homeserver and access token), EMBERDICE_URL, EMBERDICE_SESSION and
EMBERDICE_TOKEN (a chat token). A repetition under the same EMBERDICE_KEY throws nothing again, and Matrix shows it once:
the key is the transaction's id too.
"""

import json
import os
import sys
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen
from uuid import uuid4


def ask(what: str, told: dict[str, str], key: str) -> dict[str, Any]:
    about = {**told, "token": os.environ["EMBERDICE_TOKEN"], "idempotency_key": key}
    shown = {"format": "json", "include": "html", "errors": "200"}
    url = f"{os.environ['EMBERDICE_URL']}/v1/quick/{os.environ['EMBERDICE_SESSION']}/{what}?{urlencode({**about, **shown})}"
    with urlopen(url, timeout=10) as answer:  # noqa: S310  # the operator's own address
        return dict(json.load(answer))


def message(said: dict[str, Any]) -> dict[str, str]:
    """A notice: other bots do not answer it. Mentions are switched off, and clients without HTML show the sentence."""
    plain: dict[str, Any] = {"msgtype": "m.notice", "body": said["text"], "m.mentions": {}}
    html = said.get("renderings", {}).get("html")
    return {**plain, "format": "org.matrix.custom.html", "formatted_body": html} if html else plain


def post(room: str, content: dict[str, str], key: str) -> None:
    url = f"{os.environ['MATRIX_URL']}/_matrix/client/v3/rooms/{quote(room, safe='')}/send/m.room.message/{key}"
    headers = {"Authorization": f"Bearer {os.environ['MATRIX_TOKEN']}", "Content-Type": "application/json"}
    urlopen(Request(url, json.dumps(content).encode(), headers, method="PUT"), timeout=10).close()  # noqa: S310


if __name__ == "__main__":
    room, what, *pairs = sys.argv[1:]
    key = os.environ.get("EMBERDICE_KEY") or uuid4().hex
    post(room, message(ask(what, dict(pair.split("=", 1) for pair in pairs), key)), key)
