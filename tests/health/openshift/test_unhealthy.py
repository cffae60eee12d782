"""The reasons for an unhealthy Machine, row by row (MHC A.2.3), and on revalidation (rule 41)."""

import dataclasses
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import NEVER_UPGRADED, Upgrade, UpgradePhase
from health.kinds.openshift.check import MachineHealthCheck
from health.kinds.openshift.machine import MachineTarget
from health.model.verdict import HEALTHY, Fact, Health, Verdict
from objects.clusters import MANAGEMENT_CLUSTER
from tests.support.values.builders import EMPTY_CONTEXT, NOW, condition
from tests.support.values.builders import verdict as verdict_on_node
from tests.support.values.openshift import (
    CREATED,
    check,
    node_of,
    target,
    with_lost_node,
    without_node,
)

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
FIVE, TEN = 5 * MINUTE, 10 * MINUTE


def rules_of(*conditions: tuple[str, str, str], startup: str = "0s") -> MachineHealthCheck:
    """A check with these types, statuses and timeouts of conditions."""
    rules = [{"type": type_, "status": status, "timeout": timeout} for type_, status, timeout in conditions]
    return check(unhealthyConditions=rules, nodeStartupTimeout=startup)


OF_NODES = (("Ready", "False", "5m"), ("Ready", "Unknown", "5m"), ("DiskPressure", "True", "10m"))
RULES, NO_STARTUP = rules_of(*OF_NODES, startup="10m"), rules_of(*OF_NODES)
HEALTHY_NODE = condition("Ready", "True", CREATED)
MOMENT = timedelta(microseconds=1)


def verdict(
    on: MachineTarget, rules: MachineHealthCheck, now: datetime, upgraded: datetime | None = None
) -> Verdict:
    """The verdict at `now`, after an upgrade that ended at `upgraded`."""
    over = Upgrade(phase=UpgradePhase.OVER, since=upgraded) if upgraded else NEVER_UPGRADED
    return rules.verdict_of_conditions(on, now, ClusterContext(upgrade=over))


def facts(on: MachineTarget, rules: MachineHealthCheck) -> tuple[Fact, ...]:
    return tuple(match.fact for match in rules.matches(on, EMPTY_CONTEXT))


def still_states(fact: Fact, on: MachineTarget, rules: MachineHealthCheck) -> bool:
    return rules.still_states(fact, on, EMPTY_CONTEXT)


def state(
    on: MachineTarget, now: datetime = NOW, rules: MachineHealthCheck = RULES
) -> tuple[Health, datetime | None]:
    judged = verdict(on, rules, now)
    return judged.health, judged.deadline


@pytest.mark.rule("MHC A.2.3/5")
def test_machine_with_a_node_without_trouble_is_healthy() -> None:
    assert verdict(target(HEALTHY_NODE), RULES, NOW) == HEALTHY


@pytest.mark.rule("MHC A.2.3/1")
@pytest.mark.parametrize(
    "failed",
    [
        pytest.param(target(HEALTHY_NODE, phase="Failed"), id="with a healthy Node"),
        pytest.param(target(HEALTHY_NODE, phase="Failed", is_going=True), id="being deleted"),
        pytest.param(without_node(phase="Failed"), id="without a Node"),
        pytest.param(with_lost_node(phase="Failed"), id="whose Node is gone"),
    ],
)
@pytest.mark.parametrize("rules", [RULES, NO_STARTUP])
def test_failed_machine_is_expired_at_once(failed: MachineTarget, rules: MachineHealthCheck) -> None:
    assert verdict(failed, rules, CREATED).health is Health.EXPIRED
    judged = verdict(failed, rules, NOW)
    assert judged.health is Health.EXPIRED
    assert judged.fact == Fact(condition="Phase", status="Failed", since=CREATED, is_moving=True)
    assert judged.deadline == CREATED
    assert judged.reason == "its phase is Failed"


@pytest.mark.parametrize("phase", ["Provisioning", "Provisioned", "Running", "Deleting", "failed", ""])
def test_no_other_phase_is_a_failure(phase: str) -> None:
    assert verdict(target(HEALTHY_NODE, phase=phase), RULES, NOW) == HEALTHY


