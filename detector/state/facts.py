"""Facts about a check and one target beyond its verdict, read from the state at one moment.

They include other holders of the target, other members of its quorum, and the holds of the check.
"""

from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from detector.state.check_state import CheckState
from detector.state.request_index import SeenRequest
from detector.state.state_view import StateView
from detector.state.target_store import lease_of_its_node, own_lease, place_of
from health.check.annotated_hold import hold_on_target
from health.check.check_hold import NO_HOLDS, CheckHolds
from health.check.health_check import HealthCheck
from health.check.ordered import is_by_order
from health.check.threshold import Allowance
from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import UpgradePhase
from health.gate.admission import HOLDER_ASK_AGAIN_SECONDS, CurrentHolder, TargetFacts
from health.gate.approval_hold import approval_hold, required_approval
from health.gate.check_holds import ALL_SEEN, CheckMoment, Unseen
from health.gate.check_holds import check_holds as holds_by
from health.model.approval import RequiredApproval
from health.model.invalid_check import InvalidCheckError
from health.model.node_signs import HOLDS_NEXT_STEPS
from health.model.observation import Hold
from health.model.owner_signs import OwnerSign
from health.model.references import CheckReference, Step
from health.model.target import Target, facts_of_node
from health.policy.held_nodes import OwnerWork
from health.policy.limits import limit_hold
from health.policy.policy_in_force import is_in_shadow
from health.policy.quorum import takes_turns, wait_for
from health.runbook.escalation import Plan
from kube.lease import LeaseHolder, LeaseRecord, expiry, holder_is_valid, lock_of
from objects.timestamps import stamp


def target_facts(
    cluster_state: StateView, check: CheckReference, target: Target, now: datetime
) -> TargetFacts:
    """The facts of `target` for the admission of an incident of `check`."""
    name = target.metadata.name
    return TargetFacts(
        annotated=hold_on_target(target, cluster_state.cluster_context.policy.policy, now),
        is_excluded=target.is_excluded,
        maintenance=_maintenance(cluster_state, check, target),
        owner=owners_of(cluster_state, check, target, now).hold(now),
        has_no_step=not _has_step(cluster_state, check, target),
        earlier_request=_earlier_request(cluster_state, check, target),
        lease_holder=_lease_of_another(cluster_state, check, target, now),
        requester=_request_of_another(cluster_state, check, name),
        outage=_outage_of_its_domain(cluster_state, target),
        other_member=_other_member(cluster_state, check, target, now),
        order_turn=_order_turn(cluster_state, check, target, now),
        approval=_approval(cluster_state, check, target, now),
    )


def _order_turn(
    cluster_state: StateView, reference: CheckReference, target: Target, now: datetime
) -> Hold | None:
    """The hold of an ordered target until fewer orders for its check were given before and are not over.

    An order is over when its remediation is, or its time, so the earliest ones are those in progress.
    """
    entry, context = cluster_state.checks[reference], cluster_state.cluster_context
    if target.metadata.name not in entry.orders or isinstance(entry.check, InvalidCheckError):
        return None
    if not is_by_order(entry.check.verdict(target, now, context).fact):
        return None
    most = context.policy.policy.max_orders_in_flight
    ahead: list[str] = []
    for given, name in sorted((order.given, name) for name, (_, order) in entry.orders.items()):
        if name == target.metadata.name:
            break
        other = cluster_state.targets.get(reference, name)
        if other is not None and is_by_order(entry.check.verdict(other, now, context).fact):
            ahead.append(f"{name} (of {stamp(given)})")
        if len(ahead) == most:
            words = f"{most} ordered remediations of {reference} at a time (maxOrdersInFlight)"
            return limit_hold(f"{words}: {', '.join(ahead)}", HOLDER_ASK_AGAIN_SECONDS)
    return None


def required_approval_of(
    cluster_state: StateView, check: HealthCheck, target: Target
) -> RequiredApproval | None:
    """The approval that steps for `target` need; None: no step needs one."""
    resource = place_of(check.reference).reference(target.metadata.name, target.metadata.uid).kubectl_name
    return required_approval(check.choices, check.steps_for(target), cluster_state.template_kinds, resource)


