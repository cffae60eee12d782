"""Templates with the rights of the NodeHealthCheck operator, which are often only `get`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta

import pytest

from detector.feeds.kind_watch import Kind, KindSubscription, KindWatches
from detector.feeds.template_polling import Naming, TemplatePolling
from devcluster.control_plane import ControlPlane
from health.check.template_validity import Template, TemplateKind
from health.kinds.nodehealthcheck.disabled import template_problem
from health.model.references import CheckReference, TemplateReference
from health.model.remediation_request import MULTIPLE_TEMPLATES
from kube.client import Client
from kube.connection import ClusterConnection
from kube.transport import Transport
from runtime.problems import Problems
from tests.support.api.eventually import eventually
from tests.support.story.other_kind import OtherKind

pytestmark = [pytest.mark.cluster, pytest.mark.rule("NHC 2.0/template", "NHC 2.1/5")]

CHECK = CheckReference(kind="NodeHealthCheck", name="workers")
LIMIT = timedelta(minutes=1)
SOON_SECONDS = 10
"""It takes two seconds on a quiet machine; by itself a reflector looks again after fifteen."""
NEVER, OFTEN = timedelta(hours=1), timedelta(seconds=0.2)


class Polled:
    """The templates of one kind, as a detector sees them; `every` is the polling interval."""

    def __init__(self, transport: Transport, other: OtherKind, every: timedelta) -> None:
        self.kind: Kind = (other.api_version, other.templates.kind)
        self.problems = Problems()
        self.told = 0
        self._generation = 0
        self._named = frozenset[Naming]()
        connection = ClusterConnection.over(transport)
        self.polling = TemplatePolling(connection, self._changed, every=lambda: every)
        self.watches = KindWatches(
            KindSubscription(
                connection=connection,
                record=Template,
                name="templates",
                notify=lambda *_: None,
                changed=self._changed,
                problems=self.problems,
                fallback=self.polling,
            )
        )

    def _changed(self, kind: Kind) -> None:
        assert kind == self.kind
        self.told += 1

    def edit(self, *names: str) -> None:
        """Let the check name these templates, in a new generation."""
        self._generation += 1
        before, self._named = (
            self._named,
            frozenset(Naming(self._generation, self.reference(name)) for name in names),
        )
        self.polling.name(before, self._named)

    def reference(self, name: str) -> TemplateReference:
        return TemplateReference(api_version=self.kind[0], kind=self.kind[1], namespace="default", name=name)

    @property
    def is_polled(self) -> bool:
        return self.watches.is_refused(self.kind)

    @property
    def known(self) -> TemplateKind:
        return self.polling.kind(self.kind, is_namespaced=True)

    def reason(self, *names: str) -> str:
        """Why a check that names these templates is disabled."""
        found = template_problem([self.reference(name) for name in names], lambda *_: self.known)
        return "" if found is None else found.message

    @property
    def is_known(self) -> bool:
        """True if `reset` was read and is valid."""
        return not self.unread() and not self.reason("reset")

    def unread(self, name: str = "reset") -> str:
        return str(self.polling.unread([self.reference(name)], LIMIT) or "")

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self.watches.name([self.kind], tasks)


@pytest.fixture
async def admin(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        yield Client(transport)


@pytest.fixture
async def other(admin: Client) -> OtherKind:
    made = OtherKind(admin)
    await made.install()
    return made


@pytest.fixture
async def polled(
    control_plane: ControlPlane, other: OtherKind, request: pytest.FixtureRequest
) -> AsyncIterator[Polled]:
    """A detector's rights; a check names the template `reset`."""
    async with await Transport.connect(str(control_plane.detector_kubeconfig)) as transport:
        made = Polled(transport, other, request.param)
        made.edit("reset")
        running = asyncio.create_task(made.run())
        yield made
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


seldom = pytest.mark.parametrize("polled", [NEVER], indirect=True, ids=["seldom"])
often = pytest.mark.parametrize("polled", [OFTEN], indirect=True, ids=["often"])


@seldom
async def test_right_to_get_is_enough_to_know_the_templates_that_are_named(
    polled: Polled, other: OtherKind
) -> None:
    assert polled.unread() == "ResetTemplate/default/reset: not read completely yet"
    await other.grant("get")

    await eventually(lambda: polled.is_known, SOON_SECONDS)
    assert polled.is_polled
    assert polled.problems.sentences == ()
    (age,) = polled.watches.ages().values()
    assert age is not None
    assert age < LIMIT


