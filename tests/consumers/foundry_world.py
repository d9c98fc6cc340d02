"""A world for the Foundry module: a tiny server in Foundry's place, and the browsers of those who sit at it."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from selenium.webdriver.common.by import By

from tests.live import ROOT, until

HOST = Path(__file__).parent / "foundry" / "host"
MODULE = ROOT / "deploy" / "integrations" / "foundry"
TYPES = {".html": "text/html", ".css": "text/css", ".mjs": "text/javascript", ".json": "application/json"}
NEWS_WITHIN_S = 0.5
"""How long a browser waits for news before it asks again."""


class World:
    """What a Foundry server keeps: settings of the world, and the messages that it sends to every browser."""

    def __init__(self, **settings):
        self.settings = {f"emberdice.{name}": value for name, value in settings.items()}
        self.messages = []
        self._news = threading.Condition()

    def post(self, message):
        with self._news:
            self.messages.append(message)
            self._news.notify_all()

    def after(self, count):
        with self._news:
            self._news.wait_for(lambda: len(self.messages) > count, NEWS_WITHIN_S)
            return self.messages[count:]

    @contextmanager
    def served(self):
        world = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                url = urlsplit(self.path)
                if url.path == "/world":
                    return self._answer(".json", json.dumps(world.settings))
                if url.path == "/messages":
                    return self._answer(".json", json.dumps(world.after(int(parse_qs(url.query)["after"][0]))))
                return self._file(url.path)

            def do_POST(self):
                told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path == "/world":
                    world.settings |= told
                else:
                    world.post(told)
                self._answer(".json", "{}")

            def _file(self, path):
                folder, _, name = path.removeprefix("/modules/emberdice").removeprefix("/").partition("/")
                file = MODULE / folder / name if path.startswith("/modules/emberdice/") else HOST / (name or "page.html")
                if not file.is_file():
                    return self.send_error(404)
                return self._answer(file.suffix, file.read_text())

            def _answer(self, suffix, body):
                sent = body.encode()
                self.send_response(200)
                self.send_header("Content-Type", f"{TYPES[suffix]}; charset=utf-8")
                self.send_header("Content-Length", str(len(sent)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *told):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                """A browser that leaves hangs up."""

        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            server.server_close()


ORIGINS = {"gm": "127.0.0.1", "player": "localhost", "other": "other.localhost"}
"""Users have origins of their own: what a browser keeps, no other reads."""


class Seat:
    """A user's window."""

    def __init__(self, driver, port, user, **told):
        self.driver, self.user = driver, user
        self._origin = f"http://{ORIGINS[user]}:{port}"
        self._told = {"user": user, **told}
        driver.get_log("browser")
        driver.switch_to.new_window("window")
        self.window = driver.current_window_handle

    def sit(self, *, table=None, token=None, character=None):
        """Loads the page; with a token, as one who has been here before."""
        self.look()
        if token:
            self.driver.get(f"{self._origin}/page.css")
            kept = {"tokens": {table: token}, "characters": {table: character} if character else {}}
            for name, value in kept.items():
                self.js("localStorage.setItem(arguments[0], arguments[1])", f"emberdice.{name}", json.dumps(value))
        self.driver.get(f"{self._origin}/?{urlencode(self._told)}")
        until(lambda: self.js("return document.body.dataset.ready"))
        return self

    def look(self):
        self.driver.switch_to.window(self.window)
        return self

    def js(self, script, *told):
        return self.driver.execute_script(script, *told)

    def find(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def appears(self, selector):
        """The first of these elements that is shown."""
        return until(lambda: next((each for each in self.find(selector) if each.is_displayed()), None))

    def texts(self, selector):
        return self.js("return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText)", selector)

    def says(self, selector, *parts):
        """What the last of these elements says, once it says all of this."""
        return until(lambda: next((text for text in self.texts(selector)[-1:] if all(part in text for part in parts)), None))

    def play(self, name, *told):
        """A macro of the user: one of the module's own functions."""
        self.js("game.modules.get('emberdice').api[arguments[0]](...arguments[1])", name, list(told))

    def command(self, text):
        return self.js("return Hooks.call('chatMessage', {}, arguments[0], {})", text)

    def answer(self, action="ok", **fields):
        """Fills the dialog that is open, and presses its button."""
        self.appears("dialog button")
        filled = """
            const form = document.querySelector("dialog form");
            for (const [name, value] of Object.entries(arguments[0])) {
              const field = form.elements.namedItem(name);
              if (field.type === "checkbox") field.checked = value; else field.value = value;
              if (field.value !== String(value) && field.type !== "checkbox") throw new Error(`${name} cannot be ${value}`);
            }
            form.querySelector(`button[data-action="${arguments[1]}"]`).click();
        """
        self.js(filled, fields, action)

    @property
    def seen(self):
        """Every byte that this page received, of the service and of the world."""
        return self.js("return standIn.seen.bodies")

    def console(self):
        """Faults of the page; a refusal of the service is none."""
        told = [each["message"] for each in self.driver.get_log("browser") if each["level"] == "SEVERE"]
        return [message for message in told if "Failed to load resource" not in message]