def _approval(
    cluster_state: StateView, reference: CheckReference, target: Target, now: datetime
) -> Hold | None:
    check, context = cluster_state.checks[reference], cluster_state.cluster_context
    if isinstance(check.check, InvalidCheckError) or check.is_shadow_in(context):
        return None
    if target.is_marked or check.check.under_way(target):
        return None
    required = required_approval_of(cluster_state, check.check, target)
    progress = cluster_state.progress.of(reference, target.metadata.name, target.metadata.uid)
    if required is None and progress.approval is None:
        return None
    requests = (entry.snapshot for entry in cluster_state.requests.of(reference, target.metadata.name))
    plan = Plan(check.check.steps_for(target), progress.spent, progress.skipped)
    return approval_hold(required, plan.steps, plan.course(requests, now).due_step, progress.approval)


def _outage_of_its_domain(cluster_state: StateView, target: Target) -> Hold | None:
    outages, labels = cluster_state.cluster_context.outages, facts_of_node(target).metadata.labels
    return outages.hold_of_node(target.node_cluster, target.node_name, labels)


def _maintenance(cluster_state: StateView, check: CheckReference, target: Target) -> str:
    """The sign of maintenance on its Node; "" during a remediation: remediators cordon and taint it."""
    if target.is_marked or cluster_state.requests.of(check, target.metadata.name):
        return ""
    return cluster_state.cluster_context.policy.policy.held_nodes.why(facts_of_node(target).spec)


@dataclass(frozen=True)
class Owners:
    """The owners that work on a target by their signs."""

    holding: tuple[OwnerWork, ...]
    passed: tuple[OwnerWork, ...]
    """The work that does not hold the target."""

    @property
    def longest(self) -> OwnerWork | None:
        """The work that holds the target for longest."""
        return max(self.holding, key=lambda work: work.until, default=None)

    def hold(self, now: datetime) -> Hold | None:
        return None if self.longest is None else self.longest.hold(now)


def owners_of(cluster_state: StateView, check: CheckReference, target: Target, now: datetime) -> Owners:
    """The owners at work on `target`, for an incident of `check`.

    During a remediation its remediator may cause some signs, so these do not hold the next step. An
    administrator who unpauses a check in an upgrade wants the targets remediated that hang in it (rule 46).
    """
    context, entry = cluster_state.cluster_context, cluster_state.checks.get(check)
    is_remediated = target.is_marked or bool(cluster_state.requests.of(check, target.metadata.name))
    is_upgraded = context.upgrade.phase is UpgradePhase.UNDER_WAY
    is_unpaused = is_upgraded and entry is not None and bool(_is_handled(entry, context))

    def holds(work: OwnerWork) -> bool:
        if is_unpaused and work.sign == OwnerSign.MACHINE_CONFIG:
            return False
        return now < work.until and (not is_remediated or work.sign in HOLDS_NEXT_STEPS)

    found = tuple(context.policy.policy.held_nodes.work_on(target, now))
    return Owners(tuple(filter(holds, found)), tuple(work for work in found if not holds(work)))


def acquired_at(cluster_state: StateView, check: CheckReference, target: Target) -> datetime | None:
    """When `check` acquired the Lease of `target`; None if it does not hold it."""
    lease = cluster_state.leases.get(own_lease(check, target))
    if lease is None or not _holder(check, target).holds(lease):
        return None
    return lease.spec.acquire_time


def _earlier_request(cluster_state: StateView, check: CheckReference, target: Target) -> str:
    for entry in cluster_state.requests.of(check, target.metadata.name):
        if entry.request.target_uid not in ("", target.metadata.uid):
            return str(entry.reference)
    return ""


def _request_of_another(cluster_state: StateView, check: CheckReference, name: str) -> CurrentHolder | None:
    """The holder of a request by another owner, unless its remediator was signalled to stop (rule 13).

    A request from one of our own templates blocks until it is gone, because ours would have its name (NHC
    2.8).
    """
    own = Plan(_steps(cluster_state, check))
    for entry in cluster_state.requests.for_target(name):
        is_in_the_way = entry.snapshot.timed_out_at is None or own.step_of(entry.reference) is not None
        if entry.owner != check and is_in_the_way and _may_be_for(check, entry):
            return CurrentHolder(str(entry.owner or "another owner"), str(entry.reference))
    return None


def _may_be_for(check: CheckReference, entry: SeenRequest) -> bool:
    """True if the request can be for a target of `check`: other kinds and namespaces use equal names."""
    if entry.owner is not None:
        return place_of(entry.owner) == place_of(check)
    return check.namespace in ("", entry.reference.namespace)


