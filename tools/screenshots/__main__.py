"""`make screenshots`: the pictures of docs/temporal-ui.md, in docs/images.

It runs `paramedic dev` in an empty directory and needs `chromium` (a package of Debian). No test runs it, so
look at each picture after a change of the texts.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from devcluster.demo.dev_description import DevDescription
from devcluster.demo.dev_process import dev_process
from devcluster.manifests import ROOT
from screenshots import incidents
from screenshots.browser import Browser, Part, browser

IMAGES = ROOT / "docs" / "images"
LARGEST_BYTES = 150_000
READY_SECONDS = 120
ALL = "WorkflowType = 'Remediation'"
ORDER = '{"reason": "replacing its disk", "for_seconds": 7200}'
OBEYED = "Held: held by a person: replacing its disk"
"""The beginning of the summary of the next timer."""


class Pictures:
    """The pictures of the incidents of one devcluster, and the files for them."""

    def __init__(self, tab: Browser, dev: DevDescription, found: dict[str, tuple[str, str]]) -> None:
        self._tab = tab
        self._namespace = f"{dev.temporal_ui}/namespaces/{dev.temporal_namespace}"
        self._found = found

    def take(self) -> None:
        """Take all; the last one sends an order, and waits until the incident has obeyed it."""
        self._tab.open(f"{self._namespace}/workflows?query={quote(ALL)}", "node-2", height=560)
        self._keep("temporal-list", Part(top=0, height=560))
        self._timeline(incidents.ENDED.check, "temporal-ended", rows=10)
        self._timeline(incidents.ESCALATED.check, "temporal-escalation", rows=14)
        self._open(incidents.HELD.check, "Timeline")
        self._tab.click("User Metadata")
        self._tab.wait_for("Current Details")
        top = self._tab.top_of("User Metadata") - 20
        self._keep("temporal-held", Part(top=top, height=500, left=270, width=930))
        self._order()

    def _timeline(self, check: str, name: str, rows: int) -> None:
        self._open(check, "Timeline")
        top = self._tab.top_of("Descending") - 20
        self._keep(name, Part(top=top, height=110 + 24 * rows, left=270, width=930))

    def _order(self) -> None:
        self._open(incidents.HELD.check, "Timeline", height=1000)
        self._tab.click("More Actions")
        self._tab.click("Send an Update")
        self._tab.press("[data-testid=update-select-button]")
        self._tab.click("hold")
        self._tab.press("dialog[open] .cm-content")
        self._tab.write(ORDER)
        self._keep("temporal-order", Part(top=230, height=540, left=200, width=800))
        self._tab.click("Submit")
        self._open(incidents.HELD.check, OBEYED)

    def _open(self, check: str, shows: str, height: int = 1500) -> None:
        workflow, run = self._found[check]
        self._tab.open(f"{self._namespace}/workflows/{quote(workflow, safe='')}/{run}", shows, height)

    def _keep(self, name: str, part: Part) -> None:
        file = IMAGES / f"{name}.png"
        self._tab.picture(file, part)
        if (size := file.stat().st_size) > LARGEST_BYTES:
            sys.exit(f"{file} has {size} bytes; take a smaller part of the page")
        sys.stdout.write(f"{file.relative_to(ROOT)}: {size} bytes\n")


def _report(line: str) -> None:
    sys.stderr.write(f"{line}\n")


async def main() -> None:
    os.environ.update(USER="operator", LOGNAME="operator")  # orders and logs name it
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="shots-") as directory:
        data = Path(directory)
        module = ("cli.main", "dev", "--simulate-nodes", str(incidents.NODES))
        async with dev_process(data, module, _report) as process:
            dev = await asyncio.wait_for(process.ready(), READY_SECONDS)
            await incidents.begin(dev, data)
            found = await incidents.in_their_phases(dev)
            with browser(data / "browser") as tab:
                Pictures(tab, dev, found).take()


if __name__ == "__main__":
    asyncio.run(main())
