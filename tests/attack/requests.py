"""How one asks: paths, methods, headers, framing, caches, other people's pages, and what errors give away."""

import json
import re

from tests.attack.attacks import Findings, attack
from tests.attack.target import Target, operations, status_of

BODY = b'{"base":1,"faces":[5]}'
POST = b"POST /v1/sixd6/rolls HTTP/1.1\r\nHost: dice.example\r\nContent-Type: application/json\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: dice.example\r\n\r\n"
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)

FRAMINGS = {
    "Content-Length and Transfer-Encoding": POST
    + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    + CHUNKED
    + SMUGGLED,
    "Transfer-Encoding and Content-Length": POST
    + b"Transfer-Encoding: chunked\r\nContent-Length: 999\r\n\r\n"
    + CHUNKED
    + SMUGGLED,
    "two Content-Lengths": POST + b"Content-Length: 22\r\nContent-Length: 0\r\n\r\n" + BODY + SMUGGLED,
    "two Content-Lengths in a line": POST + b"Content-Length: 22, 0\r\n\r\n" + BODY + SMUGGLED,
    "Content-Length with a sign": POST + b"Content-Length: +22\r\n\r\n" + BODY + SMUGGLED,
    "a negative Content-Length": POST + b"Content-Length: -1\r\n\r\n" + SMUGGLED,
    "an unknown Transfer-Encoding": POST + b"Transfer-Encoding: xchunked\r\n\r\n" + SMUGGLED,
    "chunked, then identity": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKED + SMUGGLED,
    "chunked in HTTP/1.0": POST.replace(b"HTTP/1.1", b"HTTP/1.0")
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + CHUNKED
    + SMUGGLED,
    "a space before the colon": POST + b"Content-Length : 0\r\nContent-Length: 22\r\n\r\n" + BODY + SMUGGLED,
    "a folded header": POST + b"Transfer-Encoding:\r\n chunked\r\nContent-Length: 0\r\n\r\n" + CHUNKED + SMUGGLED,
    "a bad chunk size": POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + SMUGGLED,
    "a chunk size that overflows": POST + b"Transfer-Encoding: chunked\r\n\r\n1" + b"0" * 16 + b"\r\n" + SMUGGLED,
}


@attack("request smuggling: two readings of where a body ends")
def smuggling(target: Target) -> Findings:
    logged = len(target.log()) if target.log else 0
    for what, sent in FRAMINGS.items():
        said = target.raw(sent, 0.4)
        answers = re.findall(rb"HTTP/1\.1 (\d{3})", said)
        if len(answers) > 1 or any(each.startswith(b"5") for each in answers):
            yield f"{what}: {[each.decode() for each in answers]}"
    if target.log and "/smuggled" in target.log()[logged:]:
        yield "a request that nobody sent was answered"


PATHS = (
    "/v1/sessions/%2e%2e/%2e%2e/metrics",
    "/docs/assets/..%2f..%2fsettings.py",
    "/docs/assets/%2e%2e/%2e%2e/settings.py",
    "/docs/assets/..%5c..%5csettings.py",
    "/docs/assets/%252e%252e%252fsettings.py",
    "/docs/assets/....//....//settings.py",
    "/docs/assets//etc/passwd",
    "/docs/assets/%2fetc%2fpasswd",
    "/docs/assets/docs.html%00.js",
    "/docs/assets/%c0%ae%c0%ae/settings.py",
    "/v1/sixd6/roll/../../../metrics",
    "/./v1/systems",
    "/v1//systems",
    "//dice.example/v1/systems",
    "/v1/systems;x=1",
    "/v1/systems%00",
    "/v1/systems%0d%0aX-Injected:%201",
    "/v1/systems%",
    "/v1/systems%zz",
    "/V1/SYSTEMS",
    "/problems/%0d%0aSet-Cookie:%20a=b",
    "/problems/..%2f..%2fhealth",
    "/" + "a" * 9_000,
    "/" + "%41" * 3_000,
    "/" + "a/" * 4_000,
    "*",
    "v1/systems",
    "/\u00e9\u202e",
)


