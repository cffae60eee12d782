"""HeldNodes: the Nodes and Machines that others work on, and that must not be remediated meanwhile.

Two signs of maintenance are off by default, and hold as long as they stand: draining cordons a Node, and so
do autoscalers and some remediators. The Node Maintenance Operator holds the Lease of a Node instead, which
always holds and needs no setting (rule 13). The signs of owners at work (`health/model/owner_signs.py`) hold
by default, and each for a limited time (rule 59).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, StrictBool, StrictStr
from pydantic.alias_generators import to_camel

from health.model.node import NodeSpec, signs_on, signs_seen_on
from health.model.observation import Hold, HoldReason
from health.model.owner_signs import OwnerSign, SignSighting, taint_sign
from health.model.target import Target
from health.policy.limits import is_qualified_name
from objects.bounds import Bounded
from objects.durations import JUST_AFTER, WrittenDuration, in_words, within
from objects.timestamps import stamp

SHORTEST_WORK, LONGEST_WORK = timedelta(minutes=1), timedelta(days=7)


def _taint_key(key: str) -> str:
    """`key`, if a taint may have it; no Node matches `key:NoSchedule` or `key=value`."""
    if not is_qualified_name(key):
        raise ValueError(f"{key!r} is not the key of a taint")
    return key


TaintKey = Annotated[StrictStr, AfterValidator(_taint_key)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerWork:
    """The work of an owner on a target, by one sign."""

    sign: str
    words: str
    since: datetime
    until: datetime
    """When the sign stops holding, although it lasts."""

    def hold(self, now: datetime) -> Hold:
        return Hold(
            reason=HoldReason.OWNER_AT_WORK,
            message=f"{self.words}, since {stamp(self.since)}; it is left alone until {stamp(self.until)}",
            ask_again_seconds=(max(timedelta(), self.until - now) + JUST_AFTER).total_seconds(),
        )

    @property
    def overdue(self) -> str:
        """The sentence for a sign that holds no longer, although it lasts."""
        return f"{self.words} since {stamp(self.since)}, longer than {in_words(self.until - self.since)}"


class HeldNodes(Bounded):
    """The signs that hold a target, as the policy sets them."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    cordoned: StrictBool = False
    tainted: tuple[TaintKey, ...] = ()
    """Keys of taints that hold as long as they stand."""
    at_most: Annotated[WrittenDuration, within(SHORTEST_WORK, LONGEST_WORK)] = timedelta(hours=1)
    """How long a sign of an owner at work holds, although it lasts."""
    signs: tuple[TaintKey, ...] = ()
    """Keys of further taints that are such signs."""
    without: tuple[OwnerSign, ...] = ()
    """The default signs that do not hold."""

    def why(self, node: NodeSpec) -> str:
        """The sign that a Node is under maintenance; "" without one."""
        if self.cordoned and node.unschedulable:
            return "it is cordoned"
        keys = {taint.key for taint in node.taints}
        key = next((key for key in self.tainted if key in keys), None)
        return "" if key is None else f"it has the taint {key}"

    def is_sign(self, name: str) -> bool:
        if name in frozenset(OwnerSign):
            return name not in self.without
        return name in {taint_sign(key) for key in self.signs}

    def work_on(self, target: Target, now: datetime) -> Iterator[OwnerWork]:
        """The work on `target` that has not failed by its own sign, within its time or beyond."""
        since = {sighting.name: sighting.since for sighting in signs_seen_on(target)}
        for sign in signs_on(target):
            if self.is_sign(sign.name) and not sign.has_failed:
                # A live object has no sightings.
                began = since.get(sign.name, min(sign.stated or now, now))
                yield OwnerWork(sign=sign.name, words=sign.words, since=began, until=began + self.at_most)

    def signs_seen_on(self, target: Target) -> Iterator[SignSighting]:
        return (sighting for sighting in signs_seen_on(target) if self.is_sign(sighting.name))

    def ends_on(self, target: Target) -> Iterator[datetime]:
        """When each work on `target` ended, or exceeds its time."""
        for sighting in self.signs_seen_on(target):
            exceeded = sighting.since + self.at_most
            yield exceeded if sighting.ended is None else min(sighting.ended, exceeded)


NO_NODES = HeldNodes()
