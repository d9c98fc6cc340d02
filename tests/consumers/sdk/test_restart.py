"""A service that asks for its operator's key is restarted under those who listen, and then goes for good."""

from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest

from tests.consumers.sdk.conftest import Printing
from tests.live import END_S, Service, until

KEY = "the-operators"
STRANGERS = ["api-key-required 401"] * 2
GONE = "The service stays away."
PRINTED = {
    "listener.py": [
        *STRANGERS,
        *(f"{who} {what}" for who in ("blocking", "coroutine") for what in ("heard 0", "heard 1", GONE, "ConnectError")),
    ],
    "listener.mts": [*STRANGERS, "heard 0", "heard 1", GONE, "TypeError", "true"],
}


class Listener(Printing):
    """It has opened a table, listens there, and prints what it hears."""

    def __init__(self, name, running):
        self._printed = PRINTED[name]
        super().__init__(running)

    def draws(self, address):
        session, token = until(lambda: self.told("table"))
        told = {"json": {}, "headers": {"Authorization": f"Bearer {token}"}}
        assert httpx.post(f"{address}/v1/sessions/{session}/decks/light/draws", **told).is_success

    def hears(self, draw):
        wanted = {line for line in self._printed if line.endswith(f"heard {draw}")}
        with suppress(AssertionError):
            until(lambda: self.running.poll() is not None or wanted <= set(self.lines))
        assert wanted <= set(self.lines)

    def end(self):
        """What it has printed, sorted: two listen in one program."""
        assert self.running.wait(END_S) == 0, self.running.stderr.read()
        self.reader.join()
        return sorted(line for line in self.lines if not line.startswith("table "))

    def expected(self):
        return sorted(self._printed)


@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path, workers=1, EMBERDICE_API_KEY=KEY)
    try:
        yield service.start()
    finally:
        service.kill()


@contextmanager
def listening(name, start, address):
    with start(name, address, KEY) as running:
        listener = Listener(name, running)
        try:
            yield listener
        finally:
            running.kill()
            listener.reader.join()


def test_listeners_outlive_a_restart_and_end_when_it_stays_away(service, start):
    with ExitStack() as programs:
        listeners = [programs.enter_context(listening(name, start, service.address)) for name in PRINTED]
        for draw, ends in enumerate((service.stop, service.kill)):
            for listener in listeners:
                listener.draws(service.address)
            for listener in listeners:
                listener.hears(draw)
            ends()
            if ends == service.stop:
                service.start()
        for listener in listeners:
            assert listener.end() == listener.expected()
