"""Findings about what checks do in this cluster: which targets they select, which conditions they watch.

The state is that of a detector over the same cluster (`detector.inspection`), so the numbers are those of
status and Events. Each entry of `FINDINGS` answers one question. A check that cannot be read is a finding of
`of_checks.py`, and is not examined here.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import get_args

from pydantic import BaseModel

from cli.doctor.finding import Finding, note, problem, warning
from cli.doctor.of_checks import name_of
from detector.inspection.inspection import Inspection
from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from detector.state.facts import target_facts
from health.check.health_check import HealthCheck
from health.check.template_field import TemplateField
from health.gate.admission import target_hold
from health.model.invalid_check import InvalidCheckError
from health.model.node import Node
from health.model.references import CheckReference
from health.model.target import Target, facts_of_node, node_name
from health.model.verdict import UnhealthyCondition, matches
from objects.clusters import MANAGEMENT_CLUSTER
from objects.short_text import cut_to_length

READ_WITHIN = timedelta(seconds=5)
"""For the Nodes of workload clusters, which other findings are about."""
MOST_NAMED = 5
"""Names in one finding; the rest is a number."""
_LONGEST_FIELD = 80
_UNUSED_IN_REFERENCES = frozenset({"fieldPath", "resourceVersion", "uid"})
"""The fields of an ObjectReference that no controller of a check reads."""
_STATUSES = frozenset({"True", "False", "Unknown"})
NOT_READY = tuple(UnhealthyCondition("Ready", status, timedelta()) for status in ("False", "Unknown"))
CLAIMING_TAINTS: Mapping[str, str] = {
    "ToBeDeletedByClusterAutoscaler": "the cluster autoscaler",
    "DeletionCandidateOfClusterAutoscaler": "the cluster autoscaler",
    "karpenter.sh/disrupted": "Karpenter",
    "karpenter.sh/disruption": "Karpenter",
    "node.cloudprovider.kubernetes.io/shutdown": "the cloud provider",
    "cloud.google.com/impending-node-termination": "the cloud provider",
    "aws-node-termination-handler/": "the AWS node termination handler",
    "remediator.kubernetes.azure.com/unschedulable": "the node repair of AKS",
    "medik8s.io/drain": "the Node Maintenance Operator",
    "kubevirt.io/drain": "the Node Maintenance Operator",
}
"""Taints of others that work on a Node, with their owner; a key that ends with "/" is a prefix."""
_HOLD_THEM = "the policy can hold such Nodes, see docs/owners-and-quorums.md#nodes-that-others-work-on"


@dataclass(frozen=True, kw_only=True)
class CheckHere:
    """One valid check with its targets in this cluster."""

    reference: CheckReference
    state: CheckState
    check: HealthCheck
    selected: Sequence[Target]
    """Ordered by name."""

    @property
    def name(self) -> str:
        return name_of(self.state.kind, self.reference.namespace, self.reference.name)

    @property
    def targets(self) -> str:
        return f"{self.state.kind.targets.kind}s"


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The checks and Nodes of one cluster."""

    cluster_state: ClusterState
    now: datetime
    is_read: Callable[[CheckReference], bool]
    """Returns True if the sources of the numbers of a check were read completely."""
    are_all_read: bool
    """False if checks or targets are missing here because they could not be read."""

    @cached_property
    def checks(self) -> tuple[CheckHere, ...]:
        state = self.cluster_state
        return tuple(
            CheckHere(
                reference=reference,
                state=entry,
                check=entry.check,
                selected=[
                    target
                    for name in sorted(entry.selected)
                    if (target := state.targets.get(reference, name))
                ],
            )
            for reference, entry in sorted(state.checks.items(), key=lambda item: str(item[0]))
            if not isinstance(entry.check, InvalidCheckError) and self.is_read(reference)
        )

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """The Nodes of the management cluster, by name."""
        found = self.cluster_state.targets.at(node_name("").place)
        return {name: node for name, node in sorted(found.items()) if isinstance(node, Node)}

    def selected_nodes(self, one: CheckHere) -> list[Node]:
        """The existing Nodes of the targets of a check."""
        names = (node_name(target.node_name, target.node_cluster) for target in one.selected)
        found = (self.cluster_state.targets.at(name.place).get(name.name) for name in names)
        return [node for node in found if isinstance(node, Node)]


