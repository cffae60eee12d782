"""What is wrong with one health check, by what the API server stores of it.

Others write its status, it cannot be read, or it says itself that it does not work.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cli.doctor.finding import Finding, problem, warning
from health.check_kind import CheckKind
from health.health_check import HealthCheck, InvalidCheckError
from health.openshift.conditions import (
    INVALID_SPEC,
    REMEDIATION_ALLOWED,
    REQUEST_AVAILABLE,
    TEMPLATE_AVAILABLE,
)
from health.references import CheckReference
from health.status_writers import ManagedFields, StatusWriter, other_writers
from health.timestamps import stamp


@dataclass(frozen=True)
class _Sign:
    """A condition by which a check says that it does not work."""

    type: str
    status: str
    finding: str
    """The reason of the finding."""
    words: str
    only_for: str = ""
    """The reason that the condition must have; "" is any."""

    def is_shown_by(self, condition: Mapping[str, str]) -> bool:
        """Whether this condition is it."""
        if (condition.get("type"), condition.get("status")) != (self.type, self.status):
            return False
        return self.only_for in ("", condition.get("reason"))


_UNREADABLE = "CheckUnreadable"
_SIGNS = (
    _Sign("Disabled", "True", "CheckDisabled", "is disabled"),
    _Sign(REMEDIATION_ALLOWED, "False", _UNREADABLE, "is marked as one that cannot be read", INVALID_SPEC),
    _Sign(TEMPLATE_AVAILABLE, "False", "TemplateUnavailable", "cannot use its template"),
    _Sign(REQUEST_AVAILABLE, "False", "RequestUnavailable", "cannot make its request"),
)
"""Of all kinds of check."""


def read(kind: CheckKind, stored: Mapping[str, Any]) -> HealthCheck | InvalidCheckError:
    """The check that is stored, or what is wrong with it."""
    try:
        return kind.parse(stored)
    except InvalidCheckError as error:
        return error


def check_findings(
    kind: CheckKind, stored: Mapping[str, Any], ours: Collection[str], now: datetime
) -> list[Finding]:
    """All that is wrong with the check; `ours` are the field managers of our processes."""
    name = _name(kind, stored)
    return [
        *_written_by_others(name, stored, ours, now),
        *(_unreadable(kind, name, stored) or _ailing(name, stored)),
    ]


def _name(kind: CheckKind, stored: Mapping[str, Any]) -> str:
    metadata = stored["metadata"]
    reference = CheckReference(kind=kind.kind, namespace=metadata.get("namespace", ""), name=metadata["name"])
    return str(reference).replace("/", " ", 1)


def _written_by_others(
    name: str, stored: Mapping[str, Any], ours: Collection[str], now: datetime
) -> Iterator[Finding]:
    listed = stored["metadata"].get("managedFields") or ()
    entries = [ManagedFields.model_validate(entry) for entry in listed]
    for writer in other_writers(entries, ours, now):
        yield _writing(name, writer)


def _writing(name: str, writer: StatusWriter) -> Finding:
    reason, when = "StatusWrittenByAnother", f"(last at {stamp(writer.last)})"
    why = "two controllers would remediate the same targets"
    if writer.is_over:
        what = f"{writer.manager!r} wrote the status of {name} within the last hour {when}, and we did since"
        return warning(reason, what, f"make sure that it is stopped, {why}")
    return warning(
        reason, f"{writer.manager!r} is still writing the status of {name} {when}", f"stop it, {why}"
    )


def _unreadable(kind: CheckKind, name: str, stored: Mapping[str, Any]) -> list[Finding]:
    check = read(kind, stored)
    if not isinstance(check, InvalidCheckError):
        return []
    return [problem(_UNREADABLE, f"{name} cannot be read: {check}", "mend it; until then it does nothing")]


def _ailing(name: str, stored: Mapping[str, Any]) -> list[Finding]:
    """What its status says; of a check that cannot be read that is the same again, or out of date."""
    conditions = (stored.get("status") or {}).get("conditions") or ()
    return [_shown(name, sign, one) for one in conditions for sign in _SIGNS if sign.is_shown_by(one)]


def _shown(name: str, sign: _Sign, condition: Mapping[str, str]) -> Finding:
    why = ": ".join(condition[key] for key in ("reason", "message") if condition.get(key))
    return problem(sign.finding, f"{name} {sign.words}: {why}", "mend what it names; it is noticed by itself")
