"""The CRD and the parser of NodeHealthCheck agree: what the API server takes is what the detector can read.

The oracle is a real kube-apiserver with the CRD of deploy/, asked by server-side dry runs.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devcluster.control_plane import ControlPlane
from health.health_check import InvalidCheckError
from health.nodehealthcheck import NodeHealthCheck
from kube.client import Client
from kube.errors import Invalid
from kube.resource import NODE_HEALTH_CHECKS, Object
from kube.transport import Transport
from tests.devcluster.kubectl import kubectl
from tests.health.samples import TEMPLATE, check_object, escalation

pytestmark = pytest.mark.cluster

PATH = NODE_HEALTH_CHECKS.path()
DRY_RUN = (("dryRun", "All"),)
READY = {"type": "Ready", "status": "False", "duration": "300s"}
LONG_PREFIX = ".".join(["p" * 63] * 4)
DELETION = TEMPLATE | {"kind": "machineDeletionRemediationTemplate"}


@pytest.fixture
async def transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        yield connected


async def answer(transport: Transport, raw: Object) -> str:
    """Why the API server refuses `raw`, "" if it takes it."""
    body = {**raw, "metadata": {"name": raw["metadata"]["name"]}}
    try:
        await transport.request("POST", PATH, query=DRY_RUN, body=body)
    except Invalid as error:
        return error.message
    return ""


def reading(raw: Object) -> str:
    """Why the parser refuses `raw`, "" if it takes it."""
    try:
        NodeHealthCheck.parse(raw)
    except InvalidCheckError as error:
        return str(error)
    return ""


LEFT_OUT = st.none()
DURATIONS = st.sampled_from(
    [
        "300s", "1h30m", "0s", "1.5m", "7µs", "60s", "1m", "59s", "59.999999999s", "60000ms", "0.5m",
        "2562047h47m16.854775807s", "2562047h47m16.854775808s", "9223372036854775807ns",
        "9223372036854775808ns", "99999999999h", "-5m", "", "5", "5 m", "5d", ".5s", "5μs", "1m\n",
    ]
)  # fmt: skip
GOOD_DURATIONS = st.sampled_from(["300s", "1h30m", "60s", "90s"])
AMOUNTS = st.sampled_from(
    [
        0, 1, 7, 2**31 - 1, 2**31, -1, -(2**31), "0", "3", "0003", "12345678901", "0%", "7%", "07%", "99%",
        "100%", "101%", "007%", "-3", "-3%", "3.5%", "%", "", " 3", "3\n", True, 3.5, [], {},
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        "role", "example.com/role", "A_b.c-d", "9", "x" * 63, "x" * 64, "", "a b", "-a", "a.", "/a", "a/",
        "a/b/c", "Example.com/a", "a..b/c", LONG_PREFIX[:253] + "/a", LONG_PREFIX[:254] + "/a", "é", "a\n",
    ]
)  # fmt: skip
VALUES = st.sampled_from(["worker", "", "A_b.c-9", "x" * 63, "x" * 64, "a b", "-a", "a.", "a/b", "é", "a\n"])
OPERATORS = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "in", "Gt", ""])
GOOD_EXPRESSIONS = st.sampled_from(
    [
        {"key": "role", "operator": "In", "values": ["worker", ""]},
        {"key": "role", "operator": "NotIn", "values": ["infra"]},
        {"key": "role", "operator": "Exists"},
        {"key": "role", "operator": "DoesNotExist", "values": []},
    ]
)
EXPRESSIONS = GOOD_EXPRESSIONS | st.fixed_dictionaries(
    {}, optional={"key": KEYS, "operator": OPERATORS, "values": st.lists(VALUES, max_size=2)}
)
SELECTORS = st.just({"matchLabels": {"role": "worker"}}) | st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(KEYS, VALUES, max_size=2),
        "matchExpressions": st.lists(EXPRESSIONS, max_size=2),
    },
)
TEXTS = st.sampled_from(["Ready", "False", "Unknown", ""])
GOOD_CONDITIONS = st.fixed_dictionaries(
    {"type": st.sampled_from(["Ready", "A"]), "status": st.just("False"), "duration": GOOD_DURATIONS}
)
CONDITIONS = GOOD_CONDITIONS | st.fixed_dictionaries(
    {}, optional={"type": TEXTS, "status": TEXTS, "duration": DURATIONS}
)
BAD_TEMPLATES = st.sampled_from(
    [
        {key: value for key, value in TEMPLATE.items() if key != "namespace"},
        {key: value for key, value in TEMPLATE.items() if key != "kind"},
        {key: value for key, value in TEMPLATE.items() if key != "name"},
        {key: value for key, value in TEMPLATE.items() if key != "apiVersion"},
        TEMPLATE | {"name": ""},
        TEMPLATE | {"kind": ""},
        TEMPLATE | {"uid": "a", "resourceVersion": "1", "fieldPath": "spec"},
        {},
    ]
)
TEMPLATES = st.sampled_from([TEMPLATE, DELETION]) | BAD_TEMPLATES
ORDERS = st.sampled_from([0, 1, 2, -1, "1", 1.5, True])
STEPS = st.builds(escalation, st.integers(0, 3), GOOD_DURATIONS) | st.fixed_dictionaries(
    {}, optional={"remediationTemplate": TEMPLATES, "order": ORDERS, "timeout": DURATIONS}
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "selector": LEFT_OUT | SELECTORS,
    "unhealthyConditions": LEFT_OUT | st.lists(CONDITIONS, max_size=3),
    "minHealthy": LEFT_OUT | AMOUNTS,
    "maxUnhealthy": LEFT_OUT | AMOUNTS,
    "stormCooldownDuration": LEFT_OUT | DURATIONS,
    "remediationTemplate": LEFT_OUT | TEMPLATES,
    "escalatingRemediations": LEFT_OUT | st.lists(STEPS, max_size=3),
    "pauseRequests": LEFT_OUT | st.lists(st.sampled_from(["update", "", 1]), max_size=2),
    "healthyDelay": LEFT_OUT | DURATIONS | DURATIONS.map("-{}".format),
}


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """A good spec of which some fields are drawn anew: half of them would be refused anyway, were it all."""
    spec: dict[str, Any] = {}
    if draw(st.booleans()):
        spec |= {"minHealthy": None, "maxUnhealthy": draw(st.sampled_from([1, "40%", "3", 0]))}
    if draw(st.booleans()):
        steps = st.lists(
            st.builds(escalation, st.integers(0, 9), GOOD_DURATIONS),
            min_size=1,
            max_size=3,
        )
        spec |= {"remediationTemplate": None, "escalatingRemediations": draw(steps)}
    names = draw(st.sets(st.sampled_from(sorted(FIELDS)), max_size=2))
    return spec | {name: draw(FIELDS[name]) for name in sorted(names)}


EXAMPLES_AT_ONCE = 10


@settings(
    max_examples=40,
    deadline=None,
    # The transport is only a connection: nothing of one example stays in it.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=st.lists(specs(), min_size=EXAMPLES_AT_ONCE, max_size=EXAMPLES_AT_ONCE))
async def test_api_server_takes_exactly_what_the_parser_takes(
    transport: Transport, drawn: list[dict[str, Any]]
) -> None:
    raws = [check_object(**spec) for spec in drawn]
    answers = await asyncio.gather(*(answer(transport, raw) for raw in raws))

    for raw, refused in zip(raws, answers, strict=True):
        assert bool(refused) == bool(reading(raw)), (raw["spec"], refused, reading(raw))


CLASSIC = {"minHealthy": None, "maxUnhealthy": 1}
REFUSALS = [
    pytest.param(
        {"maxUnhealthy": 1}, "minHealthy and maxUnhealthy cannot be specified at the same time", id="both"
    ),
    pytest.param(
        {"minHealthy": None}, "one of minHealthy and maxUnhealthy should be specified", id="neither"
    ),
    pytest.param({"minHealthy": -3}, "minHealthy must not be negative: -3", id="minHealthy < 0"),
    pytest.param(
        {"minHealthy": None, "maxUnhealthy": -3},
        "maxUnhealthy must not be negative: -3",
        id="maxUnhealthy < 0",
    ),
    pytest.param(
        CLASSIC | {"remediationTemplate": DELETION},
        "maxUnhealthy can't be used with MachineDeletionRemediationTemplate",
        id="deletion of machines",
    ),
    pytest.param(
        CLASSIC
        | {
            "remediationTemplate": None,
            "escalatingRemediations": [escalation(1) | {"remediationTemplate": DELETION}],
        },
        "maxUnhealthy can't be used with MachineDeletionRemediationTemplate escalating remediation",
        id="deletion of machines as a step",
    ),
    pytest.param({"selector": None}, "Selector is mandatory", id="no selector"),
    pytest.param({"selector": {}}, "Selector is mandatory", id="an empty selector"),
    pytest.param(
        {"selector": {"matchLabels": {"a b": "c"}}}, "Invalid selector: ", id="a bad key of matchLabels"
    ),
    pytest.param(
        {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
        "Invalid selector: ",
        id="In without values",
    ),
    pytest.param(
        {"remediationTemplate": None},
        "Either RemediationTemplate or at least one EscalatingRemediations must be set",
        id="no template",
    ),
    pytest.param(
        {"escalatingRemediations": [escalation(1)]},
        "RemediationTemplate and EscalatingRemediations usage is mutual exclusive",
        id="both templates",
    ),
    pytest.param(
        {"remediationTemplate": None, "escalatingRemediations": [escalation(4), escalation(4)]},
        "EscalatingRemediation Order must be unique",
        id="an order twice",
    ),
    pytest.param(
        {"remediationTemplate": None, "escalatingRemediations": [escalation(4, "59s")]},
        "EscalatingRemediation Timeout must be at least one minute: found timeout 59s",
        id="a timeout under a minute",
    ),
]


@pytest.mark.parametrize(("spec", "text"), REFUSALS)
async def test_refusal_is_told_in_the_words_of_the_reference(
    transport: Transport, spec: dict[str, Any], text: str
) -> None:
    raw = check_object(**spec)

    assert text in await answer(transport, raw)
    assert text in reading(raw)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"unhealthyConditions": []}, id="no conditions"),
        pytest.param(
            {"unhealthyConditions": [READY | {"type": f"T{number}"} for number in range(500)]},
            id="500 conditions",
        ),
        pytest.param(
            {"selector": {"matchLabels": {f"l{number}": "" for number in range(500)}}}, id="500 labels"
        ),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}] * 500}},
            id="500 expressions",
        ),
        pytest.param(
            {
                "selector": {
                    "matchExpressions": [
                        {"key": "a", "operator": "In", "values": [f"v{number}" for number in range(10_000)]}
                    ]
                }
            },
            id="10,000 values",
        ),
        pytest.param(
            {"remediationTemplate": None, "escalatingRemediations": [escalation(n) for n in range(128)]},
            id="128 steps",
        ),
        pytest.param({"pauseRequests": ["x" * 10_000] * 100}, id="long pause requests"),
        pytest.param({"healthyDelay": "1s" * 128}, id="a long duration"),
        pytest.param({"minHealthy": "0" * 200 + "3"}, id="a long number"),
    ],
)
async def test_limits_are_far_above_what_anybody_writes(transport: Transport, spec: dict[str, Any]) -> None:
    raw = check_object(**spec)

    assert await answer(transport, raw) == ""
    assert reading(raw) == ""


async def test_defaults_of_the_schema_are_those_of_the_parser(transport: Transport) -> None:
    body = check_object() | {"metadata": {"name": "defaults"}}
    stored = json.loads(await transport.request("POST", PATH, query=DRY_RUN, body=body))

    assert NodeHealthCheck.parse(stored).spec == NodeHealthCheck.parse(check_object()).spec


@pytest.mark.parametrize(
    ("unhealthy", "row"),
    [
        pytest.param(0, "Enabled 5 5 0", id="none"),
        pytest.param(1, "Enabled 5 4 1", id="one"),
        pytest.param(2, "Enabled 5 3 2", id="two"),
    ],
)
async def test_kubectl_shows_the_numbers(
    transport: Transport, control_plane: ControlPlane, unhealthy: int, row: str
) -> None:
    client = Client(transport)
    name = f"columns-{unhealthy}"
    await client.create(NODE_HEALTH_CHECKS, check_object() | {"metadata": {"name": name}})
    status = {
        "phase": "Enabled",
        "observedNodes": 5,
        "healthyNodes": 5 - unhealthy,
        "unhealthyNodeCount": unhealthy,
        "unhealthyNodes": [{"name": f"node-{number}"} for number in range(unhealthy)],
        "reason": "NHC is enabled, no ongoing remediation",
    }
    try:
        await client.merge_patch(NODE_HEALTH_CHECKS, name, {"status": status}, subresource="status")
        shown = await kubectl(control_plane.kubeconfig, "get", "nhc", name)
        wide = await kubectl(control_plane.kubeconfig, "get", "nhc", name, "--output=wide")
    finally:
        await client.delete(NODE_HEALTH_CHECKS, name)

    header, line = shown[1].splitlines()
    assert header.split() == ["NAME", "PHASE", "OBSERVED", "HEALTHY", "UNHEALTHY", "AGE"]
    assert line.split()[:-1] == [name, *row.split()]
    assert "REASON" in wide[1]
    assert "no ongoing remediation" in wide[1]
