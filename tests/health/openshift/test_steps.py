"""The steps of a Machine's remediation, and the steps that are not repeated (MHC A.1, MHC A.2.5)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.kinds.openshift.check import MachineHealthCheck
from health.kinds.openshift.machine import MachineTarget
from health.model.references import Step
from health.model.verdict import Health
from tests.support.values.builders import EMPTY_CONTEXT, NOW
from tests.support.values.openshift import (
    DELETE,
    EXTERNAL,
    MACHINE_SET,
    MARK,
    MARKED,
    OWNED_BY_NOBODY,
    REQUEST,
    TEMPLATE,
    check,
    target,
    with_lost_node,
    without_node,
)


@pytest.mark.rule("MHC A.2.5/no controller", "MHC A.2.5/template", "MHC A.2.5/mark")
@pytest.mark.rule("MHC A.1/annotation/remediation-strategy")
@pytest.mark.parametrize(
    ("spec", "annotations", "of_machine", "steps"),
    [
        pytest.param({}, {}, {}, (DELETE,), id="deleted"),
        pytest.param({}, {}, {"phase": "Failed"}, (DELETE,), id="failed, deleted"),
        pytest.param({}, {}, OWNED_BY_NOBODY, (), id="without a controller, left"),
        pytest.param({}, {}, {"owners": ()}, (), id="without an owner, left"),
        pytest.param({}, EXTERNAL, {}, (MARK,), id="marked"),
        pytest.param({}, EXTERNAL, OWNED_BY_NOBODY, (MARK,), id="without a controller, marked"),
        pytest.param({}, EXTERNAL, {"phase": "Failed"}, (DELETE,), id="failed, not marked but deleted"),
        pytest.param(
            {},
            EXTERNAL,
            {"phase": "Failed", "owners": ()},
            (),
            id="failed, not marked, and left without an owner",
        ),
        pytest.param(
            {},
            {"machine.openshift.io/remediation-strategy": "reboot"},
            {},
            (DELETE,),
            id="another strategy, deleted",
        ),
        pytest.param({"remediationTemplate": TEMPLATE}, {}, {}, (REQUEST,), id="a request"),
        pytest.param(
            {"remediationTemplate": TEMPLATE}, EXTERNAL, {}, (REQUEST,), id="not marked but a request"
        ),
        pytest.param(
            {"remediationTemplate": TEMPLATE},
            {},
            {"owners": ()},
            (REQUEST,),
            id="without an owner, a request",
        ),
        pytest.param(
            {"remediationTemplate": TEMPLATE}, {}, {"phase": "Failed"}, (REQUEST,), id="failed, a request"
        ),
        pytest.param(
            {"remediationTemplate": TEMPLATE}, {}, {"is_going": True}, (REQUEST,), id="deleting, a request"
        ),
    ],
)
def test_steps_of_a_remediation(
    spec: dict[str, Any], annotations: dict[str, str], of_machine: dict[str, Any], steps: tuple[Step, ...]
) -> None:
    assert check(annotations, **spec).steps_for(target(**of_machine)) == steps


@pytest.mark.rule("MHC A.1/remediationTemplate")
@pytest.mark.parametrize("namespace", [{}, {"namespace": "elsewhere"}, {"namespace": "no/namespace"}])
def test_template_is_in_the_namespace_of_the_check_whatever_it_says(namespace: dict[str, str]) -> None:
    assert check(remediationTemplate=TEMPLATE | namespace).steps == (REQUEST,)
    assert check().steps == ()


@pytest.mark.rule("MHC A.2.5/control plane")
@pytest.mark.parametrize("kind", ["MachineSet", "ControlPlaneMachineSet", "Custom"])
def test_machine_of_any_controller_is_deleted_also_one_of_the_control_plane(kind: str) -> None:
    labels = {"machine.openshift.io/cluster-api-machine-role": "master"}
    one = target(labels=labels, owners=(MACHINE_SET | {"kind": kind},))

    assert check().selects(one)
    assert check().steps_for(one) == (DELETE,)


@pytest.mark.rule("MHC A.2.5/deleting", "MHC A.1/annotation/external-remediation")
@pytest.mark.parametrize(
    ("spec", "annotations", "of_machine", "words"),
    [
        pytest.param({}, {}, {}, "", id="nothing"),
        pytest.param({}, {}, {"is_going": True}, "machine-1 is being deleted", id="deleted already"),
        pytest.param({}, {}, {"annotations": MARKED}, "", id="marked, but to be deleted"),
        pytest.param({}, {}, {"is_going": True, "owners": ()}, "", id="nothing would be done"),
        pytest.param(
            {},
            EXTERNAL,
            {"annotations": MARKED},
            "machine-1 is marked for external remediation",
            id="marked already",
        ),
        pytest.param({}, EXTERNAL, {"is_going": True}, "", id="deleted, but to be marked"),
        pytest.param(
            {},
            EXTERNAL,
            {"phase": "Failed", "is_going": True, "annotations": MARKED},
            "machine-1 is being deleted",
            id="failed",
        ),
        pytest.param(
            {"remediationTemplate": TEMPLATE}, {}, {"is_going": True}, "", id="a request is to be made"
        ),
    ],
)
def test_step_that_was_taken_on_a_machine_is_not_taken_again(
    spec: dict[str, Any], annotations: dict[str, str], of_machine: dict[str, Any], words: str
) -> None:
    assert check(annotations, **spec).under_way(target(**of_machine)) == words


MACHINES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "phase": st.sampled_from(["Running", "Failed"]),
        "is_going": st.booleans(),
        "annotations": st.sampled_from([{}, MARKED]),
        "owners": st.sampled_from([(), (MACHINE_SET,)]),
    }
)
TARGETS = st.builds(
    lambda make, of_machine: make(**of_machine),
    st.sampled_from([target, without_node, with_lost_node]),
    MACHINES,
)
CHECKS = st.sampled_from(
    [
        check(annotations, **spec)
        for annotations in ({}, EXTERNAL)
        for spec in ({}, {"remediationTemplate": TEMPLATE})
    ]
)


@given(parsed=CHECKS, one=TARGETS)
def test_unhealthy_machine_is_never_fit_and_nothing_is_under_way_but_what_a_step_does(
    parsed: MachineHealthCheck, one: MachineTarget
) -> None:
    assert not (parsed.is_unhealthy(one, EMPTY_CONTEXT) and parsed.counts_as_healthy(one, EMPTY_CONTEXT))
    assert parsed.is_unhealthy(one, EMPTY_CONTEXT) == (
        parsed.verdict(one, NOW, EMPTY_CONTEXT).health is not Health.HEALTHY
    )
    assert not parsed.under_way(one) or parsed.steps_for(one) in ((DELETE,), (MARK,))
    assert len(parsed.steps_for(one)) <= 1
