"""Which deletions of Machines, and which removed marks, delay the next remediation (rule 14)."""

from datetime import datetime, timedelta

import pytest

from health.model.observation import HoldReason
from health.model.references import Action
from tests.support.state.small_machines import SmallMachines
from tests.support.values.builders import NOW
from tests.support.values.openshift import EXTERNAL

pytestmark = pytest.mark.rule("rule 14")

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


@pytest.mark.rule("rule 14/controller", "rule 8")
def test_machine_that_cannot_be_read_any_more_is_not_taken_for_a_deleted_one(cluster: SmallMachines) -> None:
    cluster.machine("machine-1", node="node-1", phase="Failed")
    cluster.break_machine("machine-1", "metadata.uid: missing")
    cluster.machine("machine-2", created=NOW, phase="Failed")
    assert wait_of(cluster, "machine-2") is None


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


def test_mark_that_was_taken_off_in_vain_is_left_to_its_incident(cluster: SmallMachines) -> None:
    cluster.check(annotations=EXTERNAL)
    cluster.node("node-1", ready="Unknown")
    cluster.machine("machine-1", node="node-1", mark="")
    cluster.machine("machine-1", node="node-1")
    assert wait_of(cluster, "machine-1") is None


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
