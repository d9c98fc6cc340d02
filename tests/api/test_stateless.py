"""Both games over HTTP without a table. The rules have tests of their own; these are about what the wire makes of them."""

import asyncio
import re
from fractions import Fraction
from urllib.parse import urlencode

import httpx
import msgspec
import pytest

from service import logs
from service.api import edge
from service.api.problems import STATUS
from service.app import create_app
from service.dice import Chance
from service.settings import Settings
from service.systems import SYSTEMS

SETTINGS = Settings(redis_url="redis://nowhere", access_log=False)


class Scripted(Chance):
    """Dice that show what they are told to, and no more than that."""

    def __init__(self):
        self.faces = []

    def below(self, end):
        face = self.faces.pop(0)
        assert 1 <= face <= end
        return face - 1


DICE = Scripted()
APP = create_app(SETTINGS, DICE)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def call(method, url, app=APP, **told):
    async def called():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://emberdice") as client:
            return await client.request(method, url, **told)

    return asyncio.run(called())


def get(url, **told):
    answer = call("GET", url, **told)
    assert answer.status_code == 200, answer.text
    return answer


def post(url, asked, **told):
    answer = call("POST", url, json=asked, **told)
    assert answer.status_code == 200, answer.text
    return answer


# Worked cases: path, request, part of the answer.

WORKED = [
    (
        "/v1/sixd6/rolls",
        {"base": 5, "red": 1, "difficulty": "hard", "faces": [6, 4, 3, 2, 2, 1, 5]},
        {
            "successes": 2, "needed": 3, "margin": -1, "passed": False, "reached": "normal", "outcome": "failure",
            "all_sixes": False, "complications": 1, "truncated": False, "system": "sixd6", "source": "provided",
        },
    ),
    (
        "/v1/sixd6/rolls",
        {"base": 1, "difficulty": "normal", "faces": [6, 1]},
        {"successes": 1, "outcome": "failure", "all_sixes": True, "reached": "easy"},
    ),
    (
        "/v1/sixd6/rolls",
        {"base": 0, "difficulty": "easy", "faces": []},
        {"successes": 0, "outcome": "critical_failure", "margin": -1, "reached": None, "dice": []},
    ),
    (
        "/v1/sixd6/rolls",
        {"base": 2, "faces": [5, 6, 2]},
        {"successes": 2, "difficulty": None, "needed": None, "margin": None, "passed": None, "outcome": "success"},
    ),
    (  # D8
        "/v1/sixd6/damage",
        {"die": "d12", "protections": ["heavy", "light"], "soak": {"kind": "composure", "base": 2}, "faces": [7, 6, 5, 5]},
        {
            "rolled_die": "d10", "rolled": 7, "damage": 4, "trauma": 1, "conversions_possible": 1,
            "protections_left": [], "protections_destroyed": ["heavy", "light"],
            "steps": [
                {"step": "heavy_protection", "before": "d12", "after": "d10"},
                {"step": "damage_roll", "after": 7},
                {"step": "light_protection", "before": 7, "after": 6},
                {"step": "soak", "before": 6, "after": 4, "sixes": 1, "trauma": 1},
            ],
        },
    ),
    (  # D7
        "/v1/sixd6/damage",
        {"die": "d2", "protections": ["heavy", "light"], "soak": {"kind": "grit", "base": 3}, "faces": []},
        {"rolled_die": None, "rolled": None, "damage": 0, "protections_left": ["light"], "protections_destroyed": ["heavy"]},
    ),
    (  # B4
        "/v1/burn2d6/rolls",
        {"value": 8, "burned": 3, "dice_count": 4, "burn_stat": 2, "faces": [3, 4]},
        {
            "rolled": 2, "total": 7, "margin": 1, "outcome": "success", "burned": {"before": 3, "after": 5},
            "stat_burned_out": False, "out_of_action": False, "surge_regained": False, "system": "burn2d6",
        },
    ),
    (  # B10
        "/v1/burn2d6/rolls",
        {"value": 5, "dice_count": 1, "burned_out_count": 1, "spend_surge": True, "faces": [6]},
        {"outcome": "failure", "surge_spent": True, "surge_regained": True},
    ),
    (  # B11
        "/v1/burn2d6/rolls",
        {"value": 4, "burned": 3, "burned_out_count": 1, "burn_stat": 1, "faces": [2, 3]},
        {"outcome": "failure", "stat_burned_out": True, "out_of_action": True},
    ),
    (  # B3, the example
        "/v1/burn2d6/damage",
        {"stats": {"move": {"value": 7, "burned": 5}, "soul": {"value": 4, "burned": 3}}, "hit": {"move": 2, "soul": 2}},
        {"burned_out_stats": ["move", "soul"], "overflow": 1, "out_of_action": True, "extra_dice": 0, "avoided": False},
    ),
    (
        "/v1/burn2d6/build",
        {"stat_burns": 9, "slot_burns": 2, "stats_burned_out": 1, "rates": {"slot_burn": 3}},
        {"build": 16, "rates": {"stat_burn": 1, "slot_burn": 3, "stat_burned_out": 1}, "default_rates": False},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "asked", "expected"), WORKED, ids=lambda part: str(part)[:70])
