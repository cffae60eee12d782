"""The Nodes of clusters and zones as they come, change and go, and when an outage is suspected."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest

from detector.context import outage_watch
from detector.context.outage_watch import OutageWatch
from detector.feeds.node_watch import BlindTime
from health.model.node import REGION_LABEL, ZONE_LABEL
from health.model.target import node_name
from health.policy.outage_guard import NO_OUTAGES, GroupOutage, NodeGroup, OutageGuard, Outages, lacking
from health.policy.policy import Policy
from health.policy.policy_in_force import UNREAD, PolicyInForce
from objects.clusters import MANAGEMENT_CLUSTER
from tests.support.values.builders import NOW, condition, node

pytestmark = pytest.mark.rule("rule 37", "rule 62")

GUARD = OutageGuard()
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
NOTHING = BlindTime()


class Clusters:
    """Nodes of several clusters, as a detector sees them."""

    def __init__(self, noted: dict[str, BlindTime] | None = None, *, is_read: bool = True) -> None:
        self.is_read = is_read
        known = noted or {}
        self.watch = OutageWatch(lambda key: known.get(key, NOTHING), lambda _: self.is_read, lambda: NOW)

    def see(
        self,
        *names: str,
        ready: str = "True",
        since: datetime = NOW,
        zone: str = "",
        cluster: str = "",
        **labels: str,
    ) -> list[bool]:
        """Change Nodes; return for each whether it must be judged at once."""
        zones = {ZONE_LABEL: zone} if zone else {}
        regions = {REGION_LABEL: labels.pop("region")} if "region" in labels else {}
        seen = node(condition("Ready", ready, since), labels=labels | zones | regions)
        return [self.watch.node_changed(node_name(name, cluster), seen, GUARD) for name in names]

    def delete(self, *names: str, is_lost: bool = False) -> None:
        for name in names:
            self.watch.node_changed(node_name(name), None, GUARD, is_lost=is_lost)

    def look(self, now: datetime = NOW, guard: OutageGuard | None = GUARD) -> Outages:
        return self.watch.look(PolicyInForce(policy=Policy(outage_guard=guard) if guard else Policy()), now)

    def suspected(self, now: datetime = NOW) -> list[tuple[str, str, int, int]]:
        """The cluster, the value of the domain's label, and the numbers of each outage."""
        return [
            (outage.group.cluster, outage.group.value, outage.silent, outage.seen)
            for outage in self.look(now).suspected
        ]


def test_half_of_a_cluster_is_no_outage_and_more_of_one_of_its_zones_is_one_of_the_zone() -> None:
    clusters = Clusters()
    clusters.see("a1", "a2", "a3", "a4", zone="a")
    clusters.see("b1", "b2", "b3", "b4", zone="b")
    assert clusters.look() == NO_OUTAGES
    assert clusters.see("a1", "a2", "a3", ready="Unknown", zone="a") == [False, False, True]
    assert clusters.suspected() == [("", "a", 3, 4)]
    # After the suspicion no Node must be judged at once: ten thousand Nodes cost ten thousand moves.
    assert clusters.see("a4", ready="Unknown", zone="a") == [False]
    assert clusters.see("b1", ready="Unknown", zone="b") == [True]
    assert clusters.suspected() == [("", "", 5, 8), ("", "a", 3, 4)]


def test_each_cluster_is_judged_by_itself() -> None:
    clusters = Clusters()
    clusters.see("n1", "n2", "n3", "n4", "n5")
    clusters.see("n1", "n2", "n3", ready="Unknown", cluster="fleet/east")
    assert clusters.suspected() == [("fleet/east", "", 3, 3)]


def test_nodes_that_say_no_but_are_heard_are_not_silent() -> None:
    clusters = Clusters()
    clusters.see("n1", "n2", "n3", "n4", ready="False")
    clusters.see("n1", "n2", ready="Unknown")
    assert clusters.suspected() == []
    clusters.see("n3", ready="Unknown")
    assert clusters.suspected() == [("", "", 3, 4)]
    clusters.see("n1")
    ended = clusters.look(NOW + SECOND)
    assert (ended.suspected, ended.ended("")) == ([], NOW + SECOND)