@attack("path tricks: dots, slashes and zeros, encoded once and twice, too long")
def paths(target: Target) -> Findings:
    for path in PATHS:
        said = target.get_raw(path)
        head, _, body = said.partition(b"\r\n\r\n")
        status = status_of(said)
        if not 400 <= status < 500:
            yield f"{path[:60]}: {status or 'no answer'}"
        if b"import " in body or b"root:" in body or b"emberdice_requests" in body:
            yield f"{path[:60]}: a file came back"
        if re.search(rb"(?mi)^(x-injected|set-cookie):", head):
            yield f"{path[:60]}: the path became a header"


@attack("methods that change, where only reading is meant")
def methods(target: Target) -> Findings:
    for method in ("TRACE", "TRACK", "DEBUG", "CONNECT", "PROPFIND", "PUT", "DELETE", "PATCH", "get", "GE\u0000T"):
        told = "Host: x\r\nConnection: close\r\nX-Secret: abc"
        said = target.raw(f"{method} /v1/sixd6/reference HTTP/1.1\r\n{told}\r\n\r\n".encode(), 0.3)
        if not 400 <= status_of(said) < 500 or b"X-Secret: abc" in said:
            yield f"{method!r}: {status_of(said)}"
    for path in ("/v1/sixd6/roll?base=1", "/v1/burn2d6/roll?value=7"):
        if (status := target.ask("HEAD", path).status_code) != 405:
            yield f"HEAD {path} rolls: {status}"
    table = target.table()
    for name in ("X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method", "_method"):
        target.ask("POST", f"{table.path}/tokens", by=table.tokens["gm"], json={"role": "chat"}, headers={name: "DELETE"})
        target.ask("GET", table.path, by=table.tokens["gm"], headers={name: "DELETE"}, params={"_method": "DELETE"})
    if target.ask("GET", table.path, by=table.tokens["gm"]).status_code != 200:
        yield "a method can be overridden by a header or a query"


@attack("floods of headers, and addresses without end")
def headers(target: Target) -> Findings:
    for what, sent in {
        "500 headers": "GET /health/live HTTP/1.1\r\nHost: x\r\n" + "".join(f"x-{n}: a\r\n" for n in range(500)) + "\r\n",
        "a header of 40 KB": "GET /health/live HTTP/1.1\r\nHost: x\r\nX: " + "a" * 40_000 + "\r\n\r\n",
        "headers of 1 MB": "GET /health/live HTTP/1.1\r\nHost: x\r\nX: " + "a" * 1_000_000 + "\r\n\r\n",
        "a query of 20 KB": "GET /health/live?" + "a" * 20_000 + " HTTP/1.1\r\nHost: x\r\n\r\n",
        "an address of 100 KB": "GET /" + "a" * 100_000 + " HTTP/1.1\r\nHost: x\r\n\r\n",
    }.items():
        said = target.raw(sent.encode().replace(b"Host: x", b"Host: x\r\nConnection: close", 1), 0.5)
        if said and not 400 <= status_of(said) < 500:
            yield f"{what}: {status_of(said)}"
    if wrong := target.answers():
        yield wrong


WRITES = {
    "/decks/light/draws": '{"character": "zoe"}',
    "/clock": '{"action": "pause"}',
    "/characters": '{"name": "Eve"}',
    "/tokens": '{"role": "gm"}',
}


