"""Status of a NodeHealthCheck (NHC 1.2 to 1.4), as merge patches."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.check_snapshot import NO_HOLDS, CheckSnapshot, TargetSnapshot
from health.kinds.nodehealthcheck.status import held_since, status_patch
from health.model.observation import HoldReason
from objects.timestamps import stamp
from tests.support.values.builders import (
    BLOCKED,
    INVALID,
    NO_SUCH_KIND,
    NOW,
    check,
    expired,
    recovered,
    request_snapshot,
    snapshot,
    waiting,
)

LATER = NOW + timedelta(hours=1)
PAUSED = check(pauseRequests=["update", "night shift"])


def merged(stored: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a merge patch as the API server does."""
    return {key: value for key, value in ({**stored, **patch}).items() if value is not None}


def status(of: CheckSnapshot, stored: Mapping[str, Any] | None = None, now: datetime = NOW) -> dict[str, Any]:
    return merged(stored or {}, status_patch(of, stored or {}, now))


def disabled(of: CheckSnapshot, stored: Mapping[str, Any] | None = None, now: datetime = NOW) -> Any:
    (condition,) = status(of, stored, now)["conditions"]
    return condition


@pytest.mark.rule("NHC 1.2/observedNodes", "NHC 1.2/healthyNodes", "NHC 1.3/Disabled/NodeHealthCheckEnabled")
def test_status_of_a_check_without_trouble() -> None:
    assert status(snapshot()) == {
        "observedNodes": 10,
        "healthyNodes": 9,
        "unhealthyNodeCount": 1,
        "conditions": [
            {
                "type": "Disabled",
                "status": "False",
                "reason": "NodeHealthCheckEnabled",
                "message": "No issues found, NodeHealthCheck is enabled.",
                "lastTransitionTime": "2026-03-01T12:00:00Z",
            }
        ],
        "phase": "Enabled",
        "reason": "NHC is enabled, no ongoing remediation",
        "lastUpdateTime": "2026-03-01T12:00:00Z",
    }


@pytest.mark.rule("NHC 1.2/unhealthyNodes", "NHC 1.2/unhealthyNodes/remediations")
def test_status_of_a_remediation() -> None:
    timed_out = NOW.astimezone(timezone(timedelta(hours=2)))
    request = request_snapshot(created=NOW - timedelta(minutes=1), timed_out_at=timed_out)

    assert status(snapshot(expired("node-1", request)))["unhealthyNodes"] == [
        {
            "name": "node-1",
            "remediations": [
                {
                    "resource": {
                        "apiVersion": "example.com/v1",
                        "kind": "Reboot",
                        "namespace": "remediators",
                        "name": "node-1",
                        "uid": "request-uid",
                    },
                    "started": "2026-03-01T11:59:00Z",
                    "timedOut": "2026-03-01T12:00:00Z",
                    "templateName": "reboot",
                }
            ],
        }
    ]


@pytest.mark.rule(
    "NHC 1.4/Disabled",
    "NHC 1.4/Paused",
    "NHC 1.4/Remediating",
    "NHC 1.4/Enabled",
    "NHC 1.3/Disabled/RemediationTemplateNotFound",
)
@pytest.mark.parametrize(
    ("seen", "phase", "reason"),
    [
        pytest.param(
            snapshot(of=INVALID),
            "Disabled",
            "NHC is disabled: InvalidSpec: spec.minHealthy: minHealthy must not be negative: -1",
            id="disabled: cannot be read",
        ),
        pytest.param(
            snapshot(expired("node-1", request_snapshot()), of=PAUSED, holds=NO_SUCH_KIND),
            "Disabled",
            "NHC is disabled: RemediationTemplateNotFound: Remediation template not found: "
            '"No kind Reboot in example.com/v1."',
            id="disabled: no such kind, before paused and remediating",
        ),
        pytest.param(
            snapshot(expired("node-1", request_snapshot()), of=PAUSED),
            "Paused",
            "NHC is paused: update,night shift; no new remediation is begun since "
            "2026-03-01T12:00:00Z: Paused",
            id="paused, before remediating",
        ),
        pytest.param(
            snapshot(expired("node-1", request_snapshot())),
            "Remediating",
            "NHC is remediating 1 nodes",
            id="remediating",
        ),
        pytest.param(
            snapshot(expired("node-1", request_snapshot()), expired("node-2"), waiting("node-3")),
            "Remediating",
            "NHC is remediating 2 nodes",
            id="remediating: all that are listed count",
        ),
        pytest.param(
            snapshot(recovered("node-1", request_snapshot(is_being_deleted=True))),
            "Remediating",
            "NHC is remediating 1 nodes",
            id="remediating: a request is still there",
        ),
        pytest.param(
            snapshot(expired("node-1"), allowance=BLOCKED),
            "Enabled",
            "NHC is enabled, no ongoing remediation; no new remediation is begun since 2026-03-01T12:00:00Z: "
            "Threshold: 5 of 10 unhealthy, at most 4 allowed",
            id="enabled: unhealthy without a request",
        ),
        pytest.param(
            snapshot(waiting("node-1")),
            "Enabled",
            "NHC is enabled, no ongoing remediation",
            id="enabled: a timer runs",
        ),
    ],
)
def test_first_phase_that_fits_wins(seen: CheckSnapshot, phase: str, reason: str) -> None:
    result = status(seen)

    assert (result["phase"], result["reason"]) == (phase, reason)


