"""Kinds that a check names: unknown at the start, installed and granted later, removed and back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta

import pytest

from detector.feeds.kind_watch import Kind, KindSubscription, KindWatches
from devcluster.control_plane import ControlPlane
from health.check.template_validity import Template
from kube.client import Client
from kube.connection import ClusterConnection
from kube.record import Change
from kube.transport import Transport
from runtime.problems import Problems
from tests.support.api.eventually import eventually
from tests.support.story.other_kind import OtherKind

pytestmark = [pytest.mark.cluster, pytest.mark.rule("NHC 2.1/7", "NHC 2.0/template")]

LIMIT = timedelta(minutes=1)
SOON_SECONDS = 10
"""It takes two seconds on a quiet machine; by itself a reflector looks again after fifteen."""


class Watched:
    """The templates of one kind, as a detector watches them."""

    def __init__(self, transport: Transport, other: OtherKind) -> None:
        self.kind: Kind = (other.api_version, other.templates.kind)
        self.problems = Problems()
        self.told = 0
        self.names: set[str] = set()
        subject = KindSubscription(
            connection=ClusterConnection.over(transport),
            record=Template,
            name="templates",
            notify=self._notify,
            changed=self._changed,
            problems=self.problems,
        )
        self.watches = KindWatches(subject)

    def _notify(self, kind: Kind, change: Change[Template]) -> None:
        assert kind == self.kind
        self.told += 1
        if change.new is None:
            self.names.discard(change.key.name)
        else:
            self.names.add(change.key.name)

    def _changed(self, kind: Kind) -> None:
        assert kind == self.kind
        self.told += 1

    @property
    def refusal(self) -> str:
        return self.watches.rejection(self.kind)

    @property
    def problem(self) -> str:
        return str(self.watches.unread([self.kind], LIMIT) or "")

    @property
    def is_served(self) -> bool:
        return bool(self.watches.served([self.kind]))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self.watches.name([self.kind], tasks)


@pytest.fixture
async def admin(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        yield Client(transport)


@pytest.fixture
def other(admin: Client) -> OtherKind:
    return OtherKind(admin)


@pytest.fixture
async def watched(control_plane: ControlPlane, other: OtherKind) -> AsyncIterator[Watched]:
    """A watch with the rights of the detector; the kind is not served yet."""
    async with await Transport.connect(str(control_plane.detector_kubeconfig)) as transport:
        made = Watched(transport, other)
        running = asyncio.create_task(made.run())
        yield made
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def test_kind_that_is_unknown_says_so_and_is_read_soon_after_its_installation(
    watched: Watched, other: OtherKind
) -> None:
    await watched.watches.wait_tried()
    assert watched.refusal == f"the API server serves no kind ResetTemplate in {other.api_version}"
    assert not watched.is_served
    assert watched.problem == f"templates of kind ResetTemplate: {watched.refusal}"
    await other.grant()

    await other.install()
    await eventually(lambda: watched.names == {"reset"}, SOON_SECONDS)
    assert watched.refusal == ""
    assert watched.problem == ""
    assert watched.is_served


async def test_kind_that_is_removed_is_empty_and_refused_and_is_back_before_the_next_poll(
    watched: Watched, other: OtherKind
) -> None:
    await other.grant()
    await other.install()
    await eventually(lambda: watched.names == {"reset"})

    await other.uninstall()
    await eventually(lambda: not watched.is_served)
    assert watched.names == set()
    told = watched.told
    await eventually(lambda: watched.told > told or watched.refusal, SOON_SECONDS)
    assert "serves no kind ResetTemplate" in watched.refusal
    assert watched.refusal in watched.problem

    await other.install()
    await eventually(lambda: watched.names == {"reset"}, SOON_SECONDS)
    assert watched.problem == ""


async def test_right_that_is_missing_is_reported_until_it_is_granted(
    watched: Watched, other: OtherKind
) -> None:
    await other.install()
    await eventually(lambda: "forbidden" in watched.refusal)
    (told,) = watched.problems.sentences
    assert told.startswith(f"templates of kind ResetTemplate ({other.api_version}): ")
    assert "forbidden" in told
    assert watched.is_served
    assert list(watched.watches.ages().values()) == [None]

    await other.grant()
    await eventually(lambda: watched.names == {"reset"}, SOON_SECONDS)
    await eventually(lambda: watched.problems.sentences == ())


async def test_kind_that_no_check_names_any_more_and_that_was_never_read_is_given_up(
    watched: Watched,
) -> None:
    await watched.watches.wait_tried()
    async with asyncio.TaskGroup() as tasks:
        watched.watches.name([], tasks)

    assert watched.watches.ages() == {}
    assert watched.problem == "templates of kind ResetTemplate: not read completely yet"
