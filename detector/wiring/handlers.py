"""Adds the handlers of every layer, after all layers exist."""

from detector.wiring.answer_layer import AnswerLayer
from detector.wiring.dispatch_layer import DispatchLayer
from detector.wiring.report_layer import ReportLayer
from detector.wiring.state_layer import StateLayer
from detector.wiring.watch_layer import WatchLayer


def add_handlers(
    state: StateLayer,
    watched: WatchLayer,
    answers: AnswerLayer,
    dispatching: DispatchLayer,
    reporting: ReportLayer,
) -> None:
    """Add the handlers of changes in order: storms first, as answers depend on them."""
    watched.context.add_handlers(state.cluster_state, watched.feeds)
    handlers = state.cluster_state.event_handlers
    for changed in (
        answers.storms.changed,
        answers.deletions.changed,
        answers.marked_targets.changed,
        answers.limits.changed,
        dispatching.dispatch.changed,
        reporting.reporters.of_checks.changed,
        reporting.reporters.of_targets.changed,
    ):
        handlers.add_change_handler(changed)
    for request_changed in (
        answers.attempts.request_changed,
        answers.limits.request_changed,
        reporting.reporters.of_checks.request_changed,
        reporting.ledger.request_changed,
    ):
        handlers.add_request_handler(request_changed)
    handlers.add_context_handler(watched.pause_state.changed.set)
    handlers.add_context_handler(reporting.reporters.of_policy.changed)
