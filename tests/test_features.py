"""The README's table of who can use what: every mark leads to a test that pytest finds."""

import ast
import re
from functools import cache

import pytest

from tests.live import ROOT

README = (ROOT / "README.md").read_text("utf-8")
SECTION = re.search(r"^## Who can use what\n(.*?)(?=^## )", README, re.MULTILINE | re.DOTALL)[1]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in SECTION.splitlines() if line.startswith("|")]
HEAD, ROWS = ROWS[0], ROWS[2:]
TESTS = {name: (path, test) for name, path, test in re.findall(r'^\[(\w+)\]: (\S+) "(\w+)"$', SECTION, re.MULTILINE)}

CONSUMERS = {
    *("Foundry VTT", "Roll20", "Discord", "Slack", "Telegram", "Matrix", "IRC", "Nightbot", "StreamElements", "Fossabot"),
    *("Streamer.bot", "MapTool", "Tabletop Simulator", "curl", "SDK", "pages, overlays"),
}
FEATURES = {
    *("sentence", "renderings", "secrecy", "retry", "timers", "cards", "language", "length bound", "CORS", "GET one-liner"),
    *("soft errors", "stream"),
}


def test_the_table_is_whole():
    assert {row[0] for row in ROWS} == CONSUMERS
    assert set(HEAD[1:]) == FEATURES
    assert {len(row) for row in ROWS} == {len(FEATURES) + 1}
    assert all(row[1] != "–" for row in ROWS)


def test_every_cell_is_a_dash_or_names_a_test_and_every_test_is_used():
    named = [re.fullmatch(r"\[●\]\[(\w+)\]", cell) for row in ROWS for cell in row[1:] if cell != "–"]
    assert all(named)
    assert {each[1] for each in named} == TESTS.keys()


@cache
def functions_of(path):
    """What pytest finds in a file: by its rules, functions of the module that are called test_…"""
    assert re.fullmatch(r"tests/(?:\w+/)*test_\w+\.py", path)
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    return {each.name for each in ast.parse((ROOT / path).read_text("utf-8")).body if isinstance(each, functions)}


@pytest.mark.parametrize("name", TESTS)
def test_a_named_test_is_there(name):
    path, test = TESTS[name]
    assert test.startswith("test_")
    assert test in functions_of(path)
