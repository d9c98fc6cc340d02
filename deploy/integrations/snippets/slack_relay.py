"""Slack's slash command, relayed: a form comes in, a one-liner is asked, the channel gets its sentence. Python alone.

Set SLACK_SIGNING_SECRET, EMBERDICE_URL, EMBERDICE_SESSION and EMBERDICE_TOKEN (a chat token), and put TLS in front of it.
In Slack: `/roll Zoé 4 hard`, `/draw Zoé`, `/cards Zoé`, `/timers Zoé`, one slash command each, all with this address.
"""

import hashlib
import hmac
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, quote, urlencode
from urllib.request import urlopen

OPTIONS = {
    "roll": ("character", "base", "difficulty"),
    "draw": ("character",),
    "cards": ("character",),
    "timers": ("character",),
}
MOST_BODY_BYTES, MOST_AGE_S, TIMEOUT_S, PATIENCE_S = 64 * 1024, 300, 1.2, 5.0
"""Slack waits three seconds: two tries and the way. Whoever sends slowly is waited for no longer than PATIENCE_S."""


def is_from_slack(secret: str, when: str, signature: str, body: bytes) -> bool:
    said = b"v0:" + when.encode() + b":" + body
    own = "v0=" + hmac.new(secret.encode(), said, hashlib.sha256).hexdigest()
    return (
        secret != ""
        and hmac.compare_digest(own.encode(), signature.encode())
        and when.isdecimal()
        and abs(time.time() - int(when)) < MOST_AGE_S
    )


def ask(what: str, told: dict[str, str]) -> dict[str, Any]:
    """The answer, or the problem that came instead. The key makes a second try harmless."""
    about = {
        **told,
        "token": os.environ["EMBERDICE_TOKEN"],
        "format": "json",
        "include": "slack",
        "errors": "200",
        "max": "3000",
    }
    session = quote(os.environ["EMBERDICE_SESSION"], safe="")
    url = f"{os.environ['EMBERDICE_URL']}/v1/quick/{session}/{what}?{urlencode(about)}"
    for again in (True, False):
        try:
            with urlopen(url, timeout=TIMEOUT_S) as answer:  # noqa: S310  # the operator's own address
                return dict(json.load(answer))
        except (URLError, TimeoutError, HTTPError):
            if not again:
                break
    return {"text": "The dice service does not answer. It may have been done all the same: look first (/cards, /timers)."}


def reply(form: dict[str, str]) -> dict[str, str]:
    """What Slack shows: an answer to the channel, a refusal to who asked."""
    what = form.get("command", "").lstrip("/")
    if what not in OPTIONS:
        return {"response_type": "ephemeral", "text": "Known: /roll, /draw, /cards, /timers."}
    words = form.get("text", "").split(maxsplit=len(OPTIONS[what]) - 1)
    said = ask(what, {**dict(zip(OPTIONS[what], words, strict=False)), "idempotency_key": form.get("trigger_id", "")})
    shown = said.get("renderings", {}).get("slack")
    plain = said["text"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"response_type": "in_channel" if shown else "ephemeral", "text": shown or plain}


class Relay(BaseHTTPRequestHandler):
    timeout = PATIENCE_S

    def do_GET(self) -> None:
        """Slack's ssl_check."""
        self._send(200, b"")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > MOST_BODY_BYTES:
            self._send(413, b"")
            return
        body = self.rfile.read(int(length))
        when, signature = self.headers.get("X-Slack-Request-Timestamp", ""), self.headers.get("X-Slack-Signature", "")
        if not is_from_slack(os.environ["SLACK_SIGNING_SECRET"], when, signature, body):
            self._send(401, b"")
            return
        form = {name: values[0] for name, values in parse_qs(body.decode(errors="replace")).items()}
        self._send(200, b"" if "ssl_check" in form else json.dumps(reply(form)).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *told: object) -> None:  # noqa: A002  # named by the library
        """Without addresses: they hold what people typed."""


SETTINGS = ("SLACK_SIGNING_SECRET", "EMBERDICE_URL", "EMBERDICE_SESSION", "EMBERDICE_TOKEN")

if __name__ == "__main__":
    if unset := [name for name in SETTINGS if not os.environ.get(name)]:
        sys.exit(f"Set {', '.join(unset)}.")
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8001), Relay).serve_forever()
