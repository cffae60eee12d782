"""Which templates are valid, missing or unreadable."""

from typing import Any

import pytest

from health.check.template_validity import Place, Template, TemplateKind, version_of
from health.model.references import TemplateReference
from health.model.remediation_request import MULTIPLE_TEMPLATES
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
