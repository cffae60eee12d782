"""Label selectors mean what metav1.LabelSelector means."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from health.check.selector import LabelSelector

WORKER = {"role": "worker", "zone": "a"}
LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "x", "y"]))


def selector(**fields: Any) -> LabelSelector:
    return LabelSelector.model_validate(fields)


def expression(operator: str, *values: str, key: str = "role") -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@pytest.mark.rule("NHC 1.1/selector", "NHC 2.1/8")
@pytest.mark.parametrize(
    ("line", "labels", "is_selected"),
    [
        pytest.param(expression("In", "worker", "infra"), WORKER, True, id="In: one of the values"),
        pytest.param(expression("In", "infra"), WORKER, False, id="In: none of the values"),
        pytest.param(expression("In", "worker"), {}, False, id="In: without the key"),
        pytest.param(expression("In", ""), {}, False, id="In: an empty value is not a missing key"),
        pytest.param(expression("In", ""), {"role": ""}, True, id="In: an empty value"),
        pytest.param(expression("NotIn", "worker"), WORKER, False, id="NotIn: one of the values"),
        pytest.param(expression("NotIn", "infra"), WORKER, True, id="NotIn: none of the values"),
        pytest.param(expression("NotIn", "infra"), {}, True, id="NotIn: without the key"),
        pytest.param(expression("NotIn", ""), {}, True, id="NotIn: an empty value is not a missing key"),
        pytest.param(expression("Exists"), WORKER, True, id="Exists"),
        pytest.param(expression("Exists"), {"role": ""}, True, id="Exists: with an empty value"),
        pytest.param(expression("Exists"), {}, False, id="Exists: without the key"),
        pytest.param(expression("DoesNotExist"), WORKER, False, id="DoesNotExist"),
        pytest.param(expression("DoesNotExist"), {}, True, id="DoesNotExist: without the key"),
    ],
)
def test_operator(line: dict[str, Any], labels: Mapping[str, str], is_selected: bool) -> None:  # noqa: FBT001  a column of the table
    assert selector(matchExpressions=[line]).selects(labels) is is_selected


@pytest.mark.rule("NHC 1.1/selector")
def test_everything_that_is_asked_must_hold() -> None:
    both = selector(matchLabels={"role": "worker"}, matchExpressions=[expression("In", "a", key="zone")])

    assert both.selects(WORKER)
    assert not both.selects(WORKER | {"zone": "b"})
    assert not both.selects(WORKER | {"role": "infra"})
    assert not both.selects({"zone": "a"})


@pytest.mark.rule("NHC 1.1/selector")
def test_all_of_several_labels_must_hold() -> None:
    assert selector(matchLabels=WORKER).selects(WORKER | {"more": "of it"})
    assert not selector(matchLabels=WORKER).selects({"role": "worker"})


def test_empty_selector_says_so_and_selects_all() -> None:
    assert selector().is_empty
    assert selector(matchLabels={}, matchExpressions=[]).is_empty
    assert selector().selects({})
    assert not selector(matchLabels={"role": ""}).is_empty


@pytest.mark.parametrize(
    "key",
    [
        "role",
        "node-role.kubernetes.io/worker",
        "a_b.c-d",
        "A",
        "9",
        "x" * 63,
        f"{'.'.join(['p' * 63] * 3)}.{'p' * 61}/x",
    ],
)
def test_label_key_is_taken(key: str) -> None:
    assert selector(matchLabels={key: ""}).selects({key: ""})
    assert selector(matchExpressions=[expression("Exists", key=key)]).selects({key: ""})


@pytest.mark.rule("NHC 1.1/webhook/invalid selector")
@pytest.mark.parametrize(
    "key",
    [
        pytest.param("", id="nothing"),
        pytest.param("a b", id="a space"),
        pytest.param("-a", id="a hyphen before"),
        pytest.param("a.", id="a dot behind"),
        pytest.param("x" * 64, id="a name of 64 characters"),
        pytest.param("/a", id="an empty prefix"),
        pytest.param("example.com/", id="an empty name"),
        pytest.param("a/b/c", id="two slashes"),
        pytest.param("Example.com/a", id="a prefix with capitals"),
        pytest.param("a..b/c", id="a prefix with an empty part"),
        pytest.param("p" * 254 + "/a", id="a prefix of 254 characters"),
        pytest.param("a\n", id="a line end"),
        pytest.param("é", id="a letter with an accent"),
    ],
)
def test_bad_key_is_refused_by_name(key: str) -> None:
    for fields in ({"matchLabels": {key: "v"}}, {"matchExpressions": [expression("Exists", key=key)]}):
        with pytest.raises(ValidationError, match="is not a label key") as caught:
            selector(**fields)
        assert repr(key) in caught.value.errors()[0]["msg"]


@pytest.mark.rule("NHC 1.1/webhook/invalid selector")
@pytest.mark.parametrize("value", ["a b", "-a", "a_", "x" * 64, "a\n", "a/b", "é"])
def test_bad_value_is_refused_by_name(value: str) -> None:
    for fields in ({"matchLabels": {"a": value}}, {"matchExpressions": [expression("In", "b", value)]}):
        with pytest.raises(ValidationError, match="is not a label value") as caught:
            selector(**fields)
        assert repr(value) in caught.value.errors()[0]["msg"]


@pytest.mark.rule("NHC 1.1/webhook/invalid selector")
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param(expression("In"), "In of role needs values", id="In without values"),
        pytest.param(expression("NotIn"), "NotIn of role needs values", id="NotIn without values"),
        pytest.param(expression("Exists", "a"), "Exists of role takes no values", id="Exists with values"),
        pytest.param(
            expression("DoesNotExist", "a"),
            "DoesNotExist of role takes no values",
            id="DoesNotExist with values",
        ),
        pytest.param(expression("Gt", "1"), "'In', 'NotIn', 'Exists' or 'DoesNotExist'", id="unknown"),
        pytest.param(expression("in", "a"), "'In', 'NotIn', 'Exists' or 'DoesNotExist'", id="small letters"),
        pytest.param({"key": "role"}, "Field required", id="no operator"),
        pytest.param({"operator": "Exists"}, "Field required", id="no key"),
    ],
)
def test_expression_that_says_nothing_sensible_is_refused(line: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        selector(matchExpressions=[line])
    assert problem in caught.value.errors()[0]["msg"]


@pytest.mark.rule("NHC 1.1/selector", "NHC 2.1/8")
@given(labels=LABELS, wanted=LABELS)
def test_match_labels_is_in_of_one_value(labels: dict[str, str], wanted: dict[str, str]) -> None:
    lines = [expression("In", value, key=key) for key, value in wanted.items()]

    assert selector(matchLabels=wanted).selects(labels) == selector(matchExpressions=lines).selects(labels)


@given(labels=LABELS, values=st.lists(st.sampled_from(["", "x", "y"]), min_size=1))
def test_opposites_never_agree(labels: dict[str, str], values: list[str]) -> None:
    for one, other in (
        (expression("In", *values, key="a"), expression("NotIn", *values, key="a")),
        (expression("Exists", key="a"), expression("DoesNotExist", key="a")),
    ):
        assert selector(matchExpressions=[one]).selects(labels) is not (
            selector(matchExpressions=[other]).selects(labels)
        )
