"""The examples in a package's README go on from each other: together they are one program, and it listens at last."""

import httpx
import pytest

from tests.consumers.sdk.conftest import Printing
from tests.live import until

LOG = ["sixd6.roll", "cards.drawn", "sixd6.healing", "sixd6.sheet", "sixd6.sheet"]


@pytest.fixture(params=["readme.py", "readme.mts"])
def readme(request, service, programs, start):
    text = (programs / request.param).read_text("utf-8").replace("http://localhost:8000", service.address)
    with start(request.param, text=text) as running:
        printing = Printing(running)
        try:
            yield printing
        finally:
            running.kill()
            printing.reader.join()


def test_the_examples_of_a_readme_play_and_listen(readme, service):
    until(lambda: readme.told("keep") and len(readme.lines) == 8 + len(LOG))
    session, token = readme.told("keep")
    assert readme.lines[5:8] == ["Zoé", "1", "precondition-failed"]
    assert [line.split()[1] for line in readme.lines[8:]] == LOG

    def step(path, body):
        told = {"json": body, "headers": {"Authorization": f"Bearer {token}"}}
        assert httpx.post(f"{service.address}/v1/sessions/{session}/{path}", **told).is_success

    def listens():
        step("characters/zoe/sixd6/rolls", {"base": 1})
        return readme.told("sixd6.roll")

    until(listens)
    step("decks/light/draws", {})
    until(lambda: readme.told("cards.drawn") and readme.lines[-1] == "1")