def test_a_worked_case(path, asked, expected):
    answer = post(path, asked).json()
    assert {name: answer[name] for name in expected} == expected
    assert answer["text"]
    assert answer["lang"] == "en"


def test_every_die_is_listed_in_the_order_of_the_faces():
    faces = [6, 4, 6, 5, 1]
    dice = post("/v1/sixd6/rolls", {"base": 2, "red": 1, "faces": faces}).json()["dice"]
    assert [die["face"] for die in dice] == faces
    assert [(die["kind"], die["wave"]) for die in dice] == [
        ("base", 0), ("base", 0), ("red", 0), ("base", 1), ("red", 1)
    ]  # fmt: skip
    assert [die["successes"] for die in dice] == [1, 0, 1, 1, 0]


def exactly(chances):
    return sum(Fraction(each["fraction"]) for each in chances)


def test_the_odds_of_a_pool_are_exact():
    odds = get("/v1/sixd6/odds?base=4&difficulty=normal&up_to=2").json()
    assert [(each["fraction"], each["percent"]) for each in odds["at_least"]] == [("65/81", 80.247), ("115/243", 47.325)]
    assert exactly(odds["outcomes"].values()) == 1
    assert exactly(odds["complications"]) == 1


def test_the_table_of_odds_has_a_row_a_difficulty():
    rows = get("/v1/sixd6/odds/table").json()["rows"]
    assert [row["difficulty"] for row in rows] == ["easy", "normal", "hard", "exceptional", "extreme", "impossible"]
    assert [cell["percent"] for cell in rows[1]["cells"]] == [5.556, 18.519, 33.333, 47.325, 59.396, 69.273]


def test_the_odds_of_a_hit_are_a_distribution():
    asked = {"die": "d6", "protections": ["light"], "soak": {"kind": "composure", "base": 2}}
    assert exactly(post("/v1/sixd6/damage/odds", asked).json()["wounds"]) == 1


def test_the_odds_of_an_action_say_what_a_burn_buys():
    odds = get("/v1/burn2d6/odds?value=7&dice_count=2").json()
    assert odds["success"] == {"fraction": "5/12", "percent": 41.667}
    assert exactly([odds["success"], odds["partial_success"], odds["failure"]]) == 1
    assert [(each["burn"], each["success"]["fraction"]) for each in odds["with_burns"]] == [(1, "1/1")]


def test_a_batch_answers_every_roll_in_one_sentence():
    asked = [{"base": 1, "faces": [5]}, {"base": 2, "difficulty": "easy", "faces": [1, 2], "label": "Zoé"}]
    batch = post("/v1/sixd6/rolls/batch", {"rolls": asked}).json()
    alone = [post("/v1/sixd6/rolls", each).json() for each in asked]
    assert batch["results"] == alone
    assert batch["text"] == f"1. {alone[0]['text']} 2. {alone[1]['text']}"


def test_a_batch_says_nothing_of_its_secret_rolls():
    asked = [{"value": 7, "faces": [1, 2], "visibility": "blind"}, {"value": 7, "faces": [6, 6]}]
    batch = post("/v1/burn2d6/rolls/batch", {"rolls": asked}).json()
    assert batch["text"].startswith(f"1. {batch['results'][0]['public_text']} 2. Failure")


# The same roll by POST, by GET and as a form.

