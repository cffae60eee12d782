"""StatusWatch: watches the checks of one kind for some seconds, to find the writers of their status.

A watch shows each version of each check, also a foreign write that our next write corrects. It ends early
once it has found a writer for every check: no more can be found.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import datetime, timedelta

from cli.doctor.finding import Finding
from cli.doctor.of_checks import STORED_CHECKS, StatusWatched, StoredCheck, name_of, writer_finding
from health.kinds.check_kind import CheckKind
from health.model.status_writers import StatusWriters
from kube.decoding import Seen, WatchError
from kube.errors import Unreachable
from kube.listing import ObjectList
from kube.record import Key, key_of
from kube.status import from_status
from kube.transport import Transport
from kube.watching import watch

_MARGIN = timedelta(seconds=30)  # the API server's timeout is later, so that ours ends the watch


class StatusWatch:
    """Finds the writers of the status of each check; before `follow` from a single look."""

    def __init__(  # noqa: PLR0913  each says what is watched, and how
        self,
        kind: CheckKind,
        path: str,
        listed: ObjectList[StoredCheck],
        *,
        ours: Collection[str],
        now: datetime,
        is_left_to_others: Callable[[StoredCheck], bool] = lambda _: False,
    ) -> None:
        """`listed` is the list at `path`, the path of a served version."""
        self._is_left_to_others = is_left_to_others
        self.kind = kind
        self._path = path
        self._resource_version = listed.resource_version
        self._ours = ours
        self._now = now
        self._writers: dict[Key, StatusWriters] = {}
        self._watched = timedelta()
        for check in listed.records:
            if not is_left_to_others(check):
                self._note(check)
        self._unfound = {key for key in self._writers if not self._is_found(key)}

    async def follow(self, transport: Transport, lasting: timedelta) -> None:
        """Watch for `lasting`, or until there is nothing more to find; 0 skips the watch.

        Raises:
            KubernetesError: the watch ended early; versions that it has shown count.

        """
        if not self._unfound or not lasting:
            return
        began = time.monotonic()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(lasting.total_seconds()):
                    await self._watch(transport, lasting + _MARGIN)
        finally:
            self._watched = timedelta(seconds=time.monotonic() - began)

    def findings(self, *, is_kept_off: bool | None = False) -> list[Finding]:
        """A finding for each other writer of a check; `is_kept_off`: policies keep its operator off."""
        watched = StatusWatched(self._watched, self._now + self._watched, is_kept_off)
        return [
            writer_finding(self.kind, name_of(self.kind, *key), writer, watched)
            for key, writers in self._writers.items()
            for writer in writers.others(self._ours, self._now)
        ]

    async def _watch(self, transport: Transport, longest: timedelta) -> None:
        async with watch(
            transport,
            self._path,
            (),
            resource_version=self._resource_version,
            lasting=longest,
            silence=longest,
        ) as lines:
            async for line in lines:
                self._read(line)
                if not self._unfound:
                    return
        raise Unreachable(f"The watch of {self._path} ended before its time.", path=self._path)

    def _read(self, line: bytes) -> None:
        match STORED_CHECKS.line(line):
            case Seen(found=StoredCheck() as check) if not self._is_left_to_others(check):
                key = self._note(check)
                if self._is_found(key):
                    self._unfound.discard(key)
            case WatchError(status):
                raise from_status(f"The watch of {self._path}", self._path, status.code, status)

    def _note(self, check: StoredCheck) -> Key:
        key, entries = key_of(check), check.metadata.managed_fields
        before = self._writers.get(key)
        self._writers[key] = StatusWriters.of(entries) if before is None else before.then(entries)
        return key

    def _is_found(self, key: Key) -> bool:
        return any(not other.is_over for other in self._writers[key].others(self._ours, self._now))
