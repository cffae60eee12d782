"""Suggests what a person may do next about an incident: orders, kubectl commands, a Temporal UI link. Pure.

Orders without effect are left out: holding a held incident, resuming one that goes on. `resume` also ends a
back-off and restarts an exhausted escalation; with `--step`, any escalation.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit

import typer

from cli.incidents.summary import IncidentSummary
from health.kinds.registry import CHECK_KINDS
from health.model.evidence import EvidenceRecord
from health.model.order import StepOrder
from health.model.references import RequestReference
from health.runbook.order_spec import OrderSpec, Situation
from health.runbook.orders import ABORT, HOLD, ORDERS
from workflows.messages import State

_MILDEST_FIRST = tuple(ORDERS.values())[::-1]


@dataclass(frozen=True, kw_only=True)
class PossibleOrders:
    """The orders for an incident of `cluster` that a person calls `name`."""

    state: State
    name: str
    cluster: str
    now: datetime
    command: str = "paramedic"
    """The command with the options that select this Temporal, as they were given."""

    @property
    def commands(self) -> list[str]:
        steps = [
            f"{self._command(spec)} --step {shlex.quote(step)}"
            for spec, steps in self._steps
            for step in steps
        ]
        return [*map(self._completed, self.offered), *steps]

    @property
    def lines(self) -> list[str]:
        """The commands, with one for all steps that an order may name."""
        steps = [
            f"{self._command(spec)} --step TEMPLATE ({' or '.join(steps)})" for spec, steps in self._steps
        ]
        return [*map(self._completed, self.offered), *steps]

    def _command(self, spec: OrderSpec[Any]) -> str:
        return _command_of(spec.name, self.name, self.cluster, self.command)

    def _completed(self, spec: OrderSpec[Any]) -> str:
        """The command; it names the step that the order ends, so that typing it twice ends no other step."""
        order = spec.complete(spec.message(), self._situation) if spec.complete else None
        step = order.step if isinstance(order, StepOrder) else ""
        return f"{self._command(spec)} --step {shlex.quote(step)}" if step else self._command(spec)

    @property
    def offered(self) -> list[OrderSpec[Any]]:
        """The rows of the orders that have an effect now, the mildest first."""
        return [spec for spec in _MILDEST_FIRST if spec.is_offered(self._situation)]

    @property
    def _steps(self) -> list[tuple[OrderSpec[Any], Sequence[str]]]:
        """The orders that may name a step, with the templates of the possible steps."""
        steps = ((spec, spec.steps(self._situation)) for spec in _MILDEST_FIRST)
        return [(spec, templates) for spec, templates in steps if templates]

    @property
    def _situation(self) -> Situation:
        state = self.state
        return state.situation(self.now)


def orders_without_state(name: str, cluster: str, command: str) -> Iterator[str]:
    """The commands of the orders that have an effect in each state."""
    for order in (HOLD, ABORT):
        yield _command_of(order.name, name, cluster, command)


def _command_of(order: str, name: str, cluster: str, command: str) -> str:
    return f"{command} {order} {shlex.quote(name)} --cluster {shlex.quote(cluster)}"


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
    if record is not None and record.is_saved:
        yield f"kubectl get configmap{_in(record.namespace)} {record.name} -o yaml"


def _request_line(request: RequestReference) -> str:
    group, _, version = request.api_version.rpartition("/")
    resource = ".".join(part for part in (request.kind.lower(), version, group) if part)
    return f"kubectl get {resource}{_in(request.namespace)} {request.name} -o yaml"


def _in(namespace: str) -> str:
    return f" -n {namespace}" if namespace else ""
