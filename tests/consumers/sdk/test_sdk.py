"""What the generators make of the contract: packages whose types hold, with speaking names, that play an evening."""

import json
import re
import subprocess
import sys
import tomllib

import pytest

from openapi.sdk import generate
from tests.consumers.sdk.agreed import CONTRACT
from tests.consumers.sdk.conftest import NODE_MODULES, program
from tests.consumers.sdk.line import LOST_OPENING, BadLine

VAGUE = re.compile(r"OneOf|AnyOf|AllOf|InlineObject|InlineResponse|Inner\b|V1[A-Z]|Type_?\d|_type_\d|\d+$")
GAMES = re.compile("(?i)(sixd_?6|burn_?2_?d_?6|roll20)")

EVENING = [
    "roll success 2 1",
    "blind blind True",
    "hit awaiting_soak 5",
    "wound 3 1",
    "healed Treat damage for Zoé: 2 damage healed (3 → 1). Possible again in 2 h. Dice: 5 5 2.",
    "healing-cooldown treat_damage True",
    *["10 cards drawn for Zoé"] * 4,
    "deck-exhausted 10 2",
    "shuffled 43",
    "heard sixd6.sheet sixd6.roll sixd6.roll sixd6.damage sixd6.damage sixd6.healing"
    " cards.drawn cards.drawn cards.drawn cards.drawn cards.discarded",
    "cards 10 10 10 10",
    "What followed event expired is partly forgotten. Read the table's state, then go on after event 99.",
    "lost 0",
    "changed 4",
    "precondition-failed 412",
    "history 15 token.created token.created sixd6.sheet",
    "history 13 cards.discarded deck.shuffled sixd6.sheet",
    "newest sixd6.sheet token.created token.created deck.shuffled",
    "after",
    "systems sixd6 burn2d6",
    "busy True",
    "lost",
]
SHORT_EVENING = [
    "roll success 1",
    "not-found",
    "drawn True",
    "heard sixd6.roll",
    "heard sixd6.healing",
    "heard cards.drawn",
    "expired 99",
    "put 3",
    "precondition-failed",
    "history sixd6.roll sixd6.healing" + " cards.drawn" * 5 + " sixd6.sheet",
    "cards left 38",
    "systems sixd6 burn2d6",
]
# Program, what it prints, steps whose answer was lost and that were answered again under their key.
EVENINGS = [
    ("evening.py", EVENING, 13),
    ("evening.mts", EVENING, 13),
    ("evening_async.py", SHORT_EVENING, 8),
]


@pytest.fixture
def line(service):
    return BadLine("127.0.0.1", int(service.address.rpartition(":")[2]))


@pytest.mark.parametrize(("name", "printed", "repeated"), EVENINGS, ids=[name for name, _, _ in EVENINGS])
def test_an_evening_over_a_bad_line_happens_exactly_once(name, printed, repeated, line, run):
    with line.listening() as address:
        assert run(name, address) == printed
    assert line.faults == []
    assert line.replayed == repeated
    assert line.lost[LOST_OPENING] == (printed is EVENING)
    assert line.cut >= 1


