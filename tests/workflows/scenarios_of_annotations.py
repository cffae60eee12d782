"""One scenario each for orders by annotation, as in tests/workflows/scenarios.py."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tests.support.story.annotating import Annotating
from workflows.annotated_order import AnnotatedOrder

AnnotationScenario = Callable[[Annotating], Awaitable[None]]
FIRST_RETRY = timedelta(seconds=6)


async def annotation_that_is_kept_for_a_while(annotating: Annotating) -> None:
    """The incident does not answer at first, and then the worker may not remove the annotation."""
    annotating.unanswered, annotating.may_remove = 1, False
    await annotating.start()
    await annotating.rests()
    await annotating.passes(FIRST_RETRY)
    await annotating.rests()
    annotating.may_remove = True
    await annotating.handle.signal(AnnotatedOrder.wake)
    await annotating.result()


ANNOTATION_SCENARIOS: dict[str, AnnotationScenario] = {
    one.__name__: one for one in (annotation_that_is_kept_for_a_while,)
}