@attack("writing from another page, without a preflight and with the browser's own credentials")
def cross_site(target: Target) -> Findings:
    table = target.table()
    gm, origin = table.tokens["gm"], {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    before = target.ask("GET", f"{table.path}/state", by=gm).json()["last_event"]
    for media in (
        "text/plain",
        "multipart/form-data",
        "application/x-www-form-urlencoded",
        "",
        "text/plain;application/json",
    ):
        for path, content in WRITES.items():
            answer = target.ask(
                "POST",
                table.path + path,
                by=gm,
                content=content,
                headers={**origin, **({"Content-Type": media} if media else {})},
            )
            if answer.status_code < 400:
                yield f"POST {path} as {media or 'nothing'}: {answer.status_code}"
    for path, params in (("draw", {"character": "zoe"}), ("roll", {"base": "1"})):
        for told in ({"Sec-Purpose": "prefetch"}, {"Purpose": "prefetch"}, {"X-Moz": "prefetch"}):
            at = f"/v1/quick/{table.id}/{path}"
            answer = target.ask("GET", at, params={"token": table.tokens["chat"], **params}, headers=told)
            if answer.status_code < 400:
                yield f"a one-liner plays when {told} fetches it ahead"
        if target.ask("HEAD", f"/v1/quick/{table.id}/{path}", params={"token": table.tokens["chat"]}).status_code < 400:
            yield f"HEAD plays {path}"
    if target.ask("GET", f"{table.path}/state", by=gm).json()["last_event"] != before:
        yield "the table was changed"
    for path in ("/v1/systems", table.path):
        answer = target.ask("GET", path, headers=origin)
        if "access-control-allow-credentials" in answer.headers or "set-cookie" in answer.headers:
            yield f"{path}: credentials of the browser are used"


@attack("poisoning a cache: who may keep what, and what else makes an answer different")
def caches(target: Target) -> Findings:
    table = target.table()
    for path in ("", "/state", "/events", "/characters", "/decks", "/tokens/me", "/clock"):
        answer = target.ask("GET", table.path + path, by=table.tokens["gm"])
        if "no-store" not in answer.headers.get("cache-control", ""):
            yield f"GET {path or '/'} of a session may be kept: {answer.headers.get('cache-control')}"
    for path in ("/v1/sixd6/roll?base=1", "/v1/burn2d6/roll?value=7", "/v1/nothing", "/v1/sixd6/roll?base=9"):
        if "no-store" not in target.ask("GET", path).headers.get("cache-control", ""):
            yield f"{path} may be kept"
    for _, path, _ in operations(below="/v1/"):
        if "{" not in path:
            varies = target.ask("GET", path).headers.get("vary", "").lower()
            if not {"accept", "accept-language"} <= {each.strip() for each in varies.split(",")}:
                yield f"GET {path} varies by {varies or 'nothing'} only"
    evil = {"Host": "evil.example", "X-Forwarded-Proto": "evil", "Forwarded": "host=evil.example"}
    evil |= dict.fromkeys(("X-Forwarded-Host", "X-Forwarded-Server"), "evil.example")
    evil |= dict.fromkeys(("X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix"), "/evil")
    for method, path, told in (
        ("GET", "/v1/systems", {}),
        ("GET", "/openapi.json", {}),
        ("GET", "/docs", {}),
        ("GET", "/docs/", {}),
        ("GET", "/v1/nothing", {}),
        ("POST", "/v1/sessions", {"json": {}}),
    ):
        answer = target.ask(method, path, headers=evil, **told)
        if "evil" in answer.text or "evil" in answer.headers.get("location", ""):
            yield f"{method} {path} repeats a host that the caller made up"


BETRAYALS = re.compile(
    r"Traceback|site-packages|\.py\b|litestar|granian|uvloop|msgspec|valkey|redis[-_.]|hiredis|/(?:home|root|opt)/|0x[0-9a-f]{8}",
    re.I,
)


@attack("errors that betray what is inside: traces, versions, paths")
def betrayals(target: Target) -> Findings:
    json_type = {"Content-Type": "application/json"}
    asked = [
        ("GET", "/v1/nothing", {}),
        ("PUT", "/v1/systems", {}),
        ("POST", "/v1/sixd6/rolls", {"content": b"{", "headers": json_type}),
        ("POST", "/v1/sixd6/rolls", {"content": b"\xff\xfe", "headers": json_type}),
        ("POST", "/v1/sixd6/rolls", {"content": b"[" * 100_000, "headers": json_type}),
        ("POST", "/v1/sixd6/rolls", {"content": b"x", "headers": {"Content-Type": "application/xml"}}),
        ("POST", "/v1/sixd6/rolls", {"content": b"x" * 1_100_000, "headers": json_type}),
        ("POST", "/v1/sessions", {"json": {"import": {"format": 99}}}),
        ("GET", "/v1/sixd6/roll?base=1e400&lang=xx&format=yy&max=-1", {}),
        ("GET", "/v1/sessions/zzz", {}),
        ("GET", "/problems/internal-error", {}),
        ("GET", "/health/ready", {}),
        ("GET", "/metrics", {"headers": {"Authorization": "Bearer x"}}),
        ("GET", "/docs/assets/nothing.js", {}),
    ]
    for method, path, told in asked:
        answer = target.ask(method, path, **told)
        if answer.status_code >= 500:
            yield f"{method} {path[:50]}: {answer.status_code}"
        if found := BETRAYALS.search(answer.text):
            yield f"{method} {path[:50]} says {found[0]!r}"
        for name in ("server", "x-powered-by", "via"):
            if (said := answer.headers.get(name, "emberdice")) != "emberdice":
                yield f"{method} {path[:50]}: {name}: {said}"
        if answer.headers.get("x-content-type-options") != "nosniff":
            yield f"{method} {path[:50]}: a browser may guess its type"


@attack("making a browser run what a caller wrote")
def scripts(target: Target) -> Findings:
    evil = "<script>alert(1)</script>"
    table = target.table()
    made = target.ask("POST", f"{table.path}/characters", by=table.tokens["gm"], json={"name": evil})
    for method, path, told in (
        ("GET", "/v1/sixd6/roll", {"params": {"base": "1", "label": evil}}),
        ("GET", "/v1/sixd6/roll", {"params": {"base": "1", "label": evil, "format": "text"}}),
        ("GET", "/v1/sixd6/roll", {"params": {"base": "1", "label": evil}, "headers": {"Accept": "text/html"}}),
        ("GET", f"/{evil}", {"headers": {"Accept": "text/html"}}),
        ("GET", f"{table.path}/characters", {"by": table.tokens["gm"], "headers": {"Accept": "text/html"}}),
        ("GET", f"/problems/{evil}", {"headers": {"Accept": "text/html"}}),
    ):
        kind = target.ask(method, path, **told).headers.get("content-type", "")
        if "html" in kind or "svg" in kind or "xml" in kind:
            yield f"{method} {path[:40]} is {kind}"
    shown = target.ask("GET", "/v1/sixd6/roll", params={"base": "1", "label": evil, "include": "html"}).json()
    if evil in shown["renderings"]["html"]:
        yield "the rendering for HTML is not escaped"
    policy = target.ask("GET", "/docs").headers.get("content-security-policy", "")
    if "default-src 'none'" not in policy or "unsafe" in policy.split("style-src")[0]:
        yield f"/docs may load or run more than its own: {policy or 'no policy'}"
    assert made.status_code == 201, made.text


@attack("forging lines of the log", own=True)
def log_lines(target: Target) -> Findings:
    assert target.log
    before = len(target.log())
    for path in ("/%0a%7b%22level%22:%22critical%22%7d", "/%1b%5b31mred", "/%e2%80%ae", "/%22%2c%22status%22:200"):
        target.get_raw(path)
    target.get_raw("/health/live", 'X-Request-Id: a","level":"critical')
    for line in target.log()[before:].splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            yield f"not one JSON object: {line[:100]!r}"
            continue
        if told.get("level") == "critical" or not line.isprintable() or "\\u202e" in line.lower().replace("\\\\", ""):
            yield f"forged: {line[:150]!r}"
