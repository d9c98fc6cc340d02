"""Who one is: guessed, borrowed, revoked and leaked tokens."""

import re
import time
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import httpx

from tests.attack.attacks import Findings, attack
from tests.attack.target import METRICS_TOKEN, Table, Target, example_of, operations

MEMBERS = {"character": "zoe", "deck": "light", "card": "light-1", "care": "treat_damage"}
FORGED = ("Forwarded", "X-Real-IP", "X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "X-Forwarded")


def wrong(role: str = "gm") -> str:
    return f"ember_{role}_{'A' * 43}"


def asked(target: Target, table: Table, method: str, path: str, operation: dict[str, Any], by: str | None) -> httpx.Response:
    """The operation at this table, in the form that the contract takes as an example."""
    members = re.sub(r"\{(\w+)\}", lambda found: {"session": table.id, **MEMBERS}.get(found[1], "1"), path)
    params = {each["name"]: each["example"] for each in operation.get("parameters", ()) if "example" in each}
    params = {name: value for name, value in params.items() if name not in ("session", *MEMBERS) and not name[0].isupper()}
    return target.ask(
        method, members, by=by, json=example_of(operation), params=params, come_from=target.address_of_nobody()
    )


@attack("guessing tokens of a session, from one address", own=True)
def guess(target: Target) -> Findings:
    table, limit = target.table(), int(target.limits["EMBERDICE_FAILURES_PER_MINUTE"])
    for path, where in (
        (table.path, {}),
        (table.path.replace("sessions", "quick") + "/cards", {"params": {"token": wrong()}}),
    ):
        address = target.address_of_nobody()
        seen = [
            target.ask("GET", path, by=None if where else wrong(), come_from=address, **where).status_code
            for _ in range(2 * limit + 2)  # a minute may turn
        ]
        if 429 not in seen:
            yield f"{path}: {len(seen)} guesses, and none was refused as one too many"
        if set(seen) - {401, 403, 429}:
            yield f"{path}: a guess was answered with {set(seen)}"


@attack("coming from elsewhere by forged headers, to guess on", own=True)
def forge_address(target: Target) -> Findings:
    table, limit = target.table(), int(target.limits["EMBERDICE_FAILURES_PER_MINUTE"])
    real = target.address_of_nobody()
    for name in FORGED:
        for number in range(2 * limit + 2):
            told = {name: f"for=203.0.113.{number}" if name == "Forwarded" else f"203.0.113.{number}"}
            last = target.ask("GET", table.path, by=wrong(), come_from=real, headers=told).status_code
            if last == 429:
                break
        if last != 429:
            yield f"{name} is believed"
    for first in ("{forged}, {real}", "127.0.0.1, {real}", "{forged},127.0.0.1, {real}", "{forged}, {real}, 127.0.0.1"):
        told = [first.format(forged=f"203.0.113.{number}", real=real) for number in range(2 * limit + 2)]
        seen = [target.ask("GET", table.path, by=wrong(), come_from=each).status_code for each in told]
        if 429 not in seen:
            yield f"X-Forwarded-For: {first}: what the caller wrote in front is believed"


@attack("changing the address within one's own IPv6 network, to guess on", own=True)
def ipv6_network(target: Target) -> Findings:
    table, limit = target.table(), int(target.limits["EMBERDICE_FAILURES_PER_MINUTE"])
    seen = [
        target.ask("GET", table.path, by=wrong(), come_from=f"2001:db8:5:5::{number:x}").status_code
        for number in range(1, 2 * limit + 3)
    ]
    if 429 not in seen:
        yield "each address of a /64 has guesses of its own"


@attack("telling from a refusal whether a session exists")
def oracle(target: Target) -> Findings:
    table, nowhere = target.table(), "0" * 20
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/tokens"), ("GET", "/events/1"), ("GET", "/characters/zoe")):
        said = []
        for session in (table.id, nowhere):
            answer = target.ask(
                method, f"/v1/sessions/{session}{path}", by=wrong(), json={} if method == "POST" else None,
                come_from=target.address_of_nobody(),
            )  # fmt: skip
            said.append((answer.status_code, answer.text.replace(session, "…"), sorted(answer.headers)))
        if said[0] != said[1]:
            yield f"{method} {path or '/'}: {said[0][:2]} where it exists, {said[1][:2]} where it does not"


@attack("every operation of a session, with a token of another session and with none")
def cross_session(target: Target) -> Findings:
    mine, other = target.table(), target.table()
    before = target.ask("GET", f"{other.path}/state", by=other.tokens["gm"]).json()["last_event"]
    for method, path, operation in operations(below="/v1/sessions/{session}"):
        for by, whose in ((mine.tokens["gm"], "another session's token"), (None, "no token")):
            status = asked(target, other, method, path, operation, by).status_code
            if status != 401:
                yield f"{method} {path} with {whose}: {status}"
    for _, path, _ in operations(below="/v1/quick"):
        at = path.replace("{session}", other.id)
        needed = {"damage": {"die": "d6", "character": "zoe"}, "heal": {"care": "calm_self", "character": "zoe"}}
        needed |= {"timers": {"character": "zoe"}}
        params = {"token": mine.tokens["chat"], **needed.get(path.rpartition("/")[2], {})}
        if (status := target.ask("GET", at, params=params, come_from=target.address_of_nobody()).status_code) != 401:
            yield f"GET {path} with another session's token: {status}"
    after = target.ask("GET", f"{other.path}/state", by=other.tokens["gm"])
    if after.status_code != 200 or after.json()["last_event"] != before:
        yield "the other session was changed"


@attack("changing a table with a token that only reads")
def read_only(target: Target) -> Findings:
    table = target.table()
    for method, path, operation in operations(below="/v1/sessions/{session}"):
        if (
            method != "GET"
            and (status := asked(target, table, method, path, operation, table.tokens["observer"]).status_code) < 400
        ):
            yield f"{method} {path} by an observer: {status}"
    for role in ("gm", "player", "observer"):
        at = f"{table.path.replace('sessions', 'quick')}/draw"
        if (status := target.ask("GET", at, params={"token": table.tokens[role]}).status_code) < 400:
            yield f"a one-liner takes a {role} token in its address: {status}"
    for path in ("/clock", "/tokens", "/export"):
        for role in ("player", "chat", "observer"):
            answer = target.ask("GET", table.path + path, params={"token": table.tokens[role]})
            if answer.status_code < 400:
                yield f"{path} takes a {role} token in its address"


@attack("a revoked token, its open stream, its replays; a deleted session")
def revoked(target: Target) -> Findings:
    table = target.table()
    gm = table.tokens["gm"]
    minted = target.ask("POST", f"{table.path}/tokens", by=gm, json={"role": "player"}).json()
    told = {"json": {"character": "zoe"}, "headers": {"Idempotency-Key": "kept"}}
    target.ask("POST", f"{table.path}/decks/light/draws", by=minted["token"], **told)
    with target.connected() as line:
        line.sendall(
            f"GET {table.path}/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
            f"Authorization: Bearer {minted['token']}\r\n\r\n".encode()
        )
        line.recv(4_096)
        target.ask("DELETE", f"{table.path}/tokens/{minted['id']}", by=gm)
        heard = _until_closed(line)
        if heard is None:
            yield "the stream of a revoked token stays open"
    for method, path, more in (("GET", "", {}), ("POST", "/decks/light/draws", told), ("GET", "/state", {})):
        status = target.ask(method, table.path + path, by=minted["token"], **more).status_code
        if status != 401:
            yield f"{method} {path} with a revoked token: {status}"
    target.ask("DELETE", table.path, by=gm)
    for role, token in table.tokens.items():
        if (status := target.ask("GET", table.path, by=token).status_code) != 401:
            yield f"the {role} token of a deleted session: {status}"


def _until_closed(line: Any) -> bytes | None:
    """What came until the other side hung up; None if it did not."""
    heard, give_up_s = b"", time.monotonic() + 4
    line.settimeout(0.5)
    while time.monotonic() < give_up_s:
        try:
            part = line.recv(65_536)
        except TimeoutError:
            continue
        except OSError:
            return heard
        heard += part
        if not part or heard.endswith(b"0\r\n\r\n"):
            return heard
    return None


@attack("somebody else's idempotency key, on one table and across tables")
def borrowed_keys(target: Target) -> Findings:
    table, other = target.table(), target.table()
    told: dict[str, Any] = {"json": {"base": 6, "visibility": "gm"}, "headers": {"Idempotency-Key": "the-gm-s-secret-roll"}}
    first = target.ask("POST", f"{table.path}/sixd6/rolls", by=table.tokens["gm"], **told)
    if first.status_code != 200:
        yield f"the roll itself failed: {first.status_code}"
        return
    if "the-gm-s-secret-roll" in target.ask("GET", f"{table.path}/events", by=table.tokens["player"]).text:
        yield "the log tells the keys of others"
    for whose, at, by in (("a player's", table, table.tokens["player"]), ("another table's", other, other.tokens["gm"])):
        answer = target.ask("POST", f"{at.path}/sixd6/rolls", by=by, **told)
        same = answer.status_code < 300 and answer.json().get("dice") == first.json()["dice"] and answer.json().get("dice")
        if answer.headers.get("idempotency-replayed") or same:
            yield f"the gm's secret roll is played again for {whose} token"


@attack("reading secret rolls as a player: log, state, one event, export, stream of the past")
def secrets_of_the_gm(target: Target) -> Findings:
    table = target.table()
    label = "Assassin behind the door"
    roll = target.ask(
        "POST", f"{table.path}/sixd6/rolls", by=table.tokens["gm"], json={"base": 6, "visibility": "gm", "label": label}
    )
    event = roll.json()["event"]
    for role in ("player", "chat", "observer"):
        for path in (
            "/events",
            f"/events/{event}",
            "/state",
            "/export",
            "/events?include=html,foundry",
            "/events?order=desc",
        ):
            if label in (answer := target.ask("GET", table.path + path, by=table.tokens[role])).text:
                yield f"{path} tells a {role} the gm's secret roll: {answer.status_code}"


@attack("finding tokens in the service's log", own=True)
def tokens_in_logs(target: Target) -> Findings:
    assert target.log
    table = target.table()
    for role, token in table.tokens.items():
        secret = token.rpartition("_")[2] if token.count("_") == 2 else token.split("_", 2)[2]
        encoded = "".join(f"%{byte:02X}" for byte in token.encode())
        for method, path, told in (
            ("GET", table.path, {"by": token}),
            ("GET", f"{table.path}/state", {"params": {"token": token}}),
            ("GET", f"/v1/quick/{table.id}/cards", {"params": {"token": token}}),
            ("GET", f"/v1/sessions/{token}", {}),
            ("DELETE", f"{table.path}/tokens/{token}", {"by": table.tokens["gm"]}),
            ("GET", f"/{token}", {}),
            ("POST", "/v1/sixd6/rolls", {"json": {"base": 1, token: 1}}),
            ("POST", "/v1/sixd6/rolls", {"content": token, "headers": {"Content-Type": token}}),
            ("GET", f"/v1/sixd6/roll?base=1&{token}={token}", {}),
            ("GET", "/health/live", {"headers": {"X-Request-Id": token}}),
            (
                "GET",
                "/health/live",
                {"headers": {"Referer": f"https://x/?token={token}", "User-Agent": token, "Origin": token}},
            ),
            ("GET", f"/{quote(token)}/", {"headers": {"Cookie": f"token={token}"}}),
        ):
            target.ask(method, path, **{"come_from": target.address_of_nobody(), **told})
        target.get_raw(f"/{encoded}")
        if secret in target.log():
            line = next(each for each in target.log().splitlines() if secret in each)
            yield f"a {role} token: {line.replace(secret, '…')[:200]}"


@attack("reading the operator's metrics")
def metrics(target: Target) -> Findings:
    for by in (None, "", "x", METRICS_TOKEN[:-1], METRICS_TOKEN + "x", METRICS_TOKEN.upper(), "é"):
        headers = {} if by is None else {"Authorization": f"Bearer {by}".strip().encode()}
        answer = target.ask("GET", "/metrics", headers=headers)
        if answer.status_code not in (401, 404):
            yield f"/metrics with {by!r}: {answer.status_code}"
    if target.ask("GET", "/metrics", params={"token": METRICS_TOKEN}).status_code not in (401, 404):
        yield "/metrics takes its token in the address"


@attack("taking every event stream", own=True)
def streams(target: Target) -> Findings:
    table = target.table()
    most, each = (int(target.limits[f"EMBERDICE_{name}"]) for name in ("MAX_STREAMS", "STREAMS_PER_ADDRESS"))

    def opened(stack: ExitStack, address: str) -> int:
        line = stack.enter_context(target.connected())
        line.sendall(
            f"GET {table.path}/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nX-Forwarded-For: {address}\r\n"
            f"Authorization: Bearer {table.tokens['observer']}\r\n\r\n".encode()
        )
        return int(line.recv(64).split(b" ")[1])

    with ExitStack() as stack:
        one = target.address_of_nobody()
        seen = [opened(stack, one) for _ in range(each + 2)]
        if seen != [200] * each + [429] * 2:
            yield f"one address opened {seen.count(200)} streams, {each} are allowed"
        seen = [opened(stack, target.address_of_nobody()) for _ in range(most - each + 2)]
        if seen != [200] * (most - each) + [429] * 2:
            yield f"{each + seen.count(200)} streams are open, {most} are allowed"
        if wrong_with := target.answers():
            yield wrong_with
