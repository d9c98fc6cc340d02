"""System tools that some tests need, such as a browser. Without them a test is skipped; with CI=true it fails."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service as Driver

CHROMIUM_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)


def missing(what: str) -> NoReturn:
    """Skips the test that asks, in words; in CI nothing may be left out."""
    reason = f"{what} is not installed here; make ci-tools installs it where it may"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def tool(*names: str) -> str:
    """The path of the first of these programs that is there."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    return found or missing(names[0])


@contextmanager
def chromium(folder: Path, width: int = 1280, height: int = 900) -> Iterator[webdriver.Chrome]:
    """A real browser with an empty profile in the folder. Its console is kept: `driver.get_log("browser")`."""
    options = webdriver.ChromeOptions()
    options.binary_location = tool("chromium", "chromium-browser", "google-chrome")
    for flag in (*CHROMIUM_FLAGS, f"--user-data-dir={folder}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Driver(tool("chromedriver")))
    resize(driver, width, height)
    try:
        yield driver
    finally:
        driver.quit()


def resize(driver: webdriver.Chrome, width: int, height: int) -> None:
    """CSS pixels of the page; a window itself is never narrower than 500."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