@pytest.mark.rule("MHC A.2.3/2")
@pytest.mark.parametrize(
    ("age", "health"),
    [
        (timedelta(), Health.WAITING),
        (TEN - MOMENT, Health.WAITING),
        (TEN, Health.WAITING),
        (TEN + MOMENT, Health.EXPIRED),
    ],
)
def test_machine_waits_for_its_node_until_strictly_after_the_timeout(age: timedelta, health: Health) -> None:
    assert state(without_node(updated=NOW), NOW + age) == (health, NOW + TEN)


@pytest.mark.rule("MHC A.2.3/2", "rule 25")
@pytest.mark.parametrize(
    ("updated", "since"),
    [
        pytest.param(NOW, NOW, id="last updated"),
        pytest.param(None, CREATED, id="never updated: created"),
    ],
)
def test_clock_of_a_machine_without_a_node_counts_from_its_last_change(
    updated: datetime | None, since: datetime
) -> None:
    judged = verdict(without_node(updated=updated), RULES, since)

    assert judged.fact == Fact(condition="Node", status="missing", since=since, is_moving=True)
    assert judged.deadline == since + TEN
    assert judged.reason == f"Node is missing since {since:%Y-%m-%dT%H:%M:%SZ}, waiting for 10m"


@pytest.mark.rule("MHC A.2.3/2", "MHC A.1/nodeStartupTimeout")
def test_machine_waits_for_its_node_for_ever_where_the_timeout_is_off() -> None:
    assert verdict(without_node(), NO_STARTUP, NOW + timedelta(days=365)) == HEALTHY
    assert facts(without_node(), NO_STARTUP) == ()


@pytest.mark.rule("MHC A.2.3/3")
@pytest.mark.parametrize("rules", [RULES, NO_STARTUP, rules_of()])
def test_machine_whose_node_is_gone_is_expired_at_once(rules: MachineHealthCheck) -> None:
    judged = verdict(with_lost_node(updated=NOW), rules, NOW)

    assert judged.health is Health.EXPIRED
    assert judged.fact == Fact(condition="Node", status="gone", since=NOW, is_moving=True)
    assert judged.deadline == NOW
    assert judged.reason == "its Node node-1 is not there"


@pytest.mark.rule("MHC A.2.3/4")
@pytest.mark.parametrize(
    ("age", "health"),
    [
        (timedelta(), Health.WAITING),
        (FIVE, Health.WAITING),
        (FIVE + MOMENT, Health.EXPIRED),
    ],
)
def test_condition_expires_strictly_after_its_timeout(age: timedelta, health: Health) -> None:
    assert state(target(condition("Ready", "False")), NOW + age) == (health, NOW + FIVE)


@pytest.mark.rule("MHC A.2.3/4")
def test_condition_that_the_node_lacks_is_healthy() -> None:
    assert verdict(target(condition("MemoryPressure", "True")), RULES, NOW + FIVE) == HEALTHY


@pytest.mark.rule("MHC A.2.3/4")
def test_clock_starts_again_when_the_status_changes() -> None:
    """After 3 s of False, Unknown begins: a timeout of 4 s ends 7 s after the first transition."""
    rules = rules_of(("Ready", "False", "4s"), ("Ready", "Unknown", "4s"), startup="10m")
    unknown = target(condition("Ready", "Unknown", NOW + 3 * SECOND))

    assert state(target(condition("Ready", "False")), NOW + 3 * SECOND, rules) == (
        Health.WAITING,
        NOW + 4 * SECOND,
    )
    assert state(unknown, NOW + 7 * SECOND, rules) == (Health.WAITING, NOW + 7 * SECOND)
    assert state(unknown, NOW + 7 * SECOND + MOMENT, rules)[0] is Health.EXPIRED


@pytest.mark.rule("MHC A.2.3/4", "MHC A.1/termination handler")
def test_timeout_of_zero_is_over_as_soon_as_the_condition_is_there() -> None:
    rules = rules_of(("Terminating", "True", "0s"))

    assert state(target(condition("Terminating", "True")), NOW + MOMENT, rules)[0] is Health.EXPIRED


@pytest.mark.rule("MHC A.2.3/5")
def test_earliest_deadline_runs_where_none_is_over() -> None:
    both = target(condition("DiskPressure", "True", NOW - 7 * MINUTE), condition("Ready", "False"))

    assert state(both) == (Health.WAITING, NOW + 3 * MINUTE)
    later = verdict(both, RULES, NOW + FIVE + SECOND)
    assert (later.health, later.fact) == (
        Health.EXPIRED,
        Fact(condition="Ready", status="False", since=NOW),
    )


