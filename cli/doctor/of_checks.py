"""Findings about one health check as the API server stores it.

The check is invalid, its own conditions report a failure, or another controller writes its status.
"""

from collections.abc import Iterable, Mapping
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
from health.model.status_writers import ManagedFields, StatusFieldManager
from kube.decoding import Decoder
from kube.resource import Object
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
    return _unreadable(kind, name, stored) or _ailing(kind, name, stored)


def shadow_findings(kind: CheckKind, checks: Iterable[StoredCheck]) -> list[Finding]:
    """A note that Paramedic writes nothing for these checks, which are in shadow."""
    names = [name_of(kind, check.metadata.namespace, check.metadata.name) for check in checks]
    if not names:
        return []
    first = ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
    what = f"nothing is written for {len(names)} {kind.plural}, which are in shadow: {first}"
    return [note("InShadow", what, "`paramedic shadow` compares; docs/shadow.md says how to leave it")]


def _unreadable(kind: CheckKind, name: str, stored: Mapping[str, Any]) -> list[Finding]:
    check = read(kind, stored)
    if not isinstance(check, InvalidCheckError):
        return []
    return [problem(UNREADABLE, f"{name} cannot be read: {check}", "correct it; until then it does nothing")]


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
    who, last = repr(writer.manager), f"last at {stamp(writer.last)}"
    policies = kind.operator_policies
    if watched.is_kept_off is not False and policies is not None and writer.manager == policies.manager:
        what = f"{who} writes the status of {name} beside us ({last})"
        return note(_WRITTEN_BY_ANOTHER, what, _KEPT_OFF if watched.is_kept_off else _MAYBE_KEPT_OFF)
    if writer.seen:
        what = f"{who} is still writing the status of {name} ({_seen(writer.seen, watched.lasting)}, {last})"
        return warning(_WRITTEN_BY_ANOTHER, what, f"{_off(kind, 'stop it')}, {_TWO_CONTROLLERS}")
    ago = short(max(timedelta(), watched.ended - writer.last))
    since = "we did since" if writer.is_over else "we did not since"
    what = f"{who} wrote the status of {name} {ago} ago ({last}), and {since}"
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
