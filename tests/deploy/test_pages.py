"""The pages of deploy/: what they link to, the tests and the attacks that they name, and the limits that they give."""

import re
from pathlib import Path

import pytest

from service.__main__ import CONNECTIONS, HEADERS_MS, STOP_S
from service.api.edge import BODY_S
from service.settings import Settings
from tests.attack.__main__ import ATTACKS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PAGES = [DEPLOY / name for name in ("README.md", "operations.md", "threat-model.md")]
MODEL = (DEPLOY / "threat-model.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#:]*)[^)]*\)", text):
        assert (page.parent / target).exists(), target
    for anchor in re.findall(r"\]\(#([^)]+)\)", text):
        assert re.search(rf"(?mi)^#+ {anchor.replace('-', ' ')}$", text), anchor


def test_every_threat_names_tests_that_there_are():
    rows = [line.split("|")[1:-1] for line in MODEL.splitlines() if re.match(r"\| [a-z]", line)][1:]
    assert len(rows) > 15
    for threat, _, _, shown in rows:
        for named in re.findall(r"`([^`]+)`", shown.replace("`attack`", "")):
            places = (named, f"tests/{named}", f"tests/{named}.py", f"tests/deploy/{named}.py")
            assert any((ROOT / place).exists() for place in places) or named == "bias.py", (threat, named)
        for words in re.findall(r"`attack`: ([^;|]+)", shown):
            for word in words.split(", "):
                assert any(word.strip() in each.what for each in ATTACKS), (threat, word)


def test_the_limits_on_the_page_are_the_service_s():
    told = (DEPLOY / "operations.md").read_text()
    settings = Settings()
    assert f"per worker: {CONNECTIONS:,} connections, {settings.max_streams:,} streams" in told
    assert f"{HEADERS_MS // 1_000} s for headers, {BODY_S} s for a body, {HEADERS_MS // 1_000} s idle" in told
    assert f"`EMBERDICE_SESSION_DAYS` ({settings.session_days})" in told
    assert f"`EMBERDICE_MAX_SESSIONS` ({settings.max_sessions:,})" in told
    assert f"within {STOP_S} s, and exits with 0" in told
