"""The rules that the log of every incident must follow, in any test."""

from collections import Counter
from datetime import timedelta

from tests.support.story.fake_cluster import Entry, FakeCluster
from workflows.contracts import ACT, FRESH

BUSIEST = 8
"""More calls of one activity within a second than any incident needs."""
OLDEST = FRESH + timedelta(seconds=2)
"""A workflow judges the age of an admission by the start of its task; the act begins moments later."""


def violations(cluster: FakeCluster) -> list[str]:
    """All broken rules in the log of an incident."""
    return [
        *_acts_without_a_fresh_admission(cluster.log),
        *_acts_against_an_order(cluster.log),
        *_second_requests(cluster.log),
        *_steps_side_by_side(cluster.log),
        *(f"a step was tried at {when} without its approval" for when in cluster.times("unapproved")),
        *_hot_loops(cluster),
    ]


def _acts_without_a_fresh_admission(log: list[Entry]) -> list[str]:
    """An admission is valid for one act; a run that was reset may use it again."""
    found, admitted, used = [], None, None
    for entry in log:
        if entry.event == "answered":
            admitted = entry.when if entry.is_admitted else None
        if entry.event == "reset":
            admitted = admitted or used
        if entry.event == ACT.name and (admitted is None or entry.when - admitted > OLDEST):
            found.append(f"acted at {entry.when}, admitted at {admitted}")
        if entry.event == ACT.name:
            admitted, used = None, admitted
    return found


def _acts_against_an_order(log: list[Entry]) -> list[str]:
    found, order = [], ""
    for entry in log:
        if entry.event in ("abort", "hold", "resume"):
            order = entry.event
        if entry.event == ACT.name and order in ("abort", "hold"):
            found.append(f"acted at {entry.when} against {order}")
    return found


def _second_requests(log: list[Entry]) -> list[str]:
    found, existing = [], Counter[str]()
    for entry in log:
        existing[entry.template] += {"created": 1, "deleted": -1}.get(entry.event, 0)
        if existing[entry.template] > 1:
            found.append(f"a second request of {entry.template!r} was made at {entry.when}")
    return found


def _steps_side_by_side(log: list[Entry]) -> list[str]:
    return [
        f"{entry.template!r} began at {entry.when} too early" for entry in log if entry.event == "too early"
    ]


def _hot_loops(cluster: FakeCluster) -> list[str]:
    found = []
    for name in cluster.gates:
        times = cluster.times(name)
        pairs = zip(times, times[BUSIEST + cluster.wakings :], strict=False)
        if any(last - first < timedelta(seconds=1) for first, last in pairs):
            found.append(f"{name} was called {len(times)} times, over {BUSIEST} times within a second")
    return found