def _lease_of_another(
    cluster_state: StateView, check: CheckReference, target: Target, now: datetime
) -> CurrentHolder | None:
    names, we = dict.fromkeys((own_lease(check, target), lease_of_its_node(target))), _holder(check, target)
    current_holders = (_current_holder(cluster_state.leases.get(name), we, now) for name in names)
    return next((current_holder for current_holder in current_holders if current_holder is not None), None)


def _has_step(cluster_state: StateView, check: CheckReference, target: Target) -> bool:
    judge = cluster_state.checks[check].check
    return not isinstance(judge, InvalidCheckError) and bool(judge.steps_for(target))


def _steps(cluster_state: StateView, check: CheckReference) -> tuple[Step, ...]:
    judge = cluster_state.checks[check].check
    return () if isinstance(judge, InvalidCheckError) else judge.steps


def _holder(check: CheckReference, target: Target) -> LeaseHolder:
    return LeaseHolder(check.lease_holder, target.metadata.uid)


def _other_member(
    cluster_state: StateView, check: CheckReference, target: Target, now: datetime
) -> CurrentHolder | None:
    """The member of its quorum that the target waits for (rules 21 and 61); None if its step takes no turn.

    A request by any owner comes first (NHC 2.4/1), then a mark, deletion or new Machine, then the Lease. A
    target with a request has its turn.
    """
    judge, policy = cluster_state.checks[check].check, cluster_state.cluster_context.policy.policy
    steps = () if isinstance(judge, InvalidCheckError) else judge.steps_for(target)
    labels, context = policy.quorum_labels, cluster_state.cluster_context
    quorum = context.quorum_of(target.node_cluster)
    if not any(takes_turns(target, step.action, labels) for step in steps):
        return None
    requested = [entry for entry in cluster_state.requests.all() if cluster_state.quorum_of(entry) == quorum]
    if any(entry.request.target_name == target.metadata.name for entry in requested):
        return None
    if requested:
        return CurrentHolder(requested[0].request.target_name, str(requested[0].reference))
    changing = (cluster_state.targets.changing(cluster) for cluster in context.clusters_of(quorum))
    for name, other in chain.from_iterable(found.items() for found in changing):
        wait = wait_for(other, target, now, labels)
        if wait is not None:
            seconds = (wait.ends - now).total_seconds() if wait.ends else HOLDER_ASK_AGAIN_SECONDS
            return CurrentHolder(name.name, how=wait.how, seconds=seconds)
    we = LeaseHolder(check.lock_holder(target.metadata.name), target.metadata.uid)
    return _current_holder(cluster_state.leases.get(lock_of(quorum)), we, now)


def _current_holder(lease: LeaseRecord | None, we: LeaseHolder, now: datetime) -> CurrentHolder | None:
    if lease is None or not holder_is_valid(lease, now) or we.holds(lease):
        return None
    ends = expiry(lease) or now
    return CurrentHolder(we.holder_of(lease), seconds=(ends - now).total_seconds())


def check_holds(  # noqa: PLR0913  a moment has these values
    cluster_state: StateView,
    reference: CheckReference,
    now: datetime,
    *,
    target: Target | None = None,
    unseen: Unseen = ALL_SEEN,
    allowance: Allowance | None = None,
    storm: Hold | None = None,
) -> CheckHolds:
    """The holds of a check as a whole; none if it is gone or invalid.

    With `target`, those of them that hold this target.
    """
    entry = cluster_state.checks.get(reference)
    if entry is None or isinstance(entry.check, InvalidCheckError):
        return NO_HOLDS
    check, context = entry.check, cluster_state.cluster_context
    moment = CheckMoment(
        check=check,
        context=context,
        now=now,
        kinds=cluster_state.template_kinds,
        target=target,
        is_handled=_is_handled(entry, context),
        unseen=unseen,
        allowance=allowance,
        storm=storm,
    )
    return holds_by(cluster_state.check_hold_rows, moment)


def _is_handled(entry: CheckState, context: ClusterContext) -> bool | None:
    """True if the pause for the upgrade has handled the check, which is then held by its annotation alone.

    None if the check is not paused for upgrades, as one in shadow: then the upgrade itself holds it.
    """
    progress, metadata = context.upgrade_pause, entry.record.metadata
    if progress is None or entry.kind.upgrade_pause is None:
        return None
    if is_in_shadow(metadata.annotations, context.policy):
        return None
    return progress.has_handled(metadata, context.upgrade.transitions)
