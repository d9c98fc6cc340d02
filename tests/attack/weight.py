"""How much one sends: huge, deep, slow and silent, and texts that are dear to read."""

import json
import time
from contextlib import ExitStack
from typing import Any

from tests.attack.attacks import Findings, attack
from tests.attack.target import PATIENCE_S, Target, raise_own_file_limit, status_of

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
POST = b"POST /v1/sixd6/rolls HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
SLOWEST_S = 40
"""The service ends slow headers and bodies after 30 s."""


def _judged(target: Target, what: str, method: str, path: str, **told: Any) -> Findings:
    """A refusal or an answer, in time, and no fault."""
    started_s = time.monotonic()
    answer = target.ask(method, path, **told)
    took_s = time.monotonic() - started_s
    if answer.status_code >= 500:
        yield f"{what}: {answer.status_code}"
    if took_s > PATIENCE_S:
        yield f"{what}: answered after {took_s:.1f} s"


@attack("huge and deep bodies")
def bodies(target: Target) -> Findings:
    table = target.table()
    for what, path, content in (
        ("100,000 brackets", "/v1/sixd6/rolls", b"[" * 100_000),
        ("100,000 objects", "/v1/sixd6/rolls", b'{"a":' * 100_000),
        ("a number of 500,000 digits", "/v1/sixd6/rolls", b'{"base":' + b"9" * 500_000 + b"}"),
        ("a fraction of 500,000 digits", "/v1/sixd6/rolls", b'{"base":1.' + b"9" * 500_000 + b"}"),
        ("50,000 members", "/v1/sixd6/rolls", json.dumps({f"m{n}": n for n in range(50_000)}).encode()),
        ("one member 50,000 times", "/v1/sixd6/rolls", b'{"base":1' + b',"base":1' * 50_000 + b"}"),
        ("300,000 faces", "/v1/sixd6/rolls", b'{"base":1,"faces":[' + b"1," * 300_000 + b"1]}"),
        ("one string of 1 MB", "/v1/sixd6/rolls", b'{"label":"' + b"a" * 1_000_000 + b'"}'),
        ("1 MB of escapes", "/v1/sixd6/rolls", b'{"label":"' + rb"\u0001" * 170_000 + b'"}'),
        ("an import of 1 MB of nothing", "/v1/sessions", b'{"import":{"characters":[' + b"{}," * 300_000 + b"{}]}}"),
        (
            "100 KB of a character's notes",
            f"{table.path}/characters",
            b'{"name":"A","meta":{"a":"' + b"a" * 100_000 + b'"}}',
        ),
    ):
        yield from _judged(
            target, what, "POST", path, content=content, headers=JSON, by=table.tokens["gm"] if table.id in path else None
        )
    yield from _judged(
        target, "a form of 200,000 members", "POST", "/v1/sixd6/rolls", content=b"&a=1" * 200_000, headers=FORM
    )
    for path, size in (("/v1/sixd6/rolls", 2 << 20), ("/v1/sessions", 9 << 20)):
        told = f"Host: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {size}"
        head = f"POST {path} HTTP/1.1\r\n{told}\r\n\r\n"
        if (status := status_of(target.raw(head.encode() + b" " * size, 2))) not in (413, 0):
            yield f"{size >> 20} MB to {path}: {status}"
    zipped = target.ask("POST", "/v1/sixd6/rolls", content=b"\x1f\x8b\x08", headers={**JSON, "Content-Encoding": "gzip"})
    if zipped.status_code < 400:
        yield "a compressed body is unpacked"
    if wrong := target.answers():
        yield wrong


@attack("a body without an end")
def endless(target: Target) -> Findings:
    sent = 0
    with target.connected() as line:
        line.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            while sent < 64 << 20:
                line.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass
    if sent >= 64 << 20:
        yield f"{sent >> 20} MB of one body were taken"
    if wrong := target.answers():
        yield wrong


