"""Runs the live view until a key or a signal ends it."""

import asyncio
import signal
from collections.abc import Mapping

from temporalio.client import Client

from cli.incidents.live.app import INTERRUPTED, LiveList
from cli.incidents.live.calls import live_calls
from cli.incidents.wanted import Wanted
from cli.incidents.watching import TERMINATED
from cli.shared.errors import ExitCode


async def run_live(client: Client, wanted: Wanted, environment: Mapping[str, str], command: str) -> int:
    """Show the incidents until the person leaves. Returns the exit code.

    Raises:
        RPCError: the first list cannot be read.

    """
    calls = live_calls(client, wanted, environment, command)
    app = LiveList(calls, await calls.look())
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, app.exit, INTERRUPTED)
    loop.add_signal_handler(signal.SIGTERM, app.exit, TERMINATED)
    code = await app.run_async()
    return ExitCode.FAILED if code is None else code  # None: an error ended the view, and was printed