def test_the_types_of_the_python_package_hold(sdk, programs):
    cache = sdk / ".mypy_cache"
    strict = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}"]
    checked = subprocess.run(
        [*strict, "emberdice_client", *programs.glob("*.py")],
        cwd=sdk / "python",
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_the_types_of_the_typescript_package_hold(programs):
    checked = subprocess.run(
        [generate.NODE, NODE_MODULES / "typescript" / "bin" / "tsc", "--project", programs],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("language", ["python", "ts"])
def test_the_newcomers_program_opens_rolls_draws_and_heals(language, service, run):
    readme = generate.ROOT / "README.md"
    text = program(readme, language)
    assert len(text.splitlines()) <= 14
    name = {"python": "newcomer.py", "ts": "newcomer.mts"}[language]
    rolled, drawn, healed, refused = run(name, text=text.replace("http://localhost:8000", service.address))
    assert rolled.startswith("Zoé: ")
    assert drawn.startswith("1 card drawn for Zoé: ")
    assert healed.startswith("Calm yourself for Zoé: ")
    assert re.fullmatch(r"healing-cooldown - Calm yourself was rolled for Zoé .+ Nothing was rolled\.", refused)
    package = generate.SOURCES / {"python": "python", "ts": "typescript"}[language] / "README.md"
    assert program(package, language) == text


def test_generated_names_say_something(sdk):
    package = sdk / "python" / "emberdice_client"
    classes = re.findall(r'^    "(\w+)",$', (package / "models" / "__init__.py").read_text("utf-8"), re.MULTILINE)
    modules = [path.stem for path in package.rglob("*.py") if path.stem != "__init__"]
    types = re.findall(r"^export type (\w+) =", (sdk / "typescript" / "src" / "schema.ts").read_text("utf-8"), re.MULTILINE)
    assert len(classes) > 300
    assert len(types) > 300
    assert [name for name in (*classes, *modules, *types) if VAGUE.search(GAMES.sub("", name))] == []


def test_every_operation_is_a_method_of_both(sdk):
    asked = {
        operation["operationId"]
        for methods in CONTRACT["paths"].values()
        for operation in methods.values()
        if "responses" in operation
    }
    package = sdk / "python" / "emberdice_client" / "api"
    for prefix in ("    def ", "    async def "):
        methods = [
            name
            for path in package.glob("*/__init__.py")
            for name in re.findall(rf"^{prefix}(\w+)\(", path.read_text("utf-8"), re.MULTILINE)
        ]
        assert sorted(name.replace("_", "") for name in methods) == sorted(name.lower() for name in asked)
    assert (
        set(re.findall(r'^  "(\w+)": \{$', (sdk / "typescript" / "src" / "contract.ts").read_text("utf-8"), re.MULTILINE))
        == asked
    )


def test_the_packages_are_ready_to_publish(sdk, programs):
    version = CONTRACT["info"]["version"]
    python = tomllib.loads((sdk / "python" / "pyproject.toml").read_text("utf-8"))["project"]
    assert (python["name"], python["version"], python["license"]) == ("emberdice-client", version, "MIT")
    published = programs / "node_modules" / "emberdice-client"
    npm = json.loads((published / "package.json").read_text("utf-8"))
    assert (npm["name"], npm["version"], npm["license"]) == ("emberdice-client", version, "MIT")
    assert [told for told in npm if told.lower().endswith("dependencies")] == []
    assert not (sdk / "typescript" / "node_modules").exists()
    assert {"LICENSE", "README.md", "dist", "package.json"} == {path.name for path in published.iterdir()}
    for folder in (sdk / "python", published):
        assert "Emberdice" in (folder / "README.md").read_text("utf-8")
        assert (folder / "LICENSE").read_text("utf-8") == (generate.ROOT / "LICENSE").read_text("utf-8")
    assert (sdk / "python" / "emberdice_client" / "py.typed").exists()
    locked = (generate.SOURCES / "typescript" / "package-lock.json").read_text("utf-8")
    assert "resolved" not in locked


LINES = """
from emberdice_client.connection import repeatable
from emberdice_client.tables import Heard, Pages
import httpx
heard = Heard("1")
assert not list(heard.events(b":\\n\\n: revoked\\n\\n:keepalive\\n\\nretry:5\\nevent\\n\\n"))
assert not list(heard.events(b'data:{"type":"new"}\\nid:7\\n\\n'))
pages = Pages(None, "asc", 1)
assert not list(pages.events(httpx.Response(200, json={"events": [{"type": "new"}], "next": "7", "has_more": True})))
assert pages.has_more and pages.asked["after"] == "7"
print(heard.after, *(repeatable(httpx.Request("POST", "http://host" + path)) for path in
    ("/v1/sessions", "/dice/v1/sessions", "/dice/v1/sessions/a/tokens", "/dice/v1/sixd6/rolls")))
"""


def test_what_proxies_and_newer_services_add_is_no_event_and_a_prefix_changes_nothing(sdk):
    said = subprocess.run([sys.executable, "-c", LINES], cwd=sdk / "python", capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["7", "False", "False", "False", "True"]
