"""Somebody who looks at a page of the service, and what is asked of every page."""

import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from tests.live import until
from tests.tools import missing, resize

WITHIN_S = 30.0
"""For what comes at once where the machine is not too busy."""

AXE = Path(__file__).parent / "axe" / "node_modules" / "axe-core" / "axe.min.js"
NOT_PASSED_ON = ("host", "accept-encoding")
WIDTHS = (300, 360, 1280, 2560)


class Reader:
    """Somebody who looks at the page."""

    def __init__(self, driver):
        self.driver = driver
        self.expected = re.compile(r"(?!)")
        """What the console may say."""

    def opens(self, address, *, until_it_says="live"):
        self.driver.get("about:blank")  # another fragment alone loads nothing anew
        self.driver.get(address)
        if until_it_says:
            until(lambda: self.state == until_it_says, WITHIN_S)

    def run(self, script, *told):
        return self.driver.execute_script(script, *told)

    @property
    def state(self):
        return self.run("return document.body?.dataset.state")

    def texts(self, selector):
        """Of what can be seen."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].filter((each) => each.checkVisibility())"
            ".map((each) => each.textContent.trim())",
            selector,
        )

    def sees(self, text, within="body"):
        return text in self.run("return document.querySelector(arguments[0])?.innerText ?? '';", within)

    def waits_for(self, text, within="body"):
        until(lambda: self.sees(text, within), WITHIN_S)

    def notice(self):
        return until(lambda: self.texts("#notice"), WITHIN_S)[0]

    def console(self):
        return [each["message"] for each in self.driver.get_log("browser") if not self.expected.search(each["message"])]


@contextmanager
def below_a_path(target, path="/dice"):
    """A proxy that gives the service one path of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if not self.path.startswith(f"{path}/"):
                self.send_error(404)
                return
            asked = f"{target}{self.path.removeprefix(path)}"
            headers = {name: value for name, value in self.headers.items() if name.lower() not in NOT_PASSED_ON}
            with httpx.stream("GET", asked, headers=headers, timeout=60) as answer:
                self.send_response(answer.status_code)
                for name in ("content-type", "content-security-policy"):
                    if name in answer.headers:
                        self.send_header(name, answer.headers[name])
                self.end_headers()
                try:
                    for part in answer.iter_raw():
                        self.wfile.write(part)
                except OSError:
                    return

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{path}"
    finally:
        server.shutdown()
        server.server_close()


STICKING_OUT = """
const [hidden] = arguments;
return [document.documentElement, ...document.querySelectorAll('body *')]
  .filter((each) => each.checkVisibility())
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 ||
    (hidden && each.clientWidth && each.scrollWidth > each.clientWidth + 1))
  .map((each) => each.outerHTML.slice(0, 200));
"""


def too_wide(reader, widths=WIDTHS, *, hidden=True):
    """What sticks out of the page or, `hidden`, has to be scrolled to the side; by the page's width."""
    found = {}
    for width in widths:
        resize(reader.driver, width, 900)
        if sticking_out := reader.run(STICKING_OUT, hidden):
            found[width] = sticking_out
    return found


OBSTACLES = """
const [ignored, outside, done] = arguments;
const rules = Object.fromEntries(ignored.map((id) => [id, { enabled: false }]));
axe.run(outside ? { exclude: outside.split(', ') } : document, { rules }).then(({ violations }) =>
  done(violations.map(({ id, nodes }) => [id, nodes.map((node) => [node.html, node.failureSummary])])));
"""


def obstacles(reader, ignoring=(), outside=""):
    """What stands in somebody's way, as axe-core finds it."""
    if not AXE.exists():
        missing("axe-core")
    reader.run(AXE.read_text())
    return reader.driver.execute_async_script(OBSTACLES, list(ignoring), outside)
