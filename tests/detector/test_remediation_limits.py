"""A leading detector never admits more than the limits allow, however late it sees the requests."""

import gc
import random
import sys
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import FrameType

import pytest
from prometheus_client import CollectorRegistry

from detector.answers.observation_builder import Observer
from detector.answers.storms import Storms
from detector.context.sources_of_checks import CheckFreshness
from detector.limits.admission_queue import TURN
from detector.limits.in_flight import Remediated
from detector.limits.remediation_limits import LimitQuestion, RemediationLimits
from detector.limits.remediation_records import LIVES
from detector.metrics.live_metrics import LimitMetrics
from health.gate.back_off import NO_BACK_OFF, EndedAttempt, RemediationBackOff
from health.model.admission import Intent
from health.model.observation import HoldReason, Observation
from health.model.references import CheckReference
from health.policy.limits import HOUR, Limits, LimitScope
from health.policy.outage_guard import NO_OUTAGES, GroupOutage, NodeGroup, Outages, SuspectedOutage
from health.policy.policy import DEFAULTS, Policy
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.values.builders import NOW, limits
from tests.support.values.metric_samples import scrape, series
from tests.support.values.proving import OLD, healthy

pytestmark = pytest.mark.rule("rule 43", "rule 4")

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
ZONE = "topology.kubernetes.io/zone"
KNOWN = LIVES + DEFAULTS.staleness_limit
"""After the start of the lead."""


class Leader:
    """A leading detector: its state, and its answers."""

    def __init__(self, cluster: SmallCluster, chosen: Limits) -> None:
        self.cluster = cluster
        self.policy = Policy(limits=chosen)
        self.proven = cluster.now
        """Up to when all that was written is seen."""
        self.limits = RemediationLimits(cluster.cluster_state, lambda: self.policy, self.proves, self.now)
        self.told: list[str] = []
        self.back_offs: dict[str, RemediationBackOff] = {}
        cluster.cluster_state.event_handlers.add_change_handler(self.limits.changed)
        cluster.cluster_state.event_handlers.add_change_handler(self.changed)
        cluster.cluster_state.event_handlers.add_request_handler(self.limits.request_changed)
        self.limits.complete()

    def now(self) -> datetime:
        return self.cluster.now

    def proves(self, _: CheckReference, within: timedelta) -> bool:
        return self.now() - self.proven <= within

    def changed(self, check: CheckReference, target: str | None) -> None:
        if target is not None and check == CHECK:
            self.told.append(target)

    def pass_time(self, time: timedelta, *, is_proven: bool = True) -> None:
        self.cluster.now += time
        self.proven = self.cluster.now if is_proven else self.proven

    def ask(self, name: str, *, would_act: bool = True, skips_back_off: bool = False) -> Observation:
        return self.answer(name, Intent(would_act=would_act, skips_back_off=skips_back_off))

    def answer(self, name: str, intent: Intent) -> Observation:
        """The answer to an incident that asks with this intent."""
        return self.limits.answered(incident_of(name), self.observe(name), intent)

    def observe(self, name: str) -> Observation:
        """The observation of an incident, whether it asks or not."""
        observer = Observer(
            cluster_state=self.cluster.cluster_state,
            freshness=lambda _: CheckFreshness(),
            storms=Storms(self.cluster.cluster_state, lambda _: True, self.now),
            back_off=lambda target, _: self.back_offs.get(target.name, NO_BACK_OFF),
            limits=self.limits,
            now=self.now,
        )
        return observer.observe(incident_of(name))

    def look(self) -> set[str]:
        """The targets whose turn it is, and which the detector notifies."""
        self.told.clear()
        for incident in self.limits.turns():
            self.cluster.cluster_state.event_handlers.notify_change(incident.check, incident.target.name)
        return set(self.told)


def leader(chosen: Limits, nodes: int = 3) -> Leader:
    """A detector that has led long enough, over failed nodes in two alternating zones; n0 failed first."""
    cluster = SmallCluster()
    cluster.check(minHealthy=0)
    for number in range(nodes):
        since = NOW - timedelta(hours=2) + number * MINUTE
        cluster.node(f"n{number}", ready="Unknown", since=since, labels=labels(number))
    made = Leader(cluster, chosen)
    made.pass_time(KNOWN)
    return made


