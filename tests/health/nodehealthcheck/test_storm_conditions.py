"""A storm in the conditions of status (NHC 1.3), and back."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from health.check.storm import Storm
from health.kinds.nodehealthcheck.status import stored_storm, storm_conditions
from tests.support.values.builders import NOW

BEGUN = NOW - timedelta(minutes=20)
COOLING = Storm(is_active=True, turned=BEGUN, is_cooling=True, cooldown_turned=NOW - timedelta(minutes=1))
RAGING = replace(COOLING, is_cooling=False)
OVER = replace(RAGING, is_active=False)

ACTIVATED = (
    "True",
    (
        "Storm mode is activated - preventing any new remediation until the storm is over and cooldown "
        "duration expired"
    ),
)
DEACTIVATED = ("False", "Storm mode is deactivated, remediation can occur normally")


def condition(type_: str, status: str, time: object = "2026-03-01T11:40:00Z") -> dict[str, Any]:
    return {"type": type_, "status": status, "lastTransitionTime": time}


@pytest.mark.rule("NHC 1.3/StormActive", "NHC 1.3/StormCooldownActive")
@pytest.mark.parametrize(
    ("storm", "active", "cooldown"),
    [
        pytest.param(
            RAGING, ACTIVATED, ("False", "Cooldown cleared - storm threshold triggered"), id="storm"
        ),
        pytest.param(
            COOLING,
            ACTIVATED,
            ("True", "Storm cooldown delay started - waiting before resuming normal remediation"),
            id="cooldown",
        ),
        pytest.param(OVER, DEACTIVATED, ("False", "Storm cooldown completed"), id="over"),
    ],
)
def test_conditions_are_those_of_the_operator(
    storm: Storm, active: tuple[str, str], cooldown: tuple[str, str]
) -> None:
    assert storm_conditions(storm) == [
        {
            "type": type_,
            "status": status,
            "reason": "HealthyNodeThresholdChange",
            "message": message,
            "lastTransitionTime": time,
        }
        for type_, (status, message), time in (
            ("StormActive", active, "2026-03-01T11:40:00Z"),
            ("StormCooldownActive", cooldown, "2026-03-01T11:59:00Z"),
        )
    ]


@pytest.mark.rule("NHC 2.3/conditions")
def test_without_a_storm_there_are_no_conditions() -> None:
    assert storm_conditions(None) == []
    assert stored_storm({}, NOW) is None
    assert stored_storm({"conditions": [condition("Disabled", "False")]}, NOW) is None


@pytest.mark.rule("rule 39", "NHC 2.7/restart")
@pytest.mark.parametrize("storm", [RAGING, COOLING, OVER], ids=["storm", "cooldown", "over"])
def test_storm_is_taken_over_from_its_conditions_whatever_their_order(storm: Storm) -> None:
    conditions = [*storm_conditions(storm), condition("Disabled", "False")]

    assert stored_storm({"conditions": conditions}, NOW) == storm
    assert stored_storm({"conditions": conditions[::-1]}, NOW) == storm


@pytest.mark.parametrize(
    "time",
    [
        pytest.param("", id="missing"),
        pytest.param("yesterday", id="no time"),
        pytest.param("2026-03-01T11:40:00", id="of no time zone"),
        pytest.param("9999-12-31T23:59:59Z", id="in the future"),
    ],
)
def test_time_that_cannot_be_used_is_now_so_that_the_cooldown_is_not_cut_short(time: str) -> None:
    stored = {
        "conditions": [condition("StormActive", "True"), condition("StormCooldownActive", "True", time)]
    }

    assert stored_storm(stored, NOW) == replace(COOLING, cooldown_turned=NOW)


def test_cooldown_without_a_storm_holds_no_target() -> None:
    stored = {"conditions": [condition("StormActive", "False"), condition("StormCooldownActive", "True")]}

    assert stored_storm(stored, NOW) == replace(OVER, cooldown_turned=BEGUN)


def test_storm_without_a_cooldown_condition_has_no_cooldown_yet() -> None:
    stored = {"conditions": [condition("StormActive", "True")]}

    assert stored_storm(stored, NOW) == replace(RAGING, cooldown_turned=BEGUN)
