"""Specs of NodeHealthCheck, good and bad: values to try in every field, and strategies that combine them."""

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from tests.support.values.builders import TEMPLATE, escalation

READY = {"type": "Ready", "status": "False", "duration": "300s"}
DELETION = TEMPLATE | {"kind": "machineDeletionRemediationTemplate"}
LONG_PREFIX = ".".join(["p" * 63] * 4)

DURATIONS = [
    "300s", "1h30m", "0s", "1.5m", "7µs", "60s", "1m", "59s", "59.999999s", "60000ms", "0.5m", "1s1s",
    "2562047h47m16.8s", "2562047h47m16.9s", "9223372036754775807ns",
    "99s", "100s", "059s", "0.9m59ms", "59s999999us", "0000000000061s", "30s30000ms", "60000000us",
    "59999999µs", "100000000us", "59999999000ns", "1h0s", "0h59s", "0.1m", "10.1m", "99999ms", "100000ms",
    "0.01h", "0.02h", "9223372036954775808ns", "99999999999h", "-5m", "", "5", "5 m", "5d", ".5s", "5μs",
    "1m\n", 300,
]  # fmt: skip
AMOUNTS = [
    0, 1, 7, 2**31 - 1, 2**31, 2**63, -1, -(2**31), "0", "3", "0003", "12345678901", "0%", "7%", "07%", "99%",
    "100%", "101%", "007%", "-3", "-3%", "3.5%", "%", "", " 3", "3\n", True, 3.5, 3.0, [], {},
]  # fmt: skip
KEYS = [
    "role", "example.com/role", "A_b.c-d", "9", "x" * 63, "x" * 64, "", "a b", "-a", "a.", "/a", "a/",
    "a/b/c", "Example.com/a", "a..b/c", LONG_PREFIX[:253] + "/a", LONG_PREFIX[:254] + "/a", "é", "a\n",
    ".".join(["p" * 63] * 3) + "." + "p" * 61 + "/a", ".".join(["p" * 63] * 3) + "." + "p" * 62 + "/a",
]  # fmt: skip
VALUES = ["worker", "", "A_b.c-9", "x" * 63, "x" * 64, "a b", "-a", "a.", "a/b", "é", "a\n", 1, True]
OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "in", "Gt", ""]
TEXTS = ["Ready", "False", "Unknown", "", "a b", 1]
ORDERS = [0, 1, 2, -1, 2**40, "1", 1.5, 1.0, True, []]
TEMPLATES = [
    TEMPLATE,
    DELETION,
    {key: value for key, value in TEMPLATE.items() if key != "namespace"},
    {key: value for key, value in TEMPLATE.items() if key != "kind"},
    {key: value for key, value in TEMPLATE.items() if key != "name"},
    {key: value for key, value in TEMPLATE.items() if key != "apiVersion"},
    TEMPLATE | {"name": ""},
    TEMPLATE | {"kind": ""},
    TEMPLATE | {"name": 1},
    TEMPLATE | {"uid": "a", "resourceVersion": "1", "fieldPath": "spec"},
    {},
    *(
        TEMPLATE | {"apiVersion": version}
        for version in ["", "v1", "a/b/c", "a/", "/v1", "../v1", "a b/v1", "v1\n"]
    ),
    *(TEMPLATE | {"kind": kind} for kind in ["Template", "Reboot", "template"]),
    *(TEMPLATE | {"name": name} for name in [".", "..", "a/b", "a%2fb", "a.b", "...a", "\n"]),
    *(TEMPLATE | {"namespace": name} for name in ["", ".", "..", "a/b", "openshift-machine-api"]),
]


def single_changes() -> Iterator[dict[str, Any]]:
    """A good spec with every value in every field, one at a time."""
    for amount in AMOUNTS:
        yield {"minHealthy": amount}
        yield {"minHealthy": None, "maxUnhealthy": amount}
    for duration in DURATIONS:
        yield {"stormCooldownDuration": duration}
        yield {"healthyDelay": duration}
        yield {"healthyDelay": f"-{duration}"}
        yield {"unhealthyConditions": [READY | {"duration": duration}]}
        yield _one_step(escalation(1) | {"timeout": duration})
    for text in TEXTS:
        yield {"unhealthyConditions": [READY | {"type": text}]}
        yield {"unhealthyConditions": [READY | {"status": text}]}
        yield {"pauseRequests": [text]}
    for template in TEMPLATES:
        yield {"remediationTemplate": template}
        yield _one_step(escalation(1) | {"remediationTemplate": template})
    for order in ORDERS:
        yield _one_step(escalation(1) | {"order": order})
    yield from _selectors()


def _one_step(step: dict[str, Any]) -> dict[str, Any]:
    return {"remediationTemplate": None, "escalatingRemediations": [step]}


def _selectors() -> Iterator[dict[str, Any]]:
    for key in KEYS:
        yield {"selector": {"matchLabels": {key: "a"}}}
        yield {"selector": {"matchExpressions": [{"key": key, "operator": "Exists"}]}}
    for value in VALUES:
        yield {"selector": {"matchLabels": {"a": value}}}
        yield {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": [value]}]}}
    for operator in OPERATORS:
        yield {"selector": {"matchExpressions": [{"key": "a", "operator": operator}]}}
        yield {"selector": {"matchExpressions": [{"key": "a", "operator": operator, "values": []}]}}
        yield {"selector": {"matchExpressions": [{"key": "a", "operator": operator, "values": ["b"]}]}}


_EXPRESSIONS = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from(KEYS),
        "operator": st.sampled_from(OPERATORS),
        "values": st.lists(st.sampled_from(VALUES), max_size=2),
    },
)
_SELECTORS = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2),
        "matchExpressions": st.lists(_EXPRESSIONS, max_size=2),
    },
)
_GOOD_DURATIONS = st.sampled_from(["300s", "1h30m", "60s", "90s"])
_GOOD_CONDITIONS = st.builds(
    lambda type_, duration: {"type": type_, "status": "False", "duration": duration},
    st.sampled_from(["Ready", "A", "B"]),
    _GOOD_DURATIONS,
)
_GOOD_STEPS = st.builds(escalation, st.integers(0, 5), _GOOD_DURATIONS)
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "selector": st.none() | _SELECTORS,
    "unhealthyConditions": st.none() | st.lists(_GOOD_CONDITIONS, max_size=3),
    "minHealthy": st.sampled_from([None, *AMOUNTS]),
    "maxUnhealthy": st.sampled_from([None, *AMOUNTS]),
    "stormCooldownDuration": st.sampled_from([None, *DURATIONS]),
    "remediationTemplate": st.sampled_from([None, *TEMPLATES]),
    "escalatingRemediations": st.none() | st.lists(_GOOD_STEPS, max_size=3),
    "pauseRequests": st.none() | st.lists(st.sampled_from(["update", ""]), max_size=2),
    "healthyDelay": st.sampled_from([None, *DURATIONS]),
}


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """A good spec, of which up to three fields are drawn anew: if all were, nearly all would be refused."""
    spec: dict[str, Any] = {}
    if draw(st.booleans()):
        spec |= {"minHealthy": None, "maxUnhealthy": draw(st.sampled_from([1, "40%", "3", 0]))}
    if draw(st.booleans()):
        steps = draw(st.lists(_GOOD_STEPS, min_size=1, max_size=3))
        spec |= {"remediationTemplate": None, "escalatingRemediations": steps}
    names = draw(st.sets(st.sampled_from(sorted(_FIELDS)), max_size=3))
    return spec | {name: draw(_FIELDS[name]) for name in sorted(names)}