@pytest.mark.rule("rule 50/silent")
def test_silent_nodes_that_are_deleted_end_no_outage_while_others_are_silent() -> None:
    clusters = Clusters()
    clusters.see("n1", "n2", "n3", "n4", zone="a")
    clusters.see("n1", "n2", "n3", ready="Unknown", zone="a")
    clusters.delete("n1", "n2")
    assert clusters.suspected(NOW + SECOND) == [("", "", 3, 4), ("", "a", 3, 4)]
    clusters.delete("n4")  # deleted: no longer one of the silent Nodes
    assert clusters.suspected(NOW + SECOND) != []

    clusters.delete("n3")  # the last silent Node: nothing is held any more
    assert clusters.suspected(NOW + SECOND) == []
    assert clusters.watch.blind_times() == {}


@pytest.mark.rule("rule 50/silent")
def test_node_that_a_machine_expects_is_silent_while_it_is_gone() -> None:
    clusters = Clusters()
    clusters.see("n1", "n2", "n3", "n4", zone="a")
    clusters.delete("n1", "n2", "n3", is_lost=True)
    assert clusters.suspected() == [("", "", 3, 4), ("", "a", 3, 4)]
    assert clusters.look().kept_groups["", "n1"] == (NodeGroup(), NodeGroup("", ZONE_LABEL, "a"))

    clusters.see("n1", zone="a")
    assert clusters.suspected(NOW + SECOND) == []
    clusters.delete("n1", is_lost=True)
    assert clusters.suspected(NOW + SECOND) != []
    assert not clusters.watch.lost_changed(node_name("n1"), GUARD, is_lost=False)
    assert clusters.suspected(NOW + SECOND) == []


@pytest.mark.rule("rule 50/silent")
def test_node_that_was_gone_before_this_process_began_is_silent() -> None:
    clusters = Clusters()
    for name in ("n1", "n2", "n3"):
        clusters.watch.lost_changed(node_name(name), GUARD, is_lost=True)
    assert clusters.suspected() == [("", "", 3, 3)]


def test_node_that_moves_to_another_zone_leaves_its_first() -> None:
    clusters = Clusters()
    clusters.see("n1", "n2", "n3", ready="Unknown", zone="a")
    clusters.see("n4", "n5", "n6", zone="b")
    assert clusters.suspected() == [("", "a", 3, 3)]
    clusters.see("n3", zone="b")
    assert clusters.suspected() == []


def test_silent_node_stays_in_the_domain_in_which_it_fell_silent_until_it_is_heard() -> None:
    clusters = Clusters()
    clusters.see("n1", "n2", "n3", ready="Unknown", zone="a")
    clusters.see("n4", "n5", "n6", zone="b")
    assert clusters.suspected() == [("", "a", 3, 3)]
    clusters.see("n3", ready="Unknown", zone="c")
    relabelled = clusters.look()
    assert clusters.suspected() == [("", "a", 3, 3)]
    assert relabelled.hold_of_node("", "n3", {ZONE_LABEL: "c"}) is not None
    assert relabelled.hold_of_node("", "n4", {ZONE_LABEL: "c"}) is None

    clusters.see("n1", "n2", zone="a")
    ended = clusters.look(NOW + SECOND)
    assert (ended.suspected, ended.ended("", {ZONE_LABEL: "c"}, "n3")) == ([], NOW + SECOND)
    clusters.see("n3", zone="c")
    assert clusters.look(NOW + SECOND).ended("", {ZONE_LABEL: "c"}, "n3") is None


def test_new_nodes_that_report_do_not_end_a_suspicion() -> None:
    clusters = Clusters()
    clusters.see("n1", "n2", "n3", "n4", ready="Unknown")
    assert clusters.suspected() == [("", "", 4, 4)]
    clusters.see("n5", "n6", "n7")
    assert clusters.suspected() == [("", "", 4, 4)]
    clusters.see("n1", "n2")
    assert clusters.suspected() == []


