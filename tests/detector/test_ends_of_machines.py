"""Deletions and marks of Machines: how long they stay in flight, and which delay the next remediation."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from detector.limits.in_flight import InFlight, Remediated
from health.model.observation import HoldReason
from health.model.references import Action
from tests.support.state.small_machines import SmallMachines
from tests.support.values.builders import NOW
from tests.support.values.openshift import EXTERNAL

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HALF = SECOND / 2


@pytest.fixture
def cluster() -> SmallMachines:
    made = SmallMachines()
    made.check()
    made.node("node-1")
    made.machine("machine-1", node="node-1")
    return made


def wait_of(cluster: SmallMachines, machine: str) -> float | None:
    """The remaining back-off in seconds; None if the target is not held."""
    seen = cluster.observe(machine)
    if seen.may_be_admitted:
        return None
    assert seen.hold is not None
    assert seen.hold.reason is HoldReason.BACK_OFF
    return seen.hold.ask_again_seconds


@pytest.mark.rule("rule 14")
@pytest.mark.rule("rule 14/controller")
def test_unhealthy_machine_that_goes_in_an_instant_delays_the_one_made_after_it(
    cluster: SmallMachines,
) -> None:
    cluster.now = NOW + HALF
    cluster.machine("machine-1", node="node-1", phase="Failed")
    cluster.delete_machine("machine-1")
    cluster.machine("machine-2", created=NOW, phase="Failed")
    assert wait_of(cluster, "machine-2") == pytest.approx(60)

    cluster.now += MINUTE
    cluster.delete_machine("machine-2")
    cluster.machine("machine-3", created=NOW + MINUTE, phase="Failed")
    assert wait_of(cluster, "machine-3") == pytest.approx(120)


@pytest.mark.rule("rule 14")
@pytest.mark.rule("rule 14/controller")
@pytest.mark.parametrize("deleted", [None, NOW], ids=["in an instant", "with a finalizer"])
def test_machine_that_was_there_already_is_not_delayed_however_young_it_is(
    cluster: SmallMachines, deleted: datetime | None
) -> None:
    for name in ("machine-4", "machine-5"):
        cluster.machine(name, created=NOW, phase="Failed")
    if deleted is not None:
        cluster.machine("machine-4", created=NOW, phase="Failed", deleted=deleted)
    cluster.delete_machine("machine-4")
    assert wait_of(cluster, "machine-5") is None


@pytest.mark.rule("rule 14")
@pytest.mark.rule("rule 14/controller")
@pytest.mark.parametrize("is_seen_going", [False, True])
def test_machine_that_is_deleted_before_its_deadline_delays_no_remediation(
    cluster: SmallMachines, *, is_seen_going: bool
) -> None:
    cluster.node("node-1", ready="Unknown", since=NOW - MINUTE)  # 4 more minutes to the deadline
    if is_seen_going:
        cluster.machine("machine-1", node="node-1", deleted=NOW)
    cluster.delete_machine("machine-1")
    cluster.machine("machine-2", created=NOW, phase="Failed")
    assert wait_of(cluster, "machine-2") is None


@pytest.mark.rule("rule 14")
@pytest.mark.rule("rule 14/controller", "rule 8")
def test_machine_that_cannot_be_read_any_more_is_not_taken_for_a_deleted_one(cluster: SmallMachines) -> None:
    cluster.machine("machine-1", node="node-1", phase="Failed")
    cluster.break_machine("machine-1", "metadata.uid: missing")
    cluster.machine("machine-2", created=NOW, phase="Failed")
    assert wait_of(cluster, "machine-2") is None


@pytest.mark.rule("rule 14")
def test_machine_whose_mark_was_taken_off_and_that_fails_again_is_marked_after_a_wait(
    cluster: SmallMachines,
) -> None:
    cluster.check(annotations=EXTERNAL)
    cluster.node("node-1", ready="Unknown")
    for wait in (60, 120):
        cluster.machine("machine-1", node="node-1", mark="")
        cluster.node("node-1", since=cluster.now)
        cluster.machine("machine-1", node="node-1")
        cluster.node("node-1", ready="Unknown", since=cluster.now - 6 * MINUTE)
        assert wait_of(cluster, "machine-1") == pytest.approx(wait)
        cluster.now += timedelta(seconds=wait)
        assert wait_of(cluster, "machine-1") is None


@pytest.mark.rule("rule 14")
def test_remediation_under_way_by_a_mark_is_not_held_for_what_follows_it(cluster: SmallMachines) -> None:
    cluster.check(annotations=EXTERNAL)
    cluster.node("node-1", ready="Unknown")
    cluster.machine("machine-1", node="node-1", mark="")
    cluster.node("node-1", since=NOW)
    cluster.machine("machine-1", node="node-1")
    cluster.machine("machine-1", node="node-1", phase="Failed")
    assert wait_of(cluster, "machine-1") == pytest.approx(60)
    cluster.machine("machine-1", node="node-1", phase="Failed", mark="")
    assert wait_of(cluster, "machine-1") is None


@pytest.mark.rule("rule 14")
def test_mark_that_was_taken_off_in_vain_is_left_to_its_incident(cluster: SmallMachines) -> None:
    cluster.check(annotations=EXTERNAL)
    cluster.node("node-1", ready="Unknown")
    cluster.machine("machine-1", node="node-1", mark="")
    cluster.machine("machine-1", node="node-1")
    assert wait_of(cluster, "machine-1") is None


@pytest.mark.rule("rule 14")
@pytest.mark.rule("rule 10", "rule 28")
def test_mark_that_is_not_awaited_any_more_still_shows() -> None:
    """The Machine fails, or its check drops the strategy: the Machine is deleted with its mark."""
    cluster = SmallMachines()
    cluster.check(annotations=EXTERNAL)
    cluster.node("node-1", ready="Unknown")
    cluster.machine("machine-1", node="node-1", mark="")
    awaited = cluster.observe("machine-1")
    assert (awaited.under_way, awaited.is_marked) == ("machine-1 is marked for external remediation", True)

    cluster.machine("machine-1", node="node-1", mark="", phase="Failed")
    failed = cluster.observe("machine-1")
    cluster.machine("machine-1", node="node-1", mark="")
    cluster.check()
    edited = cluster.observe("machine-1")
    for seen in (failed, edited):
        assert [step.action for step in seen.steps] == [Action.DELETE]
        assert (seen.under_way, seen.is_marked, seen.may_be_admitted) == ("", True, True)


UNREADABLE = {"paramedic.dev/no-such-choice": "true"}


class Watched:
    """A cluster with one deleted, one marked and one merely unhealthy Machine."""

    def __init__(self) -> None:
        self.cluster = SmallMachines()
        self.began: dict[str, datetime | None] = {}
        self.ended: list[str] = []
        self.under_way: set[str] = set()
        self.in_flight = InFlight(
            self.cluster.cluster_state,
            self._began,
            self._ended,
        )
        self.cluster.cluster_state.event_handlers.add_change_handler(self.in_flight.changed)
        self.cluster.check()
        self.cluster.machine("deleted", node="n1", deleted=NOW)
        self.cluster.machine("marked", node="n2", mark="")
        self.cluster.machine("unhealthy", node="n3")

    def _began(self, remediated: Remediated, since: datetime | None) -> None:
        self.began[remediated.target] = since
        self.under_way.add(remediated.target)

    def _ended(self, remediated: Remediated) -> None:
        self.ended.append(remediated.target)
        self.under_way.remove(remediated.target)

    def names(self) -> set[str]:
        return set(self.under_way)

    def look_again(self) -> set[str]:
        self.in_flight.look_again()
        return self.names()


@pytest.mark.rule("rule 43", "rule 8")
def test_deleted_and_marked_machines_are_under_way_and_unhealthy_ones_are_not() -> None:
    watched = Watched()
    assert watched.names() == {"deleted", "marked"}
    assert watched.began == {"deleted": NOW, "marked": None}
    assert "unhealthy" not in watched.under_way


@pytest.mark.rule("rule 43", "rule 8")
@pytest.mark.parametrize(
    "edit",
    [
        lambda cluster: cluster.check(annotations=UNREADABLE),
        SmallMachines.delete_check,
        lambda cluster: cluster.check(
            annotations={"edited": ""}, selector={"matchLabels": {"role": "other"}}
        ),
    ],
    ids=["unreadable", "deleted", "selects others"],
)
def test_they_are_under_way_until_they_are_gone_also_without_a_check_that_says_so(
    edit: Callable[[SmallMachines], None],
) -> None:
    watched = Watched()
    edit(watched.cluster)
    assert watched.look_again() == {"deleted", "marked"}

    watched.cluster.machine("marked", node="n2")
    watched.cluster.delete_machine("deleted")
    assert watched.look_again() == set()

    watched.cluster.machine("marked", node="n2", mark="")
    assert watched.look_again() == set(), "a removed mark is not a remediation"


@pytest.mark.rule("rule 43", "rule 8")
def test_check_that_can_be_read_again_goes_on_where_it_was_and_nothing_begins_twice() -> None:
    watched = Watched()
    watched.cluster.check(annotations=UNREADABLE)
    watched.began.clear()
    watched.cluster.check()
    assert (watched.names(), watched.began, watched.ended) == ({"deleted", "marked"}, {}, [])


@pytest.mark.rule("rule 43", "rule 8")
def test_machine_that_cannot_be_read_is_under_way_as_it_was() -> None:
    watched = Watched()
    watched.cluster.break_machine("deleted", "spec is a list")
    assert watched.names() == {"deleted", "marked"}