async def coverage_of(inspection: Inspection) -> Coverage:
    """The coverage by an inspection, once each check was read, or could not be read in time."""
    of_checks, feeds = inspection.watched.context.of_checks, inspection.watched.feeds
    with suppress(TimeoutError):
        async with asyncio.timeout(READ_WITHIN.total_seconds()):
            await asyncio.gather(*map(of_checks.wait_read, tuple(inspection.cluster_state.checks)))
    return Coverage(
        cluster_state=inspection.cluster_state,
        now=inspection.state.now(),
        is_read=of_checks.is_read,
        are_all_read=all(source.synced for source in feeds.watched.all),
    )


def selects_nothing(coverage: Coverage) -> Iterator[Finding]:
    for one in coverage.checks:
        possible = len(coverage.cluster_state.targets.of(one.reference))
        if not one.selected:
            where = f" in {one.reference.namespace}" if one.reference.namespace else ""
            what = f"{one.name} selects none of the {possible} {one.targets}{where}"
            yield warning("SelectsNothing", what, "correct spec.selector, or delete the check")
        elif all(target.is_excluded for target in one.selected):
            what = f"{one.name} selects only excluded {one.targets}: {_named(one.selected)}"
            yield warning("SelectsOnlyExcluded", what, "remove their label, or correct spec.selector")


def watches_no_condition(coverage: Coverage) -> Iterator[Finding]:
    for one in coverage.checks:
        if not one.check.condition_rules:
            what = f"{one.name} watches no condition, so none of its {one.targets} is remediated for one"
            yield problem("WatchesNoCondition", what, "list the conditions in the fields of its apiVersion")


def unknown_fields(coverage: Coverage) -> Iterator[Finding]:
    """Fields that the API server stores and that the apiVersion of the check does not have."""
    for one in coverage.checks:
        version = one.state.record.api_version
        fields = sorted(fields_beyond(one.state.kind.spec_model(version), one.state.record.spec))
        if fields:
            shown = _listed([cut_to_length(name, _LONGEST_FIELD) for name in fields])
            what = f"{one.name} has fields that {version} does not have: {shown}"
            advice = "move them to the fields of this apiVersion: other controllers of this API ignore them"
            yield warning("UnknownFields", what, advice)


def watches_conditions_that_do_not_occur(coverage: Coverage) -> Iterator[Finding]:
    """Types that no selected Node has, and statuses that no condition can have."""
    for one in coverage.checks:
        wrong = {rule.status: rule for rule in one.check.condition_rules if rule.status not in _STATUSES}
        for rule in wrong.values():
            what = (
                f"{one.name} waits for {rule.type}={rule.status}, and a condition is True, False or Unknown"
            )
            yield problem("StatusImpossible", what, "correct the status")
        nodes = coverage.selected_nodes(one)
        known = {condition.type for node in nodes for condition in node.status.conditions}
        missing = dict.fromkeys(rule.type for rule in one.check.node_rules if rule.type not in known)
        if nodes and missing:
            what = f"{one.name} watches conditions that none of its Nodes has: {_listed([*missing])}"
            advice = "correct the type, or start the monitor that reports it"
            yield warning("ConditionNotReported", what, advice)


def never_allows(coverage: Coverage) -> Iterator[Finding]:
    """Thresholds that hold at any number of unhealthy targets."""
    for one in coverage.checks:
        total = len(one.selected)
        if total and not any(
            one.check.allowance(total=total, healthy=healthy).allowed for healthy in reversed(range(total))
        ):
            limit = one.check.allowance(total=total, healthy=total - 1).limit
            what = f"{one.name} never allows a remediation of its {total} {one.targets}: {limit}"
            yield warning("NeverAllows", what, "correct its threshold, if it is not meant as a pause")


