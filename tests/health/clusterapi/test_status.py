"""Status of a MachineHealthCheck of Cluster API, as merge patches, in the form of its version (CAPI B.1)."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from health.check.check_snapshot import CheckHolds, CheckSnapshot
from health.check.template_validity import not_found
from health.cluster.cluster_context import CheckProblem, workload_cluster_hold
from health.kinds.clusterapi.cluster import Clusters
from health.kinds.clusterapi.kind import MOST_TARGETS, held_since, status_patch
from health.kinds.machines.check import NOT_CREATED
from health.model.observation import Hold, HoldReason
from objects.timestamps import stamp
from tests.support.values.builders import NOW
from tests.support.values.cluster_api import (
    PAUSED,
    SELECTOR,
    TEMPLATE,
    check,
    merged,
    old_check,
    refusal,
    snapshot,
)
from tests.support.values.held import held
from tests.support.values.machines import expired

LATER = NOW + timedelta(hours=1)
FORTY = check(trigger={"unhealthyLessThanOrEqualTo": "40%"})
OLD_FORTY = old_check(maxUnhealthy="40%")
WITH_TEMPLATE = check(remediation={"templateRef": TEMPLATE})
EXCEEDED = (
    "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy "
    "(total: 5, unhealthy: 3, maxUnhealthy: 40%)"
)
UNREACHABLE = held(workload_cluster_hold("fleet/edge", "no route"))
PAUSE = held(
    Hold(reason=HoldReason.PAUSED, message="Cluster spec.paused is set to true"), is_fully_paused=True
)
WITHOUT_CLUSTER = held(Clusters().not_found("fleet", "edge"))


def status(of: CheckSnapshot, stored: Mapping[str, Any] | None = None, now: Any = NOW) -> Any:
    return merged(stored or {}, status_patch(of, stored or {}, now))


def condition(type_: str, of: Any, *path: str) -> Any:
    for field in path:
        of = of.get(field, {})
    return next((one for one in of.get("conditions", []) if one["type"] == type_), None)


@pytest.mark.rule(
    "CAPI B.1/status/expectedMachines",
    "CAPI B.1/status/currentHealthy",
    "CAPI B.1/status/remediationsAllowed",
    "CAPI B.1/status/targets",
    "CAPI B.1/status/observedGeneration",
    "CAPI B.1/status/form",
)
def test_status_of_a_check_that_may_remediate() -> None:
    since = {"lastTransitionTime": stamp(NOW)}
    observed = {"observedGeneration": 3}
    allowed = {"type": "RemediationAllowed", "status": "True", **since}
    assert status(snapshot(of=FORTY, healthy=4)) == {
        "expectedMachines": 5,
        "currentHealthy": 4,
        "remediationsAllowed": 1,
        "observedGeneration": 3,
        "targets": [f"machine-{number}" for number in range(5)],
        "conditions": [
            allowed | observed | {"reason": "RemediationAllowed", "message": ""},
            {"type": "Paused", "status": "False", "reason": "NotPaused", "message": "", **since, **observed},
        ],
        "deprecated": {"v1beta1": {"conditions": [allowed]}},
    }


@pytest.mark.rule("CAPI B.1/status/RemediationAllowed", "rule 31")
def test_numbers_that_are_printed_are_those_that_decided() -> None:
    """Three are not healthy, of which one alone failed."""
    blocked = status(snapshot(expired(), of=FORTY, healthy=2))
    held = condition("RemediationAllowed", blocked)
    assert (held["status"], held["reason"], held["message"]) == ("False", "TooManyUnhealthy", EXCEEDED)
    twin = condition("RemediationAllowed", blocked, "deprecated", "v1beta1")
    assert (twin["severity"], twin["reason"], twin["message"]) == ("Warning", "TooManyUnhealthy", EXCEEDED)
    assert blocked["remediationsAllowed"] == 0


@pytest.mark.rule("CAPI B.1/status/RemediationAllowed", "CAPI B.2.4/range")
def test_too_few_for_a_range_are_reported_in_the_same_way() -> None:
    ranged = check(trigger={"unhealthyInRange": "[2-4]"})
    held = condition("RemediationAllowed", status(snapshot(of=ranged, healthy=4)))
    assert held["reason"] == "TooManyUnhealthy"
    assert held["message"] == (
        "Remediation is not allowed, the number of not started or unhealthy machines does not fall within "
        "the range (total: 5, unhealthy: 1, unhealthyRange: [2-4])"
    )


@pytest.mark.rule("CAPI B.1/status/form", "rule 32")
def test_status_of_v1beta1_has_its_form_and_a_twin() -> None:
    blocked = status(snapshot(of=OLD_FORTY, healthy=2))
    held = condition("RemediationAllowed", blocked)
    assert (held["severity"], held["message"]) == ("Warning", EXCEEDED)
    assert "severity" not in condition("RemediationAllowed", blocked, "v1beta2")
    assert condition("Paused", blocked, "v1beta2")["reason"] == "NotPaused"
    assert "deprecated" not in blocked


@pytest.mark.rule("CAPI B.1/status/Paused", "CAPI B.2.7/nothing")
@pytest.mark.parametrize("of", [FORTY, OLD_FORTY])
def test_while_paused_nothing_is_written_but_that(of: Any) -> None:
    before = status(snapshot(of=of))
    patch = status_patch(snapshot(expired(), of=of, healthy=0, holds=PAUSE), before, LATER)
    assert set(patch) == {"conditions"} | ({"v1beta2"} if of is OLD_FORTY else set())
    after = merged(before, patch)
    paused = condition("Paused", after)
    assert (paused["status"], paused["message"]) == ("True", "Cluster spec.paused is set to true")
    assert held_since(after, HoldReason.PAUSED) == LATER
    assert condition("RemediationAllowed", after) == condition("RemediationAllowed", before)
    assert condition("Paused", status(snapshot(of=of), after, LATER))["status"] == "False"


@pytest.mark.rule("CAPI B.1/status/Paused", "rule 8")
def test_check_that_cannot_be_read_may_be_paused() -> None:
    written = status(snapshot(of=refusal(PAUSED, maxUnhealthy="x")))
    assert set(written) == {"conditions"}
    (paused,) = written["conditions"]
    assert paused["message"] == "MachineHealthCheck has the cluster.x-k8s.io/paused annotation"


@pytest.mark.rule("CAPI B.1/refused", "rule 8")
def test_check_that_cannot_be_read_says_so_and_keeps_no_number() -> None:
    before = status(snapshot(of=FORTY))
    after = status(snapshot(of=refusal(maxUnhealthy="x")), before, LATER)
    held = condition("RemediationAllowed", after)
    assert (held["status"], held["reason"]) == ("False", "InvalidSpec")
    assert held["message"].startswith("spec.maxUnhealthy: must be")
    assert not {"expectedMachines", "currentHealthy", "remediationsAllowed", "targets"} & set(after)
    assert after["observedGeneration"] == 3


@pytest.mark.rule("CAPI B.2.2/no Cluster", "rule 33")
@pytest.mark.parametrize(
    ("holds", "reason"),
    [(UNREACHABLE, "WorkloadClusterUnreachable"), (WITHOUT_CLUSTER, "ClusterNotFound")],
)
def test_while_machines_cannot_be_seen_the_numbers_stay(holds: CheckHolds, reason: str) -> None:
    before = status(snapshot(of=FORTY))
    after = status(snapshot(of=FORTY, healthy=0, holds=holds), before, LATER)
    held = condition("RemediationAllowed", after)
    assert (held["status"], held["reason"]) == ("False", reason)
    assert after["currentHealthy"] == before["currentHealthy"]


@pytest.mark.rule("CAPI B.2.5/no template", "rule 27", "rule 45")
@pytest.mark.parametrize(
    ("problem", "type_", "reason"),
    [
        (
            not_found("reboot not found"),
            "ExternalRemediationTemplateAvailable",
            "ExternalRemediationTemplateNotFound",
        ),
        (
            CheckProblem(NOT_CREATED, "forbidden"),
            "ExternalRemediationRequestAvailable",
            "ExternalRemediationRequestCreationFailed",
        ),
    ],
)
def test_problem_of_the_template_is_reported_in_both_forms(
    problem: CheckProblem, type_: str, reason: str
) -> None:
    seen = snapshot(of=WITH_TEMPLATE, holds=held(problem))
    for path in ((), ("deprecated", "v1beta1")):
        told = condition(type_, status(seen), *path)
        assert (told["status"], told["reason"], told["message"]) == ("False", reason, problem.message)
    assert condition(type_, status(snapshot(of=WITH_TEMPLATE), status(seen)))["status"] == "True"
    assert condition(type_, status(snapshot(), status(seen))) is None


@pytest.mark.rule("rule 27")
def test_restart_turns_no_refusal_into_a_success() -> None:
    refused = Hold(reason=HoldReason.REFUSED, message="no", request_error="quota")
    before = status(snapshot(expired(found=refused), of=WITH_TEMPLATE))
    assert condition("ExternalRemediationRequestAvailable", before)["message"] == "quota"
    unheard = snapshot(expired(is_heard=False), of=WITH_TEMPLATE)
    assert status_patch(unheard, before, LATER) == {}


@pytest.mark.rule("rule 6/writes", "CAPI B.1/status/other conditions", "CAPI B.1/status/lastTransitionTime")
def test_true_status_is_not_written_and_others_stay() -> None:
    other = {"type": "Custom", "status": "Unknown", "lastTransitionTime": "2020-01-01T00:00:00Z", "x": 1}
    for seen in (
        snapshot(of=FORTY),
        snapshot(of=OLD_FORTY, healthy=2),
        snapshot(of=WITH_TEMPLATE),
        snapshot(of=refusal(maxUnhealthy="x")),
        snapshot(of=FORTY, holds=UNREACHABLE),
        snapshot(of=FORTY, holds=PAUSE),
    ):
        stored = status(seen, {"conditions": [other]})
        assert stored["conditions"][0] == other
        assert status_patch(seen, stored, LATER) == {}


@pytest.mark.rule("CAPI B.1/status/targets")
def test_names_beyond_what_the_schema_takes_are_cut() -> None:
    every = check(selector=SELECTOR)
    seen = snapshot(of=every, total=MOST_TARGETS + 1, healthy=MOST_TARGETS + 1)
    written = status(seen)
    assert len(written["targets"]) == MOST_TARGETS
    assert written["targets"] == sorted(written["targets"])
    assert written["expectedMachines"] == MOST_TARGETS + 1