@pytest.mark.rule("rule 17")
@pytest.mark.parametrize("seen", [snapshot(of=PAUSED), snapshot(holds=NO_SUCH_KIND)])
def test_numbers_are_true_in_every_phase(seen: CheckSnapshot) -> None:
    result = status(seen)

    assert (result["observedNodes"], result["healthyNodes"], result["unhealthyNodeCount"]) == (10, 9, 1)


@pytest.mark.rule("NHC 1.2/unhealthyNodes")
def test_node_whose_timer_runs_is_not_listed() -> None:
    assert "unhealthyNodes" not in status(snapshot(waiting("node-1")))
    assert status(snapshot(expired("node-1")))["unhealthyNodes"] == [{"name": "node-1"}]


@pytest.mark.rule("NHC 1.2/unhealthyNodes")
def test_node_whose_timer_runs_again_is_listed_while_its_request_exists() -> None:
    (listed,) = status(snapshot(waiting("node-1", request_snapshot())))["unhealthyNodes"]

    assert listed["name"] == "node-1"
    assert "conditionsHealthyTimestamp" not in listed


@pytest.mark.rule("NHC 1.2/unhealthyNodes")
def test_nodes_are_listed_by_name() -> None:
    listed = status(snapshot(expired("b"), expired("c"), expired("a")))["unhealthyNodes"]

    assert [entry["name"] for entry in listed] == ["a", "b", "c"]


@pytest.mark.rule("NHC 1.2/patch", "rule 6/writes")
def test_true_status_is_not_written() -> None:
    seen = snapshot(expired("node-1", request_snapshot()))

    assert status_patch(seen, status(seen), LATER) == {}


@pytest.mark.rule("NHC 1.2/patch", "NHC 1.2/lastUpdateTime")
def test_patch_carries_what_changed_and_the_time() -> None:
    assert status_patch(snapshot(expired("node-1")), status(snapshot()), LATER) == {
        "unhealthyNodes": [{"name": "node-1"}],
        "lastUpdateTime": stamp(LATER),
    }


def test_count_that_the_crd_drops_is_not_written_for_ever() -> None:
    stored = status(snapshot())
    del stored["unhealthyNodeCount"]

    assert status_patch(snapshot(), stored, LATER) == {}


@pytest.mark.rule("NHC 1.2/patch")
def test_list_that_became_empty_is_removed() -> None:
    patch = status_patch(snapshot(), status(snapshot(expired("node-1"))), LATER)

    assert patch == {"unhealthyNodes": None, "lastUpdateTime": stamp(LATER)}


@pytest.mark.rule("NHC 1.2/inFlightRemediations")
def test_fields_of_the_operator_are_removed() -> None:
    left = {"type": "StormActive", "status": "True", "reason": "HealthyNodeThresholdChange"}
    stored = status(snapshot())
    stored["inFlightRemediations"] = {"node-1": stamp(NOW)}
    stored["conditions"] = [left, *stored["conditions"]]

    patch = status_patch(snapshot(), stored, LATER)

    assert patch["inFlightRemediations"] is None
    assert [condition["type"] for condition in patch["conditions"]] == ["Disabled"]


