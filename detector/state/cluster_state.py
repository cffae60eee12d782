"""ClusterState: a live copy of one cluster, from which every question of an incident is answered.

Reflectors apply changes between two awaits, and the state is consistent before the next await; so each answer
is of one moment. Handlers are called with the check, and the target, whose answer may have changed.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from detector.state.check_state import CheckRecord, CheckState
from detector.state.event_handlers import EventHandlers, ResyncQueue
from detector.state.request_index import SeenRequest, adopted, seen
from detector.state.state_view import StateView
from detector.state.target_store import LinkedNodes, concerned, place_of
from health.check.template_validity import TemplateKind, TemplateKinds
from health.cluster.cluster_context import ClusterContext
from health.gate.check_holds import CHECK_HOLDS, CheckHoldRow
from health.kinds.check_kind import CheckKind
from health.model.approval import Progress
from health.model.observation import Hold, Observation
from health.model.references import CheckReference, IncidentReference
from health.model.remediation_request import RemediationRequest
from health.model.target import Target, TargetName
from health.policy.quorum import is_member, may_be_changing
from kube.lease import LeaseRecord, is_lock, lock_of
from objects.clusters import MANAGEMENT_CLUSTER
from runtime.guard import Guard

UNKNOWN_UID = "unknown"
"""In the id of an incident whose request does not name the uid of its target."""


def _nothing_known(api_version: str, kind: str) -> TemplateKind | None:  # noqa: ARG001  as TemplateKinds asks
    return None


class _Counted(NamedTuple):
    """A target of a check; formatted only if an error is reported, since there are so many."""

    check: CheckReference
    target: str

    def __str__(self) -> str:
        return f"{self.check} {self.target}"


class ClusterState(StateView):
    """Targets, checks, requests and Leases of one cluster, as last seen."""

    def __init__(
        self,
        cluster: str,
        guard: Guard | None = None,
        template_kinds: TemplateKinds = _nothing_known,
        *,
        check_hold_rows: Sequence[CheckHoldRow] = CHECK_HOLDS,
        removes_confirmations: bool = True,
    ) -> None:
        """`removes_confirmations`: whether workers remove a person's mark that a target is healthy."""
        super().__init__(template_kinds, check_hold_rows)
        self.cluster = cluster
        self._removes_confirmations = removes_confirmations
        self.guard = guard or Guard()
        """Guards each item of the loops over objects."""
        self.linked_nodes = LinkedNodes()
        self.event_handlers = EventHandlers(guard=self.guard)
        """Handlers of changes."""
        self.resync = ResyncQueue(self.event_handlers.notify_change)
        """Notifications of handlers that are sent in pieces."""

    def notify_all(self) -> None:
        """Notify handlers that every answer may have changed."""
        self.resync.add(
            self.checks, {check: self._concerned_of(check) for check in self._checks_and_owners()}
        )

    def notify_check(self, check: CheckReference) -> None:
        """Notify handlers that every answer of one check may have changed."""
        self._notify_check(check, self._concerned_of(check))

    def _notify_check(self, check: CheckReference, targets: frozenset[str]) -> None:
        self.event_handlers.notify_change(check, None)
        self.resync.add((), {check: targets})

    def _checks_and_owners(self) -> set[CheckReference]:
        """All checks, and deleted checks that still own requests."""
        return {*self.checks, *self.requests.owners()}

    def _concerned_of(self, check: CheckReference) -> frozenset[str]:
        return self.requests.targets_of(check) | self._concerned(self.checks.get(check))

    def target_changed(self, changed: TargetName, target: Target | None) -> None:
        """A target was added, changed or (None) deleted."""
        checks = [reference for reference in self.checks if place_of(reference) == changed.place]
        self.resync.notify_waiting(checks, changed.name)
        before = self.targets.at(changed.place).get(changed.name)
        self.targets.put(changed, target)
        for reference in checks:
            self._see(reference, self.checks[reference], changed.name, target)
        self._notify_waiting_members(before, target)

    def _notify_waiting_members(self, before: Target | None, after: Target | None) -> None:
        """Notify members of a quorum when another one begins or ends to be replaced."""
        more = self.cluster_context.policy.policy.quorum_labels
        was, is_now = (
            target is not None and may_be_changing(target) and is_member(target, more)
            for target in (before, after)
        )
        target = after or before
        if was != is_now and target is not None:
            self._notify_members(self._lock(target))

    def _see(self, reference: CheckReference, check: CheckState, name: str, target: Target | None) -> None:
        was_target = name in check.selected
        numbers_changed = self._take_in(reference, check, name, target)
        if not was_target and name in check.selected:
            self._adopt(self.requests.for_target(name))
        if was_target or name in check.selected:
            self.event_handlers.notify_change(reference, name)
        if numbers_changed:
            self.event_handlers.notify_change(reference, None)

    def take_context(self, context: ClusterContext) -> None:
        """Replace the cluster context, and notify handlers of the checks that a change may concern."""
        if context == self.cluster_context:
            return
        checks = self._affected_by(context)
        before = {check: self._concerned_of(check) for check in checks}
        last, self.cluster_context = self.cluster_context, context
        self.event_handlers.notify_context()
        for reference, check in self.checks.items():
            if context.changes_verdicts(reference.group_kind, last):
                # A context does not change which targets are selected.
                for name in tuple(check.selected):
                    self._take_in(reference, check, name, self.targets.get(reference, name))
        # Notify incidents that are no longer wanted, too.
        self.resync.add(
            [check for check in checks if check in self.checks],
            {check: names | self._concerned_of(check) for check, names in before.items()},
        )

    def _affected_by(self, context: ClusterContext) -> set[CheckReference]:
        """The checks whose answers may change with this context.

        These are all checks, unless only entries of workload clusters changed: the API server of such a
        cluster can change its entries at will.
        """
        changed = context.changed_clusters(self.cluster_context)
        if changed is None or MANAGEMENT_CLUSTER in changed:
            return self._checks_and_owners()
        return {
            reference
            for reference, check in self.checks.items()
            if changed & {check.managed_cluster, check.node_cluster_in(context)}
        }

    def templates_changed(self, api_version: str, kind: str) -> None:
        """Notify the checks that name a template of this kind."""
        for reference, check_state in self.checks.items():
            steps = () if check_state.check is None else check_state.check.steps
            named = {(step.template.api_version, step.template.kind) for step in steps}
            if (api_version, kind) in named:
                self.notify_check(reference)

    def check_changed(self, kind: CheckKind, reference: CheckReference, record: CheckRecord | None) -> None:
        """A check was added, changed or (None) deleted."""
        check_state = self.checks.get(reference)
        if record is None:
            self.checks.pop(reference, None)
            self.act_findings.forget(reference)
            self.progress.forget(reference)
        elif check_state is not None and check_state.record.says_the_same(record):
            check_state.refresh(record)
            self.event_handlers.notify_change(reference, None)
            return
        else:
            replaced = CheckState(kind, record)
            for name, target in self.targets.of(reference).items():
                self._take_in(reference, replaced, name, target)
            self.checks[reference] = replaced
        self._adopt(self.requests.unowned())
        self._notify_check(reference, self._concerned_of(reference) | self._concerned(check_state))

    def _take_in(
        self, reference: CheckReference, check: CheckState, name: str, target: Target | None
    ) -> bool:
        """Count a target; a target that cannot be judged counts against the threshold (rule 3)."""
        with self.guard.item("numbers", _Counted(reference, name)):
            if check.ignores(name, target):
                return False
            was_unhealthy = name in check.unhealthy
            numbers_changed = check.see(name, target, self.cluster_context)
            goes_on = was_unhealthy and name in check.unhealthy and target is not None
            # Drop the reports of incidents of other objects, and of another failure ("": of all).
            uid = target.metadata.uid if target and goes_on else ""
            self.act_findings.keep_only(reference, name, uid)
            self.progress.keep_only(reference, name, uid)
            return numbers_changed
        return check.count_unjudged(name)

    def request_changed(
        self, api_version: str, kind: str, request: RemediationRequest, *, exists: bool
    ) -> None:
        """A remediation request was added, changed or deleted."""
        entry = adopted(seen(api_version, kind, request), self.checks, self.targets)
        before = self.requests.put(entry) if exists else self.requests.remove(entry)
        after = self.requests.get(entry.reference.uid)
        if exists and before is None and entry.owner is not None:
            self.act_findings.overcome(entry.owner, request.target_name)
        self.event_handlers.notify_request(entry.reference, before, after)
        if after is not None and not exists:
            self._adopt([after])
        # An edit may have changed its owner and its target: notify those of before, too.
        is_moved = before is not None and (before.owner, before.request.target_name) != (
            entry.owner,
            request.target_name,
        )
        if before is not None and is_moved:
            self._notify_of_request(before)
        self._notify_of_request(entry)
        quorum = self.quorum_of(entry)
        if quorum is not None:
            self._notify_members(lock_of(quorum))

    def _adopt(self, entries: Iterable[SeenRequest]) -> None:
        """Give requests without an owner to the check that now selects their target."""
        for entry in [entry for entry in entries if entry.owner is None]:
            owned = adopted(entry, self.checks, self.targets)
            if owned.owner is not None:
                self.requests.put(owned)
                self.event_handlers.notify_change(owned.owner, owned.request.target_name)

    def _notify_of_request(self, entry: SeenRequest) -> None:
        target = entry.request.target_name
        if entry.owner is not None:
            self.event_handlers.notify_change(entry.owner, target)
            self.event_handlers.notify_change(entry.owner, None)
        for reference, check in self.checks.items():
            if reference != entry.owner and target in check.unhealthy:
                self.event_handlers.notify_change(reference, target)

    def found(self, incident: IncidentReference, hold: Hold | None) -> None:
        """Store the finding of the latest act of an incident; None if nothing held it."""
        check, target = incident.check, incident.target
        observed_target, check_state = self.targets.get(check, target.name), self.checks.get(check)
        if observed_target is None or observed_target.metadata.uid != target.uid:
            return
        if check_state is None or target.name not in check_state.unhealthy:
            return
        if self.act_findings.note(check, target.name, target.uid, hold):
            self.event_handlers.notify_change(check, target.name)
            self.event_handlers.notify_change(check, None)

    def reported(self, incident: IncidentReference, progress: Progress) -> bool:
        """Store the progress of an incident; returns whether its observation may have changed.

        A target that is healthy counts too: it may get another step until its recovery is proven.
        """
        check, target = incident.check, incident.target
        observed_target = self.targets.get(check, target.name)
        if observed_target is None or observed_target.metadata.uid != target.uid:
            return False
        return self.progress.note(check, target.name, target.uid, progress)

    def answered(self, incident: IncidentReference, answer: Observation, now: datetime) -> None:
        """Note when the hold in this answer began; the incident reports it with its next question."""
        known = self.progress.of(incident.check, incident.target.name, incident.target.uid)
        holds = answer.held_since(known.holds, now).holds_after(known.holds)
        if holds != known.holds:
            self.reported(incident, known.held_by(holds))

    def lease_changed(self, name: str, lease: LeaseRecord | None) -> None:
        """The Lease of a target was added, changed or (None) deleted."""
        if lease is None:
            self.leases.pop(name, None)
        else:
            self.leases[name] = lease
        for reference, check in self.checks.items():
            for target in concerned(name, reference, check, self.targets):
                self.event_handlers.notify_change(reference, target)
        if is_lock(name):
            self._notify_members(name)

    def _notify_members(self, lock: str) -> None:
        """Notify the unhealthy members of the quorum with this lock: another one may have its turn now."""
        more = self.cluster_context.policy.policy.quorum_labels
        for reference, check in self.checks.items():
            for name in check.unhealthy:
                target = self.targets.get(reference, name)
                if target is not None and self._lock(target) == lock and is_member(target, more):
                    self.event_handlers.notify_change(reference, name)

    def _lock(self, target: Target) -> str:
        return lock_of(self.cluster_context.quorum_of(target.node_cluster))

    def wanted(self, check: CheckReference, target: str) -> frozenset[IncidentReference]:
        """The incidents that should exist for one target of one check.

        There is one for an unhealthy target, and one for each request that the check owns, regardless of its
        creator, so that every request of ours has an incident that removes it in the end.
        """
        observed_target, check_state = self.targets.get(check, target), self.checks.get(check)
        uids = set()
        if observed_target is not None and target in self._concerned(check_state):
            uids.add(observed_target.metadata.uid)
        for entry in self.requests.of(check, target):
            uids.add(
                entry.request.target_uid or (observed_target.metadata.uid if observed_target else UNKNOWN_UID)
            )
        place = place_of(check)
        return frozenset(
            IncidentReference(cluster=self.cluster, check=check, target=place.reference(target, uid))
            for uid in uids
        )

    def all_wanted(self) -> Iterator[IncidentReference]:
        """All incidents that should exist, over all checks and targets."""
        for check in self._checks_and_owners():
            for target in self._concerned_of(check):
                yield from self.wanted(check, target)

    def _concerned(self, check_state: CheckState | None) -> set[str]:
        if check_state is None:
            return set()
        removes = self._removes_confirmations
        return check_state.concerned_in(self.cluster_context, removes_confirmations=removes)
