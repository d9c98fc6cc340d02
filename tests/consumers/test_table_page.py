"""The table's page in a real browser: what it shows, to whom, when the line breaks, and what names cannot do to it."""

import re
from math import ceil

import httpx
import pytest

from tests.consumers.reading import WITHIN_S, Reader, below_a_path, obstacles, too_wide
from tests.consumers.sitting import Sitting, evening
from tests.live import Service, until
from tests.tools import chromium, resize

NETWORK = re.compile(r"Failed to load resource|net::ERR_")
LANGS = ["en", "fr"]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser")) as driver:
        yield driver


@pytest.fixture
def reader(driver):
    driver.get_log("browser")
    resize(driver, 1280, 900)
    reader = Reader(driver)
    yield reader
    assert reader.console() == []  # nor a word of a policy that was broken


@pytest.fixture(scope="module")
def friday(service):
    """For tests that only look."""
    with evening(service.address) as table:
        yield table


@pytest.fixture
def table(service):
    with Sitting(service.address, name="Friday", characters=["Zoé", "Max"], settings={"tier_size": 3}) as table:
        yield table


def zoe(table):
    return next(each for each in table.ask("GET /state")["characters"] if each["character"]["id"] == "zoe")


# What is shown.


@pytest.mark.parametrize("lang", LANGS)
def test_who_has_which_cards_with_their_effects(reader, friday, lang):
    reader.opens(friday.page(lang=lang))
    state = friday.ask("GET /state", by=friday.observer, lang=lang)
    for each in state["characters"]:
        here = f"#characters > .person:nth-child({state['characters'].index(each) + 1})"
        assert reader.texts(f"{here} .name") == [each["character"]["name"]]
        assert reader.texts(f"{here} .card .title") == [card["name"] for card in each["cards"]]
        assert reader.texts(f"{here} .card .effect") == [card["effect"] for card in each["cards"]]
    assert reader.texts("#common .card .effect") == [card["effect"] for card in state["table_cards"]]
    assert len(reader.texts(".card")) == 8
    assert reader.run("return document.documentElement.lang") == lang


def test_characters_their_levels_and_their_opponents(reader, friday):
    reader.opens(friday.page(lang="fr"))
    facts = {
        name: reader.texts(f"#characters > :nth-child({at}) .fact") for at, name in enumerate(reader.texts(".name")[:4], 1)
    }
    assert facts["Zoé"] == ["Dégâts 0", "Trauma 2", "Protection lourde"]
    assert facts["Ying"] == ["Dégâts 4", "Trauma 0", "Encaissement à choisir"]
    assert facts["Max"] == ["Move 7/7", "Soul 1/4", "Eyes 0/8", "Heart 0/6", "Jetpack 1/3", "Surge"]
    assert reader.texts("#characters .who") == ["PNJ · absent"]
    assert reader.texts("#opponents > *") == ["Le ColosseBrûlures 0/9"]
    assert reader.texts("#piles > *") == [
        "Complications graves\u202f: 16 dans la pioche",
        "Complications légères\u202f: 37 dans la pioche",
    ]


@pytest.mark.parametrize("lang", LANGS)
def test_the_log_newest_first_with_what_was_taken_back(reader, friday, lang):
    reader.opens(friday.page(lang=lang))
    events = friday.ask("GET /events", by=friday.observer, lang=lang)["events"]
    assert reader.texts("#log .text") == [event["text"] for event in reversed(events)]
    (undone,) = [event["data"]["undone"] for event in events if event["type"] == "undo"]
    struck = reader.texts("#log .undone .text")
    assert struck == [event["text"] for event in events if event["id"] == undone]


def test_timers_count_down_and_stand_still_with_the_clock(reader, table):
    table.ask("POST /characters/zoe/sixd6/healing", care="calm_self", base=3, trauma=4, faces=[5, 5, 2])
    reader.opens(table.page(lang="en"))
    assert reader.texts(".timer .what") == ["Calm yourself", "Trauma: 2/3 points healed"]
    until(lambda: all(each.startswith("1:59:") for each in reader.texts(".timer .left")), WITHIN_S)
    shown = reader.texts(".timer .left")
    until(lambda: all(now < then for now, then in zip(reader.texts(".timer .left"), shown, strict=True)), WITHIN_S)
    table.ask("POST /clock", action="advance", seconds=3_600)
    until(lambda: all(each.startswith("0:59:") for each in reader.texts(".timer .left")), WITHIN_S)
    table.ask("POST /clock", action="pause")
    until(lambda: reader.run("return document.body.dataset.clock") == "paused", WITHIN_S)
    assert reader.texts("#paused") == ["(paused)"]
    (again,) = [care["next_roll"] for care in zoe(table)["healing"]["cares"] if not care["ready"]]
    left = ceil(again["at_elapsed_seconds"] - table.ask("GET /clock")["elapsed_seconds"])
    assert again["remaining_seconds"] <= left <= again["remaining_seconds"] + 1
    until(lambda: reader.texts(".timer .left")[0] == f"0:{left // 60:02}:{left % 60:02}", WITHIN_S)
    table.ask("POST /clock", action="advance", seconds=3_600)
    until(lambda: reader.texts(".timer") == [], WITHIN_S)