@pytest.mark.rule("rule 37")
def test_clocks_restart_at_the_end_of_an_upgrade() -> None:
    ended = NOW + TEN
    for one, timeout in ((without_node(updated=NOW), TEN), (target(condition("Ready", "False")), FIVE)):
        judged = verdict(one, RULES, NOW + FIVE + TEN, ended)
        assert (judged.health, judged.deadline) == (Health.WAITING, ended + timeout)


@pytest.mark.rule("rule 37")
def test_failure_without_a_timer_is_not_delayed_by_an_upgrade() -> None:
    for lost in (target(phase="Failed"), with_lost_node()):
        assert verdict(lost, RULES, NOW, NOW + TEN).health is Health.EXPIRED


@pytest.mark.rule("rule 41")
@pytest.mark.parametrize(
    ("one", "stated", "is_true"),
    [
        pytest.param(target(condition("Ready", "False")), ("Ready", "False", NOW), True, id="as it is"),
        pytest.param(
            target(condition("Ready", "False"), condition("DiskPressure", "True")),
            ("DiskPressure", "True", NOW),
            True,
            id="one of two",
        ),
        pytest.param(
            target(condition("Ready", "False")),
            ("Ready", "False", NOW - SECOND),
            False,
            id="since another moment",
        ),
        pytest.param(
            target(condition("Ready", "False")), ("Ready", "Unknown", NOW), False, id="another status"
        ),
        pytest.param(
            target(condition("MemoryPressure", "True")),
            ("MemoryPressure", "True", NOW),
            False,
            id="true, but not called unhealthy",
        ),
        pytest.param(without_node(updated=NOW), ("Node", "missing", NOW), True, id="still without a Node"),
        pytest.param(
            without_node(updated=NOW + SECOND),
            ("Node", "missing", NOW),
            True,
            id="still without a Node, and its status was written in between",
        ),
        pytest.param(
            with_lost_node(updated=NOW + SECOND),
            ("Node", "gone", NOW),
            True,
            id="its Node is still gone, and its status was written in between",
        ),
        pytest.param(
            target(phase="Failed", updated=NOW + SECOND),
            ("Phase", "Failed", NOW),
            True,
            id="still failed, and its status was written in between",
        ),
        pytest.param(
            with_lost_node(is_going=True),
            ("Node", "gone", NOW),
            True,
            id="an attempt made again, after it had deleted it",
        ),
        pytest.param(
            with_lost_node(is_going=True), ("Node", "missing", NOW), False, id="linked before it was deleted"
        ),
        pytest.param(
            target(HEALTHY_NODE, updated=NOW), ("Node", "missing", NOW), False, id="linked in between"
        ),
        pytest.param(target(phase="Failed", updated=NOW), ("Phase", "Failed", NOW), True, id="failed"),
        pytest.param(
            target(condition("Ready", "False"), phase="Failed"),
            ("Ready", "False", NOW),
            False,
            id="failed in between, which is another judgement",
        ),
    ],
)
def test_revalidation_compares_the_fact(
    one: MachineTarget,
    stated: tuple[str, str, datetime],
    is_true: bool,  # noqa: FBT001  a column of the table
) -> None:
    fact = Fact(condition=stated[0], status=stated[1], since=stated[2])

    assert still_states(fact, one, RULES) is is_true


@pytest.mark.rule("rule 26")
def test_node_that_is_there_when_it_is_revalidated_is_not_gone() -> None:
    seen = verdict(with_lost_node(updated=NOW), RULES, NOW).fact

    assert seen is not None
    assert still_states(seen, with_lost_node(updated=NOW), RULES)
    assert not still_states(seen, target(HEALTHY_NODE, updated=NOW), RULES)


@pytest.mark.rule("MHC A.2.5/deleting")
@pytest.mark.parametrize("going", [with_lost_node(is_going=True), without_node(is_going=True)])
def test_machine_whose_node_was_taken_away_because_it_is_deleted_has_not_failed(going: MachineTarget) -> None:
    assert verdict(going, RULES, NOW + timedelta(days=1)) == HEALTHY
    assert facts(going, RULES) == ()