def labels(number: int) -> dict[str, str]:
    return {"role": "worker", ZONE: "ab"[number % 2]}


def test_without_limits_all_may_begin_at_once() -> None:
    detector = leader(limits())
    assert all(detector.ask(f"n{number}").is_admitted for number in range(3))


def test_admission_counts_before_any_request_is_seen_and_until_the_request_is_gone() -> None:
    detector = leader(limits(maxInFlight=1))
    assert detector.ask("n0").is_admitted
    words = "1 remediation is under way, at most 1 allowed by the policy; the oldest, of n0 of "
    assert f"Limit: {words}" in str(detector.ask("n1").hold)
    assert detector.ask("n0").is_admitted, "a target does not wait for itself"

    detector.cluster.request("n0")
    detector.pass_time(HOUR)
    assert f"Limit: {words}" in str(detector.ask("n1").hold)
    assert detector.ask("n0").hold is None, "a target under way may take its next step"

    detector.cluster.delete_request("n0")
    detector.cluster.node("n0")
    assert detector.look() >= {"n1"}
    assert detector.ask("n1").is_admitted


@pytest.mark.parametrize("chosen", [limits(maxInFlight=2), limits(maxInFlightByLabel={ZONE: 1})])
def test_preview_names_the_limit_of_the_answer_and_takes_no_place_and_no_slot(chosen: Limits) -> None:
    detector = leader(chosen, nodes=5)
    assert detector.ask("n0").is_admitted
    asked = {f"n{number}": detector.ask(f"n{number}") for number in range(1, 5)}
    turns = detector.look()
    preview, state = detector.limits.preview(), detector.cluster.cluster_state
    for name, answer in asked.items():
        target, since = state.targets.get(CHECK, name), answer.fact.since if answer.fact else NOW
        assert target is not None
        question = LimitQuestion(incident=incident_of(name), target=target, since=since, due=NOW)
        limit = preview(question)
        assert (limit is None) == answer.is_admitted
    assert detector.look() == turns


def test_preview_by_other_limits_counts_the_same_remediations_by_their_labels() -> None:
    detector = leader(limits(maxInFlight=1), nodes=4)
    detector.cluster.request("n0")
    by_zone = LimitScope(limits(maxInFlightByLabel={ZONE: 1}), "the policy")
    previews = detector.limits.preview(lambda _: (by_zone,)), detector.limits.preview(lambda _: ())
    targets, found = detector.cluster.cluster_state.targets, []
    for name in ("n1", "n2"):
        target = targets.get(CHECK, name)
        assert target is not None
        question = LimitQuestion(incident=incident_of(name), target=target, since=NOW, due=NOW)
        found.append([preview(question) is None for preview in previews])
    assert found == [[True, True], [False, True]]


def test_admission_that_came_to_nothing_is_forgotten_once_that_is_proven() -> None:
    detector = leader(limits(maxInFlight=1))
    assert detector.ask("n0").is_admitted
    detector.pass_time(HOUR, is_proven=False)
    assert not detector.ask("n1").is_admitted, "its request may not be visible yet"

    detector.pass_time(SECOND)
    detector.ask("n0", would_act=False)
    assert detector.look() >= {"n1"}
    assert detector.ask("n1").is_admitted


def test_admission_of_a_target_that_is_healthy_with_the_same_boot_counts_as_any_other() -> None:
    detector = leader(limits(maxInFlight=1))
    unproven = Intent(unproven_boot=OLD)
    assert detector.limits.answered(incident_of("n0"), healthy(boot_id=OLD), unproven).is_admitted
    assert not detector.ask("n1").is_admitted


def test_target_that_is_unhealthy_for_longest_goes_first_unless_it_does_not_ask() -> None:
    detector = leader(limits(maxInFlight=1))
    detector.cluster.request("other")
    for name in ("n2", "n1", "n0"):
        assert not detector.ask(name).is_admitted
    assert not detector.look() & {"n0", "n1", "n2"}

    detector.cluster.delete_request("other")
    assert detector.look() & {"n0", "n1", "n2"} == {"n0"}
    assert str(detector.ask("n2").hold).startswith(
        "Limit: 0 remediations are under way, 1 that waits for longer comes first"
    )
    detector.pass_time(TURN + SECOND)
    assert detector.look() & {"n0", "n1", "n2"} == {"n1"}
    assert detector.ask("n1").is_admitted


