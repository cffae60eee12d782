"""RemediationRecords: the remediations that limits count, and the current usage of the limits.

A target counts while its remediation is under way, and before that while it is reserved: from its admission
until the remediation is seen, or is proven not to have begun.
"""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from detector.limits.in_flight import Remediated
from detector.limits.limit_scopes import LimitScopes
from detector.state.cluster_state import ClusterState
from health.model.references import CheckReference, IncidentReference
from health.model.target import Target
from health.policy.limit_usage import LimitUsage, SlotChange, Use
from health.policy.limits import LimitedRemediation, ScopesOf, UnderWay, labels_for
from workflows.contracts import ACT, CLOCK_TOLERANCE, FRESH

SECOND = timedelta(seconds=1)
"""Creation timestamps are in whole seconds."""

SlotsChanged = Callable[[Remediated, SlotChange], None]
"""Called with the slots that the remediation of a target took or freed."""
_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
_Times = defaultdict[Remediated, list[datetime]]
"""Times in ascending order, by check and target."""
LIVES = FRESH + CLOCK_TOLERANCE + ACT.attempt
"""After this time an admission can have no further effect: no act writes on an older one or runs longer."""

Proves = Callable[[CheckReference, timedelta], bool]
"""Returns whether every source of a check was confirmed within the given time."""


@dataclass(frozen=True)
class Reserved:
    """An admission whose remediation may be starting now."""

    incident: IncidentReference
    since: datetime
    remediation: LimitedRemediation


class RecentStarts:
    """The remediations that began within the last hour, as seen or as listed by Temporal.

    The remediations of one target follow each other, so a remediation began after the previous one ended. If
    a start was seen in that time, it is the start of this remediation; else its start is unknown, and it
    counts from its end. Neither the order in which ends are noted nor noting one twice changes the count.
    """

    def __init__(self) -> None:
        self._began: _Times = defaultdict(list)
        self._ended: _Times = defaultdict(list)

    def note(self, remediated: Remediated, began: datetime) -> None:
        """Note a start that the watch has shown."""
        insort(self._began[remediated], began)

    def note_ended(self, remediated: Remediated, ended: datetime) -> bool:
        """Note an end; returns whether it is new."""
        if ended in self._ended[remediated]:
            return False
        insort(self._ended[remediated], ended)
        return True

    def of(self, remediated: Remediated) -> tuple[datetime, ...]:
        """The latest times at which the remediations of a target can have begun."""
        ends = self._ended.get(remediated)
        starts = tuple(self._began.get(remediated, ()))
        return (*starts, *self._unseen(remediated, ends)) if ends else starts

    def targets(self) -> set[Remediated]:
        return self._began.keys() | self._ended.keys()

    def _unseen(self, remediated: Remediated, ends: list[datetime]) -> Iterator[datetime]:
        """The ends of remediations without a seen start."""
        began, before = self._began.get(remediated, []), _BEFORE_ALL
        for end in ends:
            if bisect_right(began, before) == bisect_right(began, end):
                yield end
            before = end

    def forget(self, horizon: datetime) -> list[Remediated]:
        """Forget times up to the horizon; returns the targets of forgotten times."""
        forgotten = []
        for times_by_target in (self._began, self._ended):
            old = [remediated for remediated, times in times_by_target.items() if times[0] <= horizon]
            for remediated in old:
                late = times_by_target.pop(remediated)
                late = late[bisect_right(late, horizon) :]
                if late:
                    times_by_target[remediated] = late
            forgotten += old
        return forgotten


