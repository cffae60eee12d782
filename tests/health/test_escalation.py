"""Which request is given time, until when, and which step comes next."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.references import RequestReference, Step
from health.model.request_snapshot import RequestSnapshot
from health.runbook.escalation import Plan, lease_duration
from tests.support.values.builders import (
    CLASSIC,
    ESCALATION,
    FIRST,
    MINUTE,
    NOW,
    REBOOT,
    RESET,
    SECOND,
    THIRD,
    check,
    escalation,
    request_of,
)

A_MOMENT = timedelta(microseconds=1)
FIVE = 5 * MINUTE
OTHER_VERSION = "example.com/v2"


def order_of(steps: tuple[Step, ...]) -> list[str]:
    """The templates in the order in which they are tried when each of them fails."""
    tried: list[RequestSnapshot] = []
    while (number := Plan(steps).progress(tried, NOW).next_step) is not None:
        tried.append(request_of(steps[number], succeeded=False))
    return [one.reference.template for one in tried]


def unnamed(request: RequestSnapshot) -> RequestSnapshot:
    """The same request, created by a client that does not name the template."""
    reference: RequestReference = request.reference.model_copy(update={"template": ""})
    return request.model_copy(update={"reference": reference})


@pytest.mark.rule("NHC 2.4/2", "rule 18")
@given(orders=st.permutations([3, 1, 2]))
def test_steps_are_tried_in_their_order_whatever_the_order_of_the_list(orders: list[int]) -> None:
    names = {1: "reboot", 2: "reset", 3: "replace"}
    listed = [escalation(order, name=names[order]) for order in orders]
    steps = check(remediationTemplate=None, escalatingRemediations=listed).steps
    assert order_of(steps) == ["reboot", "reset", "replace"]


@pytest.mark.rule("NHC 2.4/2", "rule 18")
@given(steps=st.lists(st.sampled_from(ESCALATION), unique=True).map(tuple))
def test_every_step_is_tried_once_and_no_other(steps: tuple[Step, ...]) -> None:
    assert order_of(steps) == [step.template.name for step in steps]


@pytest.mark.rule("rule 18")
def test_templates_of_one_name_in_two_namespaces_are_two_steps() -> None:
    elsewhere = FIRST.model_copy(update={"template": REBOOT.model_copy(update={"namespace": "elsewhere"})})
    plan = Plan((FIRST, elsewhere))
    course = plan.progress([request_of(FIRST, succeeded=False)], NOW)
    assert course.next_step == 1


def test_request_of_a_kind_without_namespaces_is_of_its_template() -> None:
    request = request_of(FIRST)
    reference = request.reference.model_copy(update={"namespace": ""})
    assert Plan(ESCALATION).step_of(reference) == FIRST


def test_same_name_of_another_kind_or_group_is_another_template() -> None:
    for changes in ({"kind": "Other"}, {"api_version": "example.org/v1"}):
        assert Plan(ESCALATION).step_of(request_of(FIRST).reference.model_copy(update=changes)) is None


@pytest.mark.rule("NHC 2.4/6/timeout")
def test_request_is_of_its_template_whatever_the_version_that_the_check_names() -> None:
    other = FIRST.model_copy(update={"template": REBOOT.model_copy(update={"api_version": OTHER_VERSION})})
    plan, request = Plan((other, SECOND)), request_of(FIRST)
    assert plan.step_of(request.reference) == other
    assert plan.end_of(request) == Plan(ESCALATION).end_of(request)
    assert plan.progress([request_of(FIRST, succeeded=False)], NOW).next_step == 1


@pytest.mark.rule("rule 18")
def test_template_that_is_listed_in_two_versions_is_two_steps() -> None:
    other = FIRST.model_copy(update={"template": REBOOT.model_copy(update={"api_version": OTHER_VERSION})})
    for steps in ((FIRST, other), (other, FIRST)):
        plan = Plan(steps)
        assert plan.step_of(request_of(FIRST).reference) == FIRST
        assert plan.progress([request_of(FIRST, succeeded=False)], NOW).next_step == steps.index(other)


@pytest.mark.rule("NHC 2.4/6/timeout")
@pytest.mark.parametrize(
    ("age", "is_over"), [(FIVE - A_MOMENT, False), (FIVE, False), (FIVE + A_MOMENT, True)]
)
def test_step_is_over_strictly_after_its_timeout(age: timedelta, *, is_over: bool) -> None:
    course = Plan(ESCALATION).progress([request_of(FIRST, age)], NOW)
    assert bool(course.over) is is_over
    assert course.next_step == (1 if is_over else 0)
    assert course.until == (None if is_over else NOW - age + FIVE)


@pytest.mark.rule("NHC 2.4/6/failed", "NHC 2.4/6/succeeded", "NHC 2.7/Succeeded", "rule 22")
@pytest.mark.parametrize(
    ("steps", "fields", "is_over"),
    [
        pytest.param(ESCALATION, {}, False, id="at work"),
        pytest.param(ESCALATION, {"succeeded": False}, True, id="failed"),
        pytest.param(ESCALATION, {"succeeded": True}, False, id="succeeded, and still unhealthy"),
        pytest.param(ESCALATION, {"timed_out_at": NOW}, True, id="marked, by us or by the operator"),
        pytest.param(CLASSIC, {}, False, id="classic"),
        pytest.param(CLASSIC, {"succeeded": False}, False, id="classic, failed"),
        pytest.param(CLASSIC, {"succeeded": True}, False, id="classic, succeeded"),
        pytest.param(CLASSIC, {"timed_out_at": NOW}, True, id="classic, overdue"),
    ],
)
def test_events_that_end_a_request(steps: tuple[Step, ...], fields: dict[str, Any], *, is_over: bool) -> None:
    assert Plan(steps).is_over(request_of(steps[0], **fields), NOW) is is_over


@pytest.mark.rule("NHC 2.4/6/succeeded", "NHC 2.7/Succeeded")
def test_step_that_succeeded_in_vain_is_over_at_its_timeout() -> None:
    course = Plan(ESCALATION).progress([request_of(FIRST, FIVE + A_MOMENT, succeeded=True)], NOW)
    assert course.running is None
    assert course.next_step == 1


@pytest.mark.rule("NHC 2.4/6/timeout", "NHC 2.4/2/none left")
def test_last_step_times_out_too_and_then_nothing_is_left() -> None:
    tried = [request_of(FIRST, succeeded=False), request_of(SECOND, succeeded=False)]
    running = Plan(ESCALATION).progress([*tried, request_of(THIRD, 10 * MINUTE)], NOW)
    assert running.running is not None
    assert not running.is_exhausted
    over = Plan(ESCALATION).progress([*tried, request_of(THIRD, 10 * MINUTE + A_MOMENT)], NOW)
    assert over.is_exhausted
    assert [request.reference.template for request in over.over] == ["replace", "reboot", "reset"]


@pytest.mark.rule("rule 10/edit")
def test_edited_timeout_counts_from_the_start_of_its_own_request() -> None:
    request = request_of(FIRST, 2 * MINUTE)
    for seconds, is_over in ((300, False), (119, True), (120, False)):
        edited = FIRST.model_copy(update={"timeout_seconds": seconds})
        assert Plan((edited, SECOND)).is_over(request, NOW) is is_over


@pytest.mark.rule("rule 10/steps")
def test_request_of_a_template_that_is_no_longer_listed_keeps_its_time() -> None:
    unlisted = request_of(THIRD, timedelta(days=1))
    course = Plan((FIRST, SECOND)).progress([unlisted], NOW)
    assert course.running == unlisted
    assert course.until is None


@pytest.mark.rule("rule 10/steps")
@pytest.mark.parametrize("fields", [{"succeeded": False}, {"timed_out_at": NOW}])
def test_new_list_begins_when_a_request_of_the_old_one_has_failed(fields: dict[str, Any]) -> None:
    course = Plan((FIRST, SECOND)).progress([request_of(THIRD, **fields)], NOW)
    assert course.running is None
    assert course.next_step == 0


@pytest.mark.rule("rule 10/steps")
def test_new_list_while_a_step_runs_takes_the_first_that_was_not_tried() -> None:
    tried = request_of(FIRST, FIVE + A_MOMENT)
    assert Plan((SECOND, FIRST, THIRD)).progress([tried], NOW).next_step == 0
    assert Plan((FIRST, THIRD)).progress([tried], NOW).next_step == 1
    assert Plan((FIRST,)).progress([tried], NOW).is_exhausted


@pytest.mark.rule("rule 39/escalation")
def test_request_that_does_not_name_its_template_is_of_any_of_its_kind() -> None:
    request = unnamed(request_of(FIRST, succeeded=False))
    plan = Plan(ESCALATION)
    assert plan.step_of(request.reference) == FIRST
    assert plan.progress([request], NOW).next_step == 2


@pytest.mark.rule("NHC 2.4/2")
def test_step_that_was_tried_stays_so_when_its_request_is_gone() -> None:
    assert Plan(ESCALATION, spent=[REBOOT]).progress([], NOW).next_step == 1
    assert Plan(ESCALATION, spent=[REBOOT]).progress([request_of(SECOND, 3 * MINUTE)], NOW).next_step == 2
    assert Plan(ESCALATION, spent=[step.template for step in ESCALATION]).progress([], NOW).is_exhausted


@pytest.mark.rule("NHC 2.4/6/kept")
def test_request_that_is_over_does_not_hide_the_one_that_runs() -> None:
    running = request_of(SECOND)
    for requests in (
        [request_of(FIRST, FIVE, succeeded=False), running],
        [running, request_of(FIRST, 6 * MINUTE)],
    ):
        course = Plan(ESCALATION).progress(requests, NOW)
        assert course.running == running
        assert course.until == NOW + 2 * MINUTE


@pytest.mark.parametrize("first_age", [timedelta(), MINUTE])
def test_latest_request_is_of_the_later_step_also_when_both_are_of_one_second(first_age: timedelta) -> None:
    first, second = request_of(FIRST, first_age, succeeded=False), request_of(SECOND)
    assert Plan(ESCALATION).latest([first, second]) == second
    assert Plan(ESCALATION).latest([second, first]) == second


AGES = st.integers(0, 20).map(lambda minutes: minutes * MINUTE)
REQUESTS = st.lists(
    st.builds(
        lambda step, age, succeeded: request_of(step, age, succeeded=succeeded),
        st.sampled_from(ESCALATION),
        AGES,
        st.sampled_from([None, True, False]),
    ),
    unique_by=lambda one: one.uid,
)


@given(requests=REQUESTS, order=st.randoms(use_true_random=False))
def test_order_in_which_the_cluster_shows_requests_does_not_matter(
    requests: list[RequestSnapshot], order: Any
) -> None:
    shuffled = list(requests)
    order.shuffle(shuffled)
    one, other = Plan(ESCALATION).progress(requests, NOW), Plan(ESCALATION).progress(shuffled, NOW)
    assert one.next_step == other.next_step
    assert {request.uid for request in one.over} == {request.uid for request in other.over}
    assert one.is_exhausted == other.is_exhausted


@given(requests=REQUESTS, later=AGES)
def test_request_that_is_over_stays_over(requests: list[RequestSnapshot], later: timedelta) -> None:
    plan = Plan(ESCALATION)
    now, then = plan.progress(requests, NOW), plan.progress(requests, NOW + later)
    assert set(now.over) <= set(then.over)
    if now.running is None:
        assert (then.running, then.next_step) == (None, now.next_step)


@given(requests=REQUESTS)
def test_running_request_is_over_right_after_its_end(requests: list[RequestSnapshot]) -> None:
    course = Plan(ESCALATION).progress(requests, NOW)
    if course.running is None or course.until is None:
        assert course.running is None
        return
    assert not Plan(ESCALATION).is_over(course.running, course.until)
    assert Plan(ESCALATION).is_over(course.running, course.until + A_MOMENT)


@pytest.mark.rule("NHC 2.5/durations")
@pytest.mark.parametrize(("step", "minutes"), [(CLASSIC[0], 10), (FIRST, 5), (SECOND, 2), (THIRD, 10)])
def test_lease_is_taken_for_the_timeout_of_its_step(step: Step, minutes: int) -> None:
    assert lease_duration(step) == minutes * MINUTE


@pytest.mark.rule("NHC 2.5/overdue")
def test_time_before_a_step_is_that_of_the_steps_before_it() -> None:
    plan = Plan(ESCALATION)
    assert [plan.time_before(step) for step in ESCALATION] == [timedelta(), 5 * MINUTE, 7 * MINUTE]
    assert Plan(CLASSIC).time_before(CLASSIC[0]) == timedelta()
    assert plan.time_before(Step(template=RESET)) == timedelta()