def test_reservation_is_kept_when_an_earlier_target_asks() -> None:
    detector = leader(limits(maxInFlight=1))
    assert detector.ask("n1").is_admitted
    assert not detector.ask("n0").is_admitted, "it was unhealthy for longer, but asks too late"
    detector.look()
    assert detector.ask("n1").is_admitted


def test_target_that_left_the_queue_blocks_no_other() -> None:
    detector = leader(limits(maxInFlight=1))
    detector.cluster.request("other")
    for name in ("n0", "n1", "n2"):
        detector.ask(name)
    detector.cluster.node("n0")
    detector.cluster.delete_request("other")
    assert detector.look() & {"n0", "n1", "n2"} == {"n1"}
    detector.cluster.node("n1", ready="Unknown", since=NOW - HOUR, uid="another", labels=labels(1))
    assert detector.look() & {"n0", "n1", "n2"} == {"n2"}


def test_edit_of_the_policy_counts_what_was_under_way_before_it() -> None:
    detector = leader(limits(), nodes=4)
    detector.cluster.request("n0")
    assert detector.ask("n1").is_admitted
    detector.policy = Policy(limits=limits(maxInFlightByLabel={ZONE: 1}))
    assert [detector.ask(f"n{number}").is_admitted for number in (2, 3)] == [False, False]
    detector.policy = Policy()
    assert detector.ask("n3").is_admitted


def test_edit_of_one_checks_limits_keeps_the_incidents_of_other_checks_in_the_queue() -> None:
    detector = leader(limits(maxInFlight=1))
    detector.cluster.request("other")
    assert not detector.ask("n1").is_admitted

    detector.cluster.check(
        "other", selector={"matchLabels": {"role": "other"}}, annotations={"paramedic.dev/max-in-flight": "3"}
    )
    detector.cluster.delete_request("other")
    assert "n1" in detector.look()


def test_freed_slot_goes_to_the_longest_wait_also_if_another_asks_first() -> None:
    detector = leader(limits(maxInFlightByLabel={ZONE: 1}), nodes=6)
    detector.cluster.request("n4")
    assert [detector.ask(name).is_admitted for name in ("n0", "n2", "n1")] == [False, False, True]
    detector.look()
    detector.pass_time(2 * SECOND)
    detector.look()
    detector.cluster.delete_request("n4")
    assert not detector.ask("n2").is_admitted
    assert detector.ask("n0").is_admitted


def test_answer_costs_the_same_however_many_remediations_are_in_flight() -> None:
    chosen = limits(maxInFlight=1000, maxInFlightByLabel={ZONE: 1000}, maxStartsPerHour=1000)
    detector = leader(chosen, nodes=100)
    costs = [_calls_of_an_answer(detector, f"n{number}") for number in range(100)]
    assert max(costs[50:]) <= 1.1 * max(costs[10:20])


def _calls_of_an_answer(detector: Leader, name: str) -> int:
    """The number of function calls until an incident is admitted."""
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    gc.disable()  # finalizers of other tests' objects are calls, too
    sys.setprofile(count)
    try:
        assert detector.ask(name).is_admitted
    finally:
        sys.setprofile(None)
        gc.enable()
    detector.cluster.request(name)
    return calls


def test_target_that_would_not_act_blocks_no_other() -> None:
    detector = leader(limits(maxInFlight=1))
    detector.ask("n0", would_act=False)
    assert detector.ask("n1").is_admitted


@pytest.mark.parametrize("skips_back_off", [False, True])
def test_target_in_back_off_blocks_no_other_unless_a_user_skips_the_back_off(*, skips_back_off: bool) -> None:
    detector = leader(limits(maxInFlight=1))
    detector.back_offs["n0"] = RemediationBackOff(HOUR, EndedAttempt(9, detector.now()))
    answer = detector.ask("n0", skips_back_off=skips_back_off)
    held = None if answer.hold is None else answer.hold.reason
    assert (held, answer.is_admitted) == ((None, True) if skips_back_off else (HoldReason.BACK_OFF, False))
    assert detector.ask("n1").is_admitted is not skips_back_off


