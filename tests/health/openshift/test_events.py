"""Events of a MachineHealthCheck (MHC A.1): once per transition, and the same again after a restart."""

from datetime import timedelta

import pytest

from health.check.check_snapshot import CheckHolds, CheckSnapshot
from health.cluster.global_stop import Stop
from health.kinds.openshift.kind import EVENTS, MACHINE_HEALTH_CHECK, status_patch
from tests.health.openshift.told import (
    DETECTED,
    EVERYTHING,
    FORTY,
    INVALID_EVENT,
    PAUSED_CHECK,
    RESTRICTED,
    STOP,
    STOPPED,
    UPGRADING,
    WARNING,
    blocked,
)
from tests.support.values.builders import NOW, request_snapshot
from tests.support.values.held import held
from tests.support.values.machines import expired, recovered, waiting
from tests.support.values.openshift import (
    INVALID,
    NO_CONTROLLER,
    NO_TEMPLATE,
    PAUSED,
    TEMPLATE,
    check,
    failed,
    refusal,
    snapshot,
)
from tests.support.values.reporter import Reporter


@pytest.mark.rule("MHC A.1/event/RemediationRestricted", "MHC A.1/event/form", "rule 15")
def test_exceeded_threshold_emits_one_event_on_the_check_with_its_numbers(reporter: Reporter) -> None:
    (note,) = reporter.tells(blocked(expired()))

    assert (note.severity, note.reason, note.message) == RESTRICTED
    assert (note.subject, note.action) == (None, "Remediate")
    assert MACHINE_HEALTH_CHECK.component == "machinehealthcheck-controller"
    assert reporter.sees(blocked(expired())) == []
    reporter.restarts()
    assert reporter.sees(blocked(expired())) == []


@pytest.mark.rule("MHC A.1/event/RemediationRestricted")
def test_threshold_is_reported_also_where_timers_alone_exceed_it(reporter: Reporter) -> None:
    assert reporter.sees(blocked(waiting())) == [RESTRICTED]


@pytest.mark.rule("rule 15")
def test_other_numbers_are_no_other_transition(reporter: Reporter) -> None:
    reporter.sees(blocked(expired()))

    for healthy in (1, 0, 2):
        assert reporter.sees(blocked(expired(), healthy=healthy)) == []


@pytest.mark.rule("rule 15")
def test_threshold_that_is_exceeded_again_is_reported_again(reporter: Reporter) -> None:
    reporter.sees(blocked(expired()))
    reporter.sees(snapshot(of=FORTY), NOW + timedelta(minutes=1))

    assert reporter.sees(blocked(expired()), NOW + timedelta(minutes=2)) == [RESTRICTED]


@pytest.mark.rule("rule 15", "rule 39")
def test_state_that_the_operator_reported_is_not_reported_again() -> None:
    reporter = Reporter(MACHINE_HEALTH_CHECK)
    reporter.stored = {**status_patch(blocked(expired()), {}, NOW)}

    assert reporter.sees(blocked(expired())) == []


@pytest.mark.rule("MHC A.1/event/RemediationRestricted", "rule 6", "rule 15")
@pytest.mark.parametrize(
    ("holds", "message"),
    [
        pytest.param(STOPPED, f"Remediation restricted: {STOP.words}", id="stopped"),
        pytest.param(UPGRADING, "Remediation restricted: the cluster is being upgraded", id="upgrading"),
        pytest.param(
            NO_TEMPLATE,
            "Remediation restricted: RemediationTemplateNotFound: "
            'Remediation template not found: "Metal3RemediationTemplate/reboot not found"',
            id="no template",
        ),
    ],
)
def test_each_other_hold_of_the_whole_check_is_reported_once_each_time(
    holds: CheckHolds, message: str
) -> None:
    reporter, of = Reporter(MACHINE_HEALTH_CHECK), check(remediationTemplate=TEMPLATE)
    restricted = snapshot(*EVERYTHING, of=of, holds=holds)
    reporter.sees(snapshot(of=of))

    assert reporter.sees(restricted) == [(WARNING, "RemediationRestricted", message)]
    assert reporter.sees(restricted) == []
    reporter.restarts()
    assert reporter.sees(restricted) == []
    reporter.sees(snapshot(of=of))
    assert reporter.sees(restricted, NOW + timedelta(minutes=1)) == [
        (WARNING, "RemediationRestricted", message)
    ]


@pytest.mark.rule("rule 15")
def test_next_stop_is_reported_also_by_a_detector_that_did_not_see_it_begin(reporter: Reporter) -> None:
    reporter.sees(snapshot(of=FORTY, holds=STOPPED))
    reporter.restarts()
    next_stop = held(Stop(reason=STOP.reason, version="2"))

    assert reporter.sees(snapshot(of=FORTY, holds=next_stop)) == [
        (WARNING, "RemediationRestricted", f"Remediation restricted: {STOP.words}")
    ]


