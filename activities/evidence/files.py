"""EvidenceDirectory: evidence as files of one directory, which a setting of the worker names.

No check can choose a path: the file name is that of its evidence, which has no separators. The file is
written under another name and then renamed, so it is never incomplete. A file system that hangs, for example
a network file system, blocks the two threads of this directory and no other part of the worker.
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
from health.evidence.retention import Retention, StoredEvidence
from health.model.evidence import PREFIX

THREADS = 2
_BEGUN = ".tmp"
_DONE = ".yaml"
_MODE = 0o640


class EvidenceDirectory:
    """One directory with evidence, and the threads that access it."""

    namespace = ""

    def __init__(self, directory: Path, retention: Retention) -> None:
        self._directory = directory
        self._retention = retention
        self._threads = ThreadPoolExecutor(THREADS, "evidence")
        self._free = asyncio.Semaphore(THREADS)
        """Idle threads; a thread that hangs stays in use even after its caller has given up."""

    def named(self, name: str) -> str:
        return str(self._directory / f"{name}{_DONE}")

    async def save(self, filing: Filing, document: EvidenceDocument) -> None:
        """Write it, unless an earlier attempt did.

        Raises:
            OSError: it cannot be written, for example because the directory is full.

        """
        heads = {**filing.labels, **filing.annotations}
        head = "".join(f"# {key}: {_on_one_line(value)}\n" for key, value in heads.items())
        await self.in_a_thread(lambda: self._write(Path(self.named(filing.name)), f"{head}{document.as_one}"))

    async def prune(self, now: datetime, newest: str = "") -> None:
        """Delete evidence beyond the retention, and incomplete files of a killed worker.

        Raises:
            OSError: reading the directory or deleting a file failed.

        """
        await self.in_a_thread(lambda: self._prune(now, f"{newest}{_DONE}"))

    async def in_a_thread(self, work: Callable[[], object]) -> None:
        """Run work that may block for any time; its result is dropped."""
        # Wait here: in the queue of the threads abandoned work would keep its document in memory.
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
            with suppress(OSError):  # it was renamed, or never created
                begun.unlink()

    def _prune(self, now: datetime, newest: str) -> None:
        for name in self._retention.over(self._kept(), now, newest):
            with suppress(FileNotFoundError):
                (self._directory / name).unlink()

    def _kept(self) -> Iterator[StoredEvidence]:
        for entry in os.scandir(self._directory):
            if not entry.name.startswith(PREFIX) or not entry.name.endswith((_DONE, _BEGUN)):
                continue
            with suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    yield StoredEvidence(
                        entry.name, datetime.fromtimestamp(entry.stat(follow_symlinks=False).st_mtime, UTC)
                    )


def _on_one_line(value: str) -> str:
    """The value on one line, because a comment ends with its line."""
    return text(value).replace("\n", " ")
