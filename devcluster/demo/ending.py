"""Why the demo ends before its story does: a signal, or nobody reads on."""

import asyncio
import signal

from rich.console import Console

INTERRUPTED = 130
UNHEARD = 128 + signal.SIGPIPE


class Ending:
    """Told to end, or not yet; the first reason counts."""

    def __init__(self) -> None:
        """Nobody has said anything."""
        self._told = asyncio.Event()
        self.code = 0
        """Exit code of the process, once it is told."""

    def listen_to_signals(self) -> None:
        """Let SIGINT and SIGTERM tell it; on the main thread only."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.tell, INTERRUPTED)

    def tell(self, code: int) -> None:
        """Say that it is to end, and with which exit code."""
        if not self._told.is_set():
            self.code = code
            self._told.set()

    async def told(self) -> None:
        """Return when it is told."""
        await self._told.wait()


class PipeConsole(Console):
    """A console whose reader may go away, as in `paramedic demo | head`; nothing is written from then on."""

    def __init__(self, ending: Ending) -> None:
        """Write to standard output."""
        super().__init__(highlight=False)
        self._ending = ending

    def on_broken_pipe(self) -> None:
        """Tell the demo to end, where rich would leave the process in the middle of it."""
        self.quiet = True
        self._ending.tell(UNHEARD)