@pytest.mark.rule("rule 6")
def test_thousand_held_machines_are_one_event(reporter: Reporter) -> None:
    names = [f"machine-{number:04}" for number in range(1000)]
    told = [
        note
        for count in (1, 400, 1000)
        for note in reporter.sees(
            snapshot(
                *(waiting(name) for name in names[: count // 2]),
                *(expired(name, hold=NO_CONTROLLER) for name in names[count // 2 : count]),
                of=FORTY,
                total=1000,
                healthy=0,
            )
        )
    ]

    assert [reason for _, reason, _ in told] == ["RemediationRestricted"]


@pytest.mark.rule("MHC A.1/refused", "rule 8", "rule 15")
def test_check_that_cannot_be_read_is_reported_once_with_field_and_value(reporter: Reporter) -> None:
    (note,) = reporter.tells(snapshot(of=INVALID))

    assert (note.severity, note.reason, note.message) == INVALID_EVENT
    assert note.subject is None
    assert reporter.sees(snapshot(of=INVALID)) == []
    reporter.restarts()
    assert reporter.sees(snapshot(of=INVALID)) == []


@pytest.mark.rule("MHC A.1/refused", "rule 15")
def test_next_error_of_a_check_is_reported_too(reporter: Reporter) -> None:
    reporter.sees(snapshot(of=INVALID))
    other = refusal(nodeStartupTimeout="0x")

    ((_, reason, message),) = reporter.sees(snapshot(of=other), NOW + timedelta(minutes=1))
    assert reason == "InvalidSpec"
    assert "spec.nodeStartupTimeout" in message
    assert reporter.sees(snapshot(of=INVALID), NOW + timedelta(minutes=2)) == [INVALID_EVENT]


@pytest.mark.rule("rule 15")
def test_threshold_that_is_exceeded_when_a_check_can_be_read_again_is_reported(reporter: Reporter) -> None:
    reporter.sees(snapshot(of=INVALID))

    assert reporter.sees(blocked(expired())) == [RESTRICTED]


@pytest.mark.rule("MHC A.2.8/nothing", "MHC A.1/annotation/paused", "rule 7/paused check")
@pytest.mark.parametrize(
    "paused",
    [
        pytest.param(snapshot(*EVERYTHING, of=PAUSED_CHECK, healthy=0), id="would be blocked"),
        pytest.param(snapshot(*EVERYTHING, of=PAUSED_CHECK), id="would be told of Machines"),
        pytest.param(snapshot(of=PAUSED_CHECK, holds=STOPPED), id="stopped as well"),
        pytest.param(snapshot(of=refusal(PAUSED, maxUnhealthy=-1)), id="cannot be read either"),
    ],
)
def test_nothing_is_reported_of_a_paused_check(reporter: Reporter, paused: CheckSnapshot) -> None:
    assert reporter.sees(paused) == []
    reporter.restarts()
    assert reporter.sees(paused) == []


@pytest.mark.rule("MHC A.2.8/nothing", "rule 15")
def test_changes_during_a_pause_are_reported_when_it_ends(reporter: Reporter) -> None:
    reporter.sees(snapshot(waiting(), of=PAUSED_CHECK))
    assert reporter.sees(snapshot(waiting(), of=FORTY)) == [DETECTED]
    reporter.sees(snapshot(of=PAUSED_CHECK, healthy=2))
    assert reporter.sees(blocked(expired())) == [RESTRICTED]
    reporter.sees(snapshot(of=PAUSED_CHECK, holds=STOPPED))
    assert len(reporter.sees(snapshot(of=FORTY, holds=STOPPED))) == 1


@pytest.mark.rule("MHC A.1/event/requests")
def test_requests_that_come_and_go_emit_no_event() -> None:
    reporter, of = Reporter(MACHINE_HEALTH_CHECK), check(remediationTemplate=TEMPLATE)
    requests = (request_snapshot(),)
    reporter.sees(snapshot(failed(), of=of))

    assert reporter.sees(snapshot(failed(requests=requests), of=of)) == []
    assert reporter.sees(snapshot(recovered(requests=requests), of=of)) == []
    assert reporter.sees(snapshot(of=of)) == []


@pytest.mark.rule("rule 15")
def test_machine_is_not_reported_of_again_because_its_check_could_not_be_read_for_a_while(
    reporter: Reporter,
) -> None:
    assert reporter.sees(snapshot(waiting(), of=FORTY)) == [DETECTED]
    reporter.sees(snapshot(of=INVALID))

    assert reporter.sees(snapshot(waiting(), of=FORTY), NOW + timedelta(minutes=1)) == []


@pytest.mark.rule("rule 15")
def test_sight_that_shows_nothing_new_tells_nothing_that_the_api_server_would_have_to_refuse() -> None:
    for seen in (
        snapshot(*EVERYTHING),
        snapshot(*EVERYTHING, holds=STOPPED),
        blocked(*EVERYTHING),
        snapshot(of=INVALID),
    ):
        stored = status_patch(seen, {}, NOW)
        assert EVENTS.events(seen, seen, stored, NOW) == []


@pytest.mark.rule("rule 15")
def test_seeds_of_two_checks_and_of_two_machines_never_meet() -> None:
    one = snapshot(*EVERYTHING, of=check(remediationTemplate=TEMPLATE), holds=STOPPED)
    free = snapshot(*EVERYTHING)
    others = [
        CheckSnapshot(
            parsed=seen.parsed,
            uid="another",
            allowance=seen.allowance,
            targets=seen.targets,
            holds=seen.holds,
        )
        for seen in (one, free)
    ]
    told = [note.seed for seen in (one, free, *others) for note in EVENTS.events(None, seen, {}, NOW)]

    assert len(told) == len(set(told)) > 4