def shares_nodes(coverage: Coverage) -> Iterator[Finding]:
    """Several checks over the same Nodes, which remediate them one after the other."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for one in coverage.checks:
        for node in coverage.selected_nodes(one):
            if node.node_cluster == MANAGEMENT_CLUSTER:
                names[node.metadata.name].append(one.name)
    for checks, count in Counter(tuple(checks) for checks in names.values() if len(checks) > 1).items():
        what = f"{_listed(checks)} select the same {count} Node{'s' * (count > 1)}"
        advice = (
            "a Lease lets one of them remediate at a time; give each Node one check, if that is not meant"
        )
        yield note("NodesShared", what, advice)


def selected_by_none(coverage: Coverage) -> Iterator[Finding]:
    """Unhealthy Nodes that no check selects: by readiness, and by the conditions that checks watch."""
    if not coverage.are_all_read:
        return
    covered = {node.metadata.uid for one in coverage.checks for node in coverage.selected_nodes(one)}
    watched = {(rule.type, rule.status): rule for one in coverage.checks for rule in one.check.node_rules}
    rules = [*NOT_READY, *watched.values()]
    left = [
        node
        for node in coverage.nodes.values()
        if node.metadata.uid not in covered and not node.is_excluded and matches(node, rules)
    ]
    if left:
        what = (
            f"{len(left)} unhealthy Node{'s' * (len(left) > 1)} that no handled check selects: {_named(left)}"
        )
        advice = "nothing remediates them: extend the selector of a check, or create one"
        yield warning("UnhealthyAndUnselected", what, advice)


def claimed(coverage: Coverage) -> Iterator[Finding]:
    """Nodes that are cordoned or claimed by others, and that nothing of their own holds."""
    state = coverage.cluster_state
    for one in coverage.checks:
        if one.state.is_shadow_in(state.cluster_context):
            continue
        unhealthy: list[str] = []
        healthy: list[str] = []
        for target in one.selected:
            sign = claim_on(target)
            if sign and _would_be_remediated(coverage, one, target):
                found = unhealthy if target.metadata.name in one.state.unhealthy else healthy
                found.append(f"{target.metadata.name} ({sign})")
        if unhealthy:
            what = f"{one.name} remediates {one.targets} that others work on: {_listed(unhealthy)}"
            yield warning("ClaimedAndUnhealthy", what, _HOLD_THEM)
        if healthy:
            what = f"{one.name} will remediate {one.targets} that others work on: {_listed(healthy)}"
            yield note("Claimed", what, f"once they are unhealthy; {_HOLD_THEM}")


def claim_on(target: Target) -> str:
    """The sign that others work on the Node of a target; "" without one."""
    node = facts_of_node(target)
    spec, annotations = node.spec, node.metadata.annotations
    for key in (taint.key for taint in spec.taints):
        owner = CLAIMING_TAINTS.get(key) or CLAIMING_TAINTS.get(f"{key.partition('/')[0]}/")
        if owner:
            return f"the taint {key} of {owner}"
    if annotations.kured_before or annotations.kured:
        prefix = "weave.works" if annotations.kured_before else "kured.dev"
        return f"the annotation {prefix}/kured-reboot-in-progress of kured"
    return "cordoned" if spec.unschedulable else ""


def _would_be_remediated(coverage: Coverage, one: CheckHere, target: Target) -> bool:
    """True if no remediation is under way, which may have cordoned it, and no hold of its own applies."""
    state, name = coverage.cluster_state, target.metadata.name
    if target.is_marked or state.requests.of(one.reference, name) or one.check.under_way(target):
        return False
    return target_hold(target_facts(state, one.reference, target, coverage.now)) is None


def fields_beyond(model: object, raw: object, path: str = "spec") -> Iterator[str]:
    """The paths of fields that the model does not have; `model` is the type of the field with that path."""
    if isinstance(raw, Sequence) and not isinstance(raw, str):
        for number, value in enumerate(raw):
            yield from fields_beyond(model, value, f"{path}[{number}]")
    elif isinstance(model, type) and issubclass(model, BaseModel):
        fields = {one.alias or name: one.annotation for name, one in model.model_fields.items()}
        for name, value in raw.items() if isinstance(raw, Mapping) else ():
            if name in fields:
                yield from fields_beyond(fields[name], value, f"{path}.{name}")
            elif not (model is TemplateField and name in _UNUSED_IN_REFERENCES):
                yield f"{path}.{name}"
    else:
        for part in get_args(model):  # of a list, and of a field that may be missing
            yield from fields_beyond(part, raw, path)


FINDINGS: tuple[Callable[[Coverage], Iterable[Finding]], ...] = (
    selects_nothing,
    watches_no_condition,
    unknown_fields,
    watches_conditions_that_do_not_occur,
    never_allows,
    selected_by_none,
    claimed,
    shares_nodes,
)


def coverage_findings(coverage: Coverage) -> list[Finding]:
    return [finding for question in FINDINGS for finding in question(coverage)]


def _named(objects: Iterable[Target]) -> str:
    return _listed([one.metadata.name for one in objects])


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f", and {more} more" if more > 0 else "")
