"""Every piece of deploy/integrations/snippets does what it says, against a running service."""

import hashlib
import hmac
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import quote, urlencode

import httpx
import lupa.lua52
import pytest

from tests.live import ROOT
from tests.render import readers
from tests.tools import tool

FOLDER = ROOT / "deploy" / "integrations" / "snippets"
README = (FOLDER / "README.md").read_text("utf-8")


class Sitting:
    """A table with Zoé at it, and the chat token that a snippet is given."""

    def __init__(self, address):
        self.address = address
        opened = httpx.post(
            f"{address}/v1/sessions", json={"characters": ["Zoé", "Max"], "settings": {"tier_size": 3}}
        ).json()
        self.id, self.gm = opened["id"], {"Authorization": f"Bearer {opened['tokens']['gm']}"}
        minted = httpx.post(f"{address}/v1/sessions/{self.id}/tokens", json={"role": "chat"}, headers=self.gm).json()
        self.token = minted["token"]

    @property
    def environ(self):
        return {"EMBERDICE_URL": self.address, "EMBERDICE_SESSION": self.id, "EMBERDICE_TOKEN": self.token}

    def filled_in(self, text):
        """A snippet's placeholders replaced."""
        for placeholder, value in (("https://dice.example", self.address), ("SESSION", self.id), ("TOKEN", self.token)):
            text = re.sub(rf"(?<![A-Z_]){placeholder}(?![A-Z_])", value, text)
        return text

    def events(self):
        url = f"{self.address}/v1/sessions/{self.id}/events"
        return Counter(each["type"] for each in httpx.get(url, headers=self.gm).json()["events"])


@pytest.fixture(scope="module")
def sitting(service):
    return Sitting(service.address)


class Line(ThreadingHTTPServer):
    """A line to the service that hangs up on the first so many, once the service has answered."""

    def __init__(self, address, *, loses=0):
        line, self.loses, self.asked = self, loses, []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                line.asked.append(self.path)
                answer = httpx.get(address + self.path)
                if line.loses:
                    line.loses -= 1
                    self.close_connection = True
                    return
                self.send_response(answer.status_code)
                self.send_header("Content-Type", answer.headers["content-type"])
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)


# A shell.


def shell(sitting, line, **environ):
    tool("curl")
    told = {**os.environ, **sitting.environ, **environ}
    ran = subprocess.run(
        ["sh", "-eu", "-c", f". ./emberdice.sh; {line}"], cwd=FOLDER, env=told, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


SHELL = [
    # line, how the answer begins
    ("roll Zoé 4 hard", "Zoé: "),
    ("roll zoe 4 'très'", "Nothing was rolled and nothing changed. "),
    ("roll ZOÉ 3 difficile 1", "Zoé: "),
    ("hit Max d8 grit 3", "Max: "),
    ("heal Zoé 'calm yourself' 4 3", "Calm yourself for Zoé: "),
    ("timers Zoé", "Treat damage: "),
    ("draw Zoé 2", "2 cards drawn for Zoé: "),
    ("draw Max 1 grave", "1 card drawn for Max: "),
    ("cards Zoé", "2 active cards"),
    ("cards", "3 active cards"),
]


def test_a_shell(sitting):
    for line, begins in SHELL:
        assert re.match(re.escape(begins) if "active" not in begins else r".*active", shell(sitting, line)), line


def test_a_shell_takes_any_name_and_shows_no_token(sitting):
    name = "O'Neil \"the \\ $(id) & `x` é"
    said = shell(sitting, 'ember roll base=0 label="$NAME"', NAME=name)
    assert said == f"{name} — Critical failure: 0 successes. No dice to roll.\n"
    assert re.search(r"^\s*} \| curl --config -$", (FOLDER / "emberdice.sh").read_text("utf-8"), re.MULTILINE)


def test_a_shell_throws_once_over_a_bad_line(service):
    sitting = Sitting(service.address)
    with serving(line := Line(service.address, loses=1)) as address:
        said = shell(sitting, "draw Zoé", EMBERDICE_URL=address)
    assert said.startswith("1 card drawn for Zoé: ")
    assert len(line.asked) == 2
    assert len(set(line.asked)) == 1
    assert sitting.events()["cards.drawn"] == 1


# Slack.

SECRET = "8f742231b10e"


def module(name):
    spec = importlib.util.spec_from_file_location(f"snippet_{name}", FOLDER / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@contextmanager
def serving(server):
    """Its address, while it serves."""
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def relay(sitting, monkeypatch):
    for name, value in {**sitting.environ, "SLACK_SIGNING_SECRET": SECRET}.items():
        monkeypatch.setenv(name, value)
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), module("slack_relay").Relay)) as address:
        yield address


