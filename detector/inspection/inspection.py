"""Inspection: the state and the answers of a detector that never leads.

A command runs it with the rights of its user. It lists and watches what a detector watches, and its answers
come from the same functions. It takes no part in the leader election, starts no workflow, reserves no slot
and writes nothing. Only the leader knows its reservations, so an admission of the last seconds is not
counted here.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta

from detector.attempts.attempts import AttemptReading
from detector.dispatching.incident_calls import IncidentCalls
from detector.feeds.policy_feed import PolicyFeed
from detector.limits.ended_remediations import EndedRemediations
from detector.state.check_state import CheckRecord, CheckState
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from detector.wiring.answer_layer import AnswerLayer, add_answer_handlers, answer_layer
from detector.wiring.state_layer import StateLayer, state_layer
from detector.wiring.watch_layer import WatchLayer, watch, watch_layer
from health.kinds.check_kind import CheckKind
from health.model.node import Node
from health.model.references import CheckReference, IncidentReference
from health.model.target import Target, TargetName, node_name
from health.policy.policy import DEFAULTS, Policy
from health.policy.policy_in_force import NO_OBJECT, PolicyInForce
from runtime.connections import Connections
from runtime.settings import Settings

READ_WITHIN = timedelta(seconds=30)
"""A cluster of 5,000 Nodes is read in a few seconds."""
LOOK_AGAIN_SECONDS = 0.1


class UnreadClusterError(Exception):
    """The cluster was not read completely in time; the message names what is missing."""


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """The layers of a detector that answer, over one cluster that was read completely."""

    state: StateLayer
    watched: WatchLayer
    answers: AnswerLayer

    @property
    def cluster_state(self) -> ClusterState:
        return self.state.cluster_state

    def incident(self, check: CheckReference, target: Target) -> IncidentReference:
        """The incident that this target has, or would have, under this check."""
        metadata = target.metadata
        reference = place_of(check).reference(metadata.name, metadata.uid)
        return IncidentReference(cluster=self.cluster_state.cluster, check=check, target=reference)

    def node_of(self, target: Target) -> Node | None:
        """The Node that the target is or is linked to; None if it is unknown."""
        name = node_name(target.node_name, target.node_cluster)
        found = self.cluster_state.targets.at(name.place).get(name.name)
        return found if isinstance(found, Node) else None

    @property
    def unknown_policy(self) -> str:
        """Why the policy that the detector uses is unknown; "": it is known, or holds every check."""
        return unknown_policy(self.cluster_state.cluster_context.policy)

    def is_shadow(self, check: CheckReference) -> bool | None:
        """True for a check in shadow; None: the policy decides, and is unknown."""
        context = self.cluster_state.cluster_context
        is_shadow = self.cluster_state.checks[check].is_shadow_in(context)
        return None if context.policy.rejection and not is_shadow else is_shadow

    @contextmanager
    def with_node(self, name: TargetName, node: Node) -> Iterator[None]:
        """Judge with `node` in place of the Node of that name, for the time of the block.

        The block must not await: a change of the real Node would end the supposition.
        """
        changes = self.watched.context.node_changes
        found = self.cluster_state.targets.at(name.place).get(name.name)
        changes.put(name, node)
        try:
            yield
        finally:
            changes.put(name, found if isinstance(found, Node) else None)

    async def suppose(self, kind: CheckKind, check: CheckReference, record: CheckRecord) -> CheckState:
        """Judge with `record` in place of the stored check, once the kinds that it names were tried.

        The stored check returns when the API server reports a change of it, so read the answers at once.
        """
        self._put(kind, check, record)
        await self.watched.context.of_checks.wait_kinds(check)
        self._put(kind, check, record)
        return self.cluster_state.checks[check]

    def _put(self, kind: CheckKind, check: CheckReference, record: CheckRecord) -> None:
        self.cluster_state.checks.pop(check, None)  # equal metadata would count as the same check
        self.cluster_state.check_changed(kind, check, record)
        self.watched.feeds.named.watch(self.watched.feeds.tasks)


@asynccontextmanager
async def inspecting(
    settings: Settings, connections: Connections, policy: Policy | None = None
) -> AsyncIterator[Inspection]:
    """Read the cluster, and keep the state up to date for the time of the block.

    `policy` replaces that of the cluster.

    Raises:
        UnreadClusterError: the cluster was not read completely in time.

    """
    feed = None if policy is None else PolicyFeed(defaults=lambda: policy)
    async with reading(settings, connections, feed) as found:
        await _read_ended(found, connections)
        yield found


@asynccontextmanager
async def reading(
    settings: Settings, connections: Connections, policy: PolicyFeed | None = None
) -> AsyncIterator[Inspection]:
    """The same without Temporal, for questions about the cluster alone: earlier remediations are unknown.

    Raises:
        UnreadClusterError: the cluster was not read completely in time.

    """
    found = _layers(settings, connections, policy)
    watching = [
        asyncio.create_task(found.cluster_state.resync.run()),
        asyncio.create_task(watch(found.watched, connections)),
        asyncio.create_task(found.watched.context.clock.run()),
    ]
    try:
        await _settle(found, connections, watching)
        yield found
    finally:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)


def _layers(settings: Settings, connections: Connections, policy: PolicyFeed | None) -> Inspection:
    # A detector keeps its last valid policy while the ConfigMap is invalid, so nothing is held for that.
    state = state_layer(settings, connections, lambda: DEFAULTS, policy, unread=NO_OBJECT)
    watched = watch_layer(state)
    answers = answer_layer(state, watched.context)
    add_answer_handlers(state, watched, answers)
    answers.limits.admit_nothing()
    return Inspection(state=state, watched=watched, answers=answers)


async def _settle(
    found: Inspection, connections: Connections, watching: Sequence[asyncio.Task[None]]
) -> None:
    """Return when the cluster was read completely, or one of `watching` has failed."""
    settled = asyncio.create_task(found.watched.feeds.wait_settled())
    try:
        async with asyncio.timeout(READ_WITHIN.total_seconds()):
            await asyncio.wait((settled, *watching), return_when=asyncio.FIRST_COMPLETED)
    except TimeoutError as error:
        problems = "; ".join(connections.problems.sentences) or "the API server did not answer"
        raise UnreadClusterError(
            f"the cluster was not read within {READ_WITHIN.total_seconds():.0f} s: {problems}"
        ) from error
    finally:
        settled.cancel()
    for task in watching:
        if task.done():
            task.result()


async def _read_ended(found: Inspection, connections: Connections) -> None:
    """Read what back-off and limits of starts count; unless Temporal answers, both hold as unknown."""
    calls = IncidentCalls(connections.temporal, connections.cluster, found.cluster_state.guard)
    attempts = AttemptReading(calls, found.answers.attempts, found.cluster_state, connections.problems)
    ended = EndedRemediations(calls, found.answers.limits, connections.problems)
    reading = [asyncio.create_task(attempts.lead()), asyncio.create_task(ended.lead())]
    try:
        await attempts.wait_tried()
        async with asyncio.timeout(LOOK_AGAIN_SECONDS * 10):
            while found.answers.limits.needs_ended:  # noqa: ASYNC110  nothing signals its end
                await asyncio.sleep(LOOK_AGAIN_SECONDS)
    except TimeoutError:
        return
    finally:
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        why = connections.problems.sentence("temporal") or connections.problems.sentence("ended remediations")
        if why and found.answers.attempts.unread:
            found.answers.attempts.cannot_be_read(why)


def unknown_policy(policy: PolicyInForce) -> str:
    """Why the policy that the detector uses is unknown; "": it is known or missing."""
    if not policy.rejection or policy.is_missing:
        return ""
    return (
        f"the policy is invalid ({policy.rejection}); the detector uses the last valid policy, or holds "
        "every check if it has started since; this command does not know that policy, so limits, windows, "
        "back-off and shadow are unknown"
    )
