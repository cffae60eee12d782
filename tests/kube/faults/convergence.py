"""The one scenario of all faults: changes come before, during and after it, and in the end nothing is lost.

The cache must equal the server, and the reported changes, replayed one by one from nothing, must lead to the
same: each change fits the one before it.
"""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from kube.record import Change, ChangeKind
from kube.reflector import Reflector, ReflectorState
from tests.kube.faults.config_maps import ConfigMap, Contents, contents, facts
from tests.support.api.eventually import eventually

PHASES = ("before", "during", "after")
PATIENCE_SECONDS = 60


class Cluster(Protocol):
    """Where the ConfigMaps are; changed on a way that no fault touches."""

    async def put(self, name: str, size: int) -> None: ...

    async def delete(self, name: str) -> None: ...

    async def contents(self) -> Contents:
        """The objects, as listed by the server itself."""


class Told:
    """The changes that a reflector reported to its owner."""

    def __init__(self) -> None:
        self.changes: list[Change[ConfigMap]] = []

    def note(self, change: Change[ConfigMap]) -> None:
        self.changes.append(change)

    def replayed(self) -> Contents:
        state: Contents = {}
        for change in self.changes:
            name, known = change.key.name, state.get(change.key.name)
            assert known == (None if change.old is None else facts(change.old)), f"{change} does not fit"
            assert (change.old is None, change.new is None) == {
                ChangeKind.ADDED: (True, False),
                ChangeKind.MODIFIED: (False, False),
                ChangeKind.DELETED: (False, True),
            }[change.kind]
            if change.old is not None and change.new is not None:
                assert change.old.metadata.uid == change.new.metadata.uid, "a replaced object went first"
            state.pop(name, None)
            if change.new is not None:
                state[name] = facts(change.new)
        return state


async def converge(
    cluster: Cluster,
    reflector: Reflector[ConfigMap],
    told: Told,
    fault: AbstractAsyncContextManager[None],
) -> None:
    """Put `reflector` through `fault`, which strikes when it is entered and is over when it is left."""
    for phase in PHASES:
        await prepare(cluster, phase)
    await reflector.wait_synced()
    await eventually(lambda: reflector.state is ReflectorState.WATCHING, PATIENCE_SECONDS)
    await change(cluster, "before")
    await agree(cluster, reflector, told)
    async with fault:
        await change(cluster, "during")
    await change(cluster, "after")
    await agree(cluster, reflector, told)
    await eventually(lambda: reflector.problem is None, PATIENCE_SECONDS)


async def prepare(cluster: Cluster, phase: str) -> None:
    """Create what the changes of a phase need."""
    await cluster.put(f"{phase}-kept", 1)
    for fate in ("changed", "deleted", "replaced"):
        await cluster.put(f"{phase}-{fate}", 1)


async def change(cluster: Cluster, phase: str) -> None:
    await cluster.put(f"{phase}-added", 1)
    await cluster.put(f"{phase}-changed", 2)
    await cluster.delete(f"{phase}-deleted")
    await cluster.delete(f"{phase}-replaced")
    await cluster.put(f"{phase}-replaced", 1)
    await cluster.put(f"{phase}-passing", 1)
    await cluster.delete(f"{phase}-passing")


async def agree(cluster: Cluster, reflector: Reflector[ConfigMap], told: Told) -> None:
    """Return when the cache equals the server; fails if it never does."""
    truth = await cluster.contents()
    try:
        await eventually(lambda: contents(reflector.store) == truth, PATIENCE_SECONDS)
    except TimeoutError:
        assert contents(reflector.store) == truth
    assert told.replayed() == truth