def command(relay, command, text, *, secret=SECRET, when=None, **more):
    """As Slack sends a slash command."""
    form = {
        "token": "gIkuvaNzQIHg97ATvDxqgjtO",
        "team_id": "T0001",
        "team_domain": "example",
        "channel_id": "C2147483705",
        "channel_name": "friday",
        "user_id": "U2147483697",
        "user_name": "Steve",
        "command": command,
        "text": text,
        "response_url": "https://hooks.slack.example/commands/1234/5678",
        "trigger_id": f"13345224609.738474920.{time.monotonic_ns():x}",
        **more,
    }
    body, when = urlencode(form).encode(), str(when or int(time.time()))
    signature = "v0=" + hmac.new(secret.encode(), b"v0:" + when.encode() + b":" + body, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": when,
        "X-Slack-Signature": signature,
    }
    return httpx.post(relay, content=body, headers=headers, timeout=3)


def test_slack(relay):
    answer = command(relay, "/roll", "Zoé 4 difficile")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json()["response_type"] == "in_channel"
    assert readers.slack(answer.json()["text"]).startswith("Zoé: ")
    for line, begins in (("/draw", "1 card drawn for Zoé"), ("/cards", ""), ("/timers", "Treat damage")):
        assert readers.slack(command(relay, line, "zoé").json()["text"]).startswith(begins)


def test_a_refusal_in_slack_has_status_200_and_is_for_who_asked(relay):
    answer = command(relay, "/roll", "<!channel> 4")
    assert answer.status_code == 200
    assert answer.json()["response_type"] == "ephemeral"
    assert "&lt;!channel&gt;" in answer.json()["text"]
    assert command(relay, "/dance", "").json()["response_type"] == "ephemeral"


def test_slack_shows_the_same_dice_for_the_same_trigger(relay):
    first, again = (command(relay, "/roll", "Zoé 6", trigger_id="1.2.abc") for _ in range(2))
    assert first.json() == again.json()


def test_an_answer_that_was_lost_in_slack_may_have_been_done(relay, monkeypatch):
    monkeypatch.setenv("EMBERDICE_URL", "http://127.0.0.1:9")
    answer = command(relay, "/draw", "Zoé").json()
    assert answer["response_type"] == "ephemeral"
    assert "may have been done" in answer["text"]


def test_only_slack_is_answered(relay):
    assert command(relay, "/roll", "Zoé 4", secret="another").status_code == 401
    assert command(relay, "/roll", "Zoé 4", when=1_531_420_618).status_code == 401
    assert httpx.post(relay, data={"command": "/roll"}).status_code == 401
    assert httpx.get(relay, params={"ssl_check": "1"}).status_code == 200


# Telegram.


@pytest.fixture
def hook(sitting, monkeypatch):
    for name, value in {**sitting.environ, "TELEGRAM_SECRET": SECRET, "TELEGRAM_CHATS": "42, -100123"}.items():
        monkeypatch.setenv(name, value)
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), module("telegram_hook").Hook)) as address:
        yield address


UPDATES = count(1)


def update(hook, text, *, number=None, secret=SECRET, chat=-100123):
    """As Telegram sends a message to a bot's webhook."""
    sender = {"id": 1111111, "is_bot": False, "first_name": "<b>Zoé</b>", "language_code": "fr"}
    message = {"message_id": 1365, "from": sender, "chat": {"id": chat, "type": "supergroup"}, "date": 1441645532}
    entities = [{"type": "bot_command", "offset": 0, "length": len(text.split(" ")[0])}]
    told = {"update_id": number or next(UPDATES), "message": {**message, "text": text, "entities": entities}}
    return httpx.post(hook, json=told, headers={"X-Telegram-Bot-Api-Secret-Token": secret} if secret else None)


