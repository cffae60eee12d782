"""StateView: what is known of one cluster, to be read.

`ClusterState` is the one that changes. `frozen` returns a view for one check that does not change any more:
long work on it can yield to the event loop, and is still of one moment. Only containers are copied, as all
that they contain is immutable: 10 ms for 5,000 targets.
"""

from detector.state.act_findings import ActFindings
from detector.state.check_state import CheckState
from detector.state.request_index import RequestIndex
from detector.state.target_store import TargetStore, place_of
from health.gate.cluster_context import ClusterContext
from health.gate.invalid_check import InvalidCheckError
from health.gate.template_validity import TemplateKinds
from health.gate.threshold import Allowance
from health.model.references import CheckReference
from kube.lease import LeaseRecord


class StateView:
    """Targets, checks, requests and Leases of one cluster."""

    def __init__(self, template_kinds: TemplateKinds) -> None:
        self.targets = TargetStore()
        self.checks: dict[CheckReference, CheckState] = {}
        self.requests = RequestIndex()
        self.leases: dict[str, LeaseRecord] = {}
        self.act_findings = ActFindings()
        self.cluster_context = ClusterContext()
        """What holds for all checks."""
        self.template_kinds = template_kinds
        """What is known of templates, now."""

    def allowance(self, check: CheckReference) -> Allowance | None:
        """What the threshold of a check says; None for one that does not parse or is not there."""
        check_state = self.checks.get(check)
        if check_state is None or isinstance(check_state.check, InvalidCheckError):
            return None
        return check_state.allowance(check_state.check, self.requests.targets_of(check))

    def frozen(self, check: CheckReference) -> "StateView":
        """What is known now of a check and its targets."""
        view = StateView(self.template_kinds)
        view.targets = self.targets.frozen(place_of(check))
        view.checks = {check: self.checks[check].frozen()} if check in self.checks else {}
        view.requests = self.requests.frozen()
        view.leases = dict(self.leases)
        view.act_findings = self.act_findings.frozen()
        view.cluster_context = self.cluster_context
        return view
