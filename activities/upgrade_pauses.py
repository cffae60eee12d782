"""The activities of an upgrade pause: annotations on checks, and the word that an upgrade takes long.

Each check is patched once, both annotations together, if it is still the one that was decided on: uid and
resourceVersion are preconditions. At most `AT_ONCE` requests are under way. One that fails keeps no other
from being done, and each is answered for itself; nothing is repeated here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import TypeVar

from temporalio import activity

from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS
from health.model.event import Severity
from health.upgrade.failed_write import PauseAnswer, WriteOutcome
from health.upgrade.memory import Handled
from health.upgrade.pausable_check import PauseAction, PausePatch
from kube.client import Client
from kube.connection import ClusterConnection
from kube.errors import Conflict, Forbidden, KindUnknown, KubernetesError, NotFound, retry_after
from kube.events import EventNote, Events, ObjectReference
from kube.resource import Object
from objects.durations import in_words
from objects.frozen import is_known
from workflows.upgrade_contracts import (
    WARN_OF_LONG_UPGRADE,
    WRITE_PAUSES,
    WarnOfLongUpgradeInput,
    WarnOfLongUpgradeResult,
    WritePausesInput,
    WritePausesResult,
)

AT_ONCE = 20
"""Requests: 500 checks are done in seconds, and nobody else is crowded out of the API server."""
TAKES_LONG = "UpgradeTakesLong"
"""The reason of the Warning Event."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class WritePauses:
    """The activity `write_pauses`."""

    def __init__(self, connection: ClusterConnection) -> None:
        self._connection = connection

    @activity.defn(name=WRITE_PAUSES.name)
    async def write_pauses(self, asked: WritePausesInput) -> WritePausesResult:
        """Try each patch once, within the time of one attempt."""
        ends = asyncio.get_running_loop().time() + WRITE_PAUSES.attempt.total_seconds()

        async def answered(patch: PausePatch) -> PauseAnswer:
            return await self._answered(patch, ends)

        return WritePausesResult(answers=await _bounded(answered, asked.patches))

    async def _answered(self, patch: PausePatch, ends: float) -> PauseAnswer:
        try:
            async with asyncio.timeout_at(ends):
                await self._write(patch)
        except TimeoutError:
            return _failed(patch, f"it was not done within {in_words(WRITE_PAUSES.attempt)}")
        except KubernetesError as error:
            return _refused(patch, error)
        except Exception as error:  # noqa: BLE001  what one patch did not foresee must keep no other from being done
            activity.logger.warning(
                "check not patched", exc_info=error, extra={"check": str(patch.reference)}
            )
            return _failed(patch, f"{type(error).__name__}: {error}")
        return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.WRITTEN)

    async def _write(self, patch: PausePatch) -> None:
        kind, reference = CHECK_KINDS[patch.reference.group_kind], patch.reference
        resource = await self._connection.discovery.first_served(kind)
        body = _body(kind, patch)
        await self._connection.client.merge_patch(resource, reference.name, body, reference.namespace)


class WarnOfLongUpgrade:
    """The activity `warn_of_long_upgrade`."""

    def __init__(self, client: Client, instance: str, now: Callable[[], datetime]) -> None:
        self._client = client
        self._instance = instance
        self._now = now

    @activity.defn(name=WARN_OF_LONG_UPGRADE.name)
    async def warn_of_long_upgrade(self, asked: WarnOfLongUpgradeInput) -> WarnOfLongUpgradeResult:
        """Write an Event about each check, once for each upgrade."""

        async def tell(check: Handled) -> None:
            kind, reference = CHECK_KINDS[check.reference.group_kind], check.reference
            regarding = ObjectReference(
                kind.api_version, reference.kind, reference.namespace, reference.name, check.uid
            )
            seed = f"{TAKES_LONG} {asked.since.isoformat()}"
            note = EventNote(seed, Severity.WARNING.value, TAKES_LONG, asked.message, regarding)
            await Events(self._client, kind.component, self._instance).write(note, self._now())

        await _bounded(tell, asked.checks)
        return WarnOfLongUpgradeResult()


async def _bounded(do: Callable[[Item], Awaitable[Answer]], items: Iterable[Item]) -> tuple[Answer, ...]:
    """What `do` answers for each, with a bounded number of them under way."""
    room = asyncio.Semaphore(AT_ONCE)

    async def in_turn(item: Item) -> Answer:
        async with room:
            return await do(item)

    return tuple(await asyncio.gather(*map(in_turn, items)))


def _body(kind: CheckKind, patch: PausePatch) -> Object:
    annotations = kind.upgrade_pause
    if annotations is None or not is_known(patch.action, PauseAction):
        raise ValueError(f"this version cannot {patch}")
    metadata = {
        "uid": patch.uid,
        "resourceVersion": patch.resource_version,
        "annotations": annotations.patch(PauseAction(patch.action)),
    }
    return {"metadata": metadata}


def _refused(patch: PausePatch, error: KubernetesError) -> PauseAnswer:
    match error:
        case Conflict():
            return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.CONFLICT, why=error.message)
        case NotFound() if not isinstance(error, KindUnknown):
            return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.GONE, why=error.message)
    wait = retry_after(error).total_seconds()
    return PauseAnswer(
        uid=patch.uid,
        outcome=WriteOutcome.FAILED,
        why=error.message,
        is_forbidden=isinstance(error, Forbidden),
        wait_seconds=wait,
    )


def _failed(patch: PausePatch, why: str) -> PauseAnswer:
    return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.FAILED, why=why)
