"""Picture: the live picture of one cluster, and the answer to every incident's "what is, and may I?".

Changes come from the reflectors, between two awaits, and the picture is right again before the next await;
so one answer rests on one moment. Whoever wants to know of changes is told which check, and which of its
targets, may have another answer now.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from detector.check_picture import CheckPicture
from detector.records import CheckRecord
from detector.request_index import RequestIndex, SeenRequest, seen
from health.health_check import HealthCheck, InvalidCheckError
from health.kinds import CHECK_KINDS, CheckKind
from health.node import Node
from health.references import CheckReference, IncidentReference, TargetReference
from health.remediation_request import RemediationRequest
from health.threshold import Allowance
from kube.lease import LeaseRecord, name_for_node
from kube.record import Key

UNKNOWN_UID = "unknown"
"""Stands in the id of the incident of a request that does not say whom it was for."""


class Listener(Protocol):
    """Is told of changes; must not raise and must not wait."""

    def __call__(self, check: CheckReference, target: str | None) -> None:
        """The answer for `target`, or without one the check's own numbers or spec, may have changed."""


class Picture:
    """Nodes, checks, requests and Leases of one cluster, as they were last seen."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.nodes: dict[str, Node] = {}
        self.unreadable_nodes: Mapping[Key, str] = {}
        """Nodes that exist but do not parse, with what is wrong; they are not in `nodes`."""
        self.checks: dict[CheckReference, CheckPicture] = {}
        self.requests = RequestIndex()
        self.leases: dict[str, LeaseRecord] = {}
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        """Tell `listener` of changes from now on."""
        self._listeners.append(listener)

    def tell_all(self) -> None:
        """Every answer may be another now."""
        for incident in list(self.all_wanted()):
            self._tell(incident.check, incident.target.name)
        for check in self.checks:
            self._tell(check, None)

    def node_changed(self, name: str, node: Node | None) -> None:
        """A Node came, changed or (None) went."""
        if node is None:
            self.nodes.pop(name, None)
        else:
            self.nodes[name] = node
        for reference, check in self.checks.items():
            was_target = name in check.selected
            numbers_changed = check.see(name, node)
            if was_target or name in check.selected:
                self._tell(reference, name)
            if numbers_changed:
                self._tell(reference, None)

    def check_changed(self, kind: CheckKind, reference: CheckReference, record: CheckRecord | None) -> None:
        """A check came, changed or (None) went."""
        known = self.checks.get(reference)
        if record is None:
            self.checks.pop(reference, None)
        elif known is not None and known.record.metadata.generation == record.metadata.generation:
            known.record = record
            self._tell(reference, None)
            return
        else:
            self.checks[reference] = self._picture_of(record, record.parse(kind))
        targets = set(self.requests.targets_of(reference))
        for check in (known, self.checks.get(reference)):
            targets |= check.unhealthy if check else set()
        for target in targets:
            self._tell(reference, target)
        self._tell(reference, None)

    def _picture_of(self, record: CheckRecord, check: HealthCheck | InvalidCheckError) -> CheckPicture:
        picture = CheckPicture(record, check)
        for name, node in self.nodes.items():
            picture.see(name, node)
        return picture

    def request_changed(
        self, api_version: str, kind: str, request: RemediationRequest, *, exists: bool
    ) -> None:
        """A remediation request came, changed or went."""
        entry = seen(api_version, kind, request)
        if exists:
            self.requests.put(entry)
        else:
            self.requests.remove(entry)
        if entry.owner is not None:
            self._tell(entry.owner, request.target_name)
            self._tell(entry.owner, None)
        for reference, check in self.checks.items():
            if reference != entry.owner and request.target_name in check.unhealthy:
                self._tell(reference, request.target_name)

    def lease_changed(self, name: str, lease: LeaseRecord | None) -> None:
        """The Lease of a target came, changed or (None) went."""
        if lease is None:
            self.leases.pop(name, None)
        else:
            self.leases[name] = lease
        for reference, check in self.checks.items():
            for target in check.unhealthy:
                if name_for_node(target) == name:
                    self._tell(reference, target)

    def wanted(self, check: CheckReference, target: str) -> frozenset[IncidentReference]:
        """The incidents that there should be for one target of one check.

        One for an unhealthy target; and one for each request that the check owns, whoever made it: nothing
        of ours stays without an incident that removes it in the end.
        """
        node, picture = self.nodes.get(target), self.checks.get(check)
        uids = set()
        if node is not None and picture is not None and target in picture.unhealthy:
            uids.add(node.metadata.uid)
        for entry in self.requests.of(check, target):
            uids.add(entry.request.target_uid or (node.metadata.uid if node else UNKNOWN_UID))
        return frozenset(self._incident(check, target, uid) for uid in uids)

    def all_wanted(self) -> Iterator[IncidentReference]:
        """The incidents that there should be."""
        for check in {*self.checks, *self.requests.owners()}:
            picture = self.checks.get(check)
            for target in self.requests.targets_of(check) | (picture.unhealthy if picture else set()):
                yield from self.wanted(check, target)

    def allowance(self, check: CheckReference) -> Allowance | None:
        """What the threshold of a check says now; None for one that does not parse or is not there."""
        picture = self.checks.get(check)
        if picture is None or isinstance(picture.check, InvalidCheckError):
            return None
        return picture.allowance(picture.check, self.requests.targets_of(check))

    def own_requests(self, incident: IncidentReference) -> list[SeenRequest]:
        """The requests that belong to `incident`; one that does not say whom it is for belongs to all."""
        entries = self.requests.of(incident.check, incident.target.name)
        return [entry for entry in entries if entry.request.target_uid in ("", incident.target.uid)]

    def _incident(self, check: CheckReference, target: str, uid: str) -> IncidentReference:
        kind = CHECK_KINDS[check.kind].target_kind
        reference = TargetReference(kind=kind, name=target, uid=uid)
        return IncidentReference(cluster=self.cluster, check=check, target=reference)

    def _tell(self, check: CheckReference, target: str | None) -> None:
        for listener in self._listeners:
            listener(check, target)
