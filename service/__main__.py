"""Start the service: `python -m service`."""

import logging
import os
import sys
from pathlib import Path
from typing import Any

from granian import Granian
from granian.constants import Interfaces, Loops

from service.app import create_app
from service.settings import Settings, WrongSetting, read


def application() -> Any:
    """What each worker runs."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    return create_app(read(os.environ))


def main() -> None:
    try:
        settings = read(os.environ)
    except WrongSetting as error:
        sys.exit(f"emberdice: {error}")
    if settings.redis_url:
        serve(settings)
        return
    from service.store.embedded import EmbeddedServer, EmbeddedServerError  # noqa: PLC0415  needs a Unix

    try:
        with EmbeddedServer(Path(settings.data_dir)) as server:
            os.environ["REDIS_URL"] = server.url
            serve(settings)
    except EmbeddedServerError as error:
        sys.exit(f"emberdice: {error}")


def serve(settings: Settings) -> None:
    print(f"Emberdice: API on {address(settings)}/v1, documentation on {address(settings)}/docs", flush=True)
    Granian(
        "service.__main__:application",
        factory=True,
        address=settings.host,
        port=settings.port,
        workers=settings.workers,
        interface=Interfaces.ASGI,
        loop=Loops.uvloop,
        log_enabled=False,
        websockets=False,
    ).serve()


def address(settings: Settings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return settings.public_url or f"http://{host}:{settings.port}"


if __name__ == "__main__":
    main()
