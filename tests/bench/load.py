"""A load of its own process: raw HTTP/1.1 over kept connections, one request in flight on each."""

import argparse
import asyncio
import json
import sys
import time

import uvloop

HEAD_END = b"\r\n\r\n"


class Caller(asyncio.Protocol):
    """Sends the same request again as soon as its answer is whole."""

    def __init__(self, request: bytes, tally: "Tally", pause_s: float, first_s: float) -> None:
        """`pause_s` from one request to the next, if its answer is there by then; 0: at once."""
        self._request, self._tally, self._received, self._sent_s = request, tally, b"", 0.0
        self._pause_s, self._next_s = pause_s, first_s

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._wait()

    def _wait(self) -> None:
        if not self._pause_s:
            self._send()
            return
        loop = asyncio.get_running_loop()
        self._next_s = max(self._next_s + self._pause_s, loop.time())
        loop.call_at(self._next_s, self._send)

    def _send(self) -> None:
        self._sent_s = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(HEAD_END)
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(body) < length:
            return
        self._received = b""
        self._tally.add(int(head[9:12]), time.perf_counter() - self._sent_s)
        if self._tally.open:
            self._wait()
        else:
            self._transport.close()


class Tally:
    def __init__(self) -> None:
        self.open, self.counting = True, False
        self.latencies_s: list[float] = []
        self.statuses: dict[int, int] = {}

    def add(self, status: int, latency_s: float) -> None:
        if self.counting:
            self.latencies_s.append(latency_s)
            self.statuses[status] = self.statuses.get(status, 0) + 1


async def load(
    port: int, requests: list[bytes], connections: int, warm_up_s: float, counted_s: float, rate: float
) -> dict[str, object]:
    tally = Tally()
    loop = asyncio.get_running_loop()
    pause_s = connections / rate if rate else 0.0
    for number in range(connections):
        caller = Caller(requests[number % len(requests)], tally, pause_s, loop.time() + pause_s * number / connections)
        await loop.create_connection(lambda caller=caller: caller, "127.0.0.1", port)
    await asyncio.sleep(warm_up_s)
    tally.counting, started_s = True, time.perf_counter()
    await asyncio.sleep(counted_s)
    tally.counting, took_s = False, time.perf_counter() - started_s
    tally.open = False
    latencies = sorted(tally.latencies_s)
    return {
        "per_second": len(latencies) / took_s,
        "p50_ms": 1_000 * latencies[len(latencies) // 2],
        "p99_ms": 1_000 * latencies[len(latencies) * 99 // 100],
        "statuses": {str(status): count for status, count in tally.statuses.items()},
    }


def request_bytes(method: str, path: str, body: bytes, token: str | None) -> bytes:
    authorization = f"authorization: Bearer {token}\r\n" if token else ""
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"{authorization}content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--path", action="append", required=True, help="several are shared out over the connections")
    parser.add_argument("--body", default="{}")
    parser.add_argument("--token", action="append", default=[], help="one for each path, or none")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--warm-up", type=float, default=0.5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rate", type=float, default=0.0, help="requests a second; 0: as many as are answered")
    told = parser.parse_args()
    tokens = told.token or [None] * len(told.path)
    requests = [
        request_bytes("POST", path, told.body.encode(), token) for path, token in zip(told.path, tokens, strict=True)
    ]
    measured = load(told.port, requests, told.connections, told.warm_up, told.seconds, told.rate)
    json.dump(uvloop.run(measured), sys.stdout)


if __name__ == "__main__":
    main()
