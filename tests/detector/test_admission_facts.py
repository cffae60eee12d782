"""Which questions of the webhook need the API server, counted by a scripted server."""

from collections.abc import Collection
from typing import Any

import pytest

from detector.nodehealthcheck.webhook import AdmissionFacts
from health.check.template_validity import Template
from health.kinds.nodehealthcheck.admission_review import CheckOperation, Facts, Operation
from health.model.remediation_request import MULTIPLE_TEMPLATES
from kube.connection import ClusterConnection
from kube.errors import Forbidden
from kube.transport import Transport
from tests.support.api.api_server import NOT_SERVED, ApiServer, refused, said
from tests.support.values.builders import check_object

pytestmark = pytest.mark.rule("NHC 1.1/webhook/same kind")

KIND = ("example.com/v1", "ResetTemplate")
GROUP = "/apis/example.com/v1"
LIST = f"{GROUP}/resettemplates"
TOPOLOGY = "/apis/config.openshift.io/v1/infrastructures/cluster"
TAKEN, REFUSED = Facts(), Facts(single_template_kinds=frozenset({KIND}))


def twice() -> CheckOperation:
    """A check with two steps of one kind."""
    steps = [
        {
            "remediationTemplate": {
                "apiVersion": KIND[0],
                "kind": KIND[1],
                "name": name,
                "namespace": "default",
            },
            "order": order,
            "timeout": "60s",
        }
        for order, name in enumerate(("soft", "hard"))
    ]
    check = check_object(remediationTemplate=None, escalatingRemediations=steps)
    return CheckOperation(Operation.CREATE, new=check, old={})


def template(name: str, annotations: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "uid": name, "annotations": annotations}}


MARKED = {MULTIPLE_TEMPLATES: ""}
BOTH_TAKE_SEVERAL = [template("soft", MARKED), template("hard", MARKED)]
ONE_TAKES_ONE = [template("soft", MARKED), template("hard", {})]


async def facts(
    server: ApiServer, transport: Transport, watched: list[dict[str, Any]] | None
) -> tuple[Facts, list[str]]:
    """The answer, and the reads of templates that it needed."""

    def known(kind: tuple[str, str]) -> Collection[Template] | None:
        assert kind == KIND
        return None if watched is None else [Template.model_validate(template) for template in watched]

    resource = {"name": "resettemplates", "kind": "ResetTemplate", "namespaced": True}
    server.answer("GET", GROUP, said({"resources": [resource]}))
    server.answer("GET", TOPOLOGY, NOT_SERVED)
    answer = await AdmissionFacts(ClusterConnection.over(transport), known).of(twice())
    return answer, [asked.path for asked in server.asked if asked.path.startswith(f"{GROUP}/")]


async def test_templates_that_are_watched_are_not_asked_for_where_all_take_several(
    server: ApiServer, transport: Transport
) -> None:
    assert await facts(server, transport, BOTH_TAKE_SEVERAL) == (TAKEN, [])


@pytest.mark.parametrize(
    "watched",
    [
        pytest.param(ONE_TAKES_ONE, id="one takes a single request"),
        pytest.param([], id="there is none"),
        pytest.param(None, id="not watched, or not well enough"),
    ],
)
@pytest.mark.parametrize(
    ("now", "answer"), [(BOTH_TAKE_SEVERAL, TAKEN), (ONE_TAKES_ONE, REFUSED), ([], REFUSED)]
)
async def test_refusal_rests_on_what_the_templates_are_at_that_moment(
    server: ApiServer,
    transport: Transport,
    watched: list[dict[str, Any]] | None,
    now: list[dict[str, Any]],
    answer: Facts,
) -> None:
    server.answer("GET", LIST, said({"metadata": {"resourceVersion": "1"}, "items": now}))

    assert await facts(server, transport, watched) == (answer, [LIST])


@pytest.mark.parametrize(("found", "answer"), [(BOTH_TAKE_SEVERAL, TAKEN), (ONE_TAKES_ONE, REFUSED)])
async def test_templates_that_may_be_read_but_not_listed_are_read_one_by_one(
    server: ApiServer, transport: Transport, found: list[dict[str, Any]], answer: Facts
) -> None:
    places = [f"{GROUP}/namespaces/default/resettemplates/{name}" for name in ("soft", "hard")]
    server.answer("GET", LIST, refused(403, "Forbidden"))
    for place, one in zip(places, found, strict=True):
        server.answer("GET", place, said(one))

    assert await facts(server, transport, None) == (answer, [LIST, *places])


async def test_templates_that_may_not_be_read_at_all_count_as_taking_one(
    server: ApiServer, transport: Transport
) -> None:
    for path in (LIST, f"{GROUP}/namespaces/default/resettemplates/soft"):
        server.answer("GET", path, refused(403, "Forbidden"))

    assert (await facts(server, transport, None))[0] == REFUSED


async def test_failure_to_ask_the_cluster_is_logged_once_until_it_ends(
    server: ApiServer, transport: Transport, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    forbidden = refused(403, "Forbidden")
    server.answer("GET", TOPOLOGY, forbidden, forbidden, NOT_SERVED, forbidden)
    facts = AdmissionFacts(ClusterConnection.over(transport), lambda _: None)
    check = check_object()
    creation, deletion = (
        CheckOperation(Operation.CREATE, new=check, old={}),
        CheckOperation(Operation.DELETE, {}, check),
    )

    for _ in range(2):
        with pytest.raises(Forbidden) as caught:
            await facts.of(creation)
        await facts.of(deletion)
    said = [(record.message, getattr(record, "problem", "")) for record in caplog.records]
    assert said == [("every NodeHealthCheck is refused", caught.value.message)]
    await facts.of(creation)
    with pytest.raises(Forbidden):
        await facts.of(creation)
    messages = [record.message for record in caplog.records]
    assert messages == ["every NodeHealthCheck is refused", "well again", "every NodeHealthCheck is refused"]
