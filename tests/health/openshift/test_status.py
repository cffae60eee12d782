"""Status of a MachineHealthCheck (MHC A.1, rule 27), as merge patches."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.check_snapshot import NO_HOLDS, CheckHolds, CheckSnapshot
from health.check.template_validity import invalid
from health.cluster.cluster_context import CheckProblem
from health.kinds.machines.check import NOT_CREATED
from health.kinds.machines.conditions import REQUEST_AVAILABLE, TEMPLATE_AVAILABLE
from health.kinds.openshift.kind import status_patch
from health.model.observation import Hold, HoldReason
from objects.timestamps import stamp
from tests.support.values.builders import NOW, request_snapshot
from tests.support.values.held import held
from tests.support.values.machines import expired, recovered, waiting
from tests.support.values.openshift import (
    INVALID,
    NO_TEMPLATE,
    PAUSED,
    TEMPLATE,
    check,
    failed,
    refusal,
    snapshot,
)

LATER = NOW + timedelta(hours=1)
FORTY = check(maxUnhealthy="40%")
WITH_TEMPLATE = check(maxUnhealthy="40%", remediationTemplate=TEMPLATE)
BROKEN = held(invalid("no spec.template"))
OTHERS = {"type": "Custom", "status": "Unknown", "lastTransitionTime": stamp(NOW - timedelta(days=9))}
EXCEEDED = (
    "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy "
    "(total: 5, unhealthy: 3, maxUnhealthy: 40%)"
)


def status(of: CheckSnapshot, stored: Mapping[str, Any] | None = None, now: datetime = NOW) -> dict[str, Any]:
    """Apply the merge patch as the API server does."""
    merged = {**(stored or {}), **status_patch(of, stored or {}, now)}
    return {key: value for key, value in merged.items() if value is not None}


def condition(type_: str, of: Mapping[str, Any]) -> Any:
    (found,) = (one for one in of["conditions"] if one["type"] == type_)
    return found


def allowed(of: CheckSnapshot, stored: Mapping[str, Any] | None = None, now: datetime = NOW) -> Any:
    return condition("RemediationAllowed", status(of, stored, now))


@pytest.mark.rule(
    "MHC A.1/status/expectedMachines",
    "MHC A.1/status/currentHealthy",
    "MHC A.1/status/remediationsAllowed",
    "MHC A.1/status/RemediationAllowed",
)
def test_status_of_a_check_that_may_remediate() -> None:
    assert status(snapshot(expired(), of=FORTY, healthy=4)) == {
        "expectedMachines": 5,
        "currentHealthy": 4,
        "remediationsAllowed": 1,
        "conditions": [
            {"type": "RemediationAllowed", "status": "True", "lastTransitionTime": "2026-03-01T12:00:00Z"}
        ],
    }


@pytest.mark.rule("MHC A.1/status/RemediationAllowed", "MHC A.1/status/remediationsAllowed")
def test_status_of_a_check_that_may_not() -> None:
    assert status(snapshot(expired(), of=FORTY, healthy=2)) == {
        "expectedMachines": 5,
        "currentHealthy": 2,
        "remediationsAllowed": 0,
        "conditions": [
            {
                "type": "RemediationAllowed",
                "status": "False",
                "severity": "Warning",
                "reason": "TooManyUnhealthy",
                "message": EXCEEDED,
                "lastTransitionTime": "2026-03-01T12:00:00Z",
            }
        ],
    }


@pytest.mark.rule("MHC A.1/status/RemediationAllowed")
def test_max_unhealthy_is_shown_as_it_was_written() -> None:
    assert allowed(snapshot(of=check(maxUnhealthy="1"), healthy=2))["message"].endswith("maxUnhealthy: 1)")


@pytest.mark.rule("MHC A.1/status/remediationsAllowed")
def test_zero_is_written_also_where_nothing_was_stored() -> None:
    stored = status(snapshot(of=FORTY, healthy=3))

    assert stored["remediationsAllowed"] == 0
    del stored["remediationsAllowed"]
    assert status_patch(snapshot(of=FORTY, healthy=3), stored, LATER) == {"remediationsAllowed": 0}


@pytest.mark.rule("MHC A.1/status/remediationsAllowed", "rule 5")
def test_more_may_be_allowed_than_there_are_machines() -> None:
    assert status(snapshot(of=check(maxUnhealthy=10), total=3, healthy=3))["remediationsAllowed"] == 10


@pytest.mark.rule("rule 6/writes")
def test_true_status_is_not_written() -> None:
    for seen in (
        snapshot(of=FORTY),
        snapshot(of=FORTY, healthy=2),
        snapshot(of=WITH_TEMPLATE),
        snapshot(of=INVALID),
    ):
        assert status_patch(seen, status(seen), LATER) == {}


@pytest.mark.rule("rule 6/writes")
def test_status_of_the_operator_is_not_written_again() -> None:
    stored = status(snapshot(of=FORTY))
    stored["conditions"][0] |= {"reason": "", "message": ""}

    assert status_patch(snapshot(of=FORTY), stored, LATER) == {}


def test_patch_carries_what_changed_alone() -> None:
    assert status_patch(snapshot(of=FORTY, healthy=4), status(snapshot(of=FORTY)), LATER) == {
        "currentHealthy": 4,
        "remediationsAllowed": 1,
    }


@pytest.mark.rule("MHC A.1/status/lastTransitionTime")
def test_transition_time_moves_when_anything_in_the_condition_does() -> None:
    stored = status(snapshot(of=FORTY, healthy=2))

    assert allowed(snapshot(of=FORTY, healthy=2), stored, LATER)["lastTransitionTime"] == stamp(NOW)
    for other in (snapshot(of=FORTY, healthy=1), snapshot(of=FORTY), snapshot(of=INVALID)):
        assert allowed(other, stored, LATER)["lastTransitionTime"] == stamp(LATER)


@pytest.mark.rule("MHC A.1/status/lastTransitionTime")
@pytest.mark.parametrize("field", ["status", "severity", "reason", "message"])
def test_each_part_of_a_condition_moves_its_time(field: str) -> None:
    stored = status(snapshot(of=FORTY, healthy=2))
    stored["conditions"] = [{**stored["conditions"][0], field: "another"}]

    assert allowed(snapshot(of=FORTY, healthy=2), stored, LATER)["lastTransitionTime"] == stamp(LATER)


@pytest.mark.rule("MHC A.1/status/other conditions")
def test_conditions_of_others_stay_as_and_where_they_are() -> None:
    stored = {"conditions": [OTHERS, *status(snapshot(of=FORTY))["conditions"]]}
    patched = status(snapshot(of=FORTY, healthy=2), stored, LATER)

    assert [one["type"] for one in patched["conditions"]] == ["Custom", "RemediationAllowed"]
    assert patched["conditions"][0] == OTHERS
    fresh = status(snapshot(of=WITH_TEMPLATE), {"conditions": [OTHERS]})
    assert fresh["conditions"][0] == OTHERS
    assert len(fresh["conditions"]) == 4


@pytest.mark.rule("rule 27")
def test_check_with_a_template_says_that_nothing_is_wrong_with_it() -> None:
    result = status(snapshot(expired(), of=WITH_TEMPLATE, healthy=4))

    for type_ in (TEMPLATE_AVAILABLE, REQUEST_AVAILABLE):
        assert condition(type_, result) == {
            "type": type_,
            "status": "True",
            "lastTransitionTime": stamp(NOW),
        }


@pytest.mark.rule("rule 27")
@pytest.mark.parametrize(
    ("holds", "reason", "message"),
    [
        pytest.param(
            NO_TEMPLATE,
            "ExternalRemediationTemplateNotFound",
            'Remediation template not found: "Metal3RemediationTemplate/reboot not found"',
            id="missing",
        ),
        pytest.param(
            BROKEN,
            "ExternalRemediationTemplateInvalid",
            'Remediation template is invalid: "no spec.template"',
            id="broken",
        ),
    ],
)
def test_template_that_cannot_be_used_is_reported_in_its_condition(
    holds: CheckHolds, reason: str, message: str
) -> None:
    result = status(snapshot(of=WITH_TEMPLATE, holds=holds))

    assert condition(TEMPLATE_AVAILABLE, result) == {
        "type": TEMPLATE_AVAILABLE,
        "status": "False",
        "severity": "Error",
        "reason": reason,
        "message": message,
        "lastTransitionTime": stamp(NOW),
    }
    allowed = condition("RemediationAllowed", result)
    assert (allowed["status"], f"External{allowed['reason']}") == ("False", reason)


@pytest.mark.rule("rule 27")
def test_request_that_could_not_be_created_is_reported_in_its_condition() -> None:
    targets = [expired("b", found=refused("denied b")), expired("a", found=refused("denied a"))]
    result = status(snapshot(*targets, expired("0"), of=WITH_TEMPLATE))

    assert condition(REQUEST_AVAILABLE, result) == {
        "type": REQUEST_AVAILABLE,
        "status": "False",
        "severity": "Error",
        "reason": "ExternalRemediationRequestCreationFailed",
        "message": "denied a",
        "lastTransitionTime": stamp(NOW),
    }


@pytest.mark.rule("rule 27")
def test_kind_of_requests_that_is_not_there_is_reported_in_the_condition_of_the_request() -> None:
    problem = CheckProblem(NOT_CREATED, "the API server serves no kind Metal3Remediation in v1")
    result = status(snapshot(of=WITH_TEMPLATE, holds=held(problem)))

    said = condition(REQUEST_AVAILABLE, result)
    assert (said["status"], said["severity"]) == ("False", "Error")
    assert said["reason"] == "ExternalRemediationRequestCreationFailed"
    assert said["message"] == problem.message
    assert condition(TEMPLATE_AVAILABLE, result)["status"] == "True"


@pytest.mark.rule("rule 27")
@pytest.mark.parametrize("reason", HoldReason)
def test_hold_that_is_no_answer_to_a_request_is_not_reported_in_its_condition(reason: HoldReason) -> None:
    held = expired(found=Hold(reason=reason, message="held"))
    assert condition(REQUEST_AVAILABLE, status(snapshot(held, of=WITH_TEMPLATE)))["status"] == "True"


@pytest.mark.rule("rule 27")
def test_condition_of_the_request_turns_true_when_no_act_was_refused_any_more() -> None:
    stored = status(snapshot(expired(found=refused("denied")), of=WITH_TEMPLATE))
    for targets in ([expired()], [expired(requests=(request_snapshot(),))], []):
        result = status(snapshot(*targets, of=WITH_TEMPLATE), stored, LATER)
        assert condition(REQUEST_AVAILABLE, result) == {
            "type": REQUEST_AVAILABLE,
            "status": "True",
            "lastTransitionTime": stamp(LATER),
        }


@pytest.mark.rule("rule 27", "rule 1")
def test_condition_of_the_request_stays_after_a_restart_until_the_incidents_were_heard() -> None:
    unheard = [expired("a", is_heard=False), expired("b", is_heard=False)]
    stored = status(snapshot(expired("a", found=refused("denied")), expired("b"), of=WITH_TEMPLATE))

    assert status_patch(snapshot(*unheard, of=WITH_TEMPLATE), stored, LATER) == {}
    assert status_patch(snapshot(unheard[0], expired("b"), of=WITH_TEMPLATE), stored, LATER) == {}
    heard = snapshot(expired("a", found=refused("denied")), unheard[1], of=WITH_TEMPLATE)
    assert status_patch(heard, stored, LATER) == {}
    for known in (
        snapshot(expired("a"), expired("b"), of=WITH_TEMPLATE),
        snapshot(expired("a", is_heard=False, requests=(request_snapshot(),)), of=WITH_TEMPLATE),
        snapshot(waiting("a"), of=WITH_TEMPLATE),
    ):
        assert condition(REQUEST_AVAILABLE, status(known, stored, LATER))["status"] == "True"


@pytest.mark.rule("rule 27")
def test_condition_of_a_request_that_was_never_refused_waits_for_no_incident() -> None:
    unheard = snapshot(expired(is_heard=False), of=WITH_TEMPLATE)
    assert condition(REQUEST_AVAILABLE, status(unheard))["status"] == "True"


@pytest.mark.rule("rule 27")
def test_check_whose_template_was_taken_away_says_nothing_of_one_any_more() -> None:
    stored = status(snapshot(of=WITH_TEMPLATE), {"conditions": [OTHERS]})
    result = status(snapshot(of=FORTY), stored, LATER)

    assert [one["type"] for one in result["conditions"]] == ["Custom", "RemediationAllowed"]


@pytest.mark.rule("MHC A.1/refused", "rule 8")
def test_check_that_cannot_be_read_any_more_says_so_and_has_no_numbers_of_before() -> None:
    stored = status(snapshot(expired(), of=WITH_TEMPLATE, healthy=4))
    result = status(snapshot(of=INVALID), stored, LATER)

    assert condition("RemediationAllowed", result) == {
        "type": "RemediationAllowed",
        "status": "False",
        "severity": "Error",
        "reason": "InvalidSpec",
        "message": "spec.maxUnhealthy: must not be negative (found -1)",
        "lastTransitionTime": stamp(LATER),
    }
    assert stored["remediationsAllowed"] == 1
    assert result["remediationsAllowed"] == 0
    assert set(result) == {"remediationsAllowed", "conditions"}
    assert status_patch(snapshot(of=INVALID), result, LATER + timedelta(hours=1)) == {}
    for type_ in (TEMPLATE_AVAILABLE, REQUEST_AVAILABLE):
        assert condition(type_, result) == condition(type_, stored)


@pytest.mark.rule("MHC A.1/refused", "rule 8")
def test_check_that_could_never_be_read_shows_no_numbers() -> None:
    assert set(status(snapshot(of=INVALID))) == {"conditions"}


@pytest.mark.rule("MHC A.2.8/nothing", "MHC A.1/annotation/paused", "rule 7/paused check")
@pytest.mark.parametrize(
    "paused",
    [
        pytest.param(snapshot(expired(), of=check(PAUSED), healthy=0), id="as it would be blocked"),
        pytest.param(
            snapshot(of=check(PAUSED, remediationTemplate=TEMPLATE), holds=NO_TEMPLATE), id="no template"
        ),
        pytest.param(snapshot(of=refusal(PAUSED, maxUnhealthy=-1)), id="cannot be read"),
    ],
)
def test_status_of_a_paused_check_is_left_alone(paused: CheckSnapshot) -> None:
    for stored in ({}, status(snapshot(of=FORTY)), status(snapshot(of=INVALID))):
        assert status_patch(paused, stored, LATER) == {}


def refused(why: str) -> Hold:
    return Hold(reason=HoldReason.REFUSED, message=f"act: {why}", request_error=why)


TARGETS = st.builds(
    lambda make, name, why: make(name, found=refused(why) if why else None),
    st.sampled_from([expired, waiting, failed, recovered]),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["", "denied"]),
)
SNAPSHOTS = st.one_of(
    st.sampled_from([snapshot(of=INVALID), snapshot(of=refusal(nodeStartupTimeout="0x"))]),
    st.builds(
        lambda targets, of, holds, healthy: snapshot(*targets, of=of, holds=holds, healthy=healthy),
        st.lists(TARGETS, max_size=3),
        st.sampled_from([FORTY, WITH_TEMPLATE, check(), check(PAUSED)]),
        st.sampled_from([NO_HOLDS, NO_TEMPLATE, BROKEN]),
        st.integers(0, 5),
    ),
)


@pytest.mark.rule("rule 6/writes")
@given(seen=SNAPSHOTS, before=SNAPSHOTS, others=st.lists(st.just(OTHERS), max_size=1))
def test_one_write_is_enough_whatever_was_stored(
    seen: CheckSnapshot, before: CheckSnapshot, others: list[dict[str, str]]
) -> None:
    stored = status(before, {"conditions": others})
    written = status(seen, stored, LATER)

    assert status_patch(seen, written, LATER + timedelta(hours=1)) == {}
    assert [one for one in written["conditions"] if one["type"] == "Custom"] == others


@pytest.mark.rule("MHC A.1/status/remediationsAllowed")
@given(of=st.sampled_from([FORTY, check(), check(maxUnhealthy=0)]), healthy=st.integers(0, 5))
def test_condition_and_number_never_contradict_each_other(of: Any, healthy: int) -> None:
    result = status(snapshot(of=of, healthy=healthy))

    if condition("RemediationAllowed", result)["status"] == "False":
        assert result["remediationsAllowed"] == 0
