"""Which templates are valid, missing or unreadable, and which a NodeHealthCheck can work with."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.template_validity import Place, Template, TemplateKind, version_of
from health.cluster.cluster_context import CheckProblem
from health.kinds.nodehealthcheck.disabled import template_problem
from health.model.references import TemplateReference
from health.model.remediation_request import MULTIPLE_TEMPLATES
from tests.support.values.builders import EMPTY_CONTEXT, check, escalation
from tests.support.values.templates import kind, reference, template


@pytest.mark.rule("NHC 2.1/5")
@pytest.mark.parametrize(
    ("spec", "is_usable"),
    [
        pytest.param({"template": {"spec": {"a": 1}}}, True, id="with contents"),
        pytest.param({"template": {}}, True, id="a template without spec has empty contents"),
        pytest.param({}, False, id="no template"),
        pytest.param({"template": "text"}, False, id="template is text"),
        pytest.param({"template": {"spec": "text"}}, False, id="contents are text"),
        pytest.param("text", False, id="spec is text"),
    ],
)
def test_contents_of_a_template_are_known_without_being_kept(spec: Any, is_usable: bool) -> None:  # noqa: FBT001  a column of the table
    made = template(spec=spec)

    assert made.has_contents is is_usable
    assert "spec" not in made.model_dump()


def version(*references: TemplateReference, **kinds: TemplateKind) -> str:
    return version_of(references, lambda _, name: kinds.get(name))


def stored(**metadata: Any) -> TemplateKind:
    """One template, with more of its metadata than usual."""
    body = {"name": "reboot", "namespace": "ns", "uid": "uid-reboot", "generation": 1, **metadata}
    return kind(Template.model_validate({"metadata": body, "spec": {"template": {"spec": {}}}}))


VERSIONS = [
    pytest.param(stored(resourceVersion="8"), False, id="its status moved on"),
    pytest.param(stored(annotations={"note": "seen"}), False, id="annotated with what nobody goes by"),
    pytest.param(stored(generation=2), True, id="edited"),
    pytest.param(stored(uid="another"), True, id="made anew"),
    pytest.param(stored(annotations={MULTIPLE_TEMPLATES: ""}), True, id="takes several requests now"),
    pytest.param(kind(), True, id="deleted"),
    pytest.param(
        kind(rejection="the API server serves no kind Reboot"), True, id="its requests are not served"
    ),
    pytest.param(kind(refused={Place("ns", "reboot"): "no right"}), True, id="may not be read any more"),
    pytest.param(kind(unreadable={Place("ns", "reboot"): "spec: no object"}), True, id="cannot be read"),
]


@pytest.mark.parametrize(("after", "expected"), VERSIONS)
def test_version_of_templates_is_another_where_an_act_may_have_another_end(
    after: TemplateKind, *, expected: bool
) -> None:
    before = version(reference(), RebootTemplate=stored(resourceVersion="7"))

    assert before
    assert (version(reference(), RebootTemplate=after) != before) is expected


def test_version_of_templates_of_which_nothing_is_known_is_empty() -> None:
    assert not version(reference())
    assert not version(reference(), RebootTemplate=kind(unread=frozenset({Place("ns", "reboot")})))


def test_resource_version_stands_in_where_the_kind_counts_no_generations() -> None:
    before, after = (stored(generation=0, resourceVersion=number) for number in ("7", "8"))

    assert version(reference(), RebootTemplate=before) != version(reference(), RebootTemplate=after)


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
