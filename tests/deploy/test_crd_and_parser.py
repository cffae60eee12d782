"""The CRD and the parser of NodeHealthCheck agree: what the API server takes is what the detector can read.

The oracle is a real kube-apiserver with the CRD of deploy/, asked by server-side dry runs.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.model.invalid_check import InvalidCheckError
from kube.errors import Invalid
from kube.resource import Object
from kube.transport import Transport
from tests.deploy.nodehealthcheck_specs import DELETION, DURATIONS, READY, single_changes, specs
from tests.support.values.builders import check_object, escalation

pytestmark = pytest.mark.cluster

PATH = NODE_HEALTH_CHECKS.path()
DRY_RUN = (("dryRun", "All"),)
OVERFLOW = "longer than any clock can hold"
AT_ONCE = 20
"""An API server on a busy machine does not answer hundreds of questions in the time that each has."""


@pytest.fixture(scope="module")
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


async def disagreements(
    transport: Transport, changes: Sequence[dict[str, Any]]
) -> list[tuple[dict[str, Any], str, str]]:
    """The specs that one of the two takes and the other refuses, and what each says.

    All but durations that overflow: the schema lets them through, and the check is flagged (rule 44).
    """
    raws = [check_object(**change) for change in changes]
    free = asyncio.Semaphore(AT_ONCE)

    async def asked(raw: Object) -> str:
        async with free:
            return await answer(transport, raw)

    answers = await asyncio.gather(*map(asked, raws))
    said = [(raw["spec"], refused, reading(raw)) for raw, refused in zip(raws, answers, strict=True)]
    return [
        (spec, refused, unread)
        for spec, refused, unread in said
        if bool(refused) != bool(unread) and OVERFLOW not in unread
    ]


@pytest.mark.rule(
    "NHC 1.1/unhealthyConditions",
    "NHC 1.1/minHealthy",
    "NHC 1.1/maxUnhealthy",
    "rule 44",
    "rule 44/duration",
)
async def test_api_server_and_parser_agree_on_every_value_in_every_field(transport: Transport) -> None:
    assert await disagreements(transport, list(single_changes())) == []


@settings(max_examples=30)  # of ten specs each
@given(drawn=st.lists(specs(), min_size=10, max_size=10))
async def test_api_server_and_parser_agree_on_whole_specs(
    transport: Transport, drawn: list[dict[str, Any]]
) -> None:
    assert await disagreements(transport, drawn) == []


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
        {"selector": {"matchLabels": {"a": "b c"}}}, "Invalid selector: ", id="a bad value of matchLabels"
    ),
    pytest.param(
        {"selector": {"matchExpressions": [{"key": "a b", "operator": "Exists"}]}},
        "Invalid selector: ",
        id="a bad key of an expression",
    ),
    pytest.param(
        {"selector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}},
        "Invalid selector: ",
        id="no operator",
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
        "EscalatingRemediation Order must be unique: found duplicate order 4",
        id="an order twice",
    ),
    pytest.param(
        {"remediationTemplate": None, "escalatingRemediations": [escalation(4, "59s")]},
        "EscalatingRemediation Timeout must be at least one minute: found timeout 59s",
        id="a timeout under a minute",
    ),
]


@pytest.mark.rule(
    "NHC 1.1/webhook/both thresholds",
    "NHC 1.1/webhook/no threshold",
    "NHC 1.1/webhook/negative threshold",
    "NHC 1.1/webhook/deletion of Machines",
    "NHC 1.1/webhook/no selector",
    "NHC 1.1/webhook/invalid selector",
    "NHC 1.1/webhook/no template",
    "NHC 1.1/webhook/both templates",
    "NHC 1.1/webhook/duplicate order",
    "NHC 1.1/webhook/short timeout",
)
@pytest.mark.parametrize(("spec", "text"), REFUSALS)
async def test_refusal_has_the_words_of_the_operator(
    transport: Transport, spec: dict[str, Any], text: str
) -> None:
    raw = check_object(**spec)

    assert text in await answer(transport, raw)
    assert text in reading(raw)


@pytest.mark.parametrize("duration", [text for text in DURATIONS if isinstance(text, str)])
async def test_timeout_is_refused_for_one_reason_alone(transport: Transport, duration: str) -> None:
    spec = {"remediationTemplate": None, "escalatingRemediations": [escalation(1, duration)]}
    refused = await answer(transport, check_object(**spec))

    assert "is invalid: [" not in refused  # how the API server lists several reasons


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
async def test_limits_are_far_above_usual_checks(transport: Transport, spec: dict[str, Any]) -> None:
    raw = check_object(**spec)

    assert await answer(transport, raw) == ""
    assert reading(raw) == ""


@pytest.mark.rule("NHC 1.1/webhook/several")
async def test_everything_that_is_wrong_with_a_check_is_reported_at_once(transport: Transport) -> None:
    raw = check_object() | {"spec": {}}
    told, read = await answer(transport, raw), reading(raw)
    for text in (
        "one of minHealthy and maxUnhealthy should be specified",
        "Selector is mandatory",
        "Either RemediationTemplate or at least one EscalatingRemediations must be set",
    ):
        assert text[:40] in told  # the client cuts what the server tells at length
        assert text in read


async def test_check_without_a_spec_is_refused(transport: Transport) -> None:
    raw = {key: value for key, value in check_object().items() if key != "spec"}

    assert "one of minHealthy and maxUnhealthy should be specified" in await answer(transport, raw)
    assert reading(raw) == "spec: is missing"


@pytest.mark.rule("NHC 1.1/unhealthyConditions/default")
async def test_defaults_of_the_schema_are_those_of_the_parser(transport: Transport) -> None:
    body = check_object() | {"metadata": {"name": "defaults"}}
    stored = json.loads(await transport.request("POST", PATH, query=DRY_RUN, body=body))

    assert NodeHealthCheck.parse(stored).spec == NodeHealthCheck.parse(check_object()).spec
