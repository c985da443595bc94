"""A headless Chromium, driven by its DevTools protocol: what tests of pages need, and no more."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    *("--remote-debugging-port=0", "--remote-allow-origins=*", "--force-renderer-accessibility"),
)
#: seconds until a browser that does not answer has failed
PATIENCE = 60


def executable() -> str | None:
    """Return the path of a browser, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A browser with one page."""

    def __init__(self, folder: Path) -> None:
        import websocket

        flags = [*FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen([executable(), *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.events: list[dict] = []
        self.count = 0
        try:
            address = f"http://127.0.0.1:{self._port(folder)}/json/list"
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                pages = [page for page in json.load(answer) if page["type"] == "page"]
            self.socket = websocket.create_connection(pages[0]["webSocketDebuggerUrl"], timeout=PATIENCE)
            for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
                self.ask(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def _port(self, folder: Path) -> str:
        file, end = folder / "DevToolsActivePort", time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            if file.exists() and (lines := file.read_text().splitlines()):
                return lines[0]
            time.sleep(0.05)
        raise RuntimeError("the browser did not start")

    def ask(self, method: str, **parameters) -> dict:
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.count:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, path: Path, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self.events.clear()
        self.look(width, height, dark)
        self.ask("Page.navigate", url=path.as_uri())
        end = time.monotonic() + PATIENCE
        while self.run("document.documentElement?.dataset.ready") != "yes":
            assert time.monotonic() < end, f"the page did not become ready; {self.complaints()}"
            time.sleep(0.05)
        self.settle()

    def look(self, width: int, height: int = 900, dark: bool = False) -> None:
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=scheme)
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def settle(self) -> None:
        """Wait until what was asked for is drawn and said."""
        self.run(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 180))))"
        )

    def run(self, script: str):
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)
        self.settle()

    def complaints(self) -> list[str]:
        """Return what the console had to complain of, and requests that left the file."""
        found = []
        for event in self.events:
            method, about = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(about["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
                found.append(str(about["args"]))
            elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
                found.append(about["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not about["request"]["url"].startswith("file:"):
                found.append(about["request"]["url"])
        return found

    def nodes(self) -> list[dict]:
        """Return the accessibility tree: role, name, value, states."""
        tree = self.ask("Accessibility.getFullAXTree")["nodes"]
        read = [
            {part: node.get(part, {}).get("value") for part in ("role", "name", "value")}
            | {one["name"]: one["value"].get("value") for one in node.get("properties", [])}
            for node in tree
            if not node.get("ignored")
        ]
        return read

    def picture(self, path: Path, whole: bool = True) -> None:
        path.write_bytes(
            base64.b64decode(self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])
        )

    def close(self) -> None:
        if hasattr(self, "socket"):
            self.socket.close()
        self.process.kill()
        self.process.wait()