def test_telegram(hook):
    answer = update(hook, "/roll@ember_bot 4 difficile").json()
    assert (answer["method"], answer["chat_id"]) == ("sendMessage", -100123)
    assert "parse_mode" not in answer
    assert answer["text"].startswith("<b>Zoé</b> — ")
    assert "(Hard asks for 3)" in answer["text"]
    for text, begins in (("/draw Zoé", "1 card drawn for Zoé"), ("/cards ZOE", ""), ("/timers zoe", "Treat damage")):
        said = update(hook, text).json()["text"]
        assert said.startswith(begins)
        assert 1 <= len(said) <= 4_096
    assert "base" in update(hook, "/roll 99").json()["text"]
    assert update(hook, "good evening").content == update(hook, "/start").content == b""
    assert update(hook, "/roll 4", secret="another").status_code == 401


def test_telegram_sends_an_update_again_and_sees_the_same_dice(hook):
    first, again = (update(hook, "/roll 6", number=999_999) for _ in range(2))
    assert first.json() == again.json()


def test_telegram_answers_the_chats_that_are_named(sitting, hook, monkeypatch, capfd):
    before = sitting.events()
    assert update(hook, "/draw Zoé", chat=1000).content == update(hook, "/draw Zoé", chat=-10012).content == b""
    assert sitting.events() == before
    assert "Chat 1000 is not in TELEGRAM_CHATS" in capfd.readouterr().err
    assert update(hook, "/roll 4", chat=42).json()["chat_id"] == 42
    monkeypatch.setenv("TELEGRAM_SECRET", "")
    assert update(hook, "/roll 4", secret="").status_code == 401


@pytest.mark.parametrize("name", ["slack_relay", "telegram_hook"])
def test_a_hook_says_what_is_not_set(name):
    environ = {"PATH": os.environ["PATH"], "EMBERDICE_URL": "http://127.0.0.1:9"}
    ran = subprocess.run([sys.executable, FOLDER / f"{name}.py"], env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert re.fullmatch(r"Set \w+_SECRET, .*EMBERDICE_SESSION, EMBERDICE_TOKEN\.\n", ran.stderr)


# What anybody may send to a hook before it is known who that is.

HOOKS = {"slack_relay": "Relay", "telegram_hook": "Hook"}
STRANGE = [
    # headers, the body's beginning, what is answered
    ({"Content-Length": "-1"}, b"", {"413"}),
    ({"Content-Length": "+5"}, b"", {"413"}),
    ({"Content-Length": "99999999999999999999"}, b"", {"413"}),
    ({"Content-Length": str(64 * 1024 + 1)}, b"", {"413"}),
    ({"Content-Length": "5_0"}, b"", {"413"}),
    ({}, b"", {"413"}),
    ({"Content-Length": "0", "X-Slack-Signature": "v0=é", "X-Slack-Request-Timestamp": "²"}, b"", {"401"}),
    ({"Content-Length": "100"}, b"slow", {""}),
]


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize(("headers", "begins", "answered"), STRANGE)
def test_nobody_holds_a_hook_up(sitting, monkeypatch, capfd, name, headers, begins, answered):
    for variable, value in {"SLACK_SIGNING_SECRET": SECRET, "TELEGRAM_SECRET": SECRET, "TELEGRAM_CHATS": "1"}.items():
        monkeypatch.setenv(variable, value)
    handler = type("Brisk", (getattr(module(name), HOOKS[name]),), {"timeout": 0.2})
    told = {
        **headers,
        **({"X-Telegram-Bot-Api-Secret-Token": SECRET} if begins or "X-Slack-Signature" not in headers else {}),
    }
    lines = ["POST / HTTP/1.1", "Host: hook", *(f"{name}: {value}" for name, value in told.items()), "", ""]
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with serving(server), socket.create_connection(server.server_address, timeout=10) as line:
        line.sendall("\r\n".join(lines).encode("latin-1") + begins)
        said = line.makefile("rb").read()  # to the end: it hangs up
    assert said[9:12].decode() in answered
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_waits_some_seconds_only(name):
    assert 0 < getattr(module(name), HOOKS[name]).timeout <= 10


# Matrix.


class Homeserver(ThreadingHTTPServer):
    """Takes messages: the same transaction is one message."""

    def __init__(self):
        self.messages, self.authorised = {}, set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self):
                server.authorised.add(self.headers["Authorization"])
                server.messages[self.path] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = b'{"event_id": "$1"}'
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)