@pytest.mark.rule("rule 3")
@seldom
async def test_right_that_is_missing_altogether_is_named_and_noticed_soon_after_it_is_granted(
    polled: Polled, other: OtherKind
) -> None:
    await eventually(lambda: "cannot get resource" in polled.reason("reset"))
    assert other.group in polled.reason("reset")
    assert polled.reason("reset").startswith("Remediation template may not be read: ")
    assert any("cannot get resource" in sentence for sentence in polled.problems.sentences)
    assert list(polled.watches.ages().values()) == [None]
    told = polled.told

    await other.grant("get")
    await eventually(lambda: polled.reason("reset") == "", SOON_SECONDS)
    assert polled.told > told
    await eventually(lambda: polled.problems.sentences == (), SOON_SECONDS)


@seldom
async def test_edit_of_a_check_reads_its_templates_at_once(
    polled: Polled, other: OtherKind, admin: Client
) -> None:
    await other.grant("get")
    await eventually(lambda: polled.is_known)

    polled.edit("reset", "another")
    assert polled.reason("another") == ""
    assert "not read" in polled.unread("another")
    await eventually(lambda: polled.unread("another") == "", SOON_SECONDS)
    assert "ResetTemplate/default/another not found" in polled.reason("another")
    assert polled.reason("reset") == ""

    await admin.delete(other.templates, "reset", "default")
    polled.edit("reset")
    await eventually(lambda: "ResetTemplate/default/reset not found" in polled.reason("reset"), SOON_SECONDS)


@often
async def test_template_that_changes_is_noticed_without_an_edit(
    polled: Polled, other: OtherKind, admin: Client
) -> None:
    await other.grant("get")
    await eventually(lambda: polled.is_known)
    told = polled.told

    await admin.merge_patch(other.templates, "reset", {"spec": {"template": None}}, "default")
    await eventually(lambda: "didn't find spec.template.spec" in polled.reason("reset"), SOON_SECONDS)
    assert polled.told > told
    await admin.delete(other.templates, "reset", "default")
    await eventually(lambda: "ResetTemplate/default/reset not found" in polled.reason("reset"), SOON_SECONDS)


@often
async def test_list_is_tried_again_and_takes_over_when_it_is_allowed(
    polled: Polled, other: OtherKind
) -> None:
    await other.grant("get")
    await eventually(lambda: polled.is_known)
    told = polled.told

    await other.grant("get", "list", "watch")
    await eventually(lambda: not polled.is_polled, SOON_SECONDS)
    assert polled.watches.unread([polled.kind], LIMIT) is None
    await eventually(lambda: polled.told > told, SOON_SECONDS)


@often
async def test_right_to_list_without_that_to_watch_is_as_good_as_none(
    polled: Polled, other: OtherKind, admin: Client
) -> None:
    await other.grant("get", "list")
    await eventually(lambda: polled.is_polled and polled.is_known)
    assert polled.problems.sentences == ()

    await admin.delete(other.templates, "reset", "default")
    await eventually(lambda: "ResetTemplate/default/reset not found" in polled.reason("reset"), SOON_SECONDS)


@often
async def test_kind_that_is_removed_is_reported_though_the_list_says_forbidden(
    polled: Polled, other: OtherKind
) -> None:
    await other.grant("get")
    await eventually(lambda: polled.is_known)
    await other.uninstall()

    unknown = f"the API server serves no kind ResetTemplate in {other.api_version}"
    await eventually(lambda: polled.watches.rejection(polled.kind) == unknown)
    assert not polled.is_polled
    assert "may not be read" not in polled.reason("reset")


@pytest.mark.rule("rule 18/annotation")
@seldom
async def test_two_steps_of_one_kind_need_the_annotation_on_every_template_that_can_be_read(
    polled: Polled, other: OtherKind, admin: Client
) -> None:
    marked = {"metadata": {"annotations": {MULTIPLE_TEMPLATES: "true"}}}
    body = {"apiVersion": other.api_version, "kind": "ResetTemplate", "spec": {"template": {"spec": {}}}}
    await admin.create(other.templates, {**body, "metadata": {"name": "hard"}}, "default")
    await admin.create(other.templates, {**body, "metadata": {"name": "not-named"}}, "default")
    await admin.merge_patch(other.templates, "reset", marked, "default")
    await other.grant("get")
    polled.edit("reset", "hard")
    await eventually(lambda: "duplicate template kind: ResetTemplate" in polled.reason("reset", "hard"))
    await eventually(lambda: polled.unread("reset") == polled.unread("hard") == "", SOON_SECONDS)

    await admin.merge_patch(other.templates, "hard", marked, "default")
    polled.edit("reset", "hard")
    await eventually(lambda: polled.reason("reset", "hard") == "", SOON_SECONDS)


@pytest.mark.rule("rule 3")
@seldom
async def test_reading_that_is_older_than_the_limit_holds(polled: Polled, other: OtherKind) -> None:
    await other.grant("get")
    await eventually(lambda: polled.is_known)

    too_old = str(polled.polling.unread([polled.reference("reset")], timedelta()))
    assert too_old.startswith("ResetTemplate/default/reset: without any activity for too long (since ")
