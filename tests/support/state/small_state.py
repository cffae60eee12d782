"""SmallState: a real ClusterState for tests, filled as the reflectors fill it, for checks of any kind."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar

from detector.answers.observation_builder import ObservationBuilder
from detector.context.sources_of_checks import CheckFreshness
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from health.check.template_validity import TemplateKind, TemplateKinds
from health.gate.back_off import NO_BACK_OFF, RemediationBackOff
from health.gate.check_holds import CHECK_HOLDS, CheckHoldRow
from health.kinds.check_kind import CheckKind
from health.model.observation import Observation
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.remediation_request import RemediationRequest
from objects.timestamps import stamp
from tests.support.values.builders import NOW

WORKERS = "workers"
LONG_AGO = NOW - timedelta(hours=1)


class SmallState(ABC):
    """The state of one cluster, with checks of one kind."""

    kind: ClassVar[CheckKind]
    namespace: ClassVar[str] = ""
    stored_status: ClassVar[dict[str, Any]] = {}
    without_threshold: ClassVar[dict[str, Any]] = {}
    """The spec of a check whose threshold holds nothing, besides the defaults."""

    def __init__(
        self, *, removes_confirmations: bool = True, check_hold_rows: Sequence[CheckHoldRow] = CHECK_HOLDS
    ) -> None:
        self.template_kinds: TemplateKinds = lambda *_: None
        self.cluster_state = ClusterState(
            "main-0a1b",
            template_kinds=self._template_kind,
            check_hold_rows=check_hold_rows,
            removes_confirmations=removes_confirmations,
        )
        self.now = NOW
        self.notified: list[str | None] = []
        """The targets that handlers were notified of; None for a change of a whole check."""
        self.cluster_state.event_handlers.add_change_handler(lambda _, target: self.notified.append(target))
        self._generation = 0

    @abstractmethod
    def check_body(self, annotations: dict[str, str] | None, **spec: Any) -> dict[str, Any]:
        """A check as the API server returns it, with the defaults of this state."""

    @abstractmethod
    def unhealthy(self, name: str) -> None:
        """Add a target that has been unhealthy for an hour."""

    @classmethod
    def named(cls, name: str = WORKERS) -> CheckReference:
        return CheckReference(kind=cls.kind.kind, group=cls.kind.group, namespace=cls.namespace, name=name)

    @classmethod
    def incident(cls, target: str, check: str = WORKERS, *, uid: str = "") -> IncidentReference:
        """The incident of a target that this state made."""
        reference = TargetReference(
            kind=cls.kind.targets.kind,
            group=cls.kind.targets.group,
            namespace=cls.namespace,
            name=target,
            uid=uid or f"uid-{target}",
        )
        return IncidentReference(cluster="main-0a1b", check=cls.named(check), target=reference)

    def check(
        self,
        name: str = WORKERS,
        *,
        annotations: dict[str, str] | None = None,
        status: dict[str, Any] | None = None,
        generation: int | None = None,
        **spec: Any,
    ) -> None:
        """Add a check, or replace it by one with this generation or the next one."""
        self._generation = generation or self._generation + 1
        body = self.check_body(annotations, **spec)
        uid = body["metadata"]["uid"] if name == WORKERS else f"uid-{name}"
        body["metadata"] |= {"name": name, "uid": uid, "generation": self._generation}
        self.put_check(name, body | {"status": self.stored_status if status is None else status})

    def put_check(self, name: str, body: dict[str, Any]) -> None:
        self.cluster_state.check_changed(self.kind, self.named(name), CheckRecord.model_validate(body))

    def request_of_operator(
        self, kind: tuple[str, str], machine: dict[str, Any], *, exists: bool = True
    ) -> None:
        """A request as an operator for Machines creates it, or its end: its one owner names the Machine."""
        metadata = {
            "name": machine["name"],
            "namespace": self.namespace,
            "uid": f"request-{machine['name']}",
            "creationTimestamp": stamp(self.now),
            "ownerReferences": [machine],
        }
        request = RemediationRequest.model_validate({"metadata": metadata})
        self.cluster_state.request_changed(*kind, request, exists=exists)

    def delete_check(self, name: str = WORKERS) -> None:
        self.cluster_state.check_changed(self.kind, self.named(name), None)

    def numbers(self, check: str = WORKERS) -> tuple[int, int]:
        """The numbers of healthy targets and of all."""
        allowance = self.cluster_state.allowance(self.named(check))
        assert allowance is not None
        return allowance.healthy, allowance.total

    def wanted(self) -> set[str]:
        """The names of the targets that need an incident."""
        return {incident.target.name for incident in self.cluster_state.all_wanted()}

    def observe(
        self, target: str, *, check: str = WORKERS, uid: str = "", is_handled: bool = True, **values: Any
    ) -> Observation:
        """The observation of the incident of a target without limits, with these values of the builder."""
        incident = self.incident(target, check, uid=uid)
        fresh = CheckFreshness(is_handled=is_handled)
        defaults = {"freshness": fresh, "now": self.now, "back_off": self._back_off(incident)}
        found = {**defaults, **values}
        builder = ObservationBuilder(cluster_state=self.cluster_state, incident=incident, **found)
        return builder.observation()

    def _back_off(self, incident: IncidentReference) -> RemediationBackOff:  # noqa: ARG002  for kinds with attempts
        return NO_BACK_OFF

    def _template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        return self.template_kinds(api_version, kind)