class RemediationRecords:
    """The counted remediations of one cluster, by check and target.

    A reservation is an admission whose remediation is not seen yet. It lasts until the remediation is seen,
    or until the state is proven to be younger than anything that the admission can have caused: then the
    remediation will not appear any more.
    """

    def __init__(
        self, cluster_state: ClusterState, scopes: LimitScopes, proves: Proves, slots_changed: SlotsChanged
    ) -> None:
        self._cluster_state = cluster_state
        self._scopes = scopes
        self._slots_changed = slots_changed
        self._under_way: dict[Remediated, UnderWay] = {}
        """Remediations under way, with the labels that the targets had at the beginning."""
        self._proves = proves
        self._reserved: dict[Remediated, Reserved] = {}
        """The latest reservation of each target, oldest first."""
        self._starts = RecentStarts()
        self.usage = LimitUsage(scopes_of=scopes.of)

    @property
    def under_way(self) -> Iterable[UnderWay]:
        return self._under_way.values()

    def has_begun(self, remediated: Remediated) -> bool:
        """True if a remediation is under way, or admitted and so may begin at any moment."""
        return remediated in self._under_way or remediated in self._reserved

    def has_reserved(self, incident: IncidentReference) -> bool:
        """True if an incident has a slot although its remediation is not seen yet."""
        remediated = Remediated.of(incident)
        reserved = self._reserved.get(remediated)
        return remediated not in self._under_way and reserved is not None and reserved.incident == incident

    def reserve(self, reserved: Reserved) -> None:
        remediated = Remediated.of(reserved.incident)
        self._reserved.pop(remediated, None)
        self._reserved[remediated] = reserved
        self._count(remediated)

    def began(self, remediated: Remediated, since: datetime | None, now: datetime) -> None:
        """Count a remediation that is seen now; `since` is when it began, None if no object says so."""
        reserved = self._reserved.pop(remediated, None)
        labelled = self._labelled(remediated, reserved.remediation if reserved else None)
        self._under_way[remediated] = UnderWay(remediated.target, labelled, since or now)
        self._starts.note(remediated, now if since is None else min(now, since + SECOND))
        self._count(remediated)

    def ended(self, remediated: Remediated) -> None:
        del self._under_way[remediated]
        self._count(remediated)

    def note_ended(self, remediated: Remediated, ended: datetime) -> None:
        """Note a remediation that Temporal lists as ended; a start that was seen is not counted twice."""
        if self._starts.note_ended(remediated, ended):
            self._count(remediated)

    def forget(self, now: datetime, horizon: datetime) -> None:
        """Forget settled reservations, and starts before the horizon."""
        unproven = set()  # later reservations of the same check are not proven either
        for remediated, reserved in list(self._reserved.items()):
            if remediated.check in unproven:
                continue
            age = now - reserved.since - LIVES
            if age <= timedelta() or not self._proves(remediated.check, age):
                unproven.add(remediated.check)
                continue
            del self._reserved[remediated]
            target = self._cluster_state.targets.get(*remediated)
            # A Machine without a finalizer is remediated by its deletion.
            if target is None or target.metadata.uid != reserved.incident.target.uid:
                self._starts.note(remediated, now)
            self._count(remediated)
        for remediated in self._starts.forget(horizon):
            self._count(remediated)

    def forget_reservations(self) -> None:
        forgotten = tuple(self._reserved)
        self._reserved.clear()
        for remediated in forgotten:
            self._count(remediated)

    def limit_otherwise(self, check: CheckReference | None) -> None:
        """Count the remediations of a check, or (None) of all checks, by changed limits."""
        for remediated, under_way in self._under_way.items():
            if check in (None, remediated.check):
                labelled = self._labelled(remediated, under_way.remediation)
                self._under_way[remediated] = replace(under_way, remediation=labelled)
        for remediated in self._targets():
            if check in (None, remediated.check):
                self._count(remediated)

    def remediation(self, check: CheckReference, target: Target) -> LimitedRemediation:
        """How a remediation of the target would count, by its labels now."""
        return LimitedRemediation(check, self._scopes.labels(check, target))

    def usage_by(self, scopes_of: ScopesOf) -> LimitUsage:
        """The usage of other limits by these remediations."""
        usage = LimitUsage(scopes_of=scopes_of)
        for remediated in self._targets():
            use, target = self._use(remediated), self._cluster_state.targets.get(*remediated)
            if use.in_flight is not None and target is not None:
                labels = labels_for(scopes_of(remediated.check), target)
                labelled = replace(use.in_flight, remediation=LimitedRemediation(remediated.check, labels))
                use = replace(use, in_flight=labelled)
            usage.put(remediated, use)
        return usage

    def _targets(self) -> set[Remediated]:
        return self._under_way.keys() | self._reserved.keys() | self._starts.targets()

    def _count(self, remediated: Remediated) -> None:
        self._slots_changed(remediated, self.usage.put(remediated, self._use(remediated)))

    def _use(self, remediated: Remediated) -> Use:
        (check, target), starts = remediated, self._starts.of(remediated)
        under_way = self._under_way.get(remediated)
        if under_way is not None:
            return Use(check=check, target=target, in_flight=under_way, starts=starts)
        reserved = self._reserved.get(remediated)
        admitted = UnderWay(target, reserved.remediation, reserved.since) if reserved else None
        return Use(
            check=check, target=target, in_flight=admitted, is_reserved=reserved is not None, starts=starts
        )

    def _labelled(self, remediated: Remediated, remediation: LimitedRemediation | None) -> LimitedRemediation:
        """The remediation with the labels of its start, and current labels where those are not known."""
        target = self._cluster_state.targets.get(*remediated)
        labels = {} if target is None else dict(self.remediation(remediated.check, target).labels)
        return LimitedRemediation(
            remediated.check, labels | (dict(remediation.labels) if remediation else {})
        )
