"""EvidenceDirectory: evidence as files of one directory, which a setting of the worker names.

No check can choose a path: a file has the name of its evidence, which has no separators. It is written beside
its place and then renamed, so none is ever half there. A file system that hangs, as one of a network may,
holds the two threads of this directory and nothing else of the worker.
"""

import asyncio
import os
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from activities.evidence.filing import Filing
from health.evidence.document import EvidenceDocument
from health.evidence.kept import text
from health.evidence.retention import Kept, Retention
from health.model.evidence import PREFIX

THREADS = 2
_BEGUN = ".tmp"
_DONE = ".yaml"
_MODE = 0o640


class EvidenceDirectory:
    """One directory."""

    namespace = ""

    def __init__(self, directory: Path, retention: Retention) -> None:
        self._directory = directory
        self._retention = retention
        self._threads = ThreadPoolExecutor(THREADS, "evidence")
        self._free = asyncio.Semaphore(THREADS)
        """Threads without work; one that hangs stays taken, also where nobody waits for it any more."""

    def named(self, name: str) -> str:
        """The path of the file."""
        return str(self._directory / f"{name}{_DONE}")

    async def save(self, filing: Filing, document: EvidenceDocument) -> None:
        """Write it, unless an earlier attempt did.

        Raises:
            OSError: it cannot be written, as where the directory is full.

        """
        heads = {**filing.labels, **filing.annotations}
        head = "".join(f"# {key}: {_on_one_line(value)}\n" for key, value in heads.items())
        await self.in_a_thread(lambda: self._write(Path(self.named(filing.name)), f"{head}{document.as_one}"))

    async def prune(self, now: datetime, newest: str = "") -> None:
        """Delete what is too old or too much, and what a worker left that was killed.

        Raises:
            OSError: the directory cannot be read, or a file not be deleted.

        """
        await self.in_a_thread(lambda: self._prune(now, f"{newest}{_DONE}"))

    async def in_a_thread(self, work: Callable[[], object]) -> None:
        """Do what may block, however long it takes; its result is not told."""
        # Not in the queue of the threads: what is given up there keeps its document for as long as they hang.
        await self._free.acquire()
        loop, ends = asyncio.get_running_loop(), self._threads.submit(work)
        ends.add_done_callback(lambda _: self._set_free(loop))
        await asyncio.wrap_future(ends)

    def _set_free(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the process has ended meanwhile
            loop.call_soon_threadsafe(self._free.release)

    def _write(self, path: Path, body: str) -> None:
        if path.exists():
            return
        begun = path.with_name(f"{path.name}.{secrets.token_hex(4)}{_BEGUN}")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open(begun, flags, _MODE), "w", encoding="utf-8") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            begun.replace(path)
        finally:
            with suppress(OSError):  # it has its name by now, or could not be begun
                begun.unlink()

    def _prune(self, now: datetime, newest: str) -> None:
        for name in self._retention.over(self._kept(), now, newest):
            with suppress(FileNotFoundError):
                (self._directory / name).unlink()

    def _kept(self) -> Iterator[Kept]:
        for entry in os.scandir(self._directory):
            if not entry.name.startswith(PREFIX) or not entry.name.endswith((_DONE, _BEGUN)):
                continue
            with suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    yield Kept(
                        entry.name, datetime.fromtimestamp(entry.stat(follow_symlinks=False).st_mtime, UTC)
                    )


def _on_one_line(value: str) -> str:
    """A comment of a file ends with its line."""
    return text(value).replace("\n", " ")
