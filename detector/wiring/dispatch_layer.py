"""The fourth layer: the workflows of incidents and of the upgrade pause, and the calls to Temporal."""

from dataclasses import dataclass
from datetime import timedelta

from detector.answers.answering import Answering
from detector.attempts.attempts import AttemptReading
from detector.dispatching.dispatch import Dispatch
from detector.dispatching.incident_calls import IncidentCalls
from detector.dispatching.reconciler import ReconcilerDependencies
from detector.inspection.inspector import Inspector
from detector.limits.ended_remediations import EndedRemediations
from detector.upgrade.upgrade_pauses import UpgradePauses, UpgradeSources
from detector.wiring.answer_layer import AnswerLayer
from detector.wiring.state_layer import StateLayer
from detector.wiring.watch_layer import WatchLayer


@dataclass(frozen=True, kw_only=True)
class DispatchLayer:
    """The parts that start, wake and answer workflows."""

    dispatch: Dispatch
    answering: Answering
    attempt_reading: AttemptReading
    ended_remediations: EndedRemediations
    upgrades: UpgradePauses
    inspector: Inspector


def dispatch_layer(state: StateLayer, watched: WatchLayer, answers: AnswerLayer) -> DispatchLayer:
    """Make the dispatch of workflows with these answers."""
    connections, cluster_state = state.connections, state.cluster_state
    calls = IncidentCalls(connections.temporal, connections.cluster, cluster_state.guard)
    attempt_reading = AttemptReading(calls, answers.attempts, cluster_state, connections.problems)
    dispatch = Dispatch(
        calls,
        cluster_state,
        answers.observe,
        is_leader=state.leadership.is_leader,
        now=state.now,
        problems=connections.problems,
        answered=answers.limits.answered,
        earlier_attempts=attempt_reading,
    )
    return DispatchLayer(
        dispatch=dispatch,
        answering=Answering(
            answers.observe,
            dispatch,
            cluster_state,
            state.leadership.is_leader,
            watched.context.node_changes.count_on,
        ),
        attempt_reading=attempt_reading,
        ended_remediations=EndedRemediations(calls, answers.limits, connections.problems),
        upgrades=_upgrades(state, watched),
        inspector=Inspector(
            cluster_state=cluster_state,
            observer=answers.observer,
            is_heard=dispatch.is_heard,
            is_leader=state.leadership.is_leader,
            identity=state.settings.identity,
        ),
    )


def _reconciler_dependencies(state: StateLayer) -> ReconcilerDependencies:
    return ReconcilerDependencies(
        state.leadership.is_leader, state.now, state.cluster_state.guard, state.connections.problems
    )


def _upgrades(state: StateLayer, watched: WatchLayer) -> UpgradePauses:
    connections = state.connections
    return UpgradePauses(
        connections.cluster,
        connections.temporal,
        watched.pause_state,
        state.cluster_state,
        UpgradeSources(
            serves_signals=watched.feeds.context.serves_signals,
            unread_signals=watched.feeds.unread_signals,
            refresh=watched.context.assembly.refresh,
        ),
        dependencies=_reconciler_dependencies(state),
        long_upgrade=timedelta(seconds=state.settings.long_upgrade_seconds),
    )
