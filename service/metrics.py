"""What an operator watches. Counted for each worker, and put together when they are read."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

REQUEST_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
STORE_BUCKETS_S = (0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.0)
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """One set for each application. With FOLDER_VARIABLE set, workers write where all of them can be read."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._requests = Counter(
            "emberdice_requests", "Answers, by operation and status.", ("operation", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "emberdice_request_seconds",
            "From the request's head to the end of the answer; streams are not counted.",
            ("operation",),
            buckets=REQUEST_BUCKETS_S,
            registry=self._registry,
        )
        self._store_seconds = Histogram(
            "emberdice_store_seconds",
            "One call of a script, as the worker waits for it.",
            ("script",),
            buckets=STORE_BUCKETS_S,
            registry=self._registry,
        )
        self._store_faults = Counter(
            "emberdice_store_faults", "Calls that Redis, or the way to it, refused.", ("script",), registry=self._registry
        )
        for script in ("read", "commit"):  # a fault that is the first would not be seen as a change
            self._store_faults.labels(script)
        self.listeners = Gauge(
            "emberdice_listeners", "Open event streams.", registry=self._registry, multiprocess_mode="livesum"
        )

    def answered(self, operation: str, status: int, took_s: float) -> None:
        count, seconds = self._series(operation, status)
        count.inc()
        seconds.observe(took_s)

    def _series(self, operation: str, status: int) -> tuple[Counter, Histogram]:
        """Looked up once for each operation and status."""
        known = self._known.get((operation, status))
        if known is None:
            known = (self._requests.labels(operation, str(status)), self._seconds.labels(operation))
            self._known[operation, status] = known
        return known

    @contextmanager
    def store_call(self, script: str) -> Iterator[None]:
        started_s = time.perf_counter()
        try:
            yield
        except Exception:
            self._store_faults.labels(script).inc()
            raise
        finally:
            self._store_seconds.labels(script).observe(time.perf_counter() - started_s)

    def text(self) -> bytes:
        """Of all workers, in Prometheus' text format."""
        if not os.environ.get(FOLDER_VARIABLE):
            return generate_latest(self._registry)
        together = CollectorRegistry()
        multiprocess.MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)
