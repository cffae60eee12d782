"""Suggests what a person may do next about an incident: orders, kubectl commands, a Temporal UI link. Pure.

Orders without effect are left out: holding a held incident, resuming one that goes on. `resume` also ends a
back-off and restarts an exhausted escalation; with `--step`, any escalation.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import typer

from cli.incident_summary import IncidentSummary
from health.kinds.registry import CHECK_KINDS
from health.model.evidence import EvidenceRecord, EvidenceStore
from health.model.moves import Phase
from health.model.observation import HoldReason
from health.model.references import Action, RequestReference
from workflows.messages import State

_HOLD = {Phase.WAITING, Phase.HELD, Phase.ACTING, Phase.REMEDIATING}
_ABORT = {*_HOLD, Phase.EXHAUSTED, Phase.HEALTHY_DELAY}
_RESUME = {Phase.LEFT_ALONE, Phase.EXHAUSTED}
_RESUME_AT_A_STEP = {Phase.HELD, Phase.REMEDIATING, Phase.EXHAUSTED}


@dataclass(frozen=True)
class PossibleOrders:
    """The orders for an incident of `cluster` that a person calls `name`."""

    state: State
    name: str
    cluster: str
    command: str = "paramedic"
    """The command with the options that select this Temporal, as they were given."""

    @property
    def commands(self) -> list[str]:
        steps = [f"{self._command('resume')} --step {shlex.quote(one)}" for one in self._templates]
        return [*map(self._command, self._without_step), *steps]

    @property
    def line(self) -> str:
        templates = " or ".join(self._templates)
        steps = [f"{self._command('resume')} --step TEMPLATE ({templates})"] if templates else []
        return ", ".join([*map(self._command, self._without_step), *steps])

    def _command(self, order: str) -> str:
        return f"{self.command} {order} {shlex.quote(self.name)} --cluster {shlex.quote(self.cluster)}"

    @property
    def _without_step(self) -> Iterator[str]:
        phase, memory = self.state.phase, self.state.memory
        if phase in _RESUME or memory.held or memory.left_alone or self._waits_between_attempts:
            yield "resume"
        if phase in _HOLD and not memory.held:
            yield "hold"
        if phase in _ABORT and not memory.left_alone:
            yield "abort"

    @property
    def _waits_between_attempts(self) -> bool:
        seen = self.state.observation
        if self.state.phase is not Phase.HELD or seen is None:
            return False
        return seen.hold is None or seen.hold.reason is HoldReason.BACK_OFF

    @property
    def _templates(self) -> list[str]:
        """The templates for `resume --step`, if there is more than one."""
        seen = self.state.observation
        if self.state.phase not in _RESUME_AT_A_STEP or seen is None:
            return []
        found = {step.template.name: None for step in seen.steps if step.action is Action.REQUEST}
        return list(found) if len(found) > 1 else []


def http_address(text: str) -> str:
    """Parse the address of the Temporal UI.

    Raises:
        BadParameter: it is not an HTTP URL.

    """
    try:
        parts = urlsplit(text)
    except ValueError as error:  # "[" without "]"
        raise typer.BadParameter(f"{text!r} is not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or any(map(str.isspace, text)):
        raise typer.BadParameter(f"{text!r} must be an address such as http://127.0.0.1:8233")
    return text


def ui_link(ui: str, namespace: str, summary: IncidentSummary) -> str:
    """The link to the workflow; `ui` is the address of the Temporal UI."""
    workflow = quote(summary.incident.workflow_id, safe="")
    return f"{ui.rstrip('/')}/namespaces/{quote(namespace)}/workflows/{workflow}/{summary.run_id}/history"


def kubectl_lines(summary: IncidentSummary) -> list[str]:
    """Commands that show the objects of the incident."""
    check, target = summary.incident.check, summary.incident.target
    kind = CHECK_KINDS.get(check.group_kind)
    plural = kind.plural if kind else check.kind.lower()
    resource = plural if check.kind_name == check.kind else f"{plural}.{check.group}"
    requests = summary.state.requests if summary.state else ()
    return [
        f"kubectl describe {target.kind_name.lower()}{_in(target.namespace)} {target.name}",
        f"kubectl get {resource}{_in(check.namespace)} {check.name} -o yaml",
        *_evidence_line(summary.evidence),
        *(_request_line(request.reference) for request in requests),
    ]


def _evidence_line(record: EvidenceRecord | None) -> Iterator[str]:
    if record is not None and record.is_saved and record.store is EvidenceStore.CONFIG_MAP:
        yield f"kubectl get configmap{_in(record.namespace)} {record.name} -o yaml"


def _request_line(request: RequestReference) -> str:
    group, _, version = request.api_version.rpartition("/")
    resource = ".".join(part for part in (request.kind.lower(), version, group) if part)
    return f"kubectl get {resource}{_in(request.namespace)} {request.name} -o yaml"


def _in(namespace: str) -> str:
    return f" -n {namespace}" if namespace else ""
