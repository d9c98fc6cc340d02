"""/docs in a real browser: it loads nothing from elsewhere, finds operations, rolls dice, and fits a telephone."""

import json

import httpx
import pytest

from tests.consumers.reading import WITHIN_S, Reader, below_a_path, obstacles, too_wide
from tests.live import until
from tests.tools import chromium, resize

SLOW_S = 60.0
"""The page draws every operation of the contract."""

# What the vendored viewer itself does not name or nest as it should.
VIEWERS_OWN = ("heading-order", "label", "nested-interactive", "region", "scrollable-region-focusable", "select-name")


@pytest.fixture(scope="module")
def driver(tmp_path_factory, service):
    with chromium(tmp_path_factory.mktemp("browser")) as driver:
        opens(driver, service.address)
        yield driver


@pytest.fixture
def docs(driver):
    """The page as it was opened, with nothing searched for."""
    resize(driver, 1280, 900)
    reader = Reader(driver)
    yield reader
    search(reader, "")
    assert reader.console() == []


@pytest.fixture(scope="module")
def operations(service):
    paths = httpx.get(f"{service.address}/openapi.json").json()["paths"]
    return {operation["operationId"]: (path, operation) for path, methods in paths.items() for operation in methods.values()}


def opens(driver, address):
    driver.get(f"{address}/docs")
    until(lambda: driver.execute_script("return document.querySelector('.opblock') !== null"), SLOW_S)


def found(reader):
    """Ids of the operations that are shown."""
    return [
        each.split("-")[-1]
        for each in reader.run("return [...document.querySelectorAll('.opblock')].map((each) => each.id)")
    ]


def search(reader, words):
    field = reader.driver.find_element("css selector", "[type=search]")
    reader.run(
        "Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(arguments[0], arguments[1]);"
        "arguments[0].dispatchEvent(new Event('input', { bubbles: true }));",
        field,
        words,
    )


def opened(reader, operation):
    """The block of an operation, opened."""
    block = until(lambda: reader.driver.find_elements("css selector", f"[id$='-{operation}']"), WITHIN_S)[0]
    if "is-open" not in block.get_attribute("class"):
        reader.run("arguments[0].querySelector('.opblock-summary-control').click()", block)
    until(lambda: block.find_elements("css selector", ".opblock-body .try-out__btn"), SLOW_S)
    return block


def test_every_operation_is_shown(docs, operations):
    assert sorted(found(docs)) == sorted(operations)


def test_nothing_is_loaded_from_elsewhere(docs, service):
    asked = docs.run("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert {each.rpartition("/")[2] for each in asked} >= {
        "swagger-ui.css",
        "swagger-ui-bundle.js",
        "docs.js",
        "openapi.json",
    }
    assert all(each.startswith(f"{service.address}/") for each in asked)
    policy = httpx.get(f"{service.address}/docs").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("words", "operation"),
    [
        ("scene", "endScene"),
        ("/scene/end", "endScene"),
        ("ENDSCENE", "endScene"),
        ("patient heal", "heal"),
        ("post undo", "undoEvent"),
    ],
)
def test_an_operation_is_found_by_what_it_is_called_or_does(docs, operations, words, operation):
    search(docs, words)
    until(lambda: operation in found(docs) and len(found(docs)) < len(operations) / 3, WITHIN_S)
    search(docs, "")
    until(lambda: len(found(docs)) == len(operations), WITHIN_S)


def test_what_is_not_there_is_not_found(docs):
    search(docs, "spaceships")
    until(lambda: found(docs) == [], WITHIN_S)


def test_dice_are_rolled_for_real(docs):
    block = opened(docs, "rollPool")
    docs.run("arguments[0].querySelector('.try-out__btn').click()", block)
    until(lambda: block.find_elements("css selector", ".execute"), WITHIN_S)
    docs.run("arguments[0].querySelector('.execute').click()", block)
    until(lambda: block.find_elements("css selector", ".live-responses-table .response-col_status"), WITHIN_S)
    told = docs.run("return arguments[0].querySelector('.live-responses-table .highlight-code code').textContent", block)
    rolled = json.loads(told)
    assert rolled["successes"] == sum(die["successes"] for die in rolled["dice"])
    assert rolled["text"].startswith(("Success", "Failure"))


def test_what_is_asked_and_answered_is_laid_open(docs, operations):
    """Our own resolver stands in for the viewer's."""
    block = opened(docs, "heal")
    _, operation = operations["heal"]
    parameters = docs.run(
        "return [...arguments[0].querySelectorAll('[data-param-name]')].map((e) => e.dataset.paramName)", block
    )
    assert {"session", "character", "lang", "Idempotency-Key"} <= set(parameters)
    statuses = docs.run("return [...arguments[0].querySelectorAll('.response')].map((each) => each.dataset.code)", block)
    assert sorted(statuses) == sorted(operation["responses"])
    assert "$ref" not in block.text


@pytest.mark.parametrize("operation", ["rollPool", "listEvents"])
def test_nothing_is_wider_than_the_page(docs, operation):
    opened(docs, operation)
    assert too_wide(docs, (360, 1280), hidden=False) == {}


def test_below_the_path_of_a_proxy(docs, driver, service):
    with below_a_path(service.address) as address:
        opens(driver, address)
        assert docs.run("return document.querySelector('#servers').value") == address
    opens(driver, service.address)


def test_nothing_of_ours_stands_in_the_way(docs):
    opened(docs, "rollPool")
    assert obstacles(docs, ignoring=VIEWERS_OWN, outside=".highlight-code, .microlight") == []
