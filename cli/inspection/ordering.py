"""Writes a person's order to remediate on a target, with the rights of the user (ADR 51)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from cli.inspection.connecting import reading_cluster
from cli.inspection.targets import named_check, selected
from cli.shared.errors import CommandError, NotFoundError
from cli.shared.options import UNNAMED, ClusterChoice
from detector.inspection.inspection import Inspection
from health.check.health_check import HealthCheck
from health.check.threshold import Allowance
from health.gate.order_refusal import OrderMoment, refusal
from health.kinds.registry import CHECK_KINDS
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference, IncidentReference
from health.model.remediation_order import REMEDIATE, RemediationOrder, order_in
from health.model.target import Target, facts_of_node
from kube.errors import KubernetesError, NotFound
from kube.resource import Object
from kube.retry_on_conflict import ObjectIdentity, patch_as_read
from objects.durations import in_words
from objects.timestamps import stamp

USER_AGENT = "paramedic-remediate"
"""Names the order in the audit log of the API server."""


@dataclass(frozen=True, kw_only=True)
class GivenRemediation:
    """The order as the command line gives it."""

    target: str
    check: str
    reason: str
    identity: str
    duration: timedelta
    is_forced: bool

    def at(self, now: datetime, check: CheckReference, boot_id: str) -> RemediationOrder:
        """The order, given at `now` in the whole seconds of Kubernetes."""
        begins = now.replace(microsecond=0)
        return RemediationOrder(
            check=str(check),
            reason=self.reason,
            identity=self.identity,
            given=begins,
            until=begins + self.duration,
            boot_id=boot_id,
            is_forced=self.is_forced,
        )


async def order_remediation(choice: ClusterChoice, remediation: GivenRemediation) -> str:
    """Order the remediation, unless it is refused. Returns the sentence to print.

    Raises:
        CommandError: it is refused, nothing has that name, or the cluster cannot be read or written.

    """
    async with reading_cluster(choice, user_agent=USER_AGENT) as inspection:
        check, target = _named(inspection, remediation)
        incident = inspection.incident(check.reference, target)
        order = remediation.at(inspection.state.now(), check.reference, facts_of_node(target).boot_id)
        moment = _moment(inspection, check, target, order)
        if why := refusal(moment):
            raise CommandError(f"{check.reference}: {incident.target} is not remediated: {why}")
        await _write(inspection, incident, order)
        waits = f"held now: {moment.waits_for}" if moment.waits_for else "nothing holds it now"
        return (
            f"{incident.cluster}: {check.reference.name}/{incident.target.name}: its remediation is ordered "
            f"until {stamp(order.until)} (in {in_words(remediation.duration)}), "
            f"unless it boots before; {waits}"
            f"{_unread(inspection)}"
        )


def _unread(inspection: Inspection) -> str:
    is_unnamed = inspection.state.settings.cluster == UNNAMED
    return "; no installation of Paramedic was found in the cluster" if is_unnamed else ""


def _named(inspection: Inspection, remediation: GivenRemediation) -> tuple[HealthCheck, Target]:
    reference = named_check(inspection, remediation.check)
    check = inspection.cluster_state.checks[reference].check
    if isinstance(check, InvalidCheckError):
        raise CommandError(f"{reference} cannot be read: {check}")
    by_any = selected(inspection.cluster_state, remediation.target)
    found = [target for selecting, target in by_any if selecting.reference == reference]
    if len(found) == 1:
        return check, found[0]
    if found:
        names = ", ".join(f"{target.metadata.namespace}/{target.metadata.name}" for target in found)
        raise NotFoundError(f"{remediation.target!r} is ambiguous, say which: {names}")
    others = ", ".join(str(selecting.reference) for selecting, _ in by_any) or "no check does"
    raise NotFoundError(f"{reference} does not select {remediation.target!r}; checks that do: {others}")


def _moment(
    inspection: Inspection, check: HealthCheck, target: Target, order: RemediationOrder
) -> OrderMoment:
    incident, answers = inspection.incident(check.reference, target), inspection.answers
    earlier = order_in(target.annotations.remediate)
    policy = inspection.cluster_state.cluster_context.policy.policy
    return OrderMoment(
        order=order,
        observation=answers.observe(incident),
        holds=answers.observer.holds(incident),
        allowance=_allowance_with(inspection, check, target),
        policy=policy,
        earlier=earlier if earlier is not None and _is_in_force(earlier, order) else None,
    )


def _is_in_force(earlier: RemediationOrder, order: RemediationOrder) -> bool:
    return order.given < earlier.until and not earlier.is_fulfilled_by(order.boot_id)


def _allowance_with(inspection: Inspection, check: HealthCheck, target: Target) -> Allowance | None:
    """The decision of the threshold if `target` counted as unhealthy."""
    state = inspection.cluster_state
    now, check_state = state.allowance(check.reference), state.checks[check.reference]
    if now is None:
        return None
    is_counted = target.metadata.name in check_state.not_healthy
    return check.allowance(total=now.total, healthy=now.healthy - (0 if is_counted else 1))


async def _write(inspection: Inspection, incident: IncidentReference, order: RemediationOrder) -> None:
    """Write the annotation, unless another order came meanwhile.

    Raises:
        CommandError: it was not written.

    """
    management, target = inspection.state.connections.management, incident.target
    try:
        kind = CHECK_KINDS[incident.check.group_kind].targets
        resource = await management.discovery.first_served(kind)
        identity = ObjectIdentity(resource, target.namespace, target.name, target.uid)
        written = await patch_as_read(management.client, identity, partial(_with, order))
    except NotFound as error:
        raise NotFoundError(f"{target} is gone") from error
    except KubernetesError as error:
        raise CommandError(f"{target} cannot be annotated: {error.message.rstrip('.')}") from error
    if written is None:
        raise NotFoundError(f"{target} has another uid now")


def _with(order: RemediationOrder, found: Object) -> Object:
    """The annotation with the order; raises CommandError for another order in force."""
    earlier = order_in((found["metadata"].get("annotations") or {}).get(REMEDIATE, ""))
    if earlier is not None and _is_in_force(earlier, order):
        raise CommandError(f"another order stands until {stamp(earlier.until)}: {earlier.words}")
    return {"metadata": {"annotations": {REMEDIATE: order.model_dump_json(exclude_defaults=True)}}}