def test_region_falls_silent_whose_zones_are_too_small_for_an_outage() -> None:
    clusters = Clusters()
    clusters.see("u1", "u2", "u3", "u4", "u5", region="us", zone="a")
    for index in range(4):
        clusters.see(f"e{index}", region="eu", zone="abcd"[index])
    assert clusters.suspected() == []
    for index in range(4):
        clusters.see(f"e{index}", region="eu", zone="abcd"[index], ready="Unknown")
    assert clusters.suspected() == [("", "eu", 4, 4)]


def test_zone_of_one_region_says_nothing_about_the_zone_of_the_same_name_in_another() -> None:
    clusters = Clusters()
    clusters.see("u1", "u2", "u3", "u4", "u5", region="us", zone="a")
    clusters.see("e1", "e2", "e3", "e4", "e5", "e6", region="eu", zone="b")
    clusters.see("e7", "e8", "e9", region="eu", zone="a", ready="Unknown")
    assert clusters.suspected() == [("", "eu/a", 3, 3)]


def test_label_that_the_policy_names_is_a_domain_from_the_edit_until_it_is_named_no_longer() -> None:
    clusters, by_site = Clusters(), OutageGuard(labels={"site": 2})
    clusters.see("n1", "n2", "n3", "n4", "n5", "n6")
    clusters.see("s1", "s2", site="s")
    clusters.look()
    clusters.see("s1", "s2", site="s", ready="Unknown")
    assert clusters.suspected() == []

    held = clusters.look(NOW + SECOND, by_site)
    assert held.hold_of_node("", "s1", {"site": "s"}) is not None
    assert held.hold_of_node("", "n1", {"site": "t"}) is None
    assert clusters.watch.blind_times() == {"/site=s": BlindTime(is_lost=True)}

    assert clusters.suspected(NOW + 2 * SECOND) == []
    not_named = clusters.look(NOW + 3 * SECOND)
    assert not_named.ended("", {"site": "s"}) is None, "an edit restarts no timer"
    assert not_named == NO_OUTAGES

    clusters.look(NOW + 4 * SECOND, by_site)
    clusters.see("s2", site="s")
    ended = clusters.look(NOW + 5 * SECOND, by_site)
    assert ended.ended("", {"site": "s"}) == NOW + 5 * SECOND


def test_last_silent_node_of_a_domain_is_judged_at_once() -> None:
    clusters = Clusters()
    clusters.see("n1", "n2", "n3", "n4", region="eu")
    clusters.see("n5", "n6", "n7", "n8")
    clusters.look()
    assert clusters.see("n1", "n2", "n3", region="eu", ready="Unknown") == [False, False, True]


def test_values_of_labels_that_no_node_has_any_more_are_forgotten() -> None:
    clusters, by_name = Clusters(), OutageGuard(labels={"name": 2})
    for number in range(100):
        clusters.see("n1", name=str(number))
        clusters.look(guard=by_name)
    assert len(clusters.watch._groups) == 2  # noqa: SLF001  memory has no other view


def test_nothing_is_judged_before_all_nodes_were_read() -> None:
    clusters = Clusters({"/": BlindTime(is_lost=True)}, is_read=False)
    assert clusters.see("n1", "n2", "n3", ready="Unknown") == [False, False, False]
    assert clusters.look().suspected == []
    clusters.see("n4", "n5", "n6")
    clusters.is_read = True
    assert (clusters.suspected(), clusters.look().ended("")) == ([], NOW)