@attack("names and headers that are dear to read")
def dear(target: Target) -> Findings:
    table = target.table()
    gm = table.tokens["gm"]
    names = (
        "a" * 64 + "!",
        "a" + "\u0301" * 5_000, "\u0344" * 64, "\ufdfa" * 64, "İ" * 64, "ß" * 64, "-" * 64, " " * 5_000 + "a",
        "é" * 64, "\U0001f468\u200d\U0001f469" * 20, "a'’`" * 16, "\u1e9e" * 64, "\u0e33" * 64, "ﷺ" * 3,
    )  # fmt: skip
    for name in names:
        what = f"the name {name[:6]!r}… of {len(name)} characters"
        yield from _judged(target, what, "POST", f"{table.path}/characters", by=gm, json={"name": name})
        yield from _judged(target, what, "GET", f"{table.path}/characters", by=gm, params={"name": name[:1_000]})
        yield from _judged(target, what, "GET", "/v1/sixd6/roll", params={"base": "1", "label": name[:1_000]})
    for name, value in {
        "Accept-Language": ",".join(f"x{n}-yy;q=0.{n % 10}" for n in range(2_000)),
        "Accept": ",".join(f"a/b{n};q=0.1" for n in range(2_000)),
        "If-None-Match": ",".join(f'W/"{n}"' for n in range(3_000)),
        "Content-Type": "a" * 20_000 + ";" * 5_000,
        "X-Forwarded-For": "," * 20_000,
        "Authorization": "Bearer " + "a" * 20_000,
        "Idempotency-Key": "a" * 20_000,
        "Last-Event-ID": "9" * 20_000,
        "Cookie": "a=" * 10_000,
        "Range": "bytes=" + ",".join(f"{n}-" for n in range(3_000)),
    }.items():
        yield from _judged(target, f"{name} of {len(value)} bytes", "GET", "/v1/sixd6/reference", headers={name: value})
        yield from _judged(target, f"{name} of {len(value)} bytes", "POST", f"{table.path}/scene/end", headers={name: value})


@attack("numbers that are huge, odd, or no numbers")
def numbers(target: Target) -> Findings:
    table = target.table()
    odd = (
        "9" * 5_000,
        "-1",
        "1e308",
        "1e400",
        "NaN",
        "Infinity",
        "٣",
        "１",
        "+1",
        "0x1",
        "1_0",
        "01",
        " 1",
        "1 ",
        "1.0",
        "",
        "½",
        "1\u0000",
    )
    for value in odd:
        for path, name in (
            ("/v1/sixd6/roll", "base"),
            ("/v1/sixd6/odds", "up_to"),
            ("/v1/burn2d6/odds", "value"),
            ("/v1/systems", "max"),
        ):
            needed = {"/v1/sixd6/odds": {"base": "1"}, "/v1/sixd6/roll": {"base": "1"}}.get(path, {})
            answer = target.ask("GET", path, params={**needed, name: value})
            if answer.status_code >= 500 or (answer.is_success and value not in ("", "01")):
                yield f"{path}?{name}={value[:20]!r}: {answer.status_code}"
        for path in ("/events?limit=", "/events?after=", "/events/", "/decks/light/peek?count="):
            answer = target.ask("GET", table.path + path + _quoted(value), by=table.tokens["gm"])
            if answer.status_code >= 500:
                yield f"{path}{value[:20]!r}: {answer.status_code}"
    for body in ('{"action":"advance","seconds":%s}', '{"action":"advance","seconds":-%s}'):
        for value in ("9" * 18, "9" * 30, "1e18", "1e999"):
            answer = target.ask("POST", f"{table.path}/clock", by=table.tokens["gm"], content=body % value, headers=JSON)
            if answer.status_code >= 500 or answer.is_success:
                yield f"the clock goes by {value}: {answer.status_code}"


def _quoted(value: str) -> str:
    return "".join(f"%{byte:02x}" for byte in value.encode())[:6_000]


