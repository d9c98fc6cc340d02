"""Hooks of Schemathesis for whole evenings: every table's secrets are learned from the answer that opened it.

What a link does not say is taken from a table that is there: an invented id would meet nothing but a refusal. Two checks
stand beside Schemathesis' own: who shows no token, or one of another table, is refused as if there were no table; and
what was deleted is found no more. What was walked is told in the file that EVENINGS_WALKED names.
"""

import atexit
import json
import os
import zlib
from collections import Counter
from pathlib import Path

import httpx
import schemathesis

ADDRESS = os.environ["EVENINGS_ADDRESS"]
HERE = {"character": ("zoe", "max"), "deck": ("light", "grave"), "opponent": ("ogre",)}
SOME_INVENTED = 8

SECRETS: dict[str, str] = {}
WALKED: Counter[str] = Counter()
DELETED: Counter[str] = Counter()

client = httpx.Client(base_url=ADDRESS, timeout=10)


def opened() -> str:
    told = client.post("/v1/sessions", json={"characters": ["Zoé", "Max"], "settings": {"tier_size": 3}}).json()
    SECRETS[told["id"]] = told["tokens"]["gm"]
    client.post(f"/v1/sessions/{told['id']}/opponents", json={"name": "Ogre", "points": 8}, headers=own(told["id"]))
    return told["id"]


def own(session: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {SECRETS[session]}"}


FOREIGN = own(opened())
TABLES = [opened()]


def operation(case):
    return case.operation.definition.raw["operationId"]


def session(case):
    return (case.path_parameters or {}).get("session")


@schemathesis.hook
def before_call(context, case, kwargs):
    """Not an auth provider: those are asked before a link has said which table it is."""
    places = case.path_parameters or {}
    (case.query or {}).pop("format", None)  # a link reads JSON
    if not session(case):
        return
    if session(case) not in SECRETS and zlib.crc32(case.id.encode()) % SOME_INVENTED:
        places["session"] = TABLES[-1]
        for place, there in HERE.items():
            if place in places:
                places[place] = there[zlib.crc32(case.id.encode()) % len(there)]
    if session(case) in SECRETS:
        case.headers = {**(case.headers or {}), **own(session(case))}
        case._has_explicit_auth = True  # else it is taken for generated, and success for a fault


@schemathesis.hook
def after_call(context, case, response):
    opened_one = operation(case) == "openSession" and response.status_code == 201
    if opened_one and "application/json" in response.headers["content-type"][0]:
        told = response.json()
        SECRETS[told["id"]] = told["tokens"]["gm"]
    if operation(case) == "deleteSession" and response.status_code == 200 and session(case) in TABLES:
        TABLES.append(opened())


@schemathesis.check
def strangers_are_refused(ctx, response, case):
    if session(case) not in SECRETS or not 200 <= response.status_code < 300:
        return
    WALKED[operation(case)] += 1
    sent = response.request
    plain = {name: value for name, value in sent.headers.items() if name.lower() not in ("authorization", "content-length")}
    for shown in ({}, FOREIGN):
        again = client.request(sent.method, sent.url, headers={**plain, **shown}, content=sent.body or b"")
        assert again.status_code == 401, f"a stranger with {'a foreign' if shown else 'no'} token gets {again.status_code}"


@schemathesis.check
def what_was_deleted_is_gone(ctx, response, case):
    if case.operation.method.lower() != "delete" or response.status_code != 200 or operation(case) == "clearHealingTimer":
        return
    DELETED[operation(case)] += 1
    again = client.request("DELETE", response.request.url.partition("?")[0], headers=own(session(case)))
    assert again.status_code in (401, 404), f"deleted, and deleted again with {again.status_code}"
    read = client.get(response.request.url.partition("?")[0], headers=own(session(case)))
    assert read.status_code in (401, 404, 405), f"deleted, and read with {read.status_code}"


@atexit.register
def tell():
    told = {"walked": WALKED, "deleted": DELETED, "tables": len(SECRETS)}
    Path(os.environ["EVENINGS_WALKED"]).write_text(json.dumps(told))
