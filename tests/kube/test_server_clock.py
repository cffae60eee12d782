"""Estimates of the server's clock and of our own from the Date headers of answers."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.errors import ServerFault
from kube.server_clock import TOLERANCE, Offset, ServerClock
from kube.transport import Transport
from tests.support.api.api_server import ApiServer, lines, refused, said

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
OFF = timedelta(seconds=40)
RESOLUTION = timedelta(seconds=1)
HAIR = timedelta(milliseconds=1)  # of floats

SECONDS = st.floats(min_value=0, max_value=30)
ANSWERS = st.lists(st.tuples(SECONDS, SECONDS, SECONDS), min_size=1, max_size=20)
"""Of each: how long after the one before it was sent, when the server looked at its clock, when it came."""
SKEWS = st.floats(min_value=-100_000, max_value=100_000)


class Machine:
    """Our clocks, beside that of a server which is behind ours by `skew` seconds."""

    def __init__(self, skew: float = 0.0) -> None:
        self.seconds = 1000.0
        self.ahead = 0.0
        self.skew = skew
        self.clock = ServerClock(lambda: self.wall, lambda: self.seconds)

    @property
    def wall(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds + self.ahead)

    @property
    def server(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds - self.skew)

    def ask(self, thinks: float = 0.0, comes: float = 0.0) -> None:
        """Ask the server, which looks at its clock after `thinks` seconds, and whose answer then takes."""
        sent = self.seconds
        self.seconds += thinks
        date = format_datetime(self.server, usegmt=True)
        self.seconds += comes
        self.clock.note({"Date": date}, sent)

    def known_skew(self) -> timedelta:
        skew = self.clock.skew()
        assert skew is not None
        return skew


@given(st.floats(min_value=-1e6, max_value=1e6), SECONDS, SECONDS, SKEWS)
def test_one_answer_says_the_skew_to_within_a_second_and_the_time_of_the_request(
    began: float, thinks: float, comes: float, skew: float
) -> None:
    machine = Machine(skew)
    machine.seconds = began
    machine.ask(thinks, comes)

    known, true = machine.known_skew(), timedelta(seconds=skew)
    assert abs(known) <= abs(true) + HAIR
    assert abs(true - known) <= RESOLUTION + timedelta(seconds=thinks + comes) + HAIR


@given(ANSWERS, SKEWS)
def test_skew_is_never_reported_larger_than_it_is_and_more_answers_never_lower_it(
    answers: list[tuple[float, float, float]], skew: float
) -> None:
    machine, before = Machine(skew), timedelta(0)
    for pause, thinks, comes in answers:
        machine.seconds += pause
        machine.ask(thinks, comes)
        known = machine.known_skew()
        assert before - HAIR <= abs(known) <= abs(timedelta(seconds=skew)) + HAIR
        before = abs(known)


@given(st.floats(min_value=0, max_value=2), SECONDS, SECONDS)
def test_clocks_that_agree_have_no_skew_however_long_an_answer_takes(
    fraction: float, thinks: float, comes: float
) -> None:
    machine = Machine()
    machine.seconds += fraction
    machine.ask(thinks, comes)
    assert abs(machine.known_skew()) <= HAIR


@given(SKEWS, SKEWS)
def test_answer_that_contradicts_the_earlier_ones_is_believed(before: float, after: float) -> None:
    machine = Machine(before)
    machine.ask()
    machine.skew = after
    machine.ask()
    assert abs(machine.known_skew() - timedelta(seconds=after)) <= RESOLUTION + HAIR


def test_answers_at_other_parts_of_a_second_narrow_what_is_known() -> None:
    machine = Machine(skew=0.5)
    for _ in range(10):
        machine.seconds += 7.1
        machine.ask()
    assert machine.known_skew() == pytest.approx(timedelta(seconds=0.5), abs=timedelta(seconds=0.11))


@given(st.floats(), st.floats(), st.floats(), st.floats())
def test_known_interval_is_never_empty(least: float, width: float, other: float, other_width: float) -> None:
    known, newer = Offset(least, least + abs(width)), Offset(other, other + abs(other_width))
    both = known.narrowed(newer)
    assert both == newer or both.least <= both.most or both != both  # noqa: PLR0124  of NaN


@pytest.mark.parametrize("skew", [0, 0.9, -0.9, 1.9, -1.9, 40, -40, 3600, -3600])
def test_own_clock_is_corrected_by_what_it_is_off_for_certain(skew: float) -> None:
    machine = Machine(skew)
    machine.ask()
    assert machine.wall - machine.clock.now() == machine.known_skew()
    assert abs(machine.clock.now() - machine.server) <= RESOLUTION


def test_own_clock_that_may_be_right_is_believed() -> None:
    machine = Machine(0.9)
    machine.seconds += 0.95
    machine.ask()
    assert machine.clock.now() == machine.wall


def test_clocks_of_two_processes_are_not_apart_by_what_both_are_off() -> None:
    ahead, behind = Machine(1.9), Machine(-1.9)
    for machine in (ahead, behind):
        for _ in range(20):
            machine.seconds += 7.1
            machine.ask()
    assert abs(ahead.clock.now() - ahead.server) <= timedelta(seconds=0.1)
    assert abs(behind.clock.now() - behind.server) <= timedelta(seconds=0.1)


def test_nothing_is_known_before_the_first_answer_and_own_clock_counts() -> None:
    machine = Machine(40)
    assert machine.clock.skew() is None
    assert machine.clock.age() is None
    assert machine.clock.now() == machine.wall


def test_known_interval_is_as_old_as_the_last_answer_with_a_date() -> None:
    machine = Machine(40)
    machine.ask()
    machine.seconds += 7
    machine.clock.note({}, machine.seconds)
    assert machine.clock.age() == timedelta(seconds=7)
    assert abs(machine.known_skew() - OFF) <= RESOLUTION


@pytest.mark.parametrize("ahead", [-40.0, 40.0])
def test_own_clock_that_is_set_shows_at_once_and_the_time_of_the_server_stays(ahead: float) -> None:
    machine = Machine()
    machine.ask()
    machine.ahead = ahead
    assert abs(machine.known_skew() - timedelta(seconds=ahead)) <= RESOLUTION
    assert abs(machine.clock.now() - machine.server) <= RESOLUTION


@pytest.mark.parametrize(
    ("ahead", "set_back"),
    [(-40.0, timedelta(seconds=40)), (-2.5, timedelta(seconds=2.5)), (-1.5, None), (0.0, None), (40.0, None)],
)
def test_own_clock_that_is_set_back_is_noticed(ahead: float, set_back: timedelta | None) -> None:
    machine = Machine()
    assert machine.clock.set_back() is None
    machine.ahead = ahead
    machine.ask()
    machine.seconds += 5

    noticed = machine.clock.set_back()
    assert (noticed and noticed.by) == (set_back and pytest.approx(set_back, abs=HAIR))
    assert (noticed and noticed.age) == (set_back and timedelta(seconds=5))


def test_each_step_backwards_counts_anew() -> None:
    machine = Machine()
    for ahead in (-10, 5, -5):
        machine.seconds += 100
        machine.ahead = ahead
        machine.clock.look()
    noticed = machine.clock.set_back()
    assert noticed is not None
    assert (noticed.by, noticed.age) == (timedelta(seconds=10), timedelta(0))


def test_step_backwards_is_reported_at_once_and_reading_it_changes_nothing() -> None:
    machine = Machine()
    machine.ahead = -10
    for _ in range(2):
        noticed = machine.clock.set_back()
        assert noticed is not None
        assert (noticed.by, noticed.age) == (timedelta(seconds=10), timedelta(0))
        machine.seconds += 5

    machine.clock.look()
    machine.seconds += 5
    noticed = machine.clock.set_back()
    assert noticed is not None
    assert noticed.age == timedelta(seconds=5)


def test_servers_clock_that_is_set_is_no_step_of_ours() -> None:
    machine = Machine()
    for skew in (0, 40, -40):
        machine.skew = skew
        machine.ask()
    assert machine.clock.set_back() is None


ODD: tuple[dict[str, str], ...] = (
    {},
    {"Date": ""},
    {"Date": "yesterday"},
    {"Date": "Fri, 31 Dec 9999 23:59:59 GMT"},
    {"Date": "Mon, 01 Jan 0001 00:00:00 GMT"},
    {"Date": "Sun, 01 Mar 2026 12:00:00 +0100"},
    {"Date": "Sun, 01 Mar 2026 12:99:00 GMT"},
    {"Date": "Sun, 01 Mar 2026 12:00:00 +99999999999999999999"},
    {"Date": "Sun, 01 Mar 2026 12:00:00 GMT", "Age": "3600"},
)


@pytest.mark.parametrize("headers", ODD)
def test_answer_without_a_date_that_can_be_believed_changes_nothing(headers: dict[str, str]) -> None:
    machine = Machine(40)
    machine.clock.note(headers, machine.seconds)
    assert machine.clock.skew() is None

    machine.ask()
    known = machine.known_skew()
    machine.clock.note(headers, machine.seconds)
    assert machine.known_skew() == known


@given(st.one_of(st.text(), st.datetimes(timezones=st.just(UTC)).map(format_datetime)))
def test_no_date_breaks_anything(date: str) -> None:
    machine = Machine()
    machine.clock.note({"Date": date}, machine.seconds)
    assert machine.clock.now().tzinfo is not None


def dated(by: timedelta) -> str:
    return format_datetime(datetime.now(UTC) + by, usegmt=True)


async def test_transport_notes_the_date_of_an_answer(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", said({}, Date=dated(-OFF)))
    await transport.request("GET", "/x")

    skew = transport.server_clock.skew()
    assert skew is not None
    assert OFF - RESOLUTION - TOLERANCE <= skew <= OFF
    assert abs(datetime.now(UTC) - transport.server_clock.now() - OFF) <= RESOLUTION + TOLERANCE


async def test_transport_notes_the_date_of_an_error(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", "/x", refused(503, "ServiceUnavailable", Date=dated(OFF)))
    with pytest.raises(ServerFault):
        await transport.request("GET", "/x")

    skew = transport.server_clock.skew()
    assert skew is not None
    assert -OFF - TOLERANCE <= skew <= RESOLUTION - OFF


async def test_transport_notes_the_date_of_a_stream_that_opens(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", "/x", lines(then="silent"))
    async with transport.stream("/x", (), silence=OFF):
        assert transport.server_clock.skew() == timedelta(0)
