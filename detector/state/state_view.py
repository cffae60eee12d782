"""StateView: the state of one cluster, for reading.

`ClusterState` is the view that changes. `frozen` returns an immutable view for one check: long work on it can
yield to the event loop and still sees one moment. Only containers are copied, as all values in them are
immutable: 10 ms for 5,000 targets.
"""

from collections.abc import Sequence

from detector.state.check_state import CheckState
from detector.state.incident_reports import ActFindings, ReportedProgress
from detector.state.request_index import RequestIndex
from detector.state.target_store import TargetStore, place_of
from health.check.template_validity import TemplateKinds
from health.check.threshold import Allowance
from health.cluster.cluster_context import ClusterContext
from health.gate.check_holds import CHECK_HOLDS, CheckHoldRow
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from kube.lease import LeaseRecord


class StateView:
    """Targets, checks, requests and Leases of one cluster."""

    def __init__(
        self, template_kinds: TemplateKinds, check_hold_rows: Sequence[CheckHoldRow] = CHECK_HOLDS
    ) -> None:
        self.targets = TargetStore()
        self.checks: dict[CheckReference, CheckState] = {}
        self.requests = RequestIndex()
        self.leases: dict[str, LeaseRecord] = {}
        self.act_findings = ActFindings()
        self.progress = ReportedProgress()
        self.cluster_context = ClusterContext()
        """The surroundings in which all checks are judged."""
        self.template_kinds = template_kinds
        """Looks up what is known of the kind of a template now."""
        self.check_hold_rows = check_hold_rows

    def allowance(self, check: CheckReference) -> Allowance | None:
        """The remediations that a check's threshold allows; None if the check is invalid or gone."""
        check_state = self.checks.get(check)
        if check_state is None or isinstance(check_state.check, InvalidCheckError):
            return None
        return check_state.allowance(check_state.check, self.requests.targets_of(check))

    def frozen(self, check: CheckReference) -> "StateView":
        """Return a copy of one check, its targets, and the values that all checks share."""
        view = StateView(self.template_kinds, self.check_hold_rows)
        view.targets = self.targets.frozen(place_of(check))
        view.checks = {check: self.checks[check].frozen()} if check in self.checks else {}
        view.requests = self.requests.frozen()
        view.leases = dict(self.leases)
        view.act_findings = self.act_findings.frozen()
        view.progress = self.progress.frozen()
        view.cluster_context = self.cluster_context
        return view
