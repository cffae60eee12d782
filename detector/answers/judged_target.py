"""JudgedTarget: one target under its check, with every fact that observation, status and explanation use.

The gate decides on it: `question` has the holds of the check and the facts of the target, which include other
holders of the target and other members of its quorum.
"""

from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from functools import cached_property

from detector.state.check_state import CheckState
from detector.state.request_index import SeenRequest
from detector.state.state_view import StateView
from detector.state.target_store import lease_of_its_node, own_lease, place_of
from health.check.annotated_hold import hold_on_target
from health.check.check_snapshot import NO_HOLDS, CheckHolds
from health.check.health_check import HealthCheck
from health.check.ordered import is_by_order, order_on, with_allowed_force
from health.check.template_validity import version_of
from health.check.threshold import Allowance
from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import UpgradePhase
from health.gate.admission import HOLDER_ASK_AGAIN_SECONDS, CurrentHolder, Question, TargetFacts
from health.gate.approval_hold import approval_hold, required_approval
from health.gate.back_off import NO_BACK_OFF, RemediationBackOff
from health.gate.check_holds import ALL_SEEN, CheckMoment, Unseen
from health.gate.check_holds import check_holds as holds_by
from health.model.approval import Progress, RequiredApproval
from health.model.node import facts_of_node
from health.model.observation import Hold
from health.model.owner_signs import HOLDS_NEXT_STEPS, OwnerSign
from health.model.references import CheckReference, Step
from health.model.target import Target
from health.model.verdict import Verdict
from health.policy.held_nodes import OwnerWork
from health.policy.limits import limit_hold
from health.policy.policy import Policy
from health.policy.policy_in_force import is_in_shadow
from health.policy.quorum import takes_turns, wait_for
from health.runbook.escalation import Plan, StepProgress
from kube.lease import LeaseHolder, LeaseRecord, expiry, holder_is_valid, lock_of
from objects.timestamps import stamp


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


