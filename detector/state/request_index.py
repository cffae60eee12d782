"""RequestIndex: the remediation requests in the cluster, by the check that owns them and by their target."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference, RequestReference
from health.model.remediation_request import RemediationRequest
from health.model.request_snapshot import RequestSnapshot


@dataclass(frozen=True)
class SeenRequest:
    """One request, with what the list that it came from says of its kind."""

    snapshot: RequestSnapshot
    request: RemediationRequest
    owner: CheckReference | None
    """The check that owns it; None for a request that no check of a kind we know owns."""

    @property
    def reference(self) -> RequestReference:
        """Its name."""
        return self.snapshot.reference


def seen(api_version: str, kind: str, request: RemediationRequest) -> SeenRequest:
    """`request` with its owner."""
    owners = (check_kind.owner_of(request) for check_kind in CHECK_KINDS.values())
    owner = next((owner for owner in owners if owner is not None), None)
    return SeenRequest(request.snapshot(api_version, kind), request, owner)


class RequestIndex:
    """All requests of the kinds that are watched.

    Of one kind two versions may be watched, as the template of a check was edited: each shows every request.
    """

    def __init__(self) -> None:
        self._by_target: defaultdict[str, dict[str, SeenRequest]] = defaultdict(dict)
        self._target_of: dict[str, str] = {}
        """By uid: who edits what a request says of its target must not leave another one behind."""
        self._targets_of: defaultdict[CheckReference, dict[str, int]] = defaultdict(dict)
        self._shown: defaultdict[str, dict[str, SeenRequest]] = defaultdict(dict)
        """By uid, what it is in each apiVersion that shows it, the one that was seen last at the end."""

    def put(self, entry: SeenRequest) -> SeenRequest | None:
        """Keep what a request is now; answers what it was before."""
        shown = self._shown[entry.reference.uid]
        shown.pop(entry.reference.api_version, None)
        shown[entry.reference.api_version] = entry
        before = self._take_out(entry.reference.uid)
        self._insert(entry)
        return before

    def remove(self, entry: SeenRequest) -> SeenRequest | None:
        """Forget a request that this apiVersion shows no more; answers what it was, None if it is not there.

        It is there until the last one shows it no more: a version may be served no longer, and it exists.
        """
        uid = entry.reference.uid
        shown = self._shown.pop(uid, {})
        shown.pop(entry.reference.api_version, None)
        before = self._take_out(uid)
        if shown:
            self._shown[uid] = shown
            self._insert(next(reversed(shown.values())))
        return before

    def get(self, uid: str) -> SeenRequest | None:
        """A request as it was seen last; None if it is not there."""
        shown = self._shown.get(uid)
        return next(reversed(shown.values())) if shown else None

    def _insert(self, entry: SeenRequest) -> None:
        target = entry.request.target_name
        self._by_target[target][entry.reference.uid] = entry
        self._target_of[entry.reference.uid] = target
        if entry.owner is not None:
            counts = self._targets_of[entry.owner]
            counts[target] = counts.get(target, 0) + 1

    def _take_out(self, uid: str) -> SeenRequest | None:
        target = self._target_of.pop(uid, None)
        if target is None:
            return None
        known = self._by_target[target].pop(uid)
        if not self._by_target[target]:
            del self._by_target[target]
        if known.owner is not None:
            self._count_down(known.owner, target)
        return known

    def _count_down(self, owner: CheckReference, target: str) -> None:
        counts = self._targets_of[owner]
        counts[target] -= 1
        if not counts[target]:
            del counts[target]
        if not counts:
            del self._targets_of[owner]

    def all(self) -> Iterator[SeenRequest]:
        """The requests for all targets, whoever owns them."""
        for requests in self._by_target.values():
            yield from requests.values()

    def unowned(self) -> list[SeenRequest]:
        """The requests that no check owns."""
        return [entry for entry in self.all() if entry.owner is None]

    def for_target(self, target: str) -> Iterator[SeenRequest]:
        """The requests for one target, whoever owns them."""
        yield from self._by_target.get(target, {}).values()

    def of(self, check: CheckReference, target: str) -> list[SeenRequest]:
        """The requests that one check owns for one target, oldest first.

        Those of one second are in the order of their uids: in every process the same one is the last.
        """
        owned = [entry for entry in self.for_target(target) if entry.owner == check]
        return sorted(owned, key=_age)

    def targets_of(self, check: CheckReference) -> frozenset[str]:
        """The targets for which a check owns requests."""
        return frozenset(self._targets_of.get(check, {}))

    def owners(self) -> frozenset[CheckReference]:
        """The checks that own requests, those that are gone included."""
        return frozenset(self._targets_of)


def _age(entry: SeenRequest) -> tuple[datetime, str]:
    return entry.request.metadata.creation_timestamp, entry.request.metadata.uid
