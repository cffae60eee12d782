"""Simulates a check or a policy against the live cluster, and against the incidents that Temporal stores.

The file has a health check of any kind, or a policy. The API server is asked for the defaults of a simulated
check by a dry run, which stores nothing.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError
from temporalio.service import RPCError

from cli.incidents.visibility import Filter, ended_since, open_incidents
from cli.inspection.connecting import read_memories, reading_cluster, temporal_trouble, unknown_orders
from cli.inspection.decision_view import DecisionView
from cli.inspection.explanation_view import HoldView, ThresholdView
from cli.inspection.replay import CheckRules, PastIncident, ReplayRules, replay
from cli.inspection.simulation_view import ReplayedView, ReplayView, SimulatedCheckView, SimulationView
from cli.shared.errors import UsageError
from cli.shared.options import ClusterChoice
from cli.shared.policy_file import NAMES_NO_FIELD, policy_in, read_file
from detector.inspection.decisions import decisions, holds_of_check, incidents
from detector.inspection.inspection import Inspection
from detector.inspection.memories import IncidentMemories
from detector.state.check_state import CheckRecord
from health.check.health_check import HealthCheck
from health.check.threshold import Allowance
from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Process, Right
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from health.policy.maintenance_windows import Closed, closed
from health.policy.policy import DEFAULTS, InvalidPolicyError, Policy
from kube.client import Client
from kube.errors import Forbidden, RequestRefused
from kube.resource import Resource
from objects.field_problem import FieldProblem
from objects.group_kind import GroupKind
from objects.timestamps import stamp
from objects.yaml_document import NoDocumentError, read_document
from runtime.access_review import is_allowed

SIMULATED_UID = "simulated"


@dataclass(frozen=True)
class SimulatedCheck:
    """A check from a file, before the API server has filled in its defaults."""

    kind: CheckKind
    reference: CheckReference
    body: Mapping[str, Any]
    file: str

    def record(self, body: Mapping[str, Any], stored: CheckRecord | None, now: datetime) -> CheckRecord:
        """The record of `body`, with the identity and status of the stored check of its name.

        Raises:
            UsageError: the check cannot be read; names the file, the field and its value.

        """
        identity = {
            "name": self.reference.name,
            "namespace": self.reference.namespace,
            "uid": stored.metadata.uid if stored else SIMULATED_UID,
            "creationTimestamp": stamp(stored.metadata.creation_timestamp if stored else now),
            "generation": stored.metadata.generation + 1 if stored else 1,
        }
        metadata = {**_mapping(body, "metadata"), **identity}
        status = stored.status if stored else {}
        try:
            return CheckRecord.model_validate({**body, "metadata": metadata, "status": status})
        except ValidationError as error:
            raise UsageError(f"{self.file}: {FieldProblem.of(error)}") from error


def read_simulated(file: str) -> SimulatedCheck | Policy:
    """The check or the policy in the file; - is standard input.

    Raises:
        UsageError: the file cannot be read, or is neither; names the field and its value.

    """
    try:
        text = read_file(file)
        content: Mapping[str, Any] = {}
        with suppress(NoDocumentError):  # the policy's parser reports it
            content = read_document(text)
        if "kind" not in content or content["kind"] == "ConfigMap":
            return policy_in(text)
        return _check(content, file)
    except (InvalidPolicyError, UsageError) as error:
        raise UsageError(f"{file}: {error}") from error


def _check(content: Mapping[str, Any], file: str) -> SimulatedCheck:
    group = str(content.get("apiVersion", "")).rpartition("/")[0]
    kind = CHECK_KINDS.get(GroupKind(group, str(content["kind"])))
    if kind is None:
        kinds = ", ".join(f"{kind.kind} of {kind.group}" for kind in CHECK_KINDS.values())
        found = f"{content['kind']} of {group or 'no group'}"
        raise UsageError(f"kind: must be a ConfigMap with the policy, or {kinds} (found {found})")
    metadata = _mapping(content, "metadata")
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise UsageError(f"metadata.name: must be the name of a check (found {name!r})")
    namespace = str(metadata.get("namespace") or "default") if kind.is_namespaced else ""
    reference = CheckReference(kind=kind.kind, group=kind.group, namespace=namespace, name=name)
    return SimulatedCheck(kind, reference, content, file)


def _mapping(content: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    found = content.get(field) or {}
    if not isinstance(found, Mapping):
        raise UsageError(f"{field}: must be a mapping (found {found!r})")
    return found


Decisions = Mapping[CheckReference, tuple[DecisionView, ...]]


async def simulation(choice: ClusterChoice, file: str, since: timedelta) -> SimulationView:
    """The decisions now and under the check or policy in `file`.

    Raises:
        CommandError: the file is not valid, or the cluster cannot be read.

    """
    simulated = read_simulated(file)
    if isinstance(simulated, Policy):
        view = await _of_policy(choice, simulated, since)
        return view.model_copy(update={"warning": no_field(file, simulated)})
    return await _of_check(choice, simulated, since)


def no_field(file: str, policy: Policy) -> str:
    """A warning about a policy without a field; "": it has one."""
    return "" if policy.model_fields_set else f"the defaults are simulated: {file} {NAMES_NO_FIELD}"


async def _of_policy(choice: ClusterChoice, document: Policy, since: timedelta) -> SimulationView:
    async with reading_cluster(choice) as inspection:
        memories = await _read_memories(inspection, inspection.cluster_state.checks)
        now = _decided(inspection, inspection.cluster_state.checks, memories)
        unknown_policy = inspection.unknown_policy
    async with reading_cluster(choice, document.over(DEFAULTS)) as inspection:
        memories = await _read_memories(inspection, now)
        view = await _view(inspection, now, since, memories, of="the policy")
        return view.model_copy(update={"unknown_policy": unknown_policy})


async def _of_check(choice: ClusterChoice, simulated: SimulatedCheck, since: timedelta) -> SimulationView:
    reference = simulated.reference
    async with reading_cluster(choice) as inspection:
        client = inspection.state.connections.management.client
        body, has_defaults = await with_defaults(client, simulated)
        stored = inspection.cluster_state.checks.get(reference)
        memories = await _read_memories(inspection, [reference] if stored else [])
        now = _decided(inspection, [reference] if stored else [], memories)
        record = simulated.record(body, stored.record if stored else None, inspection.state.now())
        supposed = await inspection.suppose(simulated.kind, reference, record)
        if isinstance(supposed.check, InvalidCheckError):
            raise UsageError(f"{simulated.file}: {supposed.check}")
        view = await _view(inspection, {reference: (), **now}, since, memories, of=str(reference))
        return view.model_copy(update={"has_defaults": has_defaults})


async def with_defaults(client: Client, simulated: SimulatedCheck) -> tuple[Mapping[str, Any], bool]:
    """The check with the defaults of its CustomResourceDefinition, if the user may create checks.

    Raises:
        UsageError: the API server, or an admission plugin, refuses the check.
        KubernetesError: the API server cannot be asked.

    """
    kind, reference = simulated.kind, simulated.reference
    metadata = {**simulated.body.get("metadata", {}), "generateName": "simulated-"}
    for field in ("name", "uid", "resourceVersion"):
        metadata.pop(field, None)
    api_version = str(simulated.body["apiVersion"])
    resource = Resource(api_version, kind.kind, kind.plural, namespaced=kind.is_namespaced)
    try:
        body = {**simulated.body, "metadata": metadata}
        return await client.with_defaults(resource, body, reference.namespace), True
    except RequestRefused as error:
        if isinstance(error, Forbidden):  # a right is missing, or an admission plugin refuses
            create = Right(
                process=Process.DETECTOR,  # of no meaning here: the user is asked about
                group=kind.group,
                resource=kind.plural,
                verbs=("create",),
                namespace=reference.namespace,
            )
            if not await is_allowed(client, create, "create"):
                return simulated.body, False
        raise UsageError(f"{simulated.file}: {refusal(simulated, error)}") from error


def refusal(simulated: SimulatedCheck, error: RequestRefused) -> str:
    """The first field that Paramedic refuses too; else the fields in the words of the API server."""
    check = simulated.record(simulated.body, None, datetime.now(UTC)).parse(simulated.kind)
    if isinstance(check, InvalidCheckError):
        return str(check)
    fields = _AFTER_THE_NAME.sub("", error.message).rstrip(".")
    return f"the API server refuses {simulated.reference}: {fields}"


_AFTER_THE_NAME = re.compile(r"^.*? is invalid: ", re.DOTALL)
"""The request, and the name that the dry run generates."""


async def _read_memories(inspection: Inspection, checks: Iterable[CheckReference]) -> IncidentMemories:
    """Before the simulated check stands in the state: an await may let the stored one return."""
    return await read_memories(
        inspection, (incident for check in checks for incident in incidents(inspection, check))
    )


async def _view(
    inspection: Inspection, now: Decisions, since: timedelta, memories: IncidentMemories, *, of: str
) -> SimulationView:
    simulated = _decided(inspection, now, memories)
    checks = tuple(
        _check_view(inspection, check, now[check], simulated[check]) for check in sorted(now, key=str)
    )
    rules, problem, replayed = _rules(inspection, now), "", None
    cluster_state, at = inspection.cluster_state, inspection.state.now()
    try:
        replayed = await _replayed(inspection, rules, since)
    except RPCError as error:
        problem = temporal_trouble(inspection, error)
    return SimulationView(
        cluster=cluster_state.cluster,
        at=at,
        of=of,
        checks=checks,
        replay=replayed,
        temporal_problem=problem,
        unknown_orders=unknown_orders(memories),
        unknown_policy=inspection.unknown_policy,
    )


def _decided(
    inspection: Inspection, checks: Iterable[CheckReference], memories: IncidentMemories
) -> Decisions:
    now = inspection.state.now()
    return {
        check: tuple(DecisionView.of(decision, now) for decision in decisions(inspection, check, memories))
        for check in checks
    }


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


async def _replayed(inspection: Inspection, rules: ReplayRules, since: timedelta) -> ReplayView:
    begins = inspection.state.now() - since
    wanted = Filter(cluster=inspection.cluster_state.cluster)
    client = inspection.state.connections.temporal()
    found = [*await ended_since(client, wanted, begins), *await open_incidents(client, wanted)]
    past = [
        PastIncident(
            check=str(summary.incident.check),
            target=str(summary.incident.target),
            failed=summary.started,
            ended=summary.closed,
        )
        for summary in found
    ]
    return ReplayView(since=begins, incidents=tuple(map(ReplayedView.of, replay(past, rules))))