def test_matrix(sitting):
    line = [sys.executable, "matrix.py", "!room:example.org", "roll", "base=4", "label=<b>@Zoé"]
    with serving(homeserver := Homeserver()) as address:
        matrix = {"MATRIX_URL": address, "MATRIX_TOKEN": "syt_x", "EMBERDICE_KEY": "k-1"}
        environ = {**os.environ, **sitting.environ, **matrix}
        for _ in range(2):
            subprocess.run(line, cwd=FOLDER, env=environ, check=True)
        for number, asked in enumerate(("roll base=99", "timers character=Zoé", "draw character=Zoé"), start=2):
            told = {**environ, "EMBERDICE_KEY": f"k-{number}"}
            subprocess.run([*line[:3], *asked.split()], cwd=FOLDER, env=told, check=True)
    rolled, refused, timers, drawn = homeserver.messages.values()
    path = "/_matrix/client/v3/rooms/%21room%3Aexample.org/send/m.room.message/"
    assert list(homeserver.messages) == [f"{path}k-{number}" for number in range(1, 5)]
    assert homeserver.authorised == {"Bearer syt_x"}
    assert rolled["body"].startswith("<b>@Zoé — ")
    assert readers.paragraph(rolled["formatted_body"]) == rolled["body"]
    assert rolled["m.mentions"] == {}
    assert "formatted_body" not in refused
    assert "base" in refused["body"]
    assert timers["formatted_body"].startswith("<p>Treat damage: ")
    assert drawn["formatted_body"].startswith("<p>1 card drawn for Zoé: ")


# Tabletop Simulator: its script in a real Lua, its WebRequest and its chat stood in for.


class Tabletop:
    def __init__(self, sitting, *, loses=0):
        self.asked, self.said, self.loses = [], [], loses
        self.lua = lupa.lua52.LuaRuntime(encoding="utf-8")
        globals_ = self.lua.globals()
        globals_.WebRequest = self.lua.table_from({"get": self._get})
        globals_.broadcastToAll = self.said.append
        self.lua.execute(sitting.filled_in((FOLDER / "tabletop_simulator.lua").read_text("utf-8")))
        self._zoe = self.lua.table_from({"steam_name": "[b]Zoé", "steam_id": "76561197960287930", "color": "Red"})

    def _get(self, url, callback):
        self.asked.append(url)
        answer = httpx.get(url)
        lost, self.loses = self.loses > 0, max(0, self.loses - 1)
        told = {"is_error": True, "error": "Cannot connect"} if lost else {"is_error": False, "text": answer.text}
        callback(self.lua.table_from({**told, "response_code": answer.status_code, "url": url}))

    def chat(self, message):
        """What is broadcast in answer; whether the message itself is shown."""
        before = len(self.said)
        assert self.lua.globals().onChat(message, self._zoe)
        return self.said[before:]


def test_tabletop_simulator(sitting):
    tabletop = Tabletop(sitting)
    (said,) = tabletop.chat("!roll 4 hard")
    assert said.startswith("[\u200bb]Zoé — ")
    assert "(Hard asks for 3)" in said
    assert not said.endswith("\n")
    assert tabletop.chat("!draw Zoé")[0].startswith("1 card drawn for Zoé: ")
    assert tabletop.chat("!timers  ZOÉ ")[0].startswith("Treat damage: ")
    assert "active" in tabletop.chat("!cards")[0]
    assert "difficulty" in tabletop.chat("!roll 4 très dur")[0]
    assert tabletop.chat("good evening") == tabletop.chat("!dance") == []