@pytest.mark.rule("rule 22")
def test_nodes_whose_remediators_gave_up_are_named_while_they_are_remediated() -> None:
    given_up = [expired(f"node-{number}", request_snapshot(succeeded=False)) for number in range(1, 3)]
    done = expired("node-3", request_snapshot(succeeded=True))
    result = status(snapshot(*given_up, done))

    assert result["phase"] == "Remediating"
    assert result["reason"] == "NHC is remediating 3 nodes; failed so far: node-1, node-2"


@pytest.mark.rule("rule 9")
def test_request_made_anew_replaces_the_entry_of_the_earlier_one() -> None:
    stored = status(snapshot(expired("node-1", request_snapshot("one"))))
    again = request_snapshot("two", created=LATER)
    (entry,) = status(snapshot(expired("node-1", again)), stored, LATER)["unhealthyNodes"]

    assert [
        (remediation["resource"]["uid"], remediation["started"]) for remediation in entry["remediations"]
    ] == [("two", stamp(LATER))]


@pytest.mark.rule("NHC 1.3/lastTransitionTime")
def test_transition_time_moves_with_the_status_alone() -> None:
    stored = status(snapshot())

    assert disabled(snapshot(), stored, LATER)["lastTransitionTime"] == stamp(NOW)
    stored = status(snapshot(holds=NO_SUCH_KIND), stored, LATER)
    assert stored["conditions"][0]["lastTransitionTime"] == stamp(LATER)
    changed = disabled(snapshot(holds=NO_SUCH_KIND), stored, LATER + timedelta(hours=1))
    assert (changed["reason"], changed["lastTransitionTime"]) == (
        "RemediationTemplateNotFound",
        stamp(LATER),
    )


@pytest.mark.rule("NHC 2.2/unusable")
def test_check_that_cannot_be_read_keeps_its_old_numbers() -> None:
    stored = status(snapshot(expired("node-1", request_snapshot())))
    result = status(snapshot(of=INVALID), stored, LATER)

    for field in ("observedNodes", "healthyNodes", "unhealthyNodes"):
        assert result[field] == stored[field]
    assert result["phase"] == "Disabled"
    assert disabled(snapshot(of=INVALID), stored)["reason"] == "InvalidSpec"


@pytest.mark.rule("NHC 1.2/unhealthyNodes/conditionsHealthyTimestamp")
def test_recovery_is_stamped_once() -> None:
    back = snapshot(recovered("node-1", request_snapshot()))
    stored = status(back)

    assert stored["unhealthyNodes"][0]["conditionsHealthyTimestamp"] == stamp(NOW)
    assert status_patch(back, stored, LATER) == {}
    kept = snapshot(recovered("node-1", request_snapshot(is_being_deleted=True)), expired("node-2"))
    first, second = status(kept, stored, LATER)["unhealthyNodes"]
    assert first["conditionsHealthyTimestamp"] == stamp(NOW)
    assert "conditionsHealthyTimestamp" not in second


@pytest.mark.rule("NHC 1.2/unhealthyNodes/healthyDelayed")
@pytest.mark.parametrize(
    ("delay", "since", "is_delayed"),
    [("1h", NOW, True), ("1h", None, False), ("-1s", NOW, False), ("0s", NOW, False)],
)
def test_delay_that_keeps_the_request_of_a_healthy_node_is_reported(
    delay: str, since: datetime | None, *, is_delayed: bool
) -> None:
    back = recovered("node-1", request_snapshot(healthy_since=since))
    (entry,) = status(snapshot(back, of=check(healthyDelay=delay)))["unhealthyNodes"]
    assert entry.get("healthyDelayed", False) is is_delayed


@pytest.mark.rule("NHC 1.2/unhealthyNodes/conditionsHealthyTimestamp")
def test_stamp_of_recovery_goes_when_the_node_is_unhealthy_again() -> None:
    stored = status(snapshot(recovered("node-1", request_snapshot())))
    again = status(snapshot(expired("node-1", request_snapshot())), stored, LATER)

    assert "conditionsHealthyTimestamp" not in again["unhealthyNodes"][0]