def test_starts_that_no_limit_counts_are_forgotten_after_an_hour() -> None:
    detector = leader(limits())
    for number in range(100):
        detector.cluster.request(f"m{number}")
        detector.cluster.delete_request(f"m{number}")
    starts = detector.limits._records._starts  # noqa: SLF001  what is kept there shows nowhere else
    assert len(starts._began) == 100  # noqa: SLF001
    detector.pass_time(2 * HOUR)
    detector.look()
    assert not starts._began  # noqa: SLF001


def test_each_zone_has_its_own_number_also_once_the_node_is_gone() -> None:
    detector = leader(limits(maxInFlightByLabel={ZONE: 1}))
    assert [detector.ask(f"n{number}").is_admitted for number in range(3)] == [True, True, False]
    detector.cluster.request("n0")
    detector.ask("n2")
    detector.cluster.delete_node("n0")
    assert f"with {ZONE}=a, at most 1" in str(detector.ask("n2").hold)


def test_new_leader_waits_for_what_the_one_before_may_have_admitted() -> None:
    detector = leader(limits(maxInFlight=1))
    detector.limits.lead_begins(detector.now())
    detector.limits.complete()
    hold = detector.ask("n0").hold
    assert hold is not None
    assert hold.message == "admissions of the previous leader may not be visible yet"
    assert hold.ask_again_seconds == KNOWN.total_seconds()

    detector.pass_time(KNOWN)
    assert detector.ask("n0").is_admitted


@pytest.mark.parametrize(("ago", "waits"), [(None, False), (0, True), (40, True), (200, False)])
def test_new_leader_waits_only_as_long_as_another_one_may_have_admitted(
    ago: float | None, *, waits: bool
) -> None:
    detector = leader(limits(maxInFlight=1))
    detector.limits.lead_begins(None if ago is None else detector.now() - timedelta(seconds=ago))
    assert detector.ask("n0").is_admitted is not waits


def test_starts_of_the_last_hour_count_over_a_restart() -> None:
    detector = leader(limits(maxStartsPerHour=2))
    detector.limits.lead_begins(detector.now())
    detector.pass_time(KNOWN)
    assert str(detector.ask("n0").hold).endswith("the remediations of the last hour are unknown")
    assert detector.limits.needs_ended

    detector.limits.note_ended(Remediated(CHECK, "gone"), detector.now() - 20 * MINUTE)
    detector.cluster.request("n0", age=50 * MINUTE)
    detector.limits.complete()
    hold = detector.ask("n1").hold
    assert hold is not None
    words = "2 remediations began within the last hour, at most 2 allowed by the policy; the oldest, of n0 "
    assert hold.message.startswith(words)
    assert 9 * 60 < hold.ask_again_seconds <= 10 * 60 + 1

    detector.pass_time(11 * MINUTE)
    assert detector.ask("n1").is_admitted


@dataclass
class Act:
    """The effect of an admission, and the watch event that shows it."""

    name: str
    made: datetime
    seen: datetime
    ends: datetime


@pytest.mark.parametrize("seed", range(6))
def test_limits_hold_at_every_moment_however_late_writes_are_seen(
    seed: int,
) -> None:
    choose = random.Random(seed)  # noqa: S311  no secret
    most, most_of_a_zone = choose.randint(1, 4), choose.randint(1, 2)
    chosen = limits(maxInFlight=most, maxInFlightByLabel={ZONE: most_of_a_zone}, maxStartsPerHour=most * 2)
    nodes = 8
    detector = leader(chosen, nodes)
    history: list[Act] = []
    shown: set[str] = set()
    for _ in range(150):
        now = detector.now()
        for act in history:
            if act.made <= now < act.ends and act.seen <= now and act.name not in shown:
                detector.cluster.request(act.name, age=now - act.made)
                shown.add(act.name)
            elif act.ends <= now and act.name in shown and not _runs(history, act.name, now):
                detector.cluster.delete_request(act.name)
                shown.discard(act.name)
        unseen = [act.made for act in history if act.made <= now < act.ends and act.name not in shown]
        detector.proven = min([now, *(made - SECOND for made in unseen)])
        if choose.random() < 0.02:
            detector.limits.lead_begins(detector.now())
            for act in history:
                if now - HOUR < act.ends <= now:
                    detector.limits.note_ended(Remediated(CHECK, act.name), act.ends)
            detector.limits.complete()
        name = f"n{choose.randrange(nodes)}"
        is_busy = any(act.name == name and now < act.ends for act in history)
        if not is_busy and detector.ask(name).is_admitted and choose.random() < 0.8:
            made = now + choose.uniform(0, LIVES.total_seconds()) * SECOND
            seen = made + choose.uniform(0, 25) * SECOND
            history.append(Act(name, made, seen, made + choose.uniform(60, 3000) * SECOND))
        detector.look()
        detector.cluster.now += choose.choice((0.1, 1, 5, 20, 120)) * SECOND

    for act in history:
        at = [start for start in history if start.made <= act.made < start.ends]
        assert len(at) <= most
        assert sum(int(one.name[1:]) % 2 == int(act.name[1:]) % 2 for one in at) <= most_of_a_zone
        began = [start for start in history if act.made - HOUR + SECOND < start.made <= act.made]
        assert len(began) <= most * 2
    assert history


