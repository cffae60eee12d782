"""Simulates a check or a policy against the live cluster, and against the incidents that Temporal stores.

The API server is asked for the defaults of a simulated check by a dry run, which stores nothing.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from temporalio.service import RPCError

from cli.incidents.visibility import Filter, ended_since, open_incidents
from cli.inspection.check import DecisionView
from cli.inspection.connecting import reading_cluster
from cli.inspection.explanation_view import HoldView, ThresholdView
from cli.inspection.progress import read_progress
from cli.inspection.replay import CheckRules, PastIncident, ReplayRules, replay
from cli.inspection.simulated_file import SimulatedCheck, read_simulated
from cli.inspection.simulation_view import ReplayedView, ReplayView, SimulatedCheckView, SimulationView
from cli.shared.errors import UsageError
from cli.shared.options import ClusterChoice
from detector.inspection.decisions import decisions, holds_of_check, incidents
from detector.inspection.inspection import Inspection
from health.check.health_check import HealthCheck
from health.check.threshold import Allowance
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from health.policy.maintenance_windows import Closed, closed
from health.policy.policy import DEFAULTS
from health.policy.policy_document import PolicyDocument
from kube.errors import Forbidden, Invalid
from kube.resource import Resource

Decisions = Mapping[CheckReference, tuple[DecisionView, ...]]


async def simulation(choice: ClusterChoice, file: str, since: timedelta) -> SimulationView:
    """The decisions now and under the check or policy in `file`.

    Raises:
        CommandError: the file is not valid, or the cluster cannot be read.

    """
    simulated = read_simulated(file)
    if isinstance(simulated, PolicyDocument):
        return await _of_policy(choice, simulated, since)
    return await _of_check(choice, simulated, since)


async def _of_policy(choice: ClusterChoice, document: PolicyDocument, since: timedelta) -> SimulationView:
    async with reading_cluster(choice) as inspection:
        await _read_progress(inspection, inspection.cluster_state.checks)
        now = _decided(inspection, inspection.cluster_state.checks)
    async with reading_cluster(choice, document.over(DEFAULTS)) as inspection:
        unknown = await _read_progress(inspection, now)
        view = await _view(inspection, now, since, of="the policy")
        return view.model_copy(update={"unknown_approvals": unknown})


async def _of_check(choice: ClusterChoice, simulated: SimulatedCheck, since: timedelta) -> SimulationView:
    reference = simulated.reference
    async with reading_cluster(choice) as inspection:
        body, has_defaults = await _with_defaults(inspection, simulated)
        stored = inspection.cluster_state.checks.get(reference)
        unknown = await _read_progress(inspection, [reference] if stored else [])
        now = _decided(inspection, [reference] if stored else [])
        record = simulated.record(body, stored.record if stored else None, inspection.state.now())
        await inspection.suppose(simulated.kind, reference, record)
        view = await _view(inspection, {reference: (), **now}, since, of=str(reference))
        return view.model_copy(update={"has_defaults": has_defaults, "unknown_approvals": unknown})


async def _with_defaults(inspection: Inspection, simulated: SimulatedCheck) -> tuple[Mapping[str, Any], bool]:
    """The check with the defaults of its CustomResourceDefinition, if the user may create checks."""
    kind, reference = simulated.kind, simulated.reference
    metadata = {**simulated.body.get("metadata", {}), "generateName": "simulated-"}
    for field in ("name", "uid", "resourceVersion"):
        metadata.pop(field, None)
    api_version = str(simulated.body["apiVersion"])
    resource = Resource(api_version, kind.kind, kind.plural, namespaced=kind.is_namespaced)
    client = inspection.state.connections.management.client
    try:
        body = {**simulated.body, "metadata": metadata}
        return await client.with_defaults(resource, body, reference.namespace), True
    except Forbidden:
        return simulated.body, False
    except Invalid as error:
        raise UsageError(f"the API server refuses {reference}: {error.message}") from error


async def _read_progress(inspection: Inspection, checks: Iterable[CheckReference]) -> tuple[str, ...]:
    """Before the simulated check stands in the state: an await may let the stored one return."""
    return await read_progress(inspection, (one for check in checks for one in incidents(inspection, check)))


async def _view(inspection: Inspection, now: Decisions, since: timedelta, *, of: str) -> SimulationView:
    simulated = _decided(inspection, now)
    checks = tuple(
        _check_view(inspection, check, now[check], simulated[check]) for check in sorted(now, key=str)
    )
    rules = _rules(inspection, now)
    return SimulationView(
        cluster=inspection.cluster_state.cluster,
        at=inspection.state.now(),
        of=of,
        checks=checks,
        replay=await _replayed(inspection, rules, since),
    )


def _decided(inspection: Inspection, checks: Iterable[CheckReference]) -> Decisions:
    return {check: tuple(map(DecisionView.of, decisions(inspection, check))) for check in checks}


def _check_view(
    inspection: Inspection,
    check: CheckReference,
    now: tuple[DecisionView, ...],
    simulated: tuple[DecisionView, ...],
) -> SimulatedCheckView:
    state = inspection.cluster_state
    check_state, allowance = state.checks[check], state.allowance(check)
    is_invalid = isinstance(check_state.check, InvalidCheckError)
    return SimulatedCheckView(
        check=str(check),
        problem=str(check_state.check) if is_invalid else "",
        selected=len(check_state.selected),
        threshold=ThresholdView.of(allowance) if allowance else None,
        holds=tuple(map(HoldView.of, holds_of_check(inspection, check))),
        now=now,
        simulated=simulated,
    )


def _rules(inspection: Inspection, checks: Iterable[CheckReference]) -> ReplayRules:
    state = inspection.cluster_state
    of_checks = {}
    for reference in checks:
        check = state.checks[reference].check
        if not isinstance(check, InvalidCheckError):
            of_checks[str(reference)] = _rules_of(inspection, check, len(state.checks[reference].selected))
    limits = state.cluster_context.policy.policy.limits
    return ReplayRules(of_checks=of_checks, limits=limits, now=inspection.state.now())


def _rules_of(inspection: Inspection, check: HealthCheck, total: int) -> CheckRules:
    windows = inspection.cluster_state.cluster_context.policy.policy.maintenance_windows

    def allowance(unhealthy: int) -> Allowance:
        return check.allowance(total=total, healthy=max(0, total - unhealthy))

    def closed_at(time: datetime) -> Closed | None:
        return closed(windows, check.choices.maintenance_windows, time)

    return CheckRules(
        duration=min((rule.duration for rule in check.node_rules), default=timedelta()),
        allowance=allowance,
        closed=closed_at,
        limits=check.choices.limits,
    )


async def _replayed(inspection: Inspection, rules: ReplayRules, since: timedelta) -> ReplayView | None:
    """The recorded incidents under these rules; None if Temporal cannot be asked."""
    begins = inspection.state.now() - since
    wanted = Filter(cluster=inspection.cluster_state.cluster)
    try:
        client = inspection.state.connections.temporal()
        found = [*await ended_since(client, wanted, begins), *await open_incidents(client, wanted)]
    except RPCError:
        return None
    past = [
        PastIncident(
            check=str(one.incident.check),
            target=str(one.incident.target),
            failed=one.started,
            ended=one.closed,
        )
        for one in found
    ]
    return ReplayView(since=begins, incidents=tuple(map(ReplayedView.of, replay(past, rules))))
