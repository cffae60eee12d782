"""Which expected Nodes of Machines are lost, as Nodes and Machines come and go, and over a restart."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest

from detector.context.lost_nodes_watch import LostNodesWatch
from health.cluster.cluster_identity import node_digest
from health.model.observation import HoldReason
from health.model.target import TargetName, node_name
from health.policy.outage_guard import OutageGuard
from tests.support.values.builders import NOW

pytestmark = pytest.mark.rule("rule 50/vanished", "rule 63")

EAST, WEST = "fleet/east", "fleet/west"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class Clusters:
    """Nodes of clusters, and the Machines that expect them."""

    def __init__(self, noted: Iterable[str] = (), *, is_read: bool = True) -> None:
        self.now = NOW
        self.is_read = is_read
        self.noted = noted
        self.watch = LostNodesWatch(
            lambda _: [node_digest(name) for name in self.noted], lambda _: self.is_read, lambda: self.now
        )
        self.confirmed: dict[str, datetime] = {}

    def add(self, number: int, cluster: str = EAST) -> None:
        for name in self._names(number, cluster):
            self.watch.node_changed(name, None, is_there=True)
            self.watch.expected_changed(name, None, is_expected=True)
        self.look()

    def vanish(self, number: int, cluster: str = EAST, guard: OutageGuard | None = None) -> list[bool]:
        names = self._names(number, cluster)
        return [self.watch.node_changed(name, guard, is_there=False) for name in names]

    def come(self, number: int, cluster: str = EAST) -> None:
        for name in self._names(number, cluster):
            self.watch.node_changed(name, None, is_there=True)

    def delete_machines(self, number: int, cluster: str = EAST) -> None:
        for name in self._names(number, cluster):
            self.watch.expected_changed(name, None, is_expected=False)

    def look(self, guard: OutageGuard | None = None) -> dict[str, HoldReason | str]:
        return {cluster: hold.reason for cluster, hold in self.watch.look(guard, self.confirmed).items()}

    @staticmethod
    def _names(number: int, cluster: str) -> list[TargetName]:
        return [node_name(f"n{index}", cluster) for index in range(number)]


HELD = {EAST: HoldReason.NODES_VANISHED}


def names(number: int) -> frozenset[str]:
    return frozenset(f"n{index}" for index in range(number))


def test_nodes_that_vanish_together_hold_their_cluster_until_all_are_back() -> None:
    clusters = Clusters()
    clusters.add(10)
    clusters.add(10, WEST)
    assert clusters.vanish(10)[5]  # with the sixth, most of the ten are lost
    assert clusters.look() == HELD
    clusters.come(9)
    assert clusters.look() == HELD
    clusters.come(10)
    assert clusters.look() == {}


def test_confirmation_of_one_loss_believes_no_later_one() -> None:
    clusters = Clusters()
    clusters.add(10)
    clusters.vanish(6)
    assert clusters.look() == HELD
    clusters.now = NOW + HOUR
    clusters.vanish(10)
    assert clusters.look() == HELD
    assert clusters.watch.believed() == {EAST: frozenset()}

    clusters.confirmed = {EAST: NOW}
    assert clusters.look() == HELD
    assert clusters.watch.believed() == {EAST: names(6)}
    clusters.confirmed = {EAST: clusters.now}
    assert clusters.look() == {}
    assert clusters.watch.believed() == {EAST: names(10)}


def test_machines_that_are_deleted_expect_no_node_any_more() -> None:
    clusters = Clusters()
    clusters.add(10)
    clusters.delete_machines(9)  # scaled down to a single Machine
    assert clusters.vanish(10).count(True) == 1  # the Node of that Machine
    assert clusters.look() == {}
    assert clusters.watch.vanished() == {EAST: NOW}

    clusters.come(10)
    clusters.add(10)
    clusters.vanish(10)
    assert clusters.look() == HELD
    clusters.delete_machines(10)
    assert clusters.look() == {}


def test_person_confirms_that_they_are_gone_and_what_vanishes_later_is_suspected_anew() -> None:
    clusters = Clusters()
    clusters.add(12)
    clusters.vanish(8)
    assert clusters.look() == HELD
    clusters.confirmed = {WEST: NOW + HOUR, EAST: NOW - MINUTE}
    assert clusters.look() == HELD
    clusters.confirmed = {EAST: NOW}
    assert clusters.look() == {}
    assert clusters.watch.believed() == {EAST: names(8)}

    clusters.now += HOUR
    clusters.vanish(12)
    assert clusters.look() == HELD
    assert clusters.watch.believed() == {EAST: names(8)}


def test_nodes_that_vanish_one_by_one_are_believed_and_the_numbers_of_the_guard_apply_where_it_is_on() -> (
    None
):
    clusters = Clusters()
    clusters.add(10)
    for number in range(1, 11):
        clusters.vanish(number)
        assert clusters.look() == {}
        clusters.now += HOUR

    clusters = Clusters()
    clusters.add(10)
    guard = OutageGuard(minimumNodes=9)
    clusters.vanish(8, guard=guard)
    assert clusters.look(guard) == {}


def test_each_loss_delays_those_before_it_and_is_looked_at_once_a_second() -> None:
    clusters = Clusters()
    clusters.add(1000)
    assert clusters.watch.vanished() == {}
    assert clusters.vanish(1) == [True]
    assert clusters.watch.vanished() == {EAST: NOW}

    clusters.now += timedelta(milliseconds=999)
    assert not any(clusters.vanish(300))
    assert clusters.watch.vanished() == {EAST: clusters.now}

    clusters.now += timedelta(seconds=1)
    assert clusters.vanish(301)[300]
    assert clusters.watch.vanished() == {EAST: clusters.now}


def test_node_that_is_there_and_does_not_decode_is_not_lost() -> None:
    clusters = Clusters()
    clusters.add(3)
    for one in names(3):
        name = node_name(one, EAST)
        clusters.watch.decoding_changed(name, None, is_undecodable=True)
        assert not clusters.watch.node_changed(name, None, is_there=False)
    assert clusters.look() == {}
    assert [
        clusters.watch.decoding_changed(node_name(one, EAST), None, is_undecodable=False) for one in names(3)
    ] == [True] * 3
    assert clusters.look() == HELD


@pytest.mark.parametrize(("noted", "held"), [(0, HELD), (4, HELD), (8, {}), (10, {})])
def test_nodes_that_were_gone_at_the_start_vanished_together_unless_they_were_known_to_be_gone(
    noted: int, held: dict[str, HoldReason]
) -> None:
    clusters = Clusters(names(noted), is_read=False)
    for index in range(10):
        assert not clusters.watch.expected_changed(node_name(f"n{index}", EAST), None, is_expected=True)
    assert clusters.look() == {}
    clusters.is_read = True
    assert clusters.look() == held
    assert clusters.watch.believed() == {EAST: names(noted if held else 10)}


def test_losses_are_remembered_by_name_and_not_by_number() -> None:
    """The Nodes that are gone now are others than those that an earlier process knew to be gone."""
    clusters = Clusters({f"old{index}" for index in range(10)}, is_read=False)
    for name in names(10):
        clusters.watch.expected_changed(node_name(name, EAST), None, is_expected=True)
    clusters.is_read = True
    assert clusters.look() == HELD


def test_loss_that_was_known_stays_believed_however_late_its_machine_is_read() -> None:
    clusters = Clusters(names(10))
    assert clusters.look() == {}
    assert not any(
        clusters.watch.expected_changed(node_name(name, EAST), None, is_expected=True) for name in names(10)
    )
    assert clusters.look() == {}
    assert clusters.watch.vanished() == {}


def test_node_that_is_back_is_no_loss_that_was_known() -> None:
    clusters = Clusters(names(10))
    clusters.add(10)
    clusters.vanish(10)
    assert clusters.look() == HELD


def test_new_leader_believes_the_losses_that_the_leader_before_believed() -> None:
    standby = Clusters()
    standby.add(10)
    standby.vanish(10)
    assert standby.look() == HELD
    standby.noted = names(10)
    standby.watch.take_noted()
    assert standby.look() == {}
    assert standby.watch.believed() == {EAST: names(10)}


def test_cluster_that_no_check_names_for_a_while_has_no_more_nodes_that_are_known_to_be_gone() -> None:
    clusters = Clusters()
    clusters.add(10)
    clusters.vanish(1)
    clusters.look()
    assert clusters.watch.believed() == {EAST: names(1)}

    clusters.is_read = False
    clusters.vanish(10)
    clusters.look()
    assert clusters.watch.believed() == {EAST: names(1)}, (
        "a new process could believe that all Nodes are lost"
    )
