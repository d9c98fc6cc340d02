"""The log: whole lines that do not mix, nothing that a caller could hide in them, and nobody who has to read them."""

import json
import logging
import os
import threading

import pytest

from service import logs
from tests.live import in_process, until

LINE = b'{"message":"answered"}\n'


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def filled(end):
    """Nothing fits into the pipe any more."""
    os.set_blocking(end, False)
    try:
        while os.write(end, b" "):
            pass
    except BlockingIOError:
        os.set_blocking(end, True)


def reading(end):
    """What comes, by and by."""
    said = bytearray()

    def read():
        with os.fdopen(os.dup(end), "rb", 0) as pipe:
            while piece := pipe.read(65_536):
                said.extend(piece)

    threading.Thread(target=read, daemon=True).start()
    return said


@pytest.mark.anyio
async def test_who_does_not_read_the_log_holds_up_nobody_and_learns_how_much_is_lost(pipe, monkeypatch, redis_url):
    read, written = pipe
    filled(written)
    writer = logs.Writer(written, most=30)
    monkeypatch.setattr(logs, "writer", writer)
    async with in_process(redis_url, access_log=True) as client:
        for _ in range(100):
            assert (await client.get("/health/live")).status_code == 200
    said = reading(read)
    until(lambda: counted(said)[0] + counted(said)[1] == 100)
    assert counted(said)[1] >= 40


def counted(said):
    """Answers that are told, and how many are lost."""
    told = [json.loads(each) for each in said.decode().split("\n")[:-1]]
    lost = sum(int(each["message"].split()[0]) for each in told if each["logger"] == "emberdice")
    return len([each for each in told if each["logger"] == "emberdice.access"]), lost


def test_no_line_is_longer_than_what_a_pipe_takes_in_one_piece():
    try:
        raise ValueError("é" * 9_000 + " at the end")
    except ValueError as error:
        record = logging.makeLogRecord({"msg": "x" * 9_000, "exc_info": (ValueError, error, error.__traceback__)})
    line = logs.JsonLines().format(record).encode()
    assert len(line) < logs.MOST_LINE_BYTES
    assert json.loads(line)["message"].endswith("xxx")
    short = logging.makeLogRecord({"msg": "short", "exc_info": record.exc_info})
    told = json.loads(logs.JsonLines().format(short))
    assert told["message"] == "short"
    assert told["exception"].endswith(" at the end")


def test_lines_come_in_pieces_of_whole_ones(pipe, monkeypatch):
    pieces = []
    writer = logs.Writer(pipe[1])
    monkeypatch.setattr(writer, "_put", pieces.append)
    for _ in range(1_000):
        writer.write(LINE)
    writer.flush(10)
    assert b"".join(pieces) == LINE * 1_000
    assert all(len(each) <= logs.MOST_LINE_BYTES and each.endswith(b"\n") for each in pieces)


def test_a_pipe_that_others_made_non_blocking_loses_nothing(pipe):
    read, written = pipe
    filled(written)
    os.set_blocking(written, False)
    writer = logs.Writer(written)
    writer.write(LINE)
    said = reading(read)
    until(lambda: said.endswith(LINE))


@pytest.mark.anyio
@pytest.mark.parametrize(("method", "shown"), [("GET", "GET"), ("X" * 5_000, "other"), (f"ember_gm_{'A' * 43}", "other")])
async def test_a_method_is_one_that_is_known_or_is_not_shown(capfd, redis_url, method, shown):
    async with in_process(redis_url, access_log=True) as client:
        answer = await client.request(method, "/v1/systems")
    logs.writer.flush()
    assert json.loads(capfd.readouterr().err.split("\n")[0])["method"] == shown
    assert "A" * 43 not in answer.text
    assert "X" * 41 not in answer.text
