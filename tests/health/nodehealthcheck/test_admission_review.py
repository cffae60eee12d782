"""Refused creations, edits and deletions of a NodeHealthCheck (NHC 1.1/webhook)."""

from typing import Any

import pytest

from health.kinds.nodehealthcheck.admission_review import (
    SUPPORTED_TOPOLOGIES,
    CheckOperation,
    Facts,
    Operation,
    doubtful_kinds,
    refusals,
)
from tests.support.values.builders import TEMPLATE, check_object, escalation

ANYWHERE = Facts()
UNHEALTHY = {"unhealthyNodes": [{"name": "node-1"}, {"name": "node-2", "remediations": []}]}
REMEDIATING = {"unhealthyNodes": [{"name": "node-1"}, {"name": "node-2", "remediations": [{"resource": {}}]}]}
TWICE: dict[str, Any] = {
    "remediationTemplate": None,
    "escalatingRemediations": [escalation(1), escalation(2, name="other"), escalation(3, kind="ATemplate")],
}
SINGLE = Facts(single_template_kinds=frozenset({("example.com/v1", "RebootTemplate")}))
DUPLICATE = (
    "Using multiple templates of same kind is not supported for this template: "
    "duplicate template kind: RebootTemplate"
)
EDIT = "update prohibited due to running remediation"


def created(facts: Facts = ANYWHERE, **spec: Any) -> tuple[str, ...]:
    return refusals(CheckOperation(Operation.CREATE, check_object(**spec), {}), facts)


def updated(old: dict[str, Any], facts: Facts = ANYWHERE, **spec: Any) -> tuple[str, ...]:
    return refusals(CheckOperation(Operation.UPDATE, check_object(**spec), old), facts)


def deleted(old: dict[str, Any]) -> tuple[str, ...]:
    return refusals(CheckOperation(Operation.DELETE, {}, old), ANYWHERE)


def stored(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return check_object(**spec) | ({} if status is None else {"status": status})


def test_good_check_is_taken() -> None:
    assert created() == ()
    assert updated(stored()) == ()


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param(
            {"maxUnhealthy": 1},
            ("minHealthy and maxUnhealthy cannot be specified at the same time",),
            id="both thresholds",
        ),
        pytest.param(
            {"minHealthy": None}, ("one of minHealthy and maxUnhealthy should be specified",), id="none"
        ),
        pytest.param({"minHealthy": -1}, ("minHealthy must not be negative: -1",), id="minHealthy < 0"),
        pytest.param(
            {"minHealthy": None, "maxUnhealthy": -7},
            ("maxUnhealthy must not be negative: -7",),
            id="maxUnhealthy < 0",
        ),
        pytest.param(
            {
                "minHealthy": None,
                "maxUnhealthy": 1,
                "remediationTemplate": TEMPLATE | {"kind": "machinedeletionremediationtemplate"},
            },
            ("maxUnhealthy can't be used with MachineDeletionRemediationTemplate",),
            id="deletion of machines",
        ),
        pytest.param(
            {
                "minHealthy": None,
                "maxUnhealthy": 1,
                "remediationTemplate": None,
                "escalatingRemediations": [escalation(1, kind="MachineDeletionRemediationTemplate")],
            },
            ("maxUnhealthy can't be used with MachineDeletionRemediationTemplate escalating remediation",),
            id="deletion of machines as a step",
        ),
        pytest.param({"selector": {}}, ("Selector is mandatory",), id="no selector"),
        pytest.param(
            {"selector": {"matchLabels": {"a b": "c"}}},
            ("Invalid selector: 'a b' is not a label key",),
            id="a bad selector",
        ),
        pytest.param(
            {"remediationTemplate": None},
            ("Either RemediationTemplate or at least one EscalatingRemediations must be set",),
            id="no template",
        ),
        pytest.param(
            {"escalatingRemediations": [escalation(1)]},
            ("RemediationTemplate and EscalatingRemediations usage is mutual exclusive",),
            id="both templates",
        ),
        pytest.param(
            {"remediationTemplate": None, "escalatingRemediations": [escalation(4), escalation(4)]},
            ("EscalatingRemediation Order must be unique: found duplicate order 4",),
            id="an order twice",
        ),
        pytest.param(
            {"remediationTemplate": None, "escalatingRemediations": [escalation(4, "59s")]},
            ("EscalatingRemediation Timeout must be at least one minute: found timeout 59s",),
            id="a short timeout",
        ),
        pytest.param(
            {"healthyDelay": "99999999999h"},
            ("spec.healthyDelay: is longer than any clock can hold (292 years) (found '99999999999h')",),
            id="a duration that overflows",
        ),
        pytest.param(
            {"selector": {}, "minHealthy": None, "remediationTemplate": None},
            (
                "one of minHealthy and maxUnhealthy should be specified",
                "Selector is mandatory",
                "Either RemediationTemplate or at least one EscalatingRemediations must be set",
            ),
            id="all at once",
        ),
        pytest.param(
            {
                "minHealthy": -1,
                "remediationTemplate": None,
                "escalatingRemediations": [escalation(1, "1s"), escalation(2, "2s")],
            },
            (
                "minHealthy must not be negative: -1",
                "EscalatingRemediation Timeout must be at least one minute: found timeout 1s",
                "EscalatingRemediation Timeout must be at least one minute: found timeout 2s",
            ),
            id="several fields at once",
        ),
    ],
)
def test_bad_check_is_refused_in_the_words_of_the_operator(
    spec: dict[str, Any], refused: tuple[str, ...]
) -> None:
    assert created(**spec) == refused
    assert updated(stored(), **spec) == refused