def test_a_timer_that_runs_out_goes_by_itself(reader, table):
    table.ask("POST /characters/zoe/sixd6/healing", care="calm_self", base=3, trauma=4, faces=[5, 5, 2])
    table.ask("POST /clock", action="advance", seconds=7_197)
    reader.opens(table.page())
    until(lambda: reader.texts(".timer") == [], WITHIN_S)


# Live.


def test_what_happens_is_shown_as_it_happens(reader, table):
    reader.opens(table.page(lang="fr"))
    drawn = table.ask("POST /decks/light/draws", lang="fr", character="max")
    reader.waits_for(drawn["text"], "#log > :first-child")
    reader.waits_for(drawn["cards"][0]["effect"], "#characters > :first-child .cards")
    table.ask("POST /discards", all=True)
    until(lambda: reader.texts(".card") == [], WITHIN_S)
    table.ask("PATCH ", name="Samedi")
    reader.waits_for("Samedi", "h1")
    assert reader.run("return document.title") == "Samedi"


def test_the_log_is_said_politely_and_only_what_is_new(reader, table):
    reader.opens(table.page(lang="en"))
    table.ask("POST /decks/light/draws", character="max")
    until(lambda: len(reader.texts("#log > li")) == 1, WITHIN_S)
    reader.run(
        "window.added = []; new MutationObserver((all) => all.forEach((each) => added.push(...each.addedNodes)))"
        ".observe(document.querySelector('#log'), { childList: true, subtree: true });"
    )
    table.ask("POST /decks/light/draws", character="max")
    until(lambda: len(reader.texts("#log > li")) == 2, WITHIN_S)
    assert reader.run("return added.filter((each) => each.nodeName === 'LI').length") == 1
    assert reader.run("return document.querySelector('#log').parentElement.role") == "log"  # polite by definition


def test_a_secret_is_kept_from_an_observer(reader, table):
    reader.opens(table.page(lang="en"))
    table.ask("POST /characters/zoe/sixd6/rolls", base=3, faces=[5, 5, 2], visibility="gm")
    drawn = table.ask("POST /decks/grave/draws", lang="en", character="zoe", visibility="gm")
    table.ask("POST /characters/zoe/sixd6/rolls", base=2, faces=[5, 2])
    reader.waits_for("Dice: 5 2.", "#log > :first-child")
    assert reader.texts("#log .secret .text") == ["Cards were drawn in secret.", "A roll was made in secret."]
    page = reader.run("return document.documentElement.outerHTML")
    assert drawn["cards"][0]["name"] not in page
    assert drawn["cards"][0]["effect"] not in page
    assert "5 5 2" not in page


# Who may look.


def test_a_players_token_leaves_the_address_and_works_on(reader, table):
    reader.opens(table.page(table.tokens["player"], lang="en"))
    assert "token" not in reader.driver.current_url
    table.ask("POST /characters/zoe/sixd6/rolls", by="player", base=3, faces=[5, 5, 2], visibility="self")
    reader.waits_for("Dice: 5 5 2.", "#log > :first-child")
    assert reader.texts("#log .mark") == ["secret"]
    reader.driver.refresh()
    until(lambda: reader.state == "live", WITHIN_S)
    reader.waits_for("Dice: 5 5 2.", "#log > :first-child")