def test_tabletop_simulator_throws_once_over_a_bad_line(service):
    sitting = Sitting(service.address)
    tabletop = Tabletop(sitting, loses=1)
    (said,) = tabletop.chat("!draw Max")
    assert said.startswith("1 card drawn for Max: ")
    assert len(tabletop.asked) == 2
    assert sitting.events()["cards.drawn"] == 1
    tabletop.loses = 2
    (lost,) = tabletop.chat("!draw Max")
    assert "may have been done" in lost


# MapTool: what the macro says it sends. Its assignments are expressions of Python too.


class MapToolJson:
    @staticmethod
    def set(json_, *pairs):
        return json.dumps({**json.loads(json_), **dict(zip(pairs[::2], map(MapToolJson._value, pairs[1::2]), strict=True))})

    @staticmethod
    def append(json_, *values):
        return json.dumps([*json.loads(json_), *values])

    @staticmethod
    def get(json_, name):
        value = json.loads(json_)[name]
        return json.dumps(value) if isinstance(value, dict | list) else value

    @staticmethod
    def _value(value):
        return json.loads(value) if isinstance(value, str) and value[:1] in ("[", "{") else value


class MapToolRest:
    """With the whole response, any status is an answer; without it, an error is thrown."""

    def __init__(self):
        self.sent = []

    def post(self, url, payload, media, headers, whole):
        assert whole == 1
        several = [(name, value) for name, values in json.loads(headers).items() for value in values]
        answer = httpx.post(url, content=payload, headers=[("Content-Type", f"{media}; charset=utf-8"), *several])
        self.sent.append(answer)
        return json.dumps({"status": answer.status_code, "headers": {}, "body": answer.json()})


@pytest.mark.parametrize(
    ("name", "base", "begins"),
    [("Zoé", 4, "Zoé — "), ("<b>&", 0, "&lt;b>&amp; — Critical failure"), ("Zoé", 9, "Nothing was rolled")],
)
def test_maptool(sitting, name, base, begins):
    macro = sitting.filled_in((FOLDER / "maptool.mtmacro.txt").read_text("utf-8"))
    known = {"base": str(base), "difficulty": "hard"}
    functions = {
        "json": MapToolJson,
        "REST": MapToolRest(),
        "input": lambda *_: 1,
        "abort": lambda status: status,
        "number": int,
        "string": str,
        "getName": lambda: name,
        "replace": lambda text, what, by: re.sub(what, by, text),
    }
    shown = ""
    for output, variable, expression in re.findall(r"^\[([hr]): (?:(\w+) = )?(.*)\]$", macro, re.MULTILINE):
        value = eval(re.sub(r"\b1d\d+", f"{len(name)}{base}", expression), {**functions, **known})  # noqa: S307  # our own file
        known[variable] = value
        shown += value if output == "r" else ""
    assert shown.startswith(begins)
    assert [each.request.headers["Idempotency-Key"] for each in functions["REST"].sent] == [
        f"{len(name)}{base}-{len(name)}{base}"
    ]


# One-liners.

CHAT = {
    "$(user)": "zoe_plays",
    "${user}": "zoe_plays",
    "%user%": "zoe_plays",
    "$(querystring)": quote("Zoé"),
    "${queryescape ${1}}": "4",
    "${queryescape ${2}}": "",
    "$(1)": "4",
    "$(2)": "hard",
}


