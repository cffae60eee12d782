"""Annotations of ours on a check of any kind: read with it, and refused with field and value."""

from typing import Annotated, Any

import pytest
from pydantic import Field

from health.check.annotated_hold import PAUSED
from health.kinds.check_kind import CheckKind
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.invalid_check import InvalidCheckError
from health.policy.check_choices import CheckChoices
from tests.support.values import builders as objects
from tests.support.values import cluster_api as clusterapi
from tests.support.values import openshift
from tests.support.values.builders import limits

pytestmark = pytest.mark.rule("rule 8")

KINDS: list[tuple[CheckKind, dict[str, Any]]] = [
    (NODE_HEALTH_CHECK, objects.check_object()),
    (MACHINE_HEALTH_CHECK, openshift.check_object()),
    (CLUSTER_API_MACHINE_HEALTH_CHECK, clusterapi.check_object()),
]


def annotated(check: dict[str, Any], **annotations: str) -> dict[str, Any]:
    known = check["metadata"].get("annotations", {})
    return check | {"metadata": check["metadata"] | {"annotations": known | annotations}}


@pytest.mark.parametrize(("kind", "check"), KINDS)
def test_check_of_any_kind_with_an_annotation_that_is_not_known_cannot_be_read(
    kind: CheckKind, check: dict[str, Any]
) -> None:
    with pytest.raises(InvalidCheckError) as refused:
        kind.parse(annotated(check, **{"paramedic.dev/shadw": "true"}))

    assert str(refused.value).startswith(
        "metadata.annotations[paramedic.dev/shadw]: there is no such annotation"
    )
    assert str(refused.value).endswith(" (found 'true'); did you mean paramedic.dev/shadow?")


@pytest.mark.parametrize(("kind", "check"), KINDS)
def test_annotations_of_others_are_no_choices(kind: CheckKind, check: dict[str, Any]) -> None:
    others = annotated(check, **{"example.com/shadow": "x", "demo.paramedic.dev/x": "y"})

    assert kind.parse(others).choices == CheckChoices()


@pytest.mark.parametrize(("kind", "check"), KINDS)
def test_orders_by_annotation_are_no_choices(kind: CheckKind, check: dict[str, Any]) -> None:
    ordered = annotated(check, **{"paramedic.dev/approve": "1f0c93ab", "paramedic.dev/remediate": ""})

    assert kind.parse(ordered).choices == CheckChoices()


@pytest.mark.parametrize(("kind", "check"), KINDS[1:])
def test_bad_annotation_is_not_reported_while_the_check_is_paused(
    kind: CheckKind, check: dict[str, Any]
) -> None:
    with pytest.raises(InvalidCheckError) as refused:
        kind.parse(annotated(check, **{"paramedic.dev/shadw": "true", PAUSED: ""}))
    assert refused.value.is_paused


class Choices(CheckChoices):
    """With one that a feature might add."""

    most_at_once: Annotated[int, Field(ge=1)] = 7


def test_field_is_named_as_its_annotation() -> None:
    assert Choices.of({"paramedic.dev/most-at-once": "3"}).most_at_once == 3
    assert Choices.of({}).most_at_once == 7


def test_limits_are_chosen_for_one_check() -> None:
    chosen = CheckChoices.of(
        {
            "paramedic.dev/max-in-flight": "2",
            "paramedic.dev/max-in-flight-by-label": "topology.kubernetes.io/zone=1, pool=3",
            "paramedic.dev/max-starts-per-hour": "10",
        }
    )

    zones = {"topology.kubernetes.io/zone": 1, "pool": 3}
    assert chosen.limits == limits(maxInFlight=2, maxInFlightByLabel=zones, maxStartsPerHour=10)
    assert CheckChoices().limits.is_off


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("most-at-once", "0", "must be at least 1"),
        ("proven-recovery", "5", "must be a duration such as 300s, 5m or 1h30m"),
        ("proven-recovery", "0s", "must be from 1s to 24h"),
        ("proven-recovery", "-5m", "must be a duration such as 300s, 5m or 1h30m"),
        ("relapse", "30", "must be a duration such as 300s, 5m or 1h30m"),
        ("relapse", "0s", "must be from 1s to 24h"),
        ("relapse", "25h", "must be from 1s to 24h"),
        ("require-approval", "always", "must be 'true' or 'false'"),
        ("approval-expires-after", "59s", "must be from 1m to 168h"),
        ("approval-expires-after", "169h", "must be from 1m to 168h"),
        ("approval-default", "maybe", "must be 'hold', 'approve' or 'reject'"),
        (
            "approval-default",
            "approve",
            "needs the annotation paramedic.dev/approval-expires-after, without which no question expires",
        ),
        ("shadow", "yes", "must be 'true' or 'false'"),
        ("maintenance-windows", "a,", "must be names of maintenance windows, with commas between them"),
        ("max-in-flight", "many", "must be an integer"),
        ("max-in-flight-by-label", "zone", "must be label=number, each label once, with commas between them"),
        (
            "max-in-flight-by-label",
            "z=1,z=2",
            "must be label=number, each label once, with commas between them",
        ),
    ],
)
def test_bad_value_is_refused_with_the_annotation(name: str, value: str, problem: str) -> None:
    with pytest.raises(InvalidCheckError) as refused:
        Choices.of({f"paramedic.dev/{name}": value})

    assert str(refused.value) == f"metadata.annotations[paramedic.dev/{name}]: {problem} (found {value!r})"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("most_at_once", "; did you mean paramedic.dev/most-at-once?"), ("zzzz", "; see docs/annotations.md")],
)
def test_unknown_annotation_is_refused_with_close_names_after_its_value(name: str, hint: str) -> None:
    with pytest.raises(InvalidCheckError) as refused:
        Choices.of({f"paramedic.dev/{name}": "1"})

    unknown = "there is no such annotation of a check"
    assert str(refused.value) == f"metadata.annotations[paramedic.dev/{name}]: {unknown} (found '1'){hint}"
