"""Discord's side of a bot, on loopback: what discord.py asks of its HTTP interface, answered and kept."""

import asyncio
import copy
import json
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

RECORDED = Path(__file__).parent
APPLICATION = "1000000000000000001"
USER = {"id": APPLICATION, "username": "ember", "discriminator": "0", "global_name": None, "avatar": None, "bot": True}
ABOUT = {
    "id": APPLICATION,
    "name": "ember",
    "icon": None,
    "description": "",
    "summary": "",
    "bot_public": True,
    "bot_require_code_grant": False,
    "verify_key": "",
    "flags": 0,
    "owner": USER,
    "team": None,
}
EPHEMERAL = 64


def recorded(name, *, number=None, options=None, command=None, locale=None):
    """A recorded interaction, with another id, other options, another command or another reader."""
    payload = json.loads((RECORDED / f"{name}.json").read_text("utf-8"))
    payload = copy.deepcopy(payload)
    payload["id"] = str(number or payload["id"])
    payload["locale"] = locale or payload["locale"]
    payload["data"]["name"] = command or payload["data"]["name"]
    if options is not None:
        payload["data"]["options"] = options
    return payload


def option(name, value, **more):
    kinds = {str: 3, int: 4, bool: 5}
    return {"name": name, "type": kinds[type(value)], "value": value, **more}


def _json(told):
    """As Discord types it: discord.py takes nothing else for JSON."""
    return web.Response(body=json.dumps(told).encode(), headers={"Content-Type": "application/json"})


class Discord:
    """Keeps messages as a reader of the channel would see them: the first follow-up fulfils an open promise."""

    def __init__(self):
        self.commands, self.asked, self.suggested = [], [], []
        self.messages = {}
        self.open = None
        self.changed = asyncio.Event()

    @property
    def app(self):
        app = web.Application()
        app.router.add_get("/users/@me", self._me)
        app.router.add_get("/oauth2/applications/@me", self._about)
        app.router.add_put("/applications/{application}/commands", self._sync)
        app.router.add_post("/interactions/{id}/{token}/callback", self._callback)
        app.router.add_patch("/webhooks/{application}/{token}/messages/@original", self._edit)
        app.router.add_delete("/webhooks/{application}/{token}/messages/@original", self._delete)
        app.router.add_post("/webhooks/{application}/{token}", self._follow)
        return app

    @asynccontextmanager
    async def listening(self):
        runner = web.AppRunner(self.app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
        finally:
            await runner.cleanup()

    async def until(self, happened, within_s=20):
        async with asyncio.timeout(within_s):
            while not happened():
                self.changed.clear()
                await self.changed.wait()

    def _keep(self, line, told):
        self.asked.append((line, told))
        self.changed.set()

    async def _me(self, request):
        assert request.headers["Authorization"].startswith("Bot ")
        return _json(USER)

    async def _about(self, request):
        return _json(ABOUT)

    async def _sync(self, request):
        self.commands = await request.json()
        made = {"application_id": APPLICATION, "version": "1"}
        return _json([{**each, **made, "id": str(n + 1)} for n, each in enumerate(self.commands)])

    async def _callback(self, request):
        told = await request.json()
        ephemeral = bool(told.get("data", {}).get("flags", 0) & EPHEMERAL)
        if told["type"] == 8:
            self.suggested.append(told["data"]["choices"])
        elif told["type"] == 5:
            self.open = ephemeral
        self._keep("callback", told)
        return _json({"interaction": {"id": request.match_info["id"], "type": 2}})

    def _message(self, told, ephemeral):
        number = str(len(self.messages) + 1)
        self.messages[number] = {"ephemeral": ephemeral, **told}
        author = {"author": USER, "channel_id": "1000000000000000004", "type": 0, "flags": EPHEMERAL if ephemeral else 0}
        rest = {"embeds": [], "attachments": [], "mentions": [], "mention_roles": [], "components": []}
        when = {"timestamp": "2026-01-01T00:00:00+00:00", "edited_timestamp": None, "mention_everyone": False}
        return {"id": number, "content": told["content"], "tts": False, "pinned": False, **author, **rest, **when}

    async def _edit(self, request):
        told = await request.json()
        assert self.open is not None, "there is no promise to fulfil"
        message = self._message(told, self.open)
        self.open = None
        self._keep("edit", told)
        return _json(message)

    async def _delete(self, request):
        self.open = None
        self._keep("delete", None)
        return web.Response(status=204)

    async def _follow(self, request):
        told = await request.json()
        ephemeral = bool(told.get("flags", 0) & EPHEMERAL) if self.open is None else self.open
        self.open = None
        message = self._message(told, ephemeral)
        self._keep("follow", told)
        return _json(message)
