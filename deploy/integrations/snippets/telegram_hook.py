"""Telegram's webhook, answered on the spot: the reply to an update may be a call of the Bot API. Python alone.

Set TELEGRAM_SECRET (the `secret_token` given to setWebhook), TELEGRAM_CHATS (ids of the chats that are answered, with
commas: anybody may write to a bot), EMBERDICE_URL, EMBERDICE_SESSION and EMBERDICE_TOKEN (a chat token), and put TLS in
front of it. In Telegram: `/roll 4 hard`, `/draw Zoé`, `/cards Zoé`, `/timers Zoé`.
"""

import hmac
import json
import os
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import urlopen

OPTIONS = {"roll": ("base", "difficulty"), "draw": ("character",), "cards": ("character",), "timers": ("character",)}
MOST_BODY_BYTES, PATIENCE_S = 64 * 1024, 5.0
"""Whoever sends slowly is waited for no longer than that."""


def ask(what: str, told: dict[str, str]) -> str:
    """The sentence of an answer or of a refusal; 4,096 characters are what a message holds."""
    about = {**told, "token": os.environ["EMBERDICE_TOKEN"], "errors": "200", "max": "4096"}
    session = quote(os.environ["EMBERDICE_SESSION"], safe="")
    url = f"{os.environ['EMBERDICE_URL']}/v1/quick/{session}/{what}?{urlencode(about)}"
    with urlopen(url, timeout=10) as answer:  # noqa: S310  # the operator's own address
        return str(answer.read().decode().strip())


def reply(update: dict[str, Any]) -> dict[str, Any] | None:
    """Without parse_mode the text is shown as it stands. An update is sent again until it is answered: it is the key."""
    message = update.get("message") or {}
    command, _, rest = message.get("text", "").partition(" ")
    what = command.removeprefix("/").partition("@")[0]
    if not command.startswith("/") or what not in OPTIONS:
        return None
    chat = message["chat"]["id"]
    if str(chat) not in os.environ["TELEGRAM_CHATS"].replace(" ", "").split(","):
        print(f"Chat {chat} is not in TELEGRAM_CHATS: it gets no answer.", file=sys.stderr)
        return None
    told = dict(zip(OPTIONS[what], rest.split(maxsplit=len(OPTIONS[what]) - 1), strict=False))
    told["idempotency_key"] = f"telegram-{update['update_id']}"
    if what == "roll":
        told["label"] = message["from"]["first_name"]
    shown = {"text": ask(what, told), "link_preview_options": {"is_disabled": True}}
    return {"method": "sendMessage", "chat_id": chat, **shown}


class Hook(BaseHTTPRequestHandler):
    timeout = PATIENCE_S

    def do_POST(self) -> None:
        secret = self.headers.get("X-Telegram-Bot-Api-Secret-Token", "")
        if not (secret and hmac.compare_digest(secret.encode(), os.environ["TELEGRAM_SECRET"].encode())):
            self._send(401, None)
            return
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > MOST_BODY_BYTES:
            self._send(413, None)
            return
        body = self.rfile.read(int(length))
        try:
            self._send(200, reply(json.loads(body)))
        except OSError:
            self._send(503, None)  # Telegram sends the update again

    def _send(self, status: int, told: dict[str, Any] | None) -> None:
        body = json.dumps(told).encode() if told else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *told: object) -> None:  # noqa: A002  # named by the library
        """Without what people typed."""


SETTINGS = ("TELEGRAM_SECRET", "TELEGRAM_CHATS", "EMBERDICE_URL", "EMBERDICE_SESSION", "EMBERDICE_TOKEN")

if __name__ == "__main__":
    if unset := [name for name in SETTINGS if not os.environ.get(name)]:
        sys.exit(f"Set {', '.join(unset)}.")
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8002), Hook).serve_forever()
