"""Makes the pictures of the README again. Not a test: run `python -m tests.consumers.screenshots` by hand."""

import base64
import tempfile
from pathlib import Path

from tests.consumers.reading import Reader
from tests.consumers.sitting import evening
from tests.live import ROOT, Service
from tests.tools import chromium, resize

FOLDER = ROOT / "deploy" / "screenshots"
A_PICTURE_BEHIND = {"r": 58, "g": 92, "b": 122, "a": 255}

# Name, width, height, what the address says, colour scheme.
PICTURES = [
    ("table", 1120, 640, {"lang": "en"}, "dark"),
    ("table-fr", 360, 720, {"lang": "fr"}, "light"),
    ("overlay", 800, 620, {"lang": "en", "overlay": "timers,log"}, "dark"),
]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), workers=1).start()
        try:
            with evening(service.address) as table, chromium(Path(folder) / "browser") as driver:
                for name, width, height, told, scheme in PICTURES:
                    take(driver, name, width, height, table.page(**told), scheme, behind="overlay" in told)
        finally:
            service.kill()


def take(driver, name, width, height, address, scheme, *, behind) -> None:
    resize(driver, width, height)
    media = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    driver.execute_cdp_cmd("Emulation.setDefaultBackgroundColorOverride", {"color": A_PICTURE_BEHIND} if behind else {})
    Reader(driver).opens(address)
    picture = base64.b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])
    (FOLDER / f"{name}.png").write_bytes(picture)
    print(f"{name}.png: {len(picture) // 1024} KiB")


if __name__ == "__main__":
    main()
