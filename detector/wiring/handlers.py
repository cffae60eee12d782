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
    """Add the handlers of changes in order: those of answers first, as all others depend on them."""
    add_answer_handlers(state, watched, answers)
    handlers = state.cluster_state.event_handlers
    handlers.add_change_handler(dispatching.dispatch.changed)
    handlers.add_change_handler(reporting.reporters.of_checks.changed)
    handlers.add_change_handler(reporting.reporters.of_targets.changed)
    handlers.add_request_handler(reporting.reporters.of_checks.request_changed)
    handlers.add_request_handler(reporting.ledger.request_changed)
    handlers.add_order_handler(reporting.reporters.of_checks.ordered)
    handlers.add_annotation_handler(dispatching.annotated_orders.changed)
    handlers.add_context_handler(dispatching.annotated_orders.context_changed)
    handlers.add_context_handler(watched.pause_state.changed.set)
    handlers.add_context_handler(reporting.reporters.of_policy.changed)


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