@dataclass(frozen=True)
class JudgedTarget:
    """One target as its check judges it, by the state of its cluster at one time; each fact is made once."""

    state: StateView
    check: HealthCheck
    target: Target
    now: datetime
    _: KW_ONLY
    unseen: Unseen = ALL_SEEN
    storm: Hold | None = None
    """The storm of the check, if it holds new requests."""
    back_off: RemediationBackOff = NO_BACK_OFF
    """The latest remediation of the target."""

    @cached_property
    def question(self) -> Question:
        """The question to the gate, without the limit that a remediation would break."""
        reference, fact = self.check.reference, self.verdict.fact
        order = order_on(reference, self.target) if is_by_order(fact) else None
        own = (entry for entry in self.requests if entry.request.target_uid in self._own_uids)
        is_under_way = self.target.is_marked or any(own)
        return Question(
            of_check=check_holds(
                self.state,
                reference,
                self.now,
                target=self.target,
                unseen=self.unseen,
                allowance=self.state.allowance(reference),
                storm=self.storm,
            ),
            target=self.facts,
            order=order and with_allowed_force(order, self._policy),
            back_off=self.back_off.hold(fact.since, self.now, is_under_way=is_under_way) if fact else None,
        )

    @cached_property
    def verdict(self) -> Verdict:
        return self.check.verdict(self.target, self.now, self._context)

    @cached_property
    def requests(self) -> list[SeenRequest]:
        """The requests of the check for a target of this name, oldest first."""
        return self.state.requests.of(self.check.reference, self.target.metadata.name)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return self.check.steps_for(self.target)

    @property
    def templates(self) -> str:
        """Fingerprint of the templates of its steps."""
        return version_of([step.template for step in self.steps], self.state.template_kinds)

    @cached_property
    def progress(self) -> Progress:
        metadata = self.target.metadata
        return self.state.progress.of(self.check.reference, metadata.name, metadata.uid)

    @property
    def _own_uids(self) -> tuple[str, str]:
        """The uids that its requests name; "" where a request names none."""
        return "", self.target.metadata.uid

    @property
    def is_remediated(self) -> bool:
        return self.target.is_marked or bool(self.requests)

    @property
    def _context(self) -> ClusterContext:
        return self.state.cluster_context

    @property
    def _policy(self) -> Policy:
        return self._context.policy.policy

    @property
    def _check_state(self) -> CheckState:
        return self.state.checks[self.check.reference]

    def course(self, steps: tuple[Step, ...]) -> StepProgress:
        """How far these steps have come, by the requests and the latest report of the incident."""
        plan = Plan(steps, self.progress.spent, self.progress.skipped)
        return plan.progress((entry.snapshot for entry in self.requests), self.now)

    @cached_property
    def facts(self) -> TargetFacts:
        """The facts of the target for the admission of its incident."""
        target, of_node, owner = self.target, facts_of_node(self.target), self.owners.longest
        # During a remediation its remediator cordons and taints the Node.
        maintenance = None if self.is_remediated else self._policy.held_nodes.why(of_node.spec) or None
        earlier = (entry for entry in self.requests if entry.request.target_uid not in self._own_uids)
        return TargetFacts(
            annotated=hold_on_target(target, self._policy, self.now),
            is_excluded=target.is_excluded,
            maintenance=maintenance,
            owner=None if owner is None else owner.hold(self.now),
            has_no_step=not self.steps,
            earlier_request=next((str(entry.reference) for entry in earlier), None),
            lease_holder=self._lease_of_another(),
            requester=self._request_of_another(),
            outage=self._context.outages.hold_of_node(
                target.node_cluster, target.node_name, of_node.metadata.labels
            ),
            other_member=self._other_member(),
            order_turn=self._order_turn(),
            approval=self._approval(),
        )

    @cached_property
    def owners(self) -> Owners:
        """The owners at work on the target.

        During a remediation its remediator may cause some signs, so these do not hold the next step. An
        administrator who unpauses a check in an upgrade wants the targets remediated that hang in it (rule
        46).
        """
        is_upgraded = self._context.upgrade.phase is UpgradePhase.UNDER_WAY
        is_unpaused = is_upgraded and bool(_is_handled(self._check_state, self._context))

        def holds(work: OwnerWork) -> bool:
            if is_unpaused and work.sign == OwnerSign.MACHINE_CONFIG:
                return False
            return self.now < work.until and (not self.is_remediated or work.sign in HOLDS_NEXT_STEPS)

        found = tuple(self._policy.held_nodes.work_on(self.target, self.now))
        return Owners(tuple(filter(holds, found)), tuple(work for work in found if not holds(work)))

    @property
    def lease_acquired_at(self) -> datetime | None:
        """When the check acquired the Lease of the target; None if it does not hold it."""
        lease = self.state.leases.get(own_lease(self.check.reference, self.target))
        return lease.spec.acquire_time if lease is not None and self._holder.holds(lease) else None

    @cached_property
    def required_approval(self) -> RequiredApproval | None:
        """The approval that steps for the target need; None: no step needs one."""
        metadata = self.target.metadata
        resource = place_of(self.check.reference).reference(metadata.name, metadata.uid).kubectl_name
        return required_approval(self.check.choices, self.steps, self.state.template_kinds, resource)

    @property
    def _holder(self) -> LeaseHolder:
        return LeaseHolder(self.check.reference.lease_holder, self.target.metadata.uid)

    def _order_turn(self) -> Hold | None:
        """The hold of an ordered target until fewer orders for its check were given before and are not over.

        An order is over when its remediation is, or its time, so the earliest ones are those in progress.
        """
        orders, name = self._check_state.orders, self.target.metadata.name
        if name not in orders or not is_by_order(self.verdict.fact):
            return None
        most = self._policy.max_orders_in_flight
        ahead: list[str] = []
        for given, other_name in sorted((order.given, other) for other, (_, order) in orders.items()):
            if other_name == name:
                break
            other = self.state.targets.get(self.check.reference, other_name)
            if other and is_by_order(self.check.verdict(other, self.now, self._context).fact):
                ahead.append(f"{other_name} (of {stamp(given)})")
            if len(ahead) == most:
                words = f"{most} ordered remediations of {self.check.reference} at a time (maxOrdersInFlight)"
                return limit_hold(f"{words}: {', '.join(ahead)}", HOLDER_ASK_AGAIN_SECONDS)
        return None

    def _approval(self) -> Hold | None:
        if self._check_state.is_shadow_in(self._context):
            return None
        if self.target.is_marked or self.check.under_way(self.target):
            return None
        required, approval = self.required_approval, self.progress.approval
        if required is None and approval is None:
            return None
        return approval_hold(required, self.steps, self.course(self.steps).due_step, approval)

    def _request_of_another(self) -> CurrentHolder | None:
        """The holder of a request by another owner, unless its remediator was signalled to stop (rule 13).

        A request from one of our own templates blocks until it is gone, because ours would have its name (NHC
        2.8).
        """
        check, own = self.check.reference, Plan(self.check.steps)
        for entry in self.state.requests.for_target(self.target.metadata.name):
            is_in_the_way = entry.snapshot.timed_out_at is None or own.step_of(entry.reference) is not None
            # Other kinds and namespaces use equal names.
            if entry.owner is None:
                may_be_for_it = check.namespace in ("", entry.reference.namespace)
            else:
                may_be_for_it = place_of(entry.owner) == place_of(check)
            if entry.owner != check and is_in_the_way and may_be_for_it:
                return CurrentHolder(str(entry.owner or "another owner"), str(entry.reference))
        return None

    def _lease_of_another(self) -> CurrentHolder | None:
        names = (own_lease(self.check.reference, self.target), lease_of_its_node(self.target))
        for name in dict.fromkeys(names):
            holder = _current_holder(self.state.leases.get(name), self._holder, self.now)
            if holder is not None:
                return holder
        return None

    def _other_member(self) -> CurrentHolder | None:
        """The member of its quorum that the target waits for; None if its step takes no turn (rules 21, 61).

        A request by any owner comes first (NHC 2.4/1), then a mark, deletion or new Machine, then the Lease.
        A target with a request has its turn.
        """
        state, metadata, labels = self.state, self.target.metadata, self._policy.quorum_labels
        if not any(takes_turns(self.target, step.action, labels) for step in self.steps):
            return None
        quorum = self._context.quorum_of(self.target.node_cluster)
        requested = [entry for entry in state.requests.all() if state.quorum_of(entry) == quorum]
        if any(entry.request.target_name == metadata.name for entry in requested):
            return None
        if requested:
            return CurrentHolder(requested[0].request.target_name, str(requested[0].reference))
        for cluster in self._context.clusters_of(quorum):
            for name, other in state.targets.changing(cluster).items():
                wait = wait_for(other, self.target, self.now, labels)
                if wait is not None:
                    by_time = (wait.ends - self.now).total_seconds() if wait.ends else None
                    seconds = HOLDER_ASK_AGAIN_SECONDS if by_time is None else by_time
                    return CurrentHolder(name.name, how=wait.how, seconds=seconds)
        we = LeaseHolder(self.check.reference.lock_holder(metadata.name), metadata.uid)
        return _current_holder(state.leases.get(lock_of(quorum)), we, self.now)


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
    if entry is None or entry.check is None:
        return NO_HOLDS
    moment = CheckMoment(
        check=entry.check,
        context=cluster_state.cluster_context,
        now=now,
        kinds=cluster_state.template_kinds,
        target=target,
        is_handled=_is_handled(entry, cluster_state.cluster_context),
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