def _runs(history: list[Act], name: str, now: datetime) -> bool:
    return any(act.name == name and act.made <= now < act.ends for act in history)


@pytest.mark.rule("rule 43")
def test_limits_apply_when_the_outage_guard_gives_way_to_all_at_once() -> None:
    leading = leader(limits(maxInFlight=2), nodes=10)
    leading.pass_time(KNOWN)
    outage = SuspectedOutage(group=NodeGroup(), silent=10, seen=10, total=10, began=NOW, lasted=MINUTE)
    state = leading.cluster.cluster_state
    held = Outages({NodeGroup(): GroupOutage(outage)})
    state.take_context(replace(state.cluster_context, outages=held))
    reasons = {hold.reason for hold in (leading.ask(f"n{index}").hold for index in range(10)) if hold}
    assert reasons == {HoldReason.SUSPECTED_OUTAGE}

    state.take_context(replace(state.cluster_context, outages=NO_OUTAGES))
    answers = [leading.ask(f"n{index}") for index in range(10)]
    assert sum(answer.is_admitted for answer in answers) == 2
    assert {answer.hold.reason for answer in answers if answer.hold} == {HoldReason.LIMIT}


@pytest.mark.rule("rule 49")
def test_step_against_a_healthy_target_with_its_old_boot_waits_while_a_limit_is_reached() -> None:
    detector, unproven = leader(limits(maxInFlight=1)), Intent(unproven_boot=OLD)
    seen = healthy(boot_id=OLD, admission=None)
    detector.cluster.request("n1")
    held = detector.limits.answered(incident_of("n0"), seen, unproven)
    assert held.hold is not None
    assert held.hold.reason is HoldReason.LIMIT
    assert held.hold.ask_again_seconds <= MINUTE.total_seconds()
    assert detector.limits.answered(
        incident_of("n0"), seen.model_copy(update={"is_marked": True}), unproven
    ).is_admitted, "it is under way"

    detector.cluster.delete_request("n1")
    assert detector.limits.answered(incident_of("n0"), seen, unproven).is_admitted


def test_slots_that_are_kept_for_over_an_hour_are_named_while_a_target_waits() -> None:
    detector = leader(limits(maxInFlight=1))
    metrics = CollectorRegistry()
    metrics.register(LimitMetrics(detector.limits.stuck_slots, lambda: True))
    detector.cluster.request("n0", age=30 * MINUTE)
    detector.ask("n1")
    assert detector.limits.stuck_slots() == ()

    detector.pass_time(31 * MINUTE)
    (stuck,) = detector.limits.stuck_slots() or ()
    assert str(stuck).endswith(
        "in progress for over 1h: n0 of NodeHealthCheck/workers since 2026-03-01T11:30:46Z"
    )
    series_of_it = series("paramedic_stuck_slots", limit="maxInFlight=1 of the policy")
    assert scrape(metrics) == {series_of_it: 1}

    detector.ask("n1", would_act=False)
    assert detector.limits.stuck_slots() == (), "a user holds the waiting incident"
    detector.ask("n1")
    assert detector.limits.stuck_slots()
    detector.limits.lead_begins(detector.now())
    assert detector.limits.stuck_slots() is None
    detector.cluster.delete_request("n0")
    detector.limits.complete()
    detector.pass_time(KNOWN)
    assert detector.limits.stuck_slots() == ()