TWINS = [
    # path of the POST, of the GET, JSON body, pairs
    ("/v1/sixd6/rolls", "/v1/sixd6/roll", {"base": 5, "red": 1, "difficulty": "hard", "faces": [6, 4, 3, 2, 2, 1, 5]},
     {"base": "5", "red": "1", "difficulty": "hard", "faces": "6,4,3,2,2,1,5"}),
    ("/v1/sixd6/rolls", "/v1/sixd6/roll", {"base": 0, "faces": [], "label": "Zoé & Max"},
     {"base": "0", "red": "", "difficulty": "", "label": "Zoé & Max", "roll_rest": "true"}),
    ("/v1/sixd6/damage", "/v1/sixd6/damage", {"die": "d8", "protections": ["heavy"], "faces": [5]},
     {"die": "d8", "heavy": "true", "light": "false", "faces": "5"}),
    ("/v1/sixd6/damage", "/v1/sixd6/damage",
     {"die": "d8", "protections": ["light", "heavy"], "soak": {"kind": "grit", "base": 2, "red": 1}, "faces": [5, 6, 2, 1]},
     {"die": "d8", "heavy": "true", "light": "true", "soak": "grit", "soak_base": "2", "soak_red": "1", "faces": "5,6,2,1"}),
    ("/v1/sixd6/damage", "/v1/sixd6/damage",
     {"die": "d6", "soak": {"kind": "composure", "base": 2, "max_conversions": 1}, "faces": [5, 6, 2, 6, 3]},
     {"die": "d6", "soak": "composure", "soak_base": "2", "max_conversions": "1", "faces": "5,6,2,6,3"}),
    ("/v1/burn2d6/rolls", "/v1/burn2d6/roll", {"value": 5, "spend_surge": True, "faces": [4]},
     {"value": "5", "spend_surge": "true", "faces": "4"}),
    ("/v1/burn2d6/rolls", "/v1/burn2d6/roll", {"value": 6, "burned_out_count": 1, "helpers": 1, "faces": [2, 3]},
     {"value": "6", "burned_out_count": "1", "helpers": "1", "faces": "2,3"}),
]  # fmt: skip


@pytest.mark.parametrize(("posted", "got", "asked", "pairs"), TWINS, ids=lambda part: str(part)[:50])
@pytest.mark.parametrize("lang", ["fr", "en"])
def test_query_and_form_answer_like_json(posted, got, asked, pairs, lang):
    by_json = post(f"{posted}?lang={lang}", asked).json()
    by_query = get(f"{got}?{urlencode({**pairs, 'lang': lang})}").json()
    by_form = call("POST", f"{posted}?lang={lang}", data=pairs).json()
    if "roll_rest" in pairs:
        by_json["source"] = "service"
    assert by_query == by_form == by_json


SPOKEN = [
    # as typed, the same as
    ("roll?base=0&difficulty=Difficile", "roll?base=0&difficulty=hard"),
    ("roll?base=0&difficulty=EXTREME", "roll?base=0&difficulty=extreme"),
    ("roll?base=0&difficulty=extr%C3%AAme", "roll?base=0&difficulty=extreme"),
    ("roll?base=0&difficulty=3+succes", "roll?base=0&difficulty=hard"),
    ("roll?base=0&difficulty=%20Difficult%20", "roll?base=0&difficulty=hard"),
    ("damage?die=1D8&faces=3", "damage?die=d8&faces=3"),
    ("damage?die=Arme+%C3%A0+feu&faces=3", "damage?die=d6&faces=3"),
    ("damage?die=arme+a+feu&faces=3", "damage?die=d6&faces=3"),
    ("damage?die=d6&soak=serrer+les+dents&soak_base=0&faces=3", "damage?die=d6&soak=grit&soak_base=0&faces=3"),
    ("damage?die=d6&soak=Plus+de+peur+que+de+mal&soak_base=0&faces=3", "damage?die=d6&soak=composure&soak_base=0&faces=3"),
]


@pytest.mark.parametrize(("typed", "same"), SPOKEN)
@pytest.mark.parametrize("lang", ["fr", "en"])
def test_game_words_are_understood_in_both_languages(typed, same, lang):
    assert get(f"/v1/sixd6/{typed}&lang={lang}").json() == get(f"/v1/sixd6/{same}&lang={lang}").json()
    path, _, pairs = typed.partition("?")
    path = {"roll": "rolls"}.get(path, path)
    by_form = call("POST", f"/v1/sixd6/{path}?lang={lang}", headers=FORM, content=pairs.encode())
    assert by_form.json() == get(f"/v1/sixd6/{same}&lang={lang}").json()


# Where the faces come from.

