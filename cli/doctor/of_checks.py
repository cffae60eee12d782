"""What is wrong with one health check, by what the API server stores of it.

Others write its status, it cannot be read, or it says itself that it does not work.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from cli.doctor.finding import Finding, problem, warning
from health.check_kind import CheckKind
from health.health_check import HealthCheck, InvalidCheckError
from health.references import CheckReference
from health.status_writers import ManagedFields, StatusWriter, other_writers
from health.timestamps import stamp

_AILING = {
    ("Disabled", "True"): "is disabled",
    ("ExternalRemediationTemplateAvailable", "False"): "cannot use its template",
    ("ExternalRemediationRequestAvailable", "False"): "cannot make its request",
}
"""Conditions by which a check says that it does not work, of all kinds."""


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
        *_unreadable(kind, name, stored),
        *_ailing(name, stored),
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


def _unreadable(kind: CheckKind, name: str, stored: Mapping[str, Any]) -> Iterator[Finding]:
    check = read(kind, stored)
    if isinstance(check, InvalidCheckError):
        yield problem(
            "CheckUnreadable", f"{name} cannot be read: {check}", "mend it; until then it does nothing"
        )


def _ailing(name: str, stored: Mapping[str, Any]) -> Iterator[Finding]:
    for condition in (stored.get("status") or {}).get("conditions") or ():
        words = _AILING.get((condition.get("type"), condition.get("status")))
        if words is None:
            continue
        why = ": ".join(condition[key] for key in ("reason", "message") if condition.get(key))
        yield problem(
            "CheckDisabled", f"{name} {words}: {why}", "mend what it names; it is noticed by itself"
        )
