"""The README is true: its examples answer as printed, its tables have every setting and every ruling.

In a printed answer `…` stands for anything, and a line that begins with a space goes on with the one before.
"""

import json
import re
import subprocess
from pathlib import Path

import msgspec
import pytest

from service.settings import Settings
from service.systems import SYSTEMS
from service.words import Lang
from tests.live import Service

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
ADDRESS = "http://localhost:8000"
END = "\x1e"


def examples():
    """Each command with what is printed under it, in order."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL):
        for told in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = told.splitlines()
            end = next(n for n, line in enumerate(lines) if not line.endswith("\\"))
            printed = "\n".join(lines[end + 1 :]).replace("\n ", "")
            found.append(("\n".join(lines[: end + 1]), printed))
    return found


EXAMPLES = examples()


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What one shell says to all commands, one after another, beside a service of its own."""
    service = Service(tmp_path_factory.mktemp("readme"), workers=1).start()
    try:
        script = "".join(f"{command}\nprintf '{END}'\n" for command, _ in EXAMPLES).replace(ADDRESS, service.address)
        ran = subprocess.run(
            ["bash", "-u"], input=script, cwd=tmp_path_factory.mktemp("shell"), capture_output=True, text=True, check=True
        )
        return ran.stdout.split(END)
    finally:
        service.stop()


@pytest.mark.parametrize("number", range(len(EXAMPLES)), ids=[command[:60] for command, _ in EXAMPLES])
def test_an_example_answers_as_printed(number, answers):
    printed = EXAMPLES[number][1]
    pattern = ".*".join(re.escape(part) for part in printed.split("…"))
    assert re.fullmatch(pattern, answers[number].rstrip("\n"), re.DOTALL), f"{printed}\n{answers[number]}"


def test_a_repetition_under_its_key_says_the_same(answers):
    first, again = (answer for (command, _), answer in zip(EXAMPLES, answers, strict=False) if "Idempotency-Key" in command)
    assert first == again


def asked(command):
    """Method and path of a command."""
    path = re.search(rf"{ADDRESS}(/[^'? ]*)", command)
    return ("POST" if " -d " in command else "GET", path[1] if path else "")


def test_every_operation_without_a_table_has_an_example():
    contract = json.loads((ROOT / "openapi" / "openapi.json").read_text("utf-8"))
    offered = {
        (method.upper(), path)
        for path, operations in contract["paths"].items()
        for method in operations
        if "session" not in path
    }
    shown = {asked(command) for command, _ in EXAMPLES}
    assert {each for each in offered if "{" not in each[1]} <= shown
    assert any(path.startswith("/problems/") for _, path in shown)


def rows(heading):
    """Cells of the tables under a heading, heads and rules left out."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    lines = [line.strip("|").split("|") for line in section[1].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines if not set("".join(line)) <= set("- ")]


def test_the_table_of_settings_has_every_variable_with_its_default():
    told = {name.strip("`"): default.strip("`") for name, default, _, _ in rows("Settings") if name.startswith("`")}
    defaults = msgspec.to_builtins(Settings())
    assert list(told.items()) == [
        (name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in defaults.items()
    ]


def test_every_setting_is_explained_and_those_that_count_have_a_unit():
    told = {name.strip("`"): (unit, meaning) for name, _, unit, meaning in rows("Settings")}
    for name, default in msgspec.to_builtins(Settings()).items():
        unit, meaning = told[name]
        assert meaning
        assert unit or type(default) is not int or name == "PORT"


def test_every_ruling_is_told_with_the_reading_not_taken():
    told = {number: (here, other) for number, here, other in rows("Rulings") if re.fullmatch(r"(B-)?R\d+", number)}
    numbers = [number for game in SYSTEMS.values() for number in game.messages()[Lang.EN]["ruling"]]
    assert list(told) == numbers
    assert all(here and other for here, other in told.values())


def test_what_the_readme_points_to_is_there():
    headings = {
        re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    }
    targets = re.findall(r"\]\(([^)]*)\)", README)
    assert all(
        target[1:] in headings if target.startswith("#") else (ROOT / target.partition("#")[0]).exists()
        for target in targets
    )
    named = re.findall(r"`((?:service|tests|deploy|openapi)/[^`<>]*)`", README) + re.findall(
        r"^(\w+/\S*)  ", README, re.MULTILINE
    )
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert [target for target in re.findall(r"\bmake ([a-z]+)\b", README) if f"\n{target}:" not in makefile] == []