SOURCES = [
    # request, faces of the service's dice, source, all faces
    ({"base": 2}, [6, 2, 3], "service", [6, 2, 3]),
    ({"base": 2, "faces": [6, 2, 3]}, [], "provided", [6, 2, 3]),
    ({"base": 2, "faces": [6, 2, 3], "roll_rest": True}, [], "provided", [6, 2, 3]),
    ({"base": 2, "faces": [6, 2], "roll_rest": True}, [3], "mixed", [6, 2, 3]),
    ({"base": 2, "faces": [6], "roll_rest": True}, [6, 4, 4], "mixed", [6, 6, 4, 4]),
    ({"base": 2, "faces": [], "roll_rest": True}, [1, 2], "service", [1, 2]),
    ({"base": 2, "roll_rest": True}, [1, 2], "service", [1, 2]),
]


@pytest.mark.parametrize(("asked", "dice", "source", "faces"), SOURCES)
def test_the_answer_says_where_the_faces_came_from(asked, dice, source, faces):
    DICE.faces = list(dice)
    answer = post("/v1/sixd6/rolls", asked).json()
    assert answer["source"] == source
    assert [die["face"] for die in answer["dice"]] == faces
    assert DICE.faces == []


def test_a_soak_may_be_chosen_after_the_damage_was_seen():
    DICE.faces = [5, 6, 2, 2]
    seen = post("/v1/sixd6/damage", {"die": "d8"}).json()
    soak = {"kind": "grit", "base": 3}
    again = post("/v1/sixd6/damage", {"die": "d8", "faces": [seen["rolled"]], "roll_rest": True, "soak": soak}).json()
    assert (seen["damage"], again["rolled"], again["damage"], again["source"]) == (5, 5, 3, "mixed")


def test_the_answers_own_faces_give_the_same_answer():
    DICE.faces = [6, 6, 1, 6, 2, 3]
    first = post("/v1/sixd6/rolls", {"base": 2, "red": 1, "difficulty": "hard"}).json()
    faces = [die["face"] for die in first["dice"]]
    again = post("/v1/sixd6/rolls", {"base": 2, "red": 1, "difficulty": "hard", "faces": faces}).json()
    assert {**again, "source": "service"} == first


# What is secret.


@pytest.mark.parametrize("visibility", ["gm", "blind", "self"])
@pytest.mark.parametrize("lang", ["fr", "en"])
def test_what_the_table_may_read_is_the_same_for_every_secret_roll(visibility, lang):
    asked = [
        ("/v1/sixd6/rolls", {"base": 0}),
        ("/v1/sixd6/rolls", {"base": 6, "red": 6, "faces": [1] * 12, "label": "Zoé"}),
        ("/v1/sixd6/damage", {"die": "d12", "faces": [12]}),
        ("/v1/burn2d6/rolls", {"value": 7, "faces": [1, 1]}),
    ]
    answers = [post(f"{path}?lang={lang}", {**each, "visibility": visibility}).json() for path, each in asked]
    (public,) = {answer["public_text"] for answer in answers}
    assert not re.search(r"\d", public)
    assert all(answer["visibility"] == visibility and answer["text"] != public for answer in answers)
    for path, each in asked:
        sent = post(f"{path}?lang={lang}&format=text", {**each, "visibility": visibility})
        assert sent.text == f"{public}\n"


def test_a_public_roll_has_no_second_text():
    assert "public_text" not in post("/v1/sixd6/rolls", {"base": 0, "visibility": "public"}).json()


# Labels are shown as they came; what they could do to a page is prevented by how they are sent.


@pytest.mark.parametrize(
    "label", ["<script>alert(1)</script>", "@everyone *[x](y)* `z` | 100 %", "Zoé’s  roll", "שלום", "👨‍👩‍👧‍👦"]
)
def test_a_label_stands_in_front(label):
    answer = post("/v1/sixd6/rolls", {"base": 0, "label": label})
    assert answer.json()["label"] == label
    assert answer.json()["text"] == f"{label} — Critical failure: 0 successes. No dice to roll."
    assert answer.headers["content-type"] == "application/json"
    alone = post("/v1/sixd6/rolls?format=text", {"base": 0, "label": label})
    assert alone.text.startswith(f"{label} — ")
    assert alone.headers["content-type"] == "text/plain; charset=utf-8"
    assert alone.headers["x-content-type-options"] == answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("turning", ["\u202e", "\u2066", "\u200f", "\u2028", "\x85", "\x1b", "\n"])