@attack("Unicode tricks: two names that look or fold alike, marks that turn the line, halves of characters")
def unicode_tricks(target: Target) -> Findings:
    table = target.table(characters=[])
    gm = table.tokens["gm"]
    for first, second in (
        ("Zoé", "Zoe\u0301"),
        ("ｆｉ", "FI"),
        ("O'Brien", "O’Brien"),
        ("straße", "STRASSE"),
        ("Max", " max "),
    ):
        statuses = [
            target.ask("POST", f"{table.path}/characters", by=gm, json={"name": each}).status_code
            for each in (first, second)
        ]
        if statuses[0] != 201 or statuses[1] == 201:
            yield f"{first!r} and {second!r} are two characters: {statuses}"
    for mark in ("\u202e", "\u2066", "\u200e\u202d", "\u0000", "\u001b[31m", "\n", "\u2028", "\u0085", "\ud800"):
        body = json.dumps({"name": f"a{mark}b"}).encode()
        answer = target.ask("POST", f"{table.path}/characters", by=gm, content=body, headers=JSON)
        if answer.status_code >= 500 or answer.is_success:
            yield f"a name may hold {mark!r}: {answer.status_code}"
    for value in ("%ff", "%c0%80", "%ed%a0%80", "%f5%80%80%80"):
        said = target.get_raw(f"/v1/sixd6/roll?base=1&label={value}")
        if not 400 <= status_of(said) < 500:
            yield f"a query may hold {value}: {status_of(said)}"


@attack("more connections that say nothing than a server usually has room for")
def silence(target: Target) -> Findings:
    raise_own_file_limit()
    with ExitStack() as stack:
        target.lines(1_100, stack)
        if wrong := target.answers():
            yield f"1,100 silent connections, and {wrong}"


@attack("slow headers, slow bodies and silence: is a line that dawdles ended?", quick=False)
def slow(target: Target) -> Findings:
    post = POST + b"Content-Length: 2000\r\n\r\n"
    kinds = {
        "silence": (b"", b""),
        "half of the headers": (b"GET / HTTP/1.1\r\nHost: x\r\n", b""),
        "headers, one a second": (b"GET / HTTP/1.1\r\nHost: x\r\n", b"X-A: b\r\n"),
        "a body that does not begin": (post, b""),
        "a body, one byte a second": (post, b" "),
        "idle after an answer": (b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n", b""),
    }
    with ExitStack() as stack:
        lines = {what: target.lines(20, stack) for what in kinds}
        for what, (first, _) in kinds.items():
            for line in lines[what]:
                line.settimeout(0.01)
                line.sendall(first)
        started_s = time.monotonic()
        while lines and time.monotonic() - started_s < SLOWEST_S:
            for what in [*lines]:
                lines[what] = [line for line in lines[what] if _open_after(line, kinds[what][1])]
                if not lines[what]:
                    del lines[what]
            if wrong := target.answers():
                yield f"meanwhile {wrong}"
                break
            time.sleep(1)
        for what, still in lines.items():
            yield f"{what}: {len(still)} of 20 lines are still open after {SLOWEST_S} s"


def _open_after(line: Any, drip: bytes) -> bool:
    try:
        if drip:
            line.sendall(drip)
        while line.recv(4_096):
            pass
    except TimeoutError:
        return True
    except OSError:
        pass
    return False


@attack("flooding the service with sessions, from one address and from many", own=True)
def session_flood(target: Target) -> Findings:
    address, limit = target.address_of_nobody(), int(target.limits["EMBERDICE_CREATIONS_PER_MINUTE"])
    seen = [target.ask("POST", "/v1/sessions", json={}, come_from=address) for _ in range(2 * limit + 2)]
    if 429 not in (statuses := [each.status_code for each in seen]):
        yield f"one address opened {len(seen)} sessions in a minute"
    elif "retry-after" not in seen[statuses.index(429)].headers:
        yield "who is refused is not told when to come back"
    most = int(target.limits["EMBERDICE_MAX_SESSIONS"])
    statuses = [
        target.ask("POST", "/v1/sessions", json={}, come_from=target.address_of_nobody()).status_code
        for _ in range(most + 1)
    ]
    if 429 not in statuses:
        yield f"{most + 1} sessions were opened, the instance may hold {most}"
