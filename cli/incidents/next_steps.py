"""Suggests what a person may do next about an incident: orders, kubectl commands, a Temporal UI link. Pure.

Orders without effect are left out: holding a held incident, resuming one that goes on. `resume` also ends a
back-off and restarts an exhausted escalation; with `--step`, any escalation.
"""

import shlex
from collections.abc import Iterator
from datetime import datetime

from cli.incidents.visibility import IncidentSummary
from health.kinds.registry import CHECK_KINDS
from health.model.order import StepOrder
from health.runbook.orders import ABORT, HOLD, ORDERS
from objects.frozen import Frozen

_MILDEST_FIRST = tuple(ORDERS.values())[::-1]


class PossibleOrder(Frozen):
    """An order that has an effect on an incident now."""

    order: str
    command: str
    """The command line; it names the step that the order ends, so that typing it twice ends no other step."""
    steps: tuple[str, ...] = ()
    """The values for `--step`; empty: the command is complete."""

    @property
    def line(self) -> str:
        return f"{self.command} --step TEMPLATE ({' or '.join(self.steps)})" if self.steps else self.command


def possible_orders(
    summary: IncidentSummary, now: datetime, command: str, name: str | None
) -> Iterator[PossibleOrder]:
    """The orders that have an effect now, the mildest first, and then those that may name a step.

    `command` and `name` are those of `incident_document`.
    """
    if not summary.is_open:
        return

    def line(order: str, step: str | None = None) -> str:
        incident, cluster = shlex.quote(name or summary.short_name), shlex.quote(summary.incident.cluster)
        named = f"{command} {order} {incident} --cluster {cluster}"
        return f"{named} --step {shlex.quote(step)}" if step else named

    if summary.state is None:  # these have an effect in each state
        for order_name in (HOLD.name, ABORT.name):
            yield PossibleOrder(order=order_name, command=line(order_name))
        return
    situation = summary.state.situation(now)
    for spec in _MILDEST_FIRST:
        if spec.is_offered(situation):
            order = spec.complete(spec.message(), situation) if spec.complete else None
            step = order.step if isinstance(order, StepOrder) else None
            yield PossibleOrder(order=spec.name, command=line(spec.name, step))
    for spec in _MILDEST_FIRST:
        if steps := spec.steps(situation):
            yield PossibleOrder(order=spec.name, command=line(spec.name), steps=tuple(steps))


def kubectl_lines(summary: IncidentSummary) -> Iterator[str]:
    """Commands that show the objects of the incident."""
    check, target = summary.incident.check, summary.incident.target
    kind = CHECK_KINDS.get(check.group_kind)
    plural = kind.plural if kind else check.kind.lower()
    resource = plural if check.kind_name == check.kind else f"{plural}.{check.group}"
    yield f"kubectl describe {target.kind_name.lower()}{_in(target.namespace)} {target.name}"
    yield f"kubectl get {resource}{_in(check.namespace)} {check.name} -o yaml"
    known = summary.state.memory if summary.state else summary.result
    evidence = known.evidence if known else None
    if evidence is not None and evidence.is_saved:
        yield f"kubectl get configmap{_in(evidence.namespace)} {evidence.name} -o yaml"
    for request in summary.state.requests if summary.state else ():
        reference = request.reference
        group, _, version = reference.api_version.rpartition("/")
        resource = ".".join(part for part in (reference.kind.lower(), version, group) if part)
        yield f"kubectl get {resource}{_in(reference.namespace)} {reference.name} -o yaml"


def _in(namespace: str) -> str:
    return f" -n {namespace}" if namespace else ""
