"""RequestIndex: the remediation requests in the cluster, by the check that owns them and by their target."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from detector.state.check_state import CheckState
from detector.state.target_store import TargetStore, place_of
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference, RequestReference
from health.model.remediation_request import RemediationRequest
from health.model.request_snapshot import RequestSnapshot
from health.runbook.escalation import Plan
from objects.clusters import MANAGEMENT_CLUSTER


@dataclass(frozen=True)
class SeenRequest:
    """One request, with the apiVersion and kind of the list that contained it."""

    snapshot: RequestSnapshot
    request: RemediationRequest
    owner: CheckReference | None
    """The check that owns it; None if no check of a known kind does."""

    @property
    def reference(self) -> RequestReference:
        return self.snapshot.reference

    @property
    def node_cluster(self) -> str:
        """The cluster of the Node of its target."""
        kind = CHECK_KINDS.get(self.owner.group_kind) if self.owner else None
        return MANAGEMENT_CLUSTER if kind is None else kind.cluster_of(self.request.metadata)


def seen(api_version: str, kind: str, request: RemediationRequest) -> SeenRequest:
    """`request`, with the check that a kind of check names as its owner."""
    owners = (check_kind.owner_of(request) for check_kind in CHECK_KINDS.values())
    owner = next((owner for owner in owners if owner is not None), None)
    return SeenRequest(request.snapshot(api_version, kind), request, owner)


class RequestIndex:
    """All requests of the watched kinds.

    Two versions of one kind may be watched after the template of a check was edited: each lists every
    request.
    """

    def __init__(self) -> None:
        self._by_target: defaultdict[str, dict[str, SeenRequest]] = defaultdict(dict)
        self._targets_of: defaultdict[CheckReference, dict[str, int]] = defaultdict(dict)
        self._shown: defaultdict[str, dict[str, SeenRequest]] = defaultdict(dict)
        """By uid, the request in each apiVersion that lists it, latest last."""

    def put(self, entry: SeenRequest) -> SeenRequest | None:
        """Store a request; returns what was stored before."""
        before, shown = self._take_out(entry.reference.uid), self._shown[entry.reference.uid]
        shown.pop(entry.reference.api_version, None)
        shown[entry.reference.api_version] = entry
        self._insert(entry)
        return before

    def remove(self, entry: SeenRequest) -> SeenRequest | None:
        """Remove a request from one apiVersion; returns the request as it was, None if it was not stored.

        It stays stored while another apiVersion lists it: the API server may just have stopped serving this
        one.
        """
        uid = entry.reference.uid
        before, shown = self._take_out(uid), self._shown.pop(uid, {})
        shown.pop(entry.reference.api_version, None)
        if shown:
            self._shown[uid] = shown
            self._insert(next(reversed(shown.values())))
        return before

    def get(self, uid: str) -> SeenRequest | None:
        """A request as last seen; None if it is not stored."""
        shown = self._shown.get(uid)
        return next(reversed(shown.values())) if shown else None

    def frozen(self) -> "RequestIndex":
        """Return a copy that can be read by target and by check."""
        index = RequestIndex()
        copied = {target: dict(requests) for target, requests in self._by_target.items()}
        index._by_target.update(copied)
        index._targets_of.update({owner: dict(counts) for owner, counts in self._targets_of.items()})
        return index

    def _insert(self, entry: SeenRequest) -> None:
        target = entry.request.target_name
        self._by_target[target][entry.reference.uid] = entry
        if entry.owner is not None:
            counts = self._targets_of[entry.owner]
            counts[target] = counts.get(target, 0) + 1

    def _take_out(self, uid: str) -> SeenRequest | None:
        """Remove the request as it is stored: an edit may have changed its target or owner since."""
        entry = self.get(uid)
        if entry is None:
            return None
        target = entry.request.target_name
        del self._by_target[target][uid]
        if not self._by_target[target]:
            del self._by_target[target]
        if entry.owner is not None:
            counts = self._targets_of[entry.owner]
            counts[target] -= 1
            if not counts[target]:
                del counts[target]
            if not counts:
                del self._targets_of[entry.owner]
        return entry

    def all(self) -> Iterator[SeenRequest]:
        """All requests, whether a check owns them or not."""
        for requests in self._by_target.values():
            yield from requests.values()

    def unowned(self) -> list[SeenRequest]:
        return [entry for entry in self.all() if entry.owner is None]

    def for_target(self, target: str) -> Iterator[SeenRequest]:
        """All requests for one target, whether a check owns them or not."""
        yield from self._by_target.get(target, {}).values()

    def of(self, check: CheckReference, target: str) -> list[SeenRequest]:
        """The requests that one check owns for one target, oldest first.

        Requests of the same second are in the order of their uids, so that every process sees the same latest
        one.
        """
        owned = [entry for entry in self.for_target(target) if entry.owner == check]
        return sorted(owned, key=_age)

    def targets_of(self, check: CheckReference) -> frozenset[str]:
        return frozenset(self._targets_of.get(check, {}))

    def owners(self) -> frozenset[CheckReference]:
        """The checks that own requests, including deleted checks."""
        return frozenset(self._targets_of)


def _age(entry: SeenRequest) -> tuple[datetime, str]:
    return entry.request.metadata.creation_timestamp, entry.request.metadata.uid


def adopted(
    entry: SeenRequest, checks: Mapping[CheckReference, CheckState], targets: TargetStore
) -> SeenRequest:
    """`entry`, owned by the first check that could have made it; unchanged if owned, or if none could.

    The machine-api-operator does not record on a request for which check it made it. Such a request belongs
    to the check that selects its target (rule 39).
    """
    if entry.owner is not None:
        return entry
    for check, check_state in checks.items():
        if entry.request.target_name in check_state.selected and _could_own(
            check, check_state, entry, targets
        ):
            return replace(entry, owner=check)
    return entry


def _could_own(
    check: CheckReference, check_state: CheckState, entry: SeenRequest, targets: TargetStore
) -> bool:
    target = targets.get(check, entry.request.target_name)
    if target is None or check_state.check is None:
        return False
    if Plan(check_state.check.steps).step_of(entry.reference) is None:
        return False
    place, who = place_of(check), target.metadata
    return CHECK_KINDS[check.group_kind].is_unsigned_for(entry.request, place.reference(who.name, who.uid))