@pytest.mark.rule("NHC 1.1/webhook/same kind")
def test_kind_that_several_steps_use_is_asked_about() -> None:
    assert doubtful_kinds(stored(**TWICE)) == {("example.com/v1", "RebootTemplate")}
    assert doubtful_kinds(stored()) == frozenset()


@pytest.mark.rule("NHC 1.1/webhook/same kind")
def test_same_name_of_a_kind_in_two_groups_is_one_kind() -> None:
    steps = [escalation(1), escalation(2, apiVersion="example.org/v1")]
    check = stored(remediationTemplate=None, escalatingRemediations=steps)

    assert doubtful_kinds(check) == {
        ("example.com/v1", "RebootTemplate"),
        ("example.org/v1", "RebootTemplate"),
    }


def test_nothing_is_asked_about_a_check_that_is_refused_anyway() -> None:
    assert doubtful_kinds(stored(**TWICE | {"minHealthy": -1})) == frozenset()


@pytest.mark.rule("NHC 1.1/webhook/same kind")
def test_steps_of_one_kind_are_refused_where_its_templates_do_not_support_it() -> None:
    assert created(SINGLE, **TWICE) == (DUPLICATE,)
    assert updated(stored(), SINGLE, **TWICE) == (DUPLICATE,)
    assert created(**TWICE) == ()


@pytest.mark.rule("NHC 1.1/webhook/same kind")
def test_classic_remediation_may_use_any_kind() -> None:
    assert created(SINGLE) == ()


@pytest.mark.rule("NHC 1.1/webhook/topology")
@pytest.mark.parametrize("topology", sorted(SUPPORTED_TOPOLOGIES))
def test_supported_topology_is_taken(topology: str) -> None:
    assert created(Facts(control_plane_topology=topology)) == ()


@pytest.mark.rule("NHC 1.1/webhook/topology")
@pytest.mark.parametrize("topology", ["DualReplica", ""])
def test_other_topology_is_refused(topology: str) -> None:
    assert created(Facts(control_plane_topology=topology)) == ("Unsupported control plane topology",)


STEPS = {"remediationTemplate": None, "escalatingRemediations": [escalation(1)]}


@pytest.mark.rule("NHC 1.1/webhook/edit during remediation")
@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        pytest.param({}, {"selector": {"matchLabels": {"a": "b"}}}, (f"selector {EDIT}",), id="selector"),
        pytest.param(
            {},
            {"remediationTemplate": TEMPLATE | {"name": "other"}},
            (f"remediation template {EDIT}",),
            id="template",
        ),
        pytest.param(
            STEPS,
            STEPS | {"escalatingRemediations": [escalation(1), escalation(2, kind="ATemplate")]},
            (f"escalating remediations {EDIT}",),
            id="another step",
        ),
        pytest.param(
            {},
            STEPS,
            (f"remediation template {EDIT}", f"escalating remediations {EDIT}"),
            id="the other form of template",
        ),
        pytest.param({}, {"escalatingRemediations": []}, (), id="an empty list that was none"),
        pytest.param({}, {"minHealthy": None, "maxUnhealthy": 1}, (), id="the threshold"),
        pytest.param({}, {"unhealthyConditions": []}, (), id="conditions"),
        pytest.param({}, {"pauseRequests": ["update"]}, (), id="pause requests"),
        pytest.param({}, {"healthyDelay": "-1s"}, (), id="healthyDelay"),
        pytest.param({}, {"stormCooldownDuration": "1m"}, (), id="stormCooldownDuration"),
    ],
)
def test_edit_during_a_remediation(
    old: dict[str, Any], new: dict[str, Any], refused: tuple[str, ...]
) -> None:
    assert updated(stored(REMEDIATING, **old), **new) == refused
    assert updated(stored(UNHEALTHY, **old), **new) == ()
    assert updated(stored(None, **old), **new) == ()


@pytest.mark.rule("NHC 1.1/webhook/edit during remediation")
def test_bad_edit_during_a_remediation_is_refused_for_both_reasons() -> None:
    assert updated(stored(REMEDIATING), selector={}) == ("Selector is mandatory", f"selector {EDIT}")


@pytest.mark.rule("NHC 1.1/webhook/delete during remediation", "NHC 2.7/check deleted")
def test_deletion_during_a_remediation_is_refused() -> None:
    assert deleted(stored(REMEDIATING)) == ("deletion prohibited due to running remediation",)
    assert deleted(stored(UNHEALTHY)) == ()
    assert deleted(stored()) == ()


def test_bad_check_may_be_deleted() -> None:
    assert deleted(stored(minHealthy=-1)) == ()