def one_liners(heading):
    """Addresses of a tool's section, as they stand there."""
    section = re.search(rf"^### {re.escape(heading)}\n.*?^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    found = [re.search(r"https://dice\.example.*?(?=[)}']?$)", line)[0] for line in section[1].splitlines()]
    assert found
    return found


def called(sitting, address, *, typed=None, headers=None):
    """`typed`: the words after the command; its first, or all of them."""
    words = dict(zip(("${queryescape ${1}}", "${queryescape ${2}}"), typed.split(), strict=False)) if typed else {}
    for variable, value in {**CHAT, **({"$(querystring)": typed, **words} if typed else {})}.items():
        address = address.replace(variable, value)
    assert not re.search(r"[$%{(](?![0-9A-F]{2})", address), address
    return httpx.get(sitting.filled_in(address), headers=headers, timeout=5)


def test_nightbot(sitting):
    """Prints what it gets, if it is not empty and shorter than 400 characters."""
    headers = {
        "Nightbot-User": "name=zoe&displayName=Zoe&provider=twitch&providerId=1&userLevel=owner",
        "Nightbot-Channel": "name=zoe&displayName=Zoe&provider=twitch&providerId=1",
        "Nightbot-Response-Url": "https://api.nightbot.tv/1/channel/send/TVRRd016",
    }
    roll, hard, draw, timers = one_liners("Nightbot")
    assert "Hard asks for 3" in called(sitting, hard, headers=headers).text
    rolled = called(sitting, roll, typed="4", headers=headers).text
    assert rolled.startswith("zoe_plays — ")
    for answer in (called(sitting, each, headers=headers) for each in (draw, timers, roll)):
        assert 0 < len(answer.text.strip()) < 400
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_streamelements(sitting):
    """Prints a line of its own for any status but 200."""
    roll, cards = one_liners("StreamElements")
    assert called(sitting, roll).text.startswith("zoe_plays — ")
    assert "Hard asks for 3" in called(sitting, roll, typed="4 difficile").text
    refused = called(sitting, roll, typed="99")
    assert refused.status_code == 200
    assert "base" in refused.text
    assert called(sitting, cards).status_code == 200


def test_fossabot(sitting):
    """Waits five seconds, looks at no status, and reads the body out: it had better be a sentence."""
    headers = {"x-fossabot-channelid": "1", "x-fossabot-message-userlogin": "zoe"}
    draw, cards = one_liners("Fossabot")
    drawn, listed = called(sitting, draw, headers=headers), called(sitting, cards, headers=headers)
    assert drawn.text.startswith("1 card drawn to the discard pile: ")
    assert listed.headers["content-language"] == "fr"
    refused = called(sitting, draw.replace("TOKEN", "gone"), headers=headers)
    assert refused.status_code == 401
    assert not refused.text.startswith("{")


def test_streamerbot(sitting):
    """Reads one level of JSON into variables."""
    (roll,) = one_liners("Streamer.bot")
    answer = called(sitting, roll).json()
    assert answer["text"].startswith("zoe_plays — ")
    assert {"outcome", "successes"} <= answer.keys()
    assert not any(isinstance(value, dict | list) for value in answer.values())


def test_irc(sitting):
    """One line, bounded in bytes; and no byte that IRC or a terminal reads."""
    (roll,) = one_liners("IRC")
    said = called(sitting, f"{roll}&label={quote('é' * 100)}&lang=fr").content
    assert len(said.removesuffix(b"\n")) <= 400
    assert not re.search(rb"[\x00-\x1f\x7f]", said.removesuffix(b"\n"))


def test_curl(sitting):
    tool("curl")
    section = re.search(r"^### curl\n.*?^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    roll, heal = (
        subprocess.run(["sh", "-c", f"{sitting.filled_in(line)} -s"], capture_output=True, text=True, check=True).stdout
        for line in section[1].splitlines()
    )
    assert "Difficile" in roll
    assert heal.startswith(("Calm yourself for Zoé: ", "Calm yourself was rolled for Zoé"))


def test_what_only_looks_ahead_throws_nothing(sitting):
    """A chat that shows previews, or a browser that fetches ahead, fetches what was posted."""
    (address,) = one_liners("IRC")
    before = sitting.events()
    address = address.replace("&errors=200", "")
    assert httpx.head(sitting.filled_in(address)).status_code == 405
    assert called(sitting, address, headers={"Sec-Purpose": "prefetch"}).status_code == 403
    assert sitting.events() == before


def test_every_file_is_in_the_readme():
    listed = set(re.findall(r"^\| [^|]+ \| `([^`]+)` \|", README, re.MULTILINE))
    assert listed == {each.name for each in FOLDER.iterdir() if each.suffix != ".md" and each.is_file()}
