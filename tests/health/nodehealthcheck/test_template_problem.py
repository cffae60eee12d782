"""Which templates a NodeHealthCheck can work with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.template_validity import Place, TemplateKind
from health.cluster.cluster_context import CheckProblem
from health.kinds.nodehealthcheck.disabled import template_problem
from health.model.references import TemplateReference
from tests.support.values.builders import EMPTY_CONTEXT, check, escalation
from tests.support.values.templates import kind, reference, template

NOT_FOUND, INVALID = "RemediationTemplateNotFound", "RemediationTemplateInvalid"
FORBIDDEN = "RemediationTemplateForbidden"


def problem(*references: TemplateReference, **kinds: TemplateKind) -> CheckProblem | None:
    return template_problem(references, lambda _, name: kinds.get(name))


@pytest.mark.rule("NHC 2.1/5")
def test_template_that_is_there_is_no_problem() -> None:
    assert problem(reference(), RebootTemplate=kind(template())) is None


@pytest.mark.rule("NHC 2.1/5")
def test_template_of_a_cluster_scoped_kind_is_found_whatever_namespace_is_named() -> None:
    scoped = kind(template(namespace=""), is_namespaced=False)

    assert problem(reference(namespace="elsewhere"), RebootTemplate=scoped) is None
    assert problem(reference(namespace=""), RebootTemplate=scoped) is None


PROBLEMS = [
    pytest.param(
        kind(template(), request_rejection="The API server serves no kind Reboot in example.com/v1."),
        reference(),
        NOT_FOUND,
        'Remediation template not found: "The API server serves no kind Reboot in example.com/v1."',
        id="kind of requests not served",
    ),
    pytest.param(
        kind(template("another")),
        reference(),
        NOT_FOUND,
        'Remediation template not found: "RebootTemplate/ns/reboot not found"',
        id="not there",
    ),
    pytest.param(
        kind(template()),
        reference(namespace=""),
        NOT_FOUND,
        'Remediation template not found: "RebootTemplate/reboot not found: '
        'its kind is namespaced, and the check names no namespace"',
        id="no namespace",
    ),
    pytest.param(
        TemplateKind(rejection="The API server serves no kind RebootTemplate in example.com/v1."),
        reference(),
        NOT_FOUND,
        'Remediation template not found: "The API server serves no kind RebootTemplate in example.com/v1."',
        id="kind unknown",
    ),
    pytest.param(
        kind(template(spec={})),
        reference(),
        INVALID,
        'Remediation template is invalid: "invalid template ns/reboot, didn\'t find spec.template.spec"',
        id="no spec.template",
    ),
    pytest.param(
        kind(refused={Place("ns", "reboot"): "templates is forbidden"}),
        reference(),
        FORBIDDEN,
        'Remediation template may not be read: "templates is forbidden"',
        id="may not be read",
    ),
    pytest.param(
        kind(template(), request_rejection="reboots is forbidden", are_requests_refused=True),
        reference(),
        FORBIDDEN,
        'Remediation template may not be read: "reboots is forbidden"',
        id="its requests may not be read",
    ),
    pytest.param(
        kind(unreadable={Place("ns", "reboot"): "metadata.uid: is missing"}),
        reference(),
        INVALID,
        "Remediation template is invalid: "
        '"RebootTemplate/ns/reboot cannot be read: metadata.uid: is missing"',
        id="cannot be read",
    ),
]


@pytest.mark.rule(
    "NHC 1.3/Disabled/RemediationTemplateNotFound",
    "NHC 1.3/Disabled/RemediationTemplateInvalid",
    "NHC 2.1/5",
    "rule 8",
)
@pytest.mark.parametrize(("known", "named", "reason", "message"), PROBLEMS)
def test_problem_is_reported_in_the_words_of_the_operator(
    known: TemplateKind, named: TemplateReference, reason: str, message: str
) -> None:
    assert problem(named, RebootTemplate=known) == CheckProblem(reason, message)


@pytest.mark.rule("NHC 2.1/5", "NHC 1.3/Disabled/RemediationTemplateInvalid")
def test_metal3_template_must_be_in_the_namespace_of_the_machine_api() -> None:
    name = "Metal3RemediationTemplate"
    elsewhere = kind(template("reboot", "default"))
    at_home = kind(template("reboot", "openshift-machine-api"))

    assert problem(reference(namespace="default", kind=name), **{name: elsewhere}) == CheckProblem(
        INVALID,
        "Metal3RemediationTemplate must be in the openshift-machine-api namespace. "
        "It is configured to be in namespace: default",
    )
    assert problem(reference(namespace="openshift-machine-api", kind=name), **{name: at_home}) is None


@pytest.mark.rule("NHC 2.1/5")
def test_template_that_was_never_looked_at_is_no_problem_yet() -> None:
    assert problem(reference()) is None


@pytest.mark.rule("NHC 2.1/5")
def test_template_that_was_never_looked_at_is_no_problem_beside_one_that_is_missing() -> None:
    known = kind(unread=frozenset({Place("ns", "hard")}))

    assert problem(reference("hard"), RebootTemplate=known) is None
    assert problem(reference("hard"), reference("fast"), RebootTemplate=known) == CheckProblem(
        NOT_FOUND, 'Remediation template not found: "RebootTemplate/ns/fast not found"'
    )


@pytest.mark.rule("NHC 2.1/5")
def test_first_bad_template_in_the_order_of_the_spec_decides_not_that_of_the_escalation() -> None:
    listed = check(
        remediationTemplate=None,
        escalatingRemediations=[
            escalation(2, kind="PowerTemplate", name="power"),
            escalation(1, kind="RebootTemplate", name="reboot"),
        ],
    )
    found = listed.problem(EMPTY_CONTEXT, lambda *_: kind())

    assert found is not None
    assert "PowerTemplate/remediators/power" in found.message


TWICE = (reference("fast"), reference("hard"))


@pytest.mark.rule("rule 18/annotation")
def test_steps_of_one_kind_need_the_annotation_on_every_template_of_that_kind() -> None:
    used = template("fast", supports=True), template("hard", supports=True)
    other = template("unused", "elsewhere")

    assert problem(*TWICE, RebootTemplate=kind(*used)) is None
    assert problem(*TWICE, RebootTemplate=kind(*used, other)) == CheckProblem(
        INVALID,
        "Using multiple templates of same kind is not supported for this template: "
        "duplicate template kind: RebootTemplate; the annotation "
        "remediation.medik8s.io/multiple-templates-support on every template of the kind allows it",
    )


@pytest.mark.rule("rule 18/annotation")
def test_one_step_of_a_kind_needs_no_annotation() -> None:
    power = reference("power", kind="PowerTemplate")

    assert (
        problem(reference(), power, RebootTemplate=kind(template()), PowerTemplate=kind(template("power")))
        is None
    )


@pytest.mark.rule("rule 18/annotation")
@given(st.lists(st.booleans(), min_size=2, max_size=6))
def test_steps_of_one_kind_are_allowed_exactly_when_all_templates_support_it(supports: list[bool]) -> None:
    templates = [template(f"t{number}", supports=one) for number, one in enumerate(supports)]
    first_two = (reference("t0"), reference("t1"))

    assert (problem(*first_two, RebootTemplate=kind(*templates)) is None) is all(supports)