def test_a_label_turns_and_breaks_no_line(turning):
    answer = call("POST", "/v1/sixd6/rolls", json={"base": 0, "label": f"Zoé{turning}"})
    assert (answer.status_code, answer.json()["errors"][0]["at"]) == (422, "body.label")


# References, and what never changes.

TAGGED = [
    "/v1/systems",
    "/v1/sixd6/reference",
    "/v1/burn2d6/reference",
    "/v1/sixd6/reference?lang=fr",
    "/v1/sixd6/reference?format=text",
    "/problems/busy",
    "/openapi.json",
    "/docs",
]


@pytest.mark.parametrize("url", TAGGED)
def test_what_a_caller_has_is_not_sent_again(url):
    answer = get(url)
    tag = answer.headers["etag"]
    assert re.fullmatch(r'"[0-9a-f]{24}"', tag)
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = call("GET", url, headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert again.headers.get("cache-control") == answer.headers.get("cache-control")
        assert again.headers.get("vary") == answer.headers.get("vary")
        assert call("HEAD", url, headers={"If-None-Match": known}).status_code == 304
    assert call("GET", url, headers={"If-None-Match": '"other"'}).content == answer.content


def test_each_form_of_a_reference_has_a_tag_of_its_own():
    urls = [f"/v1/sixd6/reference?{each}" for each in ("lang=en", "lang=fr", "lang=fr&format=text", "lang=fr&max=20")]
    assert len({get(url).headers["etag"] for url in urls}) == len(urls)


@pytest.mark.parametrize(
    "url", [*TAGGED, "/v1/sixd6/odds?base=4", "/v1/sixd6/odds/table", "/v1/burn2d6/odds?value=7", "/health/live"]
)
def test_a_head_answers_like_its_get_without_the_body(url):
    whole, head = get(url), call("HEAD", url)
    assert head.status_code == 200
    assert head.content == b""
    apart = {"x-request-id"}
    assert {n: v for n, v in head.headers.items() if n not in apart} == {
        n: v for n, v in whole.headers.items() if n not in apart
    }


@pytest.mark.parametrize("lang", ["fr", "en"])
@pytest.mark.parametrize("game", SYSTEMS)
def test_a_reference_names_everything_in_both_languages(game, lang):
    reference = get(f"/v1/{game}/reference?lang={lang}").json()
    for entries in (each for each in reference.values() if isinstance(each, list)):
        assert entries
        assert all(entry["id"] and (entry.get("label") or entry["text"]) for entry in entries)
        assert len({entry["id"] for entry in entries}) == len(entries)


def test_the_systems_are_listed_with_their_references():
    systems = get("/v1/systems").json()["systems"]
    assert [each["id"] for each in systems] == list(SYSTEMS)
    assert all(get(each["reference"]).is_success for each in systems)


@pytest.mark.parametrize("code", STATUS)
def test_every_problem_has_its_page_in_both_languages(code):
    french, english = (get(f"/problems/{code}?lang={lang}").json() for lang in ("fr", "en"))
    assert french["code"] == english["code"] == code
    assert french["status"] == english["status"] == STATUS[code][0]
    for member in ("title", "about", "text"):
        assert french[member] != english[member]
        assert french[member].strip()
        assert english[member].strip()


def test_the_page_of_a_problem_is_where_its_type_says():
    refused = call("GET", "/v1/sixd6/roll").json()
    assert get(refused["type"]).json()["code"] == refused["code"]


def test_links_start_with_the_public_url():
    app = create_app(Settings(redis_url="redis://nowhere", access_log=False, public_url="https://dice.example/emberdice"))
    assert (
        get("/v1/systems", app=app).json()["systems"][0]["reference"] == "https://dice.example/emberdice/v1/sixd6/reference"
    )
    refused = call("GET", "/v1/sixd6/roll", app=app).json()
    assert refused["type"] == "https://dice.example/emberdice/problems/invalid-request"
    assert refused["instance"] == "/v1/sixd6/roll"
    assert get("/openapi.json", app=app).json()["servers"] == [{"url": "https://dice.example/emberdice"}]


# Health. There is no Redis here, and nothing above misses it.


def test_the_service_lives_without_its_store_and_is_not_ready():
    assert get("/health/live").json()["status"] == "ok"
    ready = call("GET", "/health/ready")
    assert (ready.status_code, ready.json()["code"], ready.headers["retry-after"]) == (503, "store-unavailable", "1")


# Headers.


@pytest.mark.parametrize("lang", ["fr", "en"])
def test_answers_say_their_language_and_what_they_depend_on(lang):
    for url in ("/v1/sixd6/roll?base=0", "/v1/sixd6/odds?base=1", "/v1/systems", "/nowhere", "/v1/sixd6/roll"):
        answer = call("GET", url, headers={"Accept-Language": lang})
        assert answer.headers["vary"] == "Accept, Accept-Language"
        assert answer.headers["content-language"] == answer.json()["lang"] == lang
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("url", ["/v1/sixd6/roll?base=0", "/v1/sixd6/damage?die=d6&faces=1", "/nowhere", "/v1/sixd6/roll"])
def test_nothing_keeps_a_roll_or_an_error(url):
    assert call("GET", url).headers["cache-control"] == "no-store"


@pytest.mark.parametrize("url", ["/v1/sixd6/odds?base=1", "/v1/systems", "/v1/sixd6/reference"])
def test_what_is_always_the_same_may_be_kept(url):
    assert "no-store" not in get(url).headers.get("cache-control", "")


@pytest.mark.parametrize("url", ["/v1/systems", "/nowhere", "/v1/sixd6/roll", "/docs"])
def test_a_request_id_comes_back(url):
    assert call("GET", url, headers={"X-Request-Id": "Table-7.a_b"}).headers["x-request-id"] == "Table-7.a_b"


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a;b", "é".encode("latin-1"), b"\xff"])
def test_an_odd_request_id_is_replaced(given):
    made = call("GET", "/v1/systems", headers={"X-Request-Id": given}).headers["x-request-id"]
    assert re.fullmatch(r"[0-9a-f]{16}", made)


def test_every_request_has_an_id_of_its_own():
    assert len({get("/v1/systems").headers["x-request-id"] for _ in range(20)}) == 20


# Faults of our own.

SECRET = "the password is swordfish"


class Broken(Chance):
    def below(self, end):
        raise RuntimeError(SECRET)


@pytest.fixture(scope="module")
def broken():
    return create_app(SETTINGS, Broken())


@pytest.mark.parametrize("lang", ["fr", "en"])
def test_a_fault_is_a_problem_that_betrays_nothing_and_is_logged_under_its_id(lang, broken, caplog):
    answer = call("POST", f"/v1/sixd6/rolls?lang={lang}", app=broken, json={"base": 1}, headers={"X-Request-Id": "fault-1"})
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["lang"]) == (500, "internal-error", lang)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-request-id"] == "fault-1"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert not re.search("swordfish|Traceback|RuntimeError", answer.text)
    assert any("fault-1" in record.message and record.exc_info for record in caplog.records)


