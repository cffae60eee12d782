"""An edit of a template wakes only the incidents of its checks whose act did nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from detector.feeds.kind_watch import Kind
from health.check.template_validity import Place, Template, TemplateKind
from tests.detector.test_ended_incidents import Detector
from tests.support.api.eventually import eventually

NODE, AT_WORK, ANOTHER = "node-1", "node-2", "node-3"
KIND: Kind = ("example.com/v1", "RebootTemplate")


class Templates:
    """The view that a detector's watches have of the one template."""

    def __init__(self, detector: Detector) -> None:
        self._known = TemplateKind()
        self._cluster_state = detector.cluster.cluster_state
        detector.cluster.template_kinds = lambda *_: self._known
        self.say(generation=1)

    def say(self, *, generation: int, resource_version: str = "1", rejection: str = "") -> None:
        metadata = {
            "name": "reboot",
            "namespace": "remediators",
            "uid": "template-uid",
            "generation": generation,
            "resourceVersion": resource_version,
        }
        template = Template.model_validate({"metadata": metadata, "spec": {"template": {"spec": {}}}})
        self._known = TemplateKind(templates={Place("remediators", "reboot"): template}, rejection=rejection)
        self._cluster_state.templates_changed(*KIND)


@pytest.fixture
def templates(detector: Detector) -> Templates:
    return Templates(detector)


@pytest.fixture
async def detector() -> Detector:
    return Detector()


@pytest.fixture
async def begun(detector: Detector, templates: Templates) -> AsyncIterator[Templates]:
    """Two incidents were admitted; the request of one exists."""
    detector.cluster.check(minHealthy=0)
    for name in (NODE, AT_WORK):
        detector.fail(name)
    leading = asyncio.create_task(detector.dispatch.lead())
    await eventually(lambda: sorted(detector.calls.names) == [NODE, AT_WORK])
    detector.cluster.request(AT_WORK)
    detector.calls.names.clear()
    yield templates
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading


async def woken(detector: Detector) -> list[str]:
    """The incidents that were started or woken, except that of a node which fails now to end the wait."""
    detector.fail(ANOTHER)
    await eventually(lambda: ANOTHER in detector.calls.names)
    return [name for name in detector.calls.names if name != ANOTHER]


async def test_edited_template_wakes_an_incident_whose_act_did_nothing(
    detector: Detector, begun: Templates
) -> None:
    begun.say(generation=2)
    await eventually(lambda: NODE in detector.calls.names)  # may come after a node that fails now
    assert await woken(detector) == [NODE]


async def test_changed_status_of_a_template_wakes_no_incident(detector: Detector, begun: Templates) -> None:
    begun.say(generation=1, resource_version="2")
    assert await woken(detector) == []


async def test_kind_of_requests_that_comes_to_be_served_wakes_an_incident(
    detector: Detector, begun: Templates
) -> None:
    begun.say(generation=1, rejection="the API server serves no kind Reboot in example.com/v1")
    await woken(detector)  # by then the rejection was observed
    begun.say(generation=1)
    await eventually(lambda: NODE in detector.calls.names)
