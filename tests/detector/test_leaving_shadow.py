"""Incidents that leave shadow, or a hold, at the same time: limits apply to each of their steps.

Each incident is the runbook over a leading detector: it asks, learns, and makes the next move.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from health.cluster.cluster_context import ClusterContext
from health.gate.back_off import EndedAttempt, RemediationBackOff
from health.model.admission import Admission
from health.model.moves import RecordStep, TakeStep
from health.model.observation import HoldReason, Observation, failed
from health.policy.policy import Policy
from health.policy.policy_in_force import SHADOW, PolicyInForce
from health.runbook.decide import next_move
from health.runbook.learn import learned, with_recorded_step
from health.runbook.state import Memory
from tests.detector.test_remediation_limits import KNOWN, ZONE, Leader, leader
from tests.support.values.builders import TEMPLATE, limits

pytestmark = pytest.mark.rule("rule 49")

SECOND = timedelta(seconds=1)


class Runbook:
    """One incident: its memory, and the answers that it got."""

    def __init__(self, detector: Leader, name: str) -> None:
        self.detector = detector
        self.name = name
        self.memory = Memory()
        self.answers: list[Observation] = []
        self.asked = detector.now()
        self.admission: Admission | None = None
        """Of the step that it took."""

    def ask_when_due(self) -> None:
        """Ask if the detector notifies the incident or its hold has expired; no other event wakes it."""
        hold = self.answers[-1].hold
        waits = timedelta(seconds=hold.ask_again_seconds) if hold else timedelta.max
        if self.name in self.detector.told or self.detector.now() - self.asked >= waits:
            self.ask()

    def ask(self) -> None:
        self.asked = self.detector.now()
        self.act_on(self.detector.answer(self.name, self.memory.intent(self.detector.now())))

    def act_on(self, answer: Observation) -> None:
        now = self.detector.now()
        self.answers.append(answer)
        self.memory = learned(self.memory, answer, now)
        match next_move(answer, self.memory, now):
            case RecordStep(step=number):
                self.memory = with_recorded_step(self.memory, number, answer, now)
            case TakeStep(admission=admission):
                self.admission = admission
                self.detector.cluster.request(self.name)


def in_shadow(detector: Leader, numbers: Iterable[int]) -> list[Runbook]:
    """Incidents that have recorded their first step."""
    incidents = [Runbook(detector, f"n{number}") for number in numbers]
    for incident in incidents:
        incident.ask()
        assert incident.memory.shadow.steps
    return incidents


def take_policy(detector: Leader, policy: Policy) -> None:
    detector.policy = policy
    context = ClusterContext(policy=PolicyInForce(policy=policy))
    detector.cluster.cluster_state.take_context(context)


def acted(incidents: Iterable[Runbook]) -> list[str]:
    return [incident.name for incident in incidents if incident.admission is not None]


def ask_for_a_while(detector: Leader, incidents: Iterable[Runbook]) -> None:
    """Wake each incident again and again, one second apart, as its hold says; no target recovers."""
    for _ in range(5):
        for incident in incidents:
            incident.ask()
        detector.look()
        detector.pass_time(SECOND)


def test_one_of_eight_nodes_is_remediated_where_one_may_be_and_the_policy_leaves_shadow() -> None:
    chosen = limits(maxInFlight=1)
    detector = leader(chosen, nodes=8)
    for number in range(8, 12):
        detector.cluster.node(f"n{number}")
    take_policy(detector, Policy(limits=chosen, shadow=True))
    incidents = in_shadow(detector, range(8))

    take_policy(detector, Policy(limits=chosen))
    ask_for_a_while(detector, incidents)

    assert acted(incidents) == ["n0"]
    assert incidents[0].admission == Admission(policy_limits="maxInFlight=1")


def test_each_of_eight_nodes_gets_its_turn_though_one_asks_first_when_the_policy_leaves_shadow() -> None:
    chosen = limits(maxInFlight=1)
    detector = leader(chosen, nodes=8)
    take_policy(detector, Policy(limits=chosen, shadow=True))
    incidents = in_shadow(detector, range(8))
    take_policy(detector, Policy(limits=chosen))
    first, *others = incidents
    first.ask()
    first.ask()
    assert acted(incidents) == ["n0"]
    for incident in others:
        incident.ask()  # the answer is a limit, although the question did not ask to act
    detector.told.clear()
    for incident in others:
        detector.pass_time(SECOND)
        incident.ask_when_due()

    for number in range(1, 8):
        detector.cluster.delete_request(f"n{number - 1}")
        detector.cluster.node(f"n{number - 1}")
        detector.pass_time(SECOND)
        detector.look()
        for incident in others:
            incident.ask_when_due()
        assert acted(incidents) == [f"n{index}" for index in range(number + 1)]


def test_limits_of_annotations_hold_where_a_check_leaves_shadow_by_an_annotation() -> None:
    detector = leader(limits(), nodes=8)
    chosen = {
        "paramedic.dev/max-in-flight": "2",
        "paramedic.dev/max-in-flight-by-label": f"{ZONE}=1",
        "paramedic.dev/max-starts-per-hour": "3",
    }
    detector.cluster.check(minHealthy=0, annotations=chosen | {SHADOW: "true"})
    incidents = in_shadow(detector, range(8))

    detector.cluster.check(minHealthy=0, annotations=chosen)
    ask_for_a_while(detector, incidents)

    assert acted(incidents) == ["n0", "n1"], "the nodes are in two zones"
    words = f"maxInFlight=2, maxInFlight[{ZONE}]=1, maxStartsPerHour=3"
    assert incidents[0].admission == Admission(check_limits=words)


def test_answer_that_leaves_shadow_is_a_hold_to_a_worker_that_knows_no_admission() -> None:
    detector = leader(limits(maxInFlight=1))
    take_policy(detector, Policy(limits=limits(maxInFlight=1), shadow=True))
    incidents = in_shadow(detector, range(3))
    take_policy(detector, Policy(limits=limits(maxInFlight=1)))
    for incident in incidents:
        incident.ask()
    holds = [one.answers[-1].hold for one in incidents]
    assert [hold.reason for hold in holds if hold] == [HoldReason.NO_ADMISSION] * 3


def test_lead_that_changes_while_shadow_is_left_admits_nothing_until_all_is_known() -> None:
    chosen = limits(maxInFlight=1)
    detector = leader(chosen)
    take_policy(detector, Policy(limits=chosen, shadow=True))
    incidents = in_shadow(detector, range(3))
    take_policy(detector, Policy(limits=chosen))
    for incident in incidents:
        incident.ask()

    detector.limits.lead_begins(detector.now())
    detector.limits.complete()
    ask_for_a_while(detector, incidents)
    assert acted(incidents) == []

    detector.pass_time(KNOWN)
    ask_for_a_while(detector, incidents)
    assert acted(incidents) == ["n0"]


def test_limits_that_are_switched_on_count_what_was_admitted_before_them() -> None:
    detector = leader(limits())
    before, *incidents = [Runbook(detector, f"n{number}") for number in range(3)]
    assert detector.answer(before.name, before.memory.intent(detector.now())).admission == Admission()

    take_policy(detector, Policy(limits=limits(maxInFlight=1)))
    ask_for_a_while(detector, incidents)
    assert acted(incidents) == [], "its request may be in flight"


def test_back_off_after_a_failed_act_that_ends_while_a_question_waits_takes_no_slot_unasked() -> None:
    detector = leader(limits(maxInFlight=1), nodes=8)
    incidents = [Runbook(detector, f"n{number}") for number in range(8)]
    for incident in incidents:
        seen = detector.observe(incident.name)
        incident.memory = incident.memory.after_failed_act(
            failed("500"), seen, detector.now(), 0, is_forbidden=False
        )
    questions = [one.memory.intent(detector.now()) for one in incidents]
    detector.pass_time(timedelta(minutes=1))
    for incident, intent in zip(incidents, questions, strict=True):
        incident.act_on(detector.answer(incident.name, intent))
    assert acted(incidents) == []

    ask_for_a_while(detector, incidents)
    assert acted(incidents) == ["n0"]


def test_resume_while_questions_wait_takes_no_slot_unasked() -> None:
    detector = leader(limits(maxInFlight=1))
    incidents = [Runbook(detector, f"n{number}") for number in range(3)]
    questions = [one.memory.intent(detector.now()) for one in incidents]
    for number in range(3):
        detector.back_offs[f"n{number}"] = RemediationBackOff(
            timedelta(hours=1), EndedAttempt(9, detector.now())
        )
    for incident, intent in zip(incidents, questions, strict=True):
        incident.memory = replace(incident.memory, skips_back_off=True)
        incident.act_on(detector.answer(incident.name, intent))
    assert acted(incidents) == []

    ask_for_a_while(detector, incidents)
    assert acted(incidents) == ["n0"]


def test_next_step_keeps_its_slot_where_another_client_deletes_the_request_before_it() -> None:
    detector = leader(limits(maxInFlight=1))
    detector.cluster.check(
        generation=4,
        minHealthy=0,
        remediationTemplate=None,
        escalatingRemediations=[
            {"remediationTemplate": TEMPLATE | {"name": name}, "order": number, "timeout": "1m"}
            for number, name in enumerate(("reboot", "replace"))
        ],
    )
    detector.cluster.request("n0", age=timedelta(minutes=5), template="reboot")
    assert detector.ask("n0").is_admitted, "the next step is due"
    detector.cluster.delete_request("n0")
    assert not detector.ask("n1").is_admitted, "the next request may be in flight"


def test_nothing_is_admitted_by_what_is_seen_without_a_question() -> None:
    detector = leader(limits(maxInFlight=1))
    assert detector.observe("n0").may_be_admitted
    assert detector.observe("n0").admission is None
