"""Browser: a headless Chromium that opens pages and takes pictures of parts of them.

Commands go over a pipe in the protocol of the DevTools, so no port is open and no library is needed.
"""

import base64
import itertools
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

PATIENCE_SECONDS, POLL_SECONDS = 60.0, 0.2
SETTLING_SECONDS = 1.5
"""The duration of the animations of the Temporal UI."""
CHROMIUM = (
    "chromium",
    "--headless=new",
    "--no-sandbox",  # it opens pages of this machine only
    "--disable-gpu",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


class BrowserError(Exception):
    """A page does not show what was waited for, or the browser refused a command."""


@dataclass(frozen=True)
class Part:
    """The part of a page in a picture, in pixels."""

    top: int
    height: int
    left: int = 0
    width: int = 1200


class Browser:
    """One tab with an empty profile; each method raises BrowserError."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes]) -> None:
        self._commands, self._answers = commands, answers
        self._numbers = itertools.count(1)
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self._call("Emulation.setTimezoneOverride", timezoneId="UTC")

    def open(self, url: str, shows: str, height: int = 900) -> None:
        """Open a page with this height, and wait until it shows a text."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=1200, height=height, deviceScaleFactor=1, mobile=False
        )
        self._call("Page.navigate", url=url)
        self.wait_for(shows)

    def wait_for(self, text: str) -> None:
        self._until(f"document.body && document.body.innerText.includes({json.dumps(text)})", text)
        time.sleep(SETTLING_SECONDS)

    def click(self, text: str) -> None:
        """Click on the last visible button, tab or option with this text."""
        named = f"one.innerText.trim() === {json.dumps(text)}"
        self._click(_visible("button,a,[role=option],[role=menuitem]", named), text)

    def press(self, selector: str) -> None:
        """Click on the last visible element that a CSS selector finds."""
        self._click(_visible(selector), selector)

    def write(self, text: str) -> None:
        """Write into the focused field and leave it; an editor formats its text then."""
        self._call("Input.insertText", text=text)
        self._evaluate("document.activeElement.blur()")
        time.sleep(SETTLING_SECONDS)

    def top_of(self, text: str) -> int:
        """The distance of the first element with this text from the top of the page."""
        named = f"one.innerText.trim().startsWith({json.dumps(text)})"
        found = _visible("h1,h2,h3,h4,p,button,a", named)
        self._until(f"!!{found}", text)
        return int(self._evaluate(f"{found}.getBoundingClientRect().top + window.scrollY"))

    def picture(self, file: Path, part: Part) -> None:
        clip = {"x": part.left, "y": part.top, "width": part.width, "height": part.height, "scale": 1}
        answer = self._call("Page.captureScreenshot", format="png", clip=clip)
        file.write_bytes(base64.b64decode(answer["data"]))

    def _click(self, element: str, content: str) -> None:
        """A click with the mouse, to which menus of the UI listen."""
        self._until(f"!!{element}", content)
        center = "(box => [box.x + box.width / 2, box.y + box.height / 2])"
        x, y = self._evaluate(f"{center}({element}.getBoundingClientRect())")
        for event in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=event, x=x, y=y, button="left", clickCount=1)
        time.sleep(SETTLING_SECONDS)

    def _until(self, condition: str, content: str) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not self._evaluate(condition):
            if time.monotonic() > end:
                page_text = str(self._evaluate("document.body.innerText"))[:500]
                raise BrowserError(f"the page does not show {content!r}, it shows {page_text!r}")
            time.sleep(POLL_SECONDS)

    def _evaluate(self, expression: str) -> Any:  # noqa: ANN401  any value of the page
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401  as the protocol says
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        session = {"sessionId": self._session} if self._session else {}
        self._commands.write(json.dumps(message | session).encode() + b"\0")
        self._commands.flush()
        for answer in self._messages():
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
        raise BrowserError(f"{method}: the browser ended")

    def _messages(self) -> Iterator[dict[str, Any]]:
        data = bytearray()
        while byte := self._answers.read(1):
            if byte != b"\0":
                data += byte
                continue
            yield json.loads(data)
            data.clear()


def _visible(selector: str, condition: str = "true") -> str:
    """JavaScript that finds the last visible element of a CSS selector that fulfils a condition."""
    elements = f"[...document.querySelectorAll({json.dumps(selector)})]"
    return f"{elements}.filter(one => one.checkVisibility() && {condition}).at(-1)"


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile in this directory, while the block runs."""
    read_commands, write_commands = os.pipe()
    read_answers, write_answers = os.pipe()

    def as_the_protocol_wants() -> None:
        commands, answers = os.dup(read_commands), os.dup(write_answers)
        os.dup2(commands, 3)
        os.dup2(answers, 4)

    process = subprocess.Popen(  # noqa: S603  the command of this file
        (*CHROMIUM, f"--user-data-dir={profile}"),
        close_fds=False,
        preexec_fn=as_the_protocol_wants,  # noqa: PLW1509  no threads run here
        stderr=subprocess.DEVNULL,
    )
    os.close(read_commands)
    os.close(write_answers)
    try:
        with os.fdopen(write_commands, "wb") as commands, os.fdopen(read_answers, "rb") as answers:
            yield Browser(commands, answers)
    finally:
        process.terminate()
        process.wait()