def test_no_address_that_is_asked_for_holds_a_token_and_none_leads_elsewhere(reader, friday):
    reader.opens(friday.page())
    asked = reader.run("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert len(asked) >= 9
    assert all(each.startswith(f"{friday.address}/") for each in asked)
    assert friday.observer not in " ".join(asked)
    assert friday.observer in reader.driver.current_url  # for a bookmark, and for OBS


@pytest.mark.parametrize(
    ("token", "told", "said"),
    [
        ("gm", {}, "A game master’s token"),
        ("player", {"overlay": "cards"}, "A stream is shown what everyone may see"),
        ("ember_observer_nonsense", {}, "This token opens no such table"),
        ("not a token", {}, "This address is not right"),
        ("observer", {"overlay": "wallpaper"}, "This address is not right"),
    ],
)
def test_what_does_not_open_the_page_is_said_in_words(reader, table, token, told, said):
    reader.expected = re.compile(r"/state - Failed to load resource.* 401")
    token = {**table.tokens, "observer": table.observer}.get(token, token)
    reader.opens(table.page(token, lang="en", **told), until_it_says="door")
    assert reader.notice().startswith(said)
    assert reader.texts("#table") == []
    assert reader.texts(".person") == []


@pytest.mark.parametrize(
    ("token", "told"),
    [("gm", {}), ("gm", {"overlay": "wallpaper"}), ("player", {"overlay": "cards"}), ("ember_gm_nonsense", {})],
)
def test_a_token_that_can_do_more_than_look_leaves_the_address_before_it_is_refused(reader, table, token, told):
    reader.expected = re.compile(r"/state - Failed to load resource.* 401")
    token = table.tokens.get(token, token)
    reader.opens(table.page(token, lang="en", **told), until_it_says="door")
    assert token not in remembered(reader)


def test_a_token_that_can_do_more_than_look_leaves_the_address_of_a_service_that_does_not_answer(reader, table):
    reader.expected = NETWORK
    reader.driver.execute_cdp_cmd("Network.enable", {})
    reader.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/v1/*"]})
    try:
        reader.opens(table.page(table.tokens["gm"]), until_it_says="cut")
        assert table.tokens["gm"] not in reader.driver.current_url
    finally:
        reader.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
        reader.driver.execute_cdp_cmd("Network.disable", {})


def remembered(reader):
    """What the browser keeps of the page: addresses where it has been, and what pages have put away."""
    been = reader.driver.execute_cdp_cmd("Page.getNavigationHistory", {})["entries"]
    kept = reader.run("return JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }])")
    return " ".join([kept, *(each["url"] for each in been)])


def test_the_door_opens_a_table(reader, table):
    reader.opens(f"{table.address}/table", until_it_says="door")
    fields = {name: reader.driver.find_element("name", name) for name in ("table", "token")}
    fields["table"].send_keys(f"{table.address}/v1/sessions/{table.id}")
    fields["token"].send_keys(f" {table.observer}\n")
    until(lambda: reader.state == "live", WITHIN_S)
    assert reader.texts("h1") == ["Friday"]
    reader.run("sessionStorage.clear()")
    assert table.observer not in remembered(reader)
    assert reader.texts("#obs") == []


def test_the_door_makes_an_address_for_a_stream(reader, table):
    reader.opens(f"{table.address}/table", until_it_says="door")
    reader.driver.find_element("css selector", "[value=log]").click()
    reader.driver.find_element("name", "table").send_keys(table.id)
    reader.driver.find_element("name", "token").send_keys(f"{table.observer}\n")
    until(lambda: reader.state == "live", WITHIN_S)
    assert "overlay=log" in reader.driver.current_url
    assert table.observer not in reader.driver.current_url
    (address,) = until(lambda: reader.texts("#obs") and [reader.run("return document.querySelector('#obs-address').value")])
    assert too_wide(reader, hidden=False) == {}  # the address is wider than its field
    assert obstacles(reader, ignoring=OVERLAY) == []
    reader.run("sessionStorage.clear()")
    reader.opens(address)
    assert "overlay=log" in address
    assert reader.texts("#obs") == []


def test_it_does_without_the_reference_of_a_service_with_an_operators_key(reader, tmp_path):
    service = Service(tmp_path, workers=1, EMBERDICE_API_KEY="operators-key").start()
    try:
        reader.expected = re.compile(r"/reference.* 401")
        with Sitting(service.address, api_key="operators-key", characters=["Zoé"]) as table:
            table.ask("PUT /characters/zoe/sixd6", protections=["heavy"])
            reader.opens(table.page(lang="en"))
            assert reader.texts(".name") == ["Zoé"]
            assert reader.texts(".fact") == ["Damage 0", "Trauma 0", "heavy"]
            reader.expected = re.compile(r"/(reference|state).* 401")
            reader.opens(table.page("ember_observer_nonsense", lang="en"), until_it_says="door")
            assert reader.notice().startswith("This token opens no such table")
    finally:
        service.kill()


@pytest.mark.parametrize("lang", ["constructor", "__proto__", "xx", ""])
def test_a_language_that_is_none_is_one_of_the_browsers(reader, friday, lang):
    reader.opens(friday.page(lang=lang))
    assert reader.run("return document.documentElement.lang") in LANGS
    assert reader.texts("#people-title") in (["Characters"], ["Personnages"])


def test_the_language_is_chosen_and_kept(reader, friday):
    reader.opens(friday.page(lang="en"))
    reader.driver.find_element("id", "language").click()
    reader.waits_for("Personnages".upper(), "#people")
    assert reader.texts("#status") == ["En direct"]
    assert "lang=fr" in reader.driver.current_url


# When the line breaks.


def test_a_revoked_token_is_said_in_words(reader, table):
    minted = table.mint("observer")
    reader.opens(table.page(minted["token"], lang="fr"))
    table.ask(f"DELETE /tokens/{minted['id']}")
    reader.expected = NETWORK
    assert reader.notice() == "Ce jeton a été révoqué. Demandez-en un autre à votre MJ."
    assert reader.texts("#table") == []


def test_a_table_that_is_gone_is_said_in_words(reader, table):
    reader.opens(table.page(lang="fr"))
    table.ask("DELETE ")
    reader.expected = NETWORK
    assert reader.notice() == "Cette table n’existe plus\u202f: elle a été fermée."
    assert reader.texts("#table") == []


def test_the_page_comes_back_with_the_service(reader, tmp_path):
    service = Service(tmp_path, workers=1).start()
    try:
        with Sitting(service.address, characters=["Zoé"]) as table:
            reader.opens(table.page(lang="en"))
            reader.expected = NETWORK
            service.stop()
            until(lambda: reader.state == "cut", WITHIN_S)
            assert reader.texts("#status") == ["Cut off, trying again…"]
            service.start()
            missed = table.ask("POST /decks/light/draws", lang="en", character="zoe")
            until(lambda: reader.state == "live", WITHIN_S)
            drawn = table.ask("POST /decks/light/draws", lang="en", character="zoe")
            reader.waits_for(drawn["text"], "#log > :nth-child(1)")
            assert reader.texts("#log .text") == [drawn["text"], missed["text"]]
    finally:
        service.kill()


def test_below_the_path_of_a_proxy(reader, friday):
    with below_a_path(friday.address) as address:
        reader.opens(friday.page().replace(friday.address, address))
        assert reader.texts("h1") == ["Les Docks"]
        assert len(reader.texts(".card")) == 8


# What names cannot do.

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</ul></li><script>alert(1)</script>",
    "**b** `c` [d](javascript:alert(1)) @everyone",
    "&lt;b&gt; &amp; {{7*7}} ${7*7}",
    "W" * 64,
    "👩‍👩‍👧‍👦🎲🏴‍☠️" * 3,
    "Z̸̡o̸̡é̸̡" * 4,
    "زوي الطويلة جدا",
    "constructor",
]

SKELETON = """
const told = (node) => node.nodeName + (node.className ? '.' + node.className : '') +
  '(' + [...node.children].map(told).join(' ') + ')';
return told(document.querySelector('#table'));
"""


def crowd(address, names):
    """A table where everything that can be named is called so."""
    table = Sitting(address, name=names[0], settings={"tier_size": 3})
    for number, name in enumerate(names):
        table.ask("POST /characters", id=f"c{number}", name=name, player=name)
        table.ask("POST /opponents", name=name, burn_max=3)
    slots = [{"name": name, "value": 2} for name in names[:4]]
    table.ask("PUT /characters/c0/burn2d6", stats={"move": {"value": 7}}, slots=slots)
    table.ask(
        "PUT /decks/own",
        name=names[0],
        cards=[{"card": f"k{n}", "name": name, "effect": f"{name} " * 4} for n, name in enumerate(names)],
    )
    table.ask("POST /decks/own/draws", count=len(names), character="c0")
    table.ask("POST /characters/c1/sixd6/rolls", base=2, faces=[5, 2], label=names[1])
    return table


def test_names_are_text_whatever_they_are(reader, service):
    plain = [f"Name {number}" for number in range(len(HOSTILE))]
    skeletons = []
    for names in (plain, HOSTILE):
        with crowd(service.address, names) as table:
            reader.opens(table.page(lang="en"))
            skeletons.append(reader.run(SKELETON))
            assert reader.texts("#characters .name") == names
            assert sorted(reader.texts(".card .title")) == sorted(names)
            assert reader.texts("h1") == [names[0]]
            assert reader.run("return document.querySelectorAll('img, script:not([src]), #table :is(a, b, em)').length") == 0
    assert skeletons[0] == skeletons[1]


@pytest.mark.parametrize("lang", LANGS)
def test_nothing_is_wider_than_the_page(reader, service, friday, lang):
    with crowd(service.address, HOSTILE) as crowded:
        for page in (friday, crowded):
            for told in ({}, {"overlay": ",".join(PARTS)}):
                reader.opens(page.page(lang=lang, **told))
                assert too_wide(reader) == {}
    reader.opens(f"{service.address}/table#lang={lang}", until_it_says="door")
    assert too_wide(reader) == {}


# Over a stream.

PARTS = {"cards": "#characters .card", "timers": ".timer", "characters": ".fact", "log": ".event"}


@pytest.mark.parametrize(
    "chosen", [["cards"], ["timers"], ["log"], ["characters"], ["timers", "cards"], ["log", "timers"], list(PARTS)]
)
def test_an_overlay_shows_what_was_chosen_and_nothing_else(reader, friday, chosen):
    reader.opens(friday.page(overlay=",".join(chosen), lang="fr"))
    assert [part for part in PARTS if reader.texts(PARTS[part])] == [part for part in PARTS if part in chosen]
    assert reader.texts("header, h1, h2, form, #piles, .none") == []
    names = reader.texts("#characters .name")
    assert names == {
        ("cards",): ["Max", "Ying", "Zoé"],
        ("timers",): ["Ying", "Zoé"],
        ("log",): [],
        ("timers", "cards"): ["Max", "Ying", "Zoé"],
        ("log", "timers"): ["Ying", "Zoé"],
    }.get(tuple(chosen), ["Le Fixeur", "Max", "Ying", "Zoé"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_overlay_lets_the_picture_through(reader, friday, scheme):
    seen = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", seen)
    reader.driver.execute_cdp_cmd("Emulation.setDefaultBackgroundColorOverride", {"color": {"r": 0, "g": 0, "b": 0, "a": 0}})
    try:
        reader.opens(friday.page(overlay="timers"))
        corner, panel = [alpha(reader, x, y) for x, y in ((1278, 898), panel_of(reader))]
    finally:
        reader.driver.execute_cdp_cmd("Emulation.setDefaultBackgroundColorOverride", {})
        reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert corner == 0
    assert panel > 200


def panel_of(reader):
    return reader.run(
        "const at = document.querySelector('.timer').getBoundingClientRect(); return [at.right - 12, at.top + 4]"
    )


def alpha(reader, x, y):
    """How opaque a point of the picture is, 0–255."""
    picture = reader.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    return reader.driver.execute_async_script(
        """
        const [data, x, y, done] = arguments, image = new Image();
        image.onload = () => {
          const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          done(context.getImageData(x, y, 1, 1).data[3]);
        };
        image.src = "data:image/png;base64," + data;
        """,
        picture,
        x,
        y,
    )


# For everybody.


@pytest.mark.parametrize(("lang", "scheme"), [("en", "light"), ("fr", "dark")])
def test_nothing_stands_in_the_way(reader, friday, lang, scheme):
    media = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    try:
        for told in ({}, {"overlay": ",".join(PARTS)}):
            reader.opens(friday.page(lang=lang, **told))
            assert obstacles(reader, ignoring=OVERLAY if told else ()) == []
        reader.opens(f"{friday.address}/table#lang={lang}&table=x", until_it_says="door")
        assert obstacles(reader) == []
    finally:
        reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


OVERLAY = ("page-has-heading-one",)
"""An overlay is looked at through OBS."""


def test_every_word_is_said_in_both_languages(reader, friday):
    reader.opens(f"{friday.address}/table", until_it_says="door")
    words = reader.driver.execute_async_script(
        "const done = arguments[0]; import('./table/assets/words.js').then(({ LANGUAGES }) => done(LANGUAGES));"
    )
    assert words["en"].keys() == words["fr"].keys()
    said = set(reader.run("return [...document.querySelectorAll('[data-say]')].map((each) => each.dataset.say)"))
    assert said <= words["en"].keys()


def test_it_can_be_read_with_the_keyboard_alone(reader, friday):
    reader.opens(friday.page())
    focused = []
    for _ in range(3):
        reader.driver.switch_to.active_element.send_keys("\ue004")
        focused.append(reader.run("return document.activeElement.id"))
    assert focused[:2] == ["language", "scroll"]


def test_the_page_is_served_safely(service):
    answer = httpx.get(f"{service.address}/table")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "style=" not in answer.text
    assert httpx.get(f"{service.address}/table/").headers["location"] == "../table"
    assert httpx.get(f"{service.address}/table/assets/table.html").status_code == 404