def test_new_process_goes_on_with_what_was_noted() -> None:
    first = Clusters()
    first.see("n1", "n2", "n3", "n4", zone="a")
    first.look(NOW - HOUR)
    assert first.watch.blind_times() == {}
    first.see("n1", "n2", "n3", ready="Unknown", zone="a")
    first.look()
    noted = first.watch.blind_times()
    assert noted == {key: BlindTime(is_lost=True) for key in ("/", f"/{ZONE_LABEL}=a")}

    second = Clusters(noted)
    second.see("n1", "n2", "n3", "n4", zone="a")
    second.see("n1", ready="Unknown", since=NOW - HOUR, zone="a")
    assert second.look(NOW + HOUR).ended(MANAGEMENT_CLUSTER, {ZONE_LABEL: "a"}) == NOW + HOUR

    third = Clusters(second.watch.blind_times())
    third.see("n1", ready="Unknown", since=NOW - HOUR, zone="a")
    assert third.look(NOW + HOUR * 2).ended(MANAGEMENT_CLUSTER, {ZONE_LABEL: "a"}) == NOW + HOUR


def test_policy_that_was_not_read_yet_is_none_that_turned_the_guard_off() -> None:
    clusters = Clusters({"/": BlindTime(is_lost=True)})
    clusters.see("n1", "n2", "n3")
    assert clusters.watch.look(UNREAD, NOW) == Outages({NodeGroup(): GroupOutage(was_noted=True)})
    assert clusters.look(NOW + SECOND).ended("") == NOW + SECOND


def test_time_alone_lets_a_real_outage_go_and_an_edit_of_the_policy_is_judged_at_once() -> None:
    clusters = Clusters()
    clusters.see("n1", "n2", "n3", ready="Unknown")
    assert clusters.suspected(NOW + HOUR - SECOND) != []
    assert clusters.suspected(NOW + HOUR) == []
    assert clusters.look(NOW + HOUR) == NO_OUTAGES
    longer = clusters.look(NOW + HOUR, OutageGuard(holdLimit=HOUR * 2))
    assert [outage.group for outage in longer.suspected] == [NodeGroup()]
    assert clusters.look(NOW + HOUR, None) == NO_OUTAGES


def test_later_window_holds_on_when_the_first_gives_way_and_is_not_judged_each_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clusters, later = Clusters(), NOW + timedelta(minutes=4)
    judged: list[object] = []
    clusters.see("n1", ready="Unknown")
    clusters.see("n2", "n3", "n4", ready="Unknown", since=later)
    assert clusters.suspected(later) == [("", "", 4, 4)]

    def noting(
        guard: OutageGuard,
        group: NodeGroup,
        total: int,
        unknown: Iterable[datetime],
        given: datetime | None,
    ) -> int:
        judged.append(given)
        return lacking(guard, group, total, unknown, given)

    monkeypatch.setattr(outage_watch, "lacking", noting)
    for second in range(10):
        assert clusters.suspected(NOW + HOUR + second * SECOND) == [("", "", 4, 4)], (
            "the message does not change"
        )
    assert len(judged) == 1
    assert clusters.suspected(later + HOUR) == []


def test_end_still_counts_when_the_guard_is_turned_off() -> None:
    clusters = Clusters()
    clusters.see("n1", "n2", "n3", ready="Unknown")
    clusters.look()
    clusters.see("n1", "n2", "n3")
    clusters.look(NOW + SECOND)
    assert clusters.look(NOW + HOUR, None).ended("") == NOW + SECOND


def test_after_the_guard_gave_way_few_of_many_silent_nodes_are_judged_at_once() -> None:
    clusters = Clusters()
    clusters.see(*(f"n{number}" for number in range(300)))
    clusters.see(*(f"n{number}" for number in range(200)), ready="Unknown")
    assert clusters.suspected()
    later = NOW + GUARD.hold_limit + SECOND
    assert clusters.suspected(later) == []

    judged = 0
    for number in range(200, 300):
        if clusters.see(f"n{number}", ready="Unknown", since=later) == [True]:
            judged += 1
            clusters.look(later)
    assert clusters.suspected(later) == [("", "", 60, 100)], (
        "the Node that completes an outage is judged at once"
    )
    assert judged < 10