TARGETS = st.one_of(
    *(
        st.builds(make, st.sampled_from(["a", "b"]), *requests)
        for make in (expired, waiting, recovered)
        for requests in ((), (st.just(request_snapshot()),))
    )
)
SNAPSHOTS = st.one_of(
    st.just(snapshot(of=INVALID)),
    st.builds(
        lambda targets, of, holds: snapshot(*targets, of=of, holds=holds),
        st.lists(TARGETS, max_size=3),
        st.sampled_from([check(), PAUSED]),
        st.sampled_from([NO_HOLDS, NO_SUCH_KIND]),
    ),
)


@pytest.mark.rule("NHC 1.2/patch")
@given(seen=SNAPSHOTS, before=SNAPSHOTS)
def test_one_write_is_enough_whatever_was_stored(seen: CheckSnapshot, before: CheckSnapshot) -> None:
    stored = status(before)
    written = status(seen, stored, LATER)

    assert status_patch(seen, written, LATER + timedelta(hours=1)) == {}


@pytest.mark.rule("NHC 1.2/unhealthyNodes")
@given(TARGETS)
def test_only_the_expired_and_those_with_a_request_are_published(target: TargetSnapshot) -> None:
    is_listed = "unhealthyNodes" in status(snapshot(target))

    assert is_listed == (target.verdict.health == "Expired" or bool(target.requests))


@pytest.mark.rule("NHC 1.2/unhealthyNodes")
def test_status_of_thousands_of_nodes_stays_below_a_megabyte_and_says_what_is_left_out() -> None:
    waiting_for_a_turn = [expired(f"a-{n:04}") for n in range(5000)]
    remediated = [expired(f"b-{n:04}", request_snapshot(f"{n:036}")) for n in range(3400)]

    found = status(snapshot(*waiting_for_a_turn, *remediated))

    listed = [node["name"] for node in found["unhealthyNodes"]]
    assert 800_000 < len(json.dumps(found)) < 1_000_000
    assert listed == sorted(listed)
    left_out = 8400 - len(listed)
    assert listed == [f"a-{n:04}" for n in range(5000 - left_out)] + [f"b-{n:04}" for n in range(3400)]
    assert found["reason"] == (
        f"NHC is remediating 8400 nodes; unhealthyNodes has room for {8400 - left_out} of 8400 nodes"
    )


@pytest.mark.rule("NHC 1.2/unhealthyNodes/conditionsHealthyTimestamp")
def test_each_of_several_recovered_nodes_keeps_its_own_time() -> None:
    nodes = [recovered(f"node-{n}", request_snapshot()) for n in range(3)]
    times = [stamp(NOW - timedelta(minutes=n)) for n in range(2)]
    stored = {
        "unhealthyNodes": [
            {"name": f"node-{n}", "conditionsHealthyTimestamp": time} for n, time in enumerate(times)
        ]
    }

    found = status(snapshot(*nodes), stored, LATER)["unhealthyNodes"]

    assert [node["conditionsHealthyTimestamp"] for node in found] == [*times, stamp(LATER)]


def test_status_says_since_when_the_check_is_held_until_another_reason_holds_it() -> None:
    since = "no new remediation is begun since"
    held = status(snapshot(expired("node-1"), allowance=BLOCKED))
    fewer = BLOCKED.model_copy(update={"healthy": 4})
    another = snapshot(expired("node-1"), expired("node-2"), allowance=fewer)
    assert f"{since} {stamp(NOW)}: Threshold: 5 of 10" in held["reason"]
    later = status(another, held, LATER)
    assert f"{since} {stamp(NOW)}: Threshold: 6 of 10" in later["reason"]
    assert held_since(later, HoldReason.THRESHOLD) == NOW
    assert held_since(later, HoldReason.STORM) is None

    over = status(snapshot(expired("node-1")), later, LATER)
    assert since not in over["reason"]
    assert held_since(over, HoldReason.THRESHOLD) is None
    again = status(another, over, LATER)
    assert held_since(again, HoldReason.THRESHOLD) == LATER


def test_status_says_since_when_the_check_is_paused() -> None:
    seen = snapshot(of=PAUSED)
    paused = status(seen)
    assert held_since(paused, HoldReason.PAUSED) == NOW
    assert status_patch(seen, paused, LATER) == {}


def test_status_says_since_when_the_check_is_disabled() -> None:
    disabled = status(snapshot(holds=NO_SUCH_KIND))
    assert held_since(status(snapshot(holds=NO_SUCH_KIND), disabled, LATER), HoldReason.DISABLED) == NOW
