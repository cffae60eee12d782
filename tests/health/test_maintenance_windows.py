"""When remediations may begin, by the clock on the wall of whoever wrote the window."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from pydantic import ValidationError

from health.policy.maintenance_windows import MaintenanceWindow, closed, open_windows

pytestmark = pytest.mark.rule("rule 43")

NIGHTS = {
    "name": "nights",
    "schedule": "0 22 * * 1-5",
    "duration": "6h",
    "timeZone": "Europe/Berlin",
    "remediation": "Allowed",
}
SALE = {"name": "sale", "schedule": "0 0 24 11 *", "duration": "168h", "remediation": "Blocked"}
HOUR = timedelta(hours=1)
MONDAY = datetime(2026, 11, 2, tzinfo=UTC)


def window(base: dict[str, Any], **fields: Any) -> MaintenanceWindow:
    return MaintenanceWindow.model_validate(base | fields)


def words(now: datetime, *windows: MaintenanceWindow, named: tuple[str, ...] = ()) -> str:
    found = closed(windows, named, now)
    return found.message if found else "open"


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        (20.99, "remediation is allowed from 2026-11-02T21:00:00Z, when the maintenance window nights opens"),
        (21, "open"),
        (26.99, "open"),
        (27, "remediation is allowed from 2026-11-03T21:00:00Z, when the maintenance window nights opens"),
        # From the night of Friday to the evening of Monday.
        (123, "remediation is allowed from 2026-11-09T21:00:00Z, when the maintenance window nights opens"),
    ],
)
def test_remediations_begin_only_while_a_window_that_allows_them_is_open(hours: float, expected: str) -> None:
    assert words(MONDAY + timedelta(hours=hours), window(NIGHTS)) == expected


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_window_opens_as_often_whatever_time_it_is_while_clocks_are_changed(day: str) -> None:
    schedule, zone = "30 2 * * *", ZoneInfo("Europe/Berlin")
    at_night = window(NIGHTS, schedule=schedule, duration="1h")
    midnight = datetime.fromisoformat(day).replace(tzinfo=UTC)
    starts = CronSim(schedule, (midnight - timedelta(days=3)).astimezone(zone))
    opened = [next(starts).astimezone(UTC) for _ in range(7)]
    for minute in range(24 * 60):
        now = midnight + timedelta(minutes=minute)
        latest = max(start for start in opened if start <= now)
        assert at_night.open_until(now) == (latest + HOUR if now < latest + HOUR else None), now
        assert at_night.opens(now) == min(start for start in opened if start > now), now


def test_window_is_open_in_the_hour_that_is_repeated() -> None:
    sale = window(SALE, schedule="30 2 * * *", duration="1h", timeZone="Europe/Berlin")
    for minute in (30, 59, 60, 89):
        now = datetime(2026, 10, 25, tzinfo=UTC) + timedelta(minutes=minute)
        assert words(now, sale) == "the maintenance window sale blocks remediation until 2026-10-25T01:30:00Z"


def test_hold_ends_when_the_window_opens() -> None:
    found = closed([window(NIGHTS)], (), MONDAY + timedelta(hours=20))
    assert found is not None
    assert found.hold.ask_again_seconds == 3600


def test_window_that_blocks_wins_over_one_that_allows() -> None:
    during = datetime(2026, 11, 24, 22, tzinfo=UTC)
    assert words(during, window(NIGHTS)) == "open"
    blocked = "the maintenance window sale blocks remediation until 2026-12-01T00:00:00Z"
    assert words(during, window(NIGHTS), window(SALE)) == blocked
    assert words(during, window(SALE)) == blocked
    assert words(MONDAY, window(SALE)) == "open"


@pytest.mark.parametrize(("month", "utc_hour"), [(1, 21), (7, 20)])
def test_window_follows_the_clock_of_its_time_zone_over_the_year(month: int, utc_hour: int) -> None:
    daily = window(NIGHTS, schedule="0 22 * * *")
    opens = datetime(2026, month, 15, utc_hour, tzinfo=UTC)
    assert words(opens - timedelta(seconds=1), daily) != "open"
    assert words(opens, daily) == "open"


def test_window_lasts_as_long_in_the_night_in_which_clocks_are_set_back() -> None:
    opens = datetime(2026, 10, 24, 20, tzinfo=UTC)
    daily = window(NIGHTS, schedule="0 22 * * *")
    assert daily.open_until(opens + timedelta(hours=5)) == opens + timedelta(hours=6)
    assert daily.open_until(opens + timedelta(hours=6)) is None


def test_window_that_is_only_named_is_for_the_checks_that_name_it() -> None:
    own = window(NIGHTS, onlyNamed=True)
    assert words(MONDAY, own) == "open"
    assert words(MONDAY, own, named=("nights",)).startswith("remediation is allowed from")


def test_check_that_names_a_window_which_is_not_there_is_held() -> None:
    expected = "its check names the maintenance window nihgts, which is not in the policy"
    assert words(MONDAY + timedelta(hours=22), window(NIGHTS), named=("nihgts",)) == expected


@pytest.mark.rule("rule 8")
@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"schedule": "0 22 * *"}, "must be a cron schedule of five fields"),
        ({"schedule": f"{'0-59,' * 20}0 * * * *"}, "String should have at most 100 characters"),
        ({"schedule": "61 * * * *"}, "is no cron schedule"),
        ({"schedule": "0 0 30 2 *"}, "is no cron schedule"),
        ({"timeZone": "Europe/Berln"}, "is no time zone"),
        ({"timeZone": "../etc"}, "is no time zone"),
        ({"timeZone": "localtime"}, "timeZone\n  Value error, is not a time zone that is the same on every"),
        ({"timeZone": "posixrules"}, "input_value='posixrules'"),
        ({"timeZone": "Factory"}, "is not a time zone that is the same on every machine"),
        ({"timeZone": "posix/Europe/Berlin"}, "is not a time zone that is the same on every machine"),
        ({"timeZone": "right/Europe/Berlin"}, "is not a time zone that is the same on every machine"),
        ({"duration": "0s"}, "must be from 1m"),
        ({"duration": 5}, "must be a duration"),
        ({"remediation": "Never"}, "'Allowed' or 'Blocked'"),
        ({"name": ""}, "name"),
        ({"zone": "UTC"}, "zone"),
    ],
)
def test_window_that_cannot_be_read_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as refused:
        window(NIGHTS, **fields)
    assert problem in str(refused.value)


def test_windows_are_others_from_the_moment_on_in_which_one_opens_or_closes() -> None:
    windows = [window(NIGHTS, duration="90s"), window(SALE)]
    opens, second = datetime(2026, 11, 23, 21, tzinfo=UTC), timedelta(seconds=1)
    moments = [opens - second, opens, opens + 89 * second, opens + 90 * second]
    assert [set(open_windows(windows, now)) for now in moments] == [set(), {"nights"}, {"nights"}, set()]
    assert open_windows(windows, opens + timedelta(hours=24)) == {"nights", "sale"}


MINUTE = timedelta(minutes=1)
EACH_MINUTE = window(SALE, schedule="* * * * *", duration="1m")


def answers(*windows: MaintenanceWindow, start: datetime = MONDAY, minutes: int = 24 * 60) -> list[str]:
    """The answers from minute to minute, without repetitions."""
    said = [words(start + number * MINUTE, *windows) for number in range(minutes)]
    return [one for before, one in zip(["", *said], said, strict=False) if before != one]


@pytest.mark.parametrize(
    "windows",
    [
        (EACH_MINUTE,),
        (window(SALE, schedule="*/5 * * * *", duration="7m"),),
        (
            window(SALE, schedule="*/2 * * * *", duration="1m", name="even"),
            window(SALE, schedule="1-59/2 * * * *", duration="1m", name="odd"),
        ),
    ],
    ids=["one that opens each minute", "one whose openings overlap", "two by turns"],
)
def test_windows_that_block_without_a_gap_change_the_answer_four_times_a_day(
    windows: tuple[MaintenanceWindow, ...],
) -> None:
    said = answers(*windows)
    assert len(said) == 4
    assert all("remediation until at least 2026-11-0" in one for one in said)
    found = closed(windows, (), MONDAY + MINUTE)
    assert found is not None
    assert found.hold.ask_again_seconds > 6 * 3600


def test_windows_that_meet_are_one_answer_with_both_names_and_the_last_end() -> None:
    first = window(SALE, schedule="0 8 * * *", duration="1h", name="first")
    second = window(SALE, schedule="0 9 * * *", duration="90m", name="second")
    assert answers(first, second) == [
        "open",
        "the maintenance windows first, second block remediation until 2026-11-02T10:30:00Z",
        "open",
    ]


def test_window_with_a_gap_blocks_until_it_closes() -> None:
    hourly = window(SALE, schedule="0 * * * *", duration="30m")
    assert words(MONDAY, hourly).endswith("until 2026-11-02T00:30:00Z")
    assert words(MONDAY + 30 * MINUTE, hourly) == "open"
    assert len(answers(hourly)) == 48


def test_many_windows_are_named_by_three() -> None:
    windows = [window(SALE, schedule="0 0 * * *", name=f"w{number}") for number in range(5)]
    assert words(MONDAY, *windows).startswith(
        "the maintenance windows w0, w1, w2 and 2 more block remediation"
    )


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
@pytest.mark.parametrize("schedule", ["* * * * *", "*/2 * * * *", "30 2 * * *", "15,45 1-3 * * *"])
def test_windows_that_block_are_open_as_each_by_itself_while_clocks_are_changed(
    schedule: str, day: str
) -> None:
    windows = [
        window(SALE, schedule=schedule, duration="20m", timeZone="Europe/Berlin", name="a"),
        window(SALE, schedule="0 3 * * *", duration="1m", timeZone="Europe/Berlin", name="b"),
    ]
    midnight = datetime.fromisoformat(day).replace(tzinfo=UTC)
    for minute in range(-60, 4 * 60):
        now = midnight + minute * MINUTE
        is_open = any(one.open_until(now) is not None for one in windows)
        assert (words(now, *windows) != "open") == is_open, now