def test_machine_that_is_being_deleted_is_judged_by_what_its_node_says() -> None:
    going = target(condition("Ready", "False"), is_going=True)

    assert verdict(going, RULES, NOW + FIVE + SECOND).health is Health.EXPIRED


AGES = st.integers(0, 3600).map(lambda seconds: timedelta(seconds=seconds))
CONDITIONS = st.lists(
    st.builds(
        lambda type_, status, age: condition(type_, status, NOW - age),
        st.sampled_from(["Ready", "DiskPressure"]),
        st.sampled_from(["True", "False", "Unknown"]),
        AGES,
    ),
    max_size=2,
    unique_by=lambda one: one["type"],
)
PHASES = st.sampled_from(["Running", "Failed"])
TARGETS = st.one_of(
    st.builds(lambda conditions, phase: target(*conditions, phase=phase), CONDITIONS, PHASES),
    st.builds(lambda phase, age: without_node(phase=phase, updated=NOW - age), PHASES, AGES),
    st.builds(lambda phase: with_lost_node(phase=phase), PHASES),
)


@given(one=TARGETS, age=AGES, rules=st.sampled_from([RULES, NO_STARTUP]))
def test_verdict_is_waiting_until_its_deadline_and_expired_after_it(
    one: MachineTarget, age: timedelta, rules: MachineHealthCheck
) -> None:
    judged = verdict(one, rules, NOW + age)

    assert (judged.health is Health.HEALTHY) == (not facts(one, rules))
    assert (judged.fact is None) == (judged.deadline is None) == (judged.health is Health.HEALTHY)
    if judged.health is Health.WAITING:
        assert judged.deadline is not None
        assert judged.deadline >= NOW + age
        assert verdict(one, rules, judged.deadline + MOMENT).health is Health.EXPIRED
    if judged.fact is not None:
        assert judged.fact in facts(one, rules)


@given(one=TARGETS, age=AGES, longer=AGES, rules=st.sampled_from([RULES, NO_STARTUP]))
def test_expired_target_stays_expired_while_nothing_changes(
    one: MachineTarget, age: timedelta, longer: timedelta, rules: MachineHealthCheck
) -> None:
    if verdict(one, rules, NOW + age).health is Health.EXPIRED:
        assert verdict(one, rules, NOW + age + longer).health is Health.EXPIRED


@pytest.mark.rule("MHC A.2.3/4")
@given(conditions=CONDITIONS, age=AGES)
def test_node_is_judged_as_one_of_a_node_health_check(
    conditions: list[dict[str, str]], age: timedelta
) -> None:
    one = target(*conditions)

    assert verdict(one, RULES, NOW + age) == verdict_on_node(node_of(one), RULES.node_rules, NOW + age)


@pytest.mark.rule("rule 50/back")
def test_node_counts_as_gone_a_minute_after_the_api_server_came_back_and_no_sooner() -> None:
    context = ClusterContext(back={MANAGEMENT_CLUSTER: NOW})
    lost, due = with_lost_node(), NOW + timedelta(minutes=1)
    waiting = check().verdict(lost, due, context)
    assert (waiting.health, waiting.deadline) == (Health.WAITING, due)
    assert waiting.reason == "Node is gone, not believed before 2026-03-01T12:01:00Z"
    assert check().verdict(lost, due + timedelta(seconds=1), context).health is Health.EXPIRED
    assert check().verdict(lost, NOW, ClusterContext()).health is Health.EXPIRED


@pytest.mark.rule("rule 50/vanished")
def test_node_counts_as_gone_once_no_other_node_has_vanished_for_five_seconds() -> None:
    context = ClusterContext(vanished={MANAGEMENT_CLUSTER: NOW})
    lost, due = with_lost_node(), NOW + timedelta(seconds=5)
    waiting = check().verdict(lost, due, context)
    assert (waiting.health, waiting.deadline) == (Health.WAITING, due)
    assert check().verdict(lost, due + timedelta(seconds=1), context).health is Health.EXPIRED


@pytest.mark.rule("rule 8/node")
@pytest.mark.parametrize("rules", [RULES, rules_of(startup="5m")])
def test_of_a_node_that_does_not_decode_nothing_is_said(rules: MachineHealthCheck) -> None:
    unread = dataclasses.replace(with_lost_node(), is_node_unread=True)
    assert verdict(unread, rules, NOW + timedelta(days=1)).health is Health.HEALTHY
    assert facts(unread, rules) == ()