def test_a_fault_may_come_with_status_200_or_as_text(broken):
    soft = call("GET", "/v1/sixd6/roll?base=1&errors=200", app=broken)
    assert (soft.status_code, soft.json()["status"]) == (200, 500)
    said = call("GET", "/v1/sixd6/roll?base=1&format=text", app=broken)
    assert (said.status_code, said.headers["content-type"]) == (500, "text/plain; charset=utf-8")
    assert said.text == f"{soft.json()['text']}\n"


def test_a_fault_outside_every_handler_is_a_problem_too(monkeypatch, caplog):
    def fail(scope):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(edge, "_too_much", fail)
    answer = call("GET", "/v1/systems", headers={"X-Request-Id": "fault-2"})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal-error")
    assert SECRET not in answer.text
    assert any("fault-2" in record.message for record in caplog.records)


@pytest.mark.parametrize("host", ["a, b", "a b"])
def test_a_host_that_cannot_be_one_is_no_fault_of_ours(host):
    answer = call("GET", "/v1/sixd6/roll?base=1", headers={"Host": host})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request")


# The access log.


def test_the_access_log_has_no_query_and_no_forged_line(capfd):
    app = create_app(Settings(redis_url="redis://nowhere"))
    call("GET", "/v1/systems?token=hush", app=app, headers={"X-Request-Id": "seen-1"})
    call("GET", "/a%0Aforged", app=app, headers={"X-Request-Id": "seen-2"})
    logs.writer.flush()
    said = capfd.readouterr().err
    told = [msgspec.json.decode(line, type=logs.Answered) for line in said.splitlines()]
    assert [(each.request_id, each.method, each.path, each.status) for each in told] == [
        ("seen-1", "GET", "/v1/systems", 422),
        ("seen-2", "GET", r"/a\nforged", 404),
    ]
    assert "hush" not in said
