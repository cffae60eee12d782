"""Findings about one health check as the API server stores it.

The check is invalid, its own conditions report a failure, or another controller writes its status.
StatusWatch finds the writers: a watch shows each version of each check, also a foreign write that our next
write corrects. It ends early once it has found a writer for every check: no more can be found.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import Field, model_validator

from cli.doctor.finding import Finding, note, problem, warning
from cli.shared.ages import short
from health.check.health_check import HealthCheck
from health.kinds.check_kind import UNREADABLE, CheckKind, FailingCondition
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from health.model.status_writers import ManagedFields, StatusFieldManager, StatusWriters
from health.runbook.escalation import is_classic
from kube.decoding import Decoder, ObjectEvent, WatchError
from kube.errors import Unreachable
from kube.listing import ObjectList
from kube.record import Key, key_of
from kube.resource import Object
from kube.status import from_status
from kube.transport import Transport
from kube.watching import watch
from objects.frozen import Frozen, FrozenObject
from objects.timestamps import stamp

_WRITTEN_BY_ANOTHER = "StatusWrittenByAnother"
MOST_NAMED = 3
"""The number of checks that one finding names."""
_KEPT_OFF = "no action is needed: admission policies allow this, and refuse its remediations"
_MAYBE_KEPT_OFF = "an administrator can see whether admission policies refuse its remediations"
_TWO_CONTROLLERS = "two controllers would remediate the same targets"


class StoredMetadata(FrozenObject):
    """Name, uid and version of a check, and the managers of its fields."""

    name: str
    namespace: str = ""
    uid: str
    resource_version: str
    managed_fields: tuple[ManagedFields, ...] = ()
    annotations: dict[str, str] = Field(default_factory=dict)


class StoredCheck(Frozen):
    """One version of a check of any kind."""

    metadata: StoredMetadata
    body: Object
    """The complete object, which may be an invalid check."""

    @model_validator(mode="before")
    @classmethod
    def _keep_all(cls, stored: Any) -> Any:  # noqa: ANN401  any stored object
        return {"metadata": stored.get("metadata"), "body": stored} if isinstance(stored, dict) else stored


STORED_CHECKS = Decoder(StoredCheck)


def name_of(kind: CheckKind, namespace: str, name: str) -> str:
    """The name of a check in findings: "MachineHealthCheck openshift-machine-api/workers"."""
    reference = CheckReference(kind=kind.kind, group=kind.group, namespace=namespace, name=name)
    return str(reference).replace("/", " ", 1)


def read(kind: CheckKind, stored: Mapping[str, Any]) -> HealthCheck | InvalidCheckError:
    """The parsed check, or the reason why it is invalid."""
    try:
        return kind.parse(stored)
    except InvalidCheckError as error:
        return error


def check_findings(kind: CheckKind, stored: Mapping[str, Any]) -> list[Finding]:
    """The findings about the check itself, without those about writers of its status."""
    metadata = stored["metadata"]
    name = name_of(kind, metadata.get("namespace", ""), metadata["name"])
    check = read(kind, stored)
    if isinstance(check, InvalidCheckError):
        why = f"{name} cannot be read: {check}"
        return [problem(UNREADABLE, why, "correct it; until then it does nothing")]
    return [*_ailing(kind, name, stored), *_without_a_next_step(name, check)]


def shadow_findings(kind: CheckKind, checks: Iterable[StoredCheck]) -> list[Finding]:
    """A note that Paramedic writes nothing for these checks, which are in shadow."""
    names = [name_of(kind, check.metadata.namespace, check.metadata.name) for check in checks]
    if not names:
        return []
    first = ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
    what = f"nothing is written for {len(names)} {kind.plural}, which are in shadow: {first}"
    return [note("InShadow", what, "`paramedic shadow` compares; docs/shadow.md says how to leave it")]


def _without_a_next_step(name: str, check: HealthCheck) -> list[Finding]:
    if check.choices.relapse is None or not is_classic(check):
        return []
    what = f"{name} has paramedic.dev/relapse, which changes nothing: its remediations have one step"
    return [warning("NoNextStep", what, "remove the annotation: only an escalation has a next step")]


def _ailing(kind: CheckKind, name: str, stored: Mapping[str, Any]) -> list[Finding]:
    """Failures in its conditions; for an invalid check they are redundant, or out of date."""
    conditions = (stored.get("status") or {}).get("conditions") or ()
    return [
        _shown(name, sign, condition)
        for condition in conditions
        for sign in kind.failing_conditions
        if sign.is_shown_by(condition)
    ]


def _shown(name: str, sign: FailingCondition, condition: Mapping[str, str]) -> Finding:
    why = ": ".join(condition[key] for key in ("reason", "message") if condition.get(key))
    return problem(sign.finding, f"{name} {sign.words}: {why}", sign.advice)


@dataclass(frozen=True)
class StatusWatched:
    """How long, until when, and under which policies the writers of a status were watched."""

    lasting: timedelta
    ended: datetime
    is_kept_off: bool | None = False
    """Whether admission policies refuse remediations by the kind's operator, so that it may write; None if
    unknown."""


def writer_finding(kind: CheckKind, name: str, writer: StatusFieldManager, watched: StatusWatched) -> Finding:
    """The finding that another controller writes the status of the check `name`."""
    manager, last = repr(writer.manager), f"last at {stamp(writer.last)}"
    policies = kind.operator_policies
    if watched.is_kept_off is not False and policies is not None and writer.manager == policies.manager:
        what = f"{manager} writes the status of {name} beside us ({last})"
        return note(_WRITTEN_BY_ANOTHER, what, _KEPT_OFF if watched.is_kept_off else _MAYBE_KEPT_OFF)
    if writer.seen:
        times = _seen(writer.seen, watched.lasting)
        what = f"{manager} is still writing the status of {name} ({times}, {last})"
        return warning(_WRITTEN_BY_ANOTHER, what, f"{_off(kind, 'stop it')}, {_TWO_CONTROLLERS}")
    ago = short(max(timedelta(), watched.ended - writer.last))
    since = "we did since" if writer.is_over else "we did not since"
    what = f"{manager} wrote the status of {name} {ago} ago ({last}), and {since}"
    return warning(
        _WRITTEN_BY_ANOTHER, what, f"{_off(kind, 'make sure that it is stopped')}, {_TWO_CONTROLLERS}"
    )


def _off(kind: CheckKind, stop: str) -> str:
    """The advice how to turn the other controller off; a process with other controllers must keep running."""
    if not kind.operator_guide:
        return stop
    return f"keep its {kind.plural} off by {kind.operator_guide}, and do not stop its process"


def _seen(times: int, watched: timedelta) -> str:
    often = "once" if times == 1 else f"{times} times"
    seconds = max(1, round(watched.total_seconds()))
    return f"seen {often} in {short(timedelta(seconds=seconds))}"


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
            case ObjectEvent(found=StoredCheck() as check) if not self._is_left_to_others(check):
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
