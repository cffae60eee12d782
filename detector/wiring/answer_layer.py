"""The third layer: the answers to the questions of incidents, and what the leader remembers for them."""

from dataclasses import dataclass

from detector.answers.answering import never_failing
from detector.answers.observation_builder import Observer
from detector.answers.storms import Storms
from detector.attempts.attempts import Attempts
from detector.attempts.deletions import Deletions, MarkedTargets
from detector.context.context import Context
from detector.dispatching.dispatch import Observe
from detector.limits.remediation_limits import RemediationLimits
from detector.wiring.state_layer import StateLayer
from detector.wiring.watch_layer import WatchLayer


@dataclass(frozen=True, kw_only=True)
class AnswerLayer:
    """The parts that an answer to an incident is made of."""

    storms: Storms
    attempts: Attempts
    deletions: Deletions
    marked_targets: MarkedTargets
    limits: RemediationLimits
    observer: Observer
    observe: Observe
    """`observer.observe`, with a hold instead of an exception."""


def answer_layer(state: StateLayer, context: Context) -> AnswerLayer:
    cluster_state, policy, now = state.cluster_state, state.policy.current, state.now
    of_checks = context.of_checks
    storms = Storms(cluster_state, of_checks.sees, now)
    attempts = Attempts(policy, cluster_state, now)
    limits = RemediationLimits(cluster_state, policy, of_checks.is_proven, now)
    observer = Observer(
        cluster_state=cluster_state,
        freshness=of_checks.freshness,
        storms=storms,
        back_off=attempts.before,
        clock_hold=context.clock.hold,
        limits=limits,
        now=now,
    )
    return AnswerLayer(
        storms=storms,
        attempts=attempts,
        deletions=Deletions(cluster_state, attempts, of_checks.is_read, now),
        marked_targets=MarkedTargets(cluster_state, attempts, of_checks.is_read, now),
        limits=limits,
        observer=observer,
        observe=never_failing(observer.observe, cluster_state),
    )


def add_answer_handlers(state: StateLayer, watched: WatchLayer, answers: AnswerLayer) -> None:
    """Add the handlers that keep answers right: storms first, as the others depend on them."""
    watched.context.add_handlers(state.cluster_state, watched.feeds)
    handlers = state.cluster_state.event_handlers
    handlers.add_change_handler(answers.storms.changed)
    handlers.add_change_handler(answers.deletions.changed)
    handlers.add_change_handler(answers.marked_targets.changed)
    handlers.add_change_handler(answers.limits.changed)
    handlers.add_request_handler(answers.attempts.request_changed)
    handlers.add_request_handler(answers.limits.request_changed)
