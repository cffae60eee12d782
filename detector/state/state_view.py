"""StateView: the state of one cluster, for reading.

`ClusterState` is the view that changes. `frozen` returns a copy for some checks: long work on it can
yield to the event loop and still sees one moment. Only containers are copied, as all values in them are
immutable: 10 ms for 5,000 targets.
"""

from collections.abc import Sequence
from copy import copy
from datetime import datetime
from typing import Generic, Self, TypeVar

from detector.state.check_state import CheckState
from detector.state.request_index import RequestIndex, SeenRequest
from detector.state.target_store import TargetStore, place_of
from health.check.template_validity import TemplateKinds
from health.check.threshold import Allowance
from health.cluster.cluster_context import ClusterContext
from health.gate.check_holds import CHECK_HOLDS, CheckHoldRow
from health.kinds.registry import CHECK_KINDS
from health.model.approval import Progress
from health.model.node import NODES
from health.model.observation import Hold
from health.model.references import CheckReference, IncidentReference, kind_name
from health.model.target import TargetPlace
from health.policy.quorum import is_member
from kube.lease import LeaseRecord
from objects.group_kind import GroupKind

ReportT = TypeVar("ReportT")


class IncidentReports(Generic[ReportT]):
    """The latest reports of incidents with their questions, by check and name of the target.

    The cluster does not show them. They are kept for unhealthy targets only, each by its uid. A new leader
    has none until the incidents have asked, which they do at once.
    """

    def __init__(self, nothing: ReportT) -> None:
        """`nothing` stands for a report that did not come."""
        self._nothing = nothing
        self._reported: dict[tuple[CheckReference, str], tuple[str, ReportT]] = {}

    def frozen(self) -> Self:
        copied = copy(self)
        copied._reported = dict(self._reported)  # noqa: SLF001  of this class
        return copied

    def note(self, check: CheckReference, target: str, uid: str, report: ReportT) -> bool:
        """Keep the report of the incident of this uid; returns whether it changed."""
        before = self._reported.get((check, target))
        self._reported[check, target] = uid, report
        return before != (uid, report)

    def of(self, check: CheckReference, target: str, uid: str) -> ReportT:
        """The report of the incident of this uid."""
        return self._reported[check, target][1] if self.is_heard(check, target, uid) else self._nothing

    def is_heard(self, check: CheckReference, target: str, uid: str) -> bool:
        """True if the incident of this uid has reported."""
        return (check, target) in self._reported and self._reported[check, target][0] == uid

    def keep_only(self, check: CheckReference, target: str, uid: str) -> None:
        """Drop the report unless it is of this uid, the unhealthy object; "" drops it always."""
        if not self.is_heard(check, target, uid):
            self._reported.pop((check, target), None)

    def forget(self, check: CheckReference) -> None:
        for key in [key for key in self._reported if key[0] == check]:
            del self._reported[key]

    def clear(self) -> None:
        """Forget everything: leadership begins, and the known reports may be old."""
        self._reported.clear()


class ReportedProgress(IncidentReports[Progress]):
    """The progress of approvals; before it is known, a step that needs an approval is held."""

    def note(self, check: CheckReference, target: str, uid: str, report: Progress) -> bool:
        """Keep the report; returns whether more than its holds changed, which an answer does not use."""
        before = self.of(check, target, uid)
        if report == self._nothing:
            self._reported.pop((check, target), None)
        else:
            super().note(check, target, uid, report)
        return before.held_by(report.holds) != report


class ActFindings(IncidentReports[Hold | None]):
    """The holds of the latest acts that only the act could see; None for an act without one.

    No watch shows the disruption budget of etcd, a Lease taken a moment ago, or the API server's answer to a
    request.
    """

    def overcome(self, check: CheckReference, target: str) -> None:
        """Drop the hold: a request of the check for the target appeared, so its act took the step."""
        if (check, target) in self._reported:
            uid, _ = self._reported[check, target]
            self._reported[check, target] = uid, None


def _place_by_owner(entry: SeenRequest) -> TargetPlace:
    """The place of the target of a request that no known check owns."""
    metadata = entry.request.metadata
    owners = {GroupKind(one.api_version.rpartition("/")[0], one.kind) for one in metadata.owner_references}
    of_owner = (kind.targets for kind in CHECK_KINDS.values() if kind.targets.group_kind in owners)
    targets = next(of_owner, NODES)
    return TargetPlace(kind_name(targets.group_kind), metadata.namespace if targets.is_namespaced else "")


class StateView:
    """Targets, checks, requests and Leases of one cluster."""

    def __init__(
        self, template_kinds: TemplateKinds, check_hold_rows: Sequence[CheckHoldRow] = CHECK_HOLDS
    ) -> None:
        self.targets = TargetStore()
        self.checks: dict[CheckReference, CheckState] = {}
        self.requests = RequestIndex()
        self.leases: dict[str, LeaseRecord] = {}
        self.act_findings = ActFindings(None)
        self.progress = ReportedProgress(Progress())
        self.cluster_context = ClusterContext()
        """The surroundings in which all checks are judged."""
        self.template_kinds = template_kinds
        """Looks up what is known of the kind of a template now."""
        self.check_hold_rows = check_hold_rows

    def allowance(self, check: CheckReference) -> Allowance | None:
        """The remediations that a check's threshold allows; None if the check is invalid or gone."""
        check_state = self.checks.get(check)
        if check_state is None or check_state.check is None:
            return None
        return check_state.allowance(check_state.check, self.requests.targets_of(check))

    def orders_over(self, now: datetime) -> frozenset[tuple[str, datetime]]:
        """The orders to remediate that are over by their time, or that their incidents ended."""
        return frozenset(
            (uid, order.given)
            for check, state in self.checks.items()
            for name, (uid, order) in state.orders.items()
            if order.why_over(now) or self.progress.of(check, name, uid).order_ended == order.given
        )

    def quorum_of(self, entry: SeenRequest) -> str | None:
        """The cluster of the quorum that the target of a request is a member of; None if it is no member.

        A request that no known check owns is for the object that owns it, else for a Node. The label of a
        request shows a member that is gone.
        """
        place = _place_by_owner(entry) if entry.owner is None else place_of(entry.owner)
        target = self.targets.at(place).get(entry.request.target_name)
        more = self.cluster_context.policy.policy.quorum_labels
        if not entry.snapshot.is_of_control_plane and (target is None or not is_member(target, more)):
            return None
        return self.cluster_context.quorum_of(entry.node_cluster if target is None else target.node_cluster)

    def own_requests(self, incident: IncidentReference) -> list[SeenRequest]:
        """The requests of `incident`, and requests for its target without a uid."""
        entries = self.requests.of(incident.check, incident.target.name)
        return [entry for entry in entries if entry.request.target_uid in ("", incident.target.uid)]

    def frozen(
        self,
        *checks: CheckReference,
        context: ClusterContext | None = None,
    ) -> "StateView":
        """Return a copy of these checks, and of the targets and values that all checks share.

        `context` replaces the cluster context.
        """
        view = StateView(self.template_kinds, self.check_hold_rows)
        view.targets = self.targets.frozen()
        view.checks = {check: self.checks[check].frozen() for check in checks if check in self.checks}
        view.requests = self.requests.frozen()
        view.leases = dict(self.leases)
        view.act_findings = self.act_findings.frozen()
        view.progress = self.progress.frozen()
        view.cluster_context = context or self.cluster_context
        return view
