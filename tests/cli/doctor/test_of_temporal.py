"""Findings about the retention of a Temporal namespace, and reasons of notifications."""

from datetime import UTC, datetime, timedelta

import pytest

from cli.doctor.temporal_examination import (
    DeliveryState,
    by_reason,
    retention_findings,
    temporal_findings,
)
from tests.support.api.grpc_server import OK, GrpcServer, Headers, status

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("retention", "back_off_limit"),
    [(HOUR, HOUR / 2), (DAY, HOUR / 2), (DAY, timedelta()), (timedelta(), DAY)],
    ids=["just enough", "enough", "no back-off", "not said"],
)
def test_retention_that_is_enough_is_nothing_to_say(retention: timedelta, back_off_limit: timedelta) -> None:
    assert retention_findings("prod", retention, back_off_limit) == []


def test_retention_that_is_too_short_is_reported_with_one_that_is_enough() -> None:
    (finding,) = retention_findings("prod", DAY, 13 * HOUR)
    assert finding.what == "namespace prod keeps closed workflows for 1d, and back-off looks back for 1d2h"
    assert finding.advice.startswith("`paramedic setup --retention 2d`, or lower the limit of back-off; ")


def test_reason_of_several_receivers_is_given_once_with_its_latest_time() -> None:
    invalid, at = "PolicyUnread: the policy is invalid", datetime(2026, 3, 1, 12, tzinfo=UTC)
    failures = {
        "oncall": DeliveryState(invalid, at),
        "chat": DeliveryState("no worker has taken it"),
        "pager": DeliveryState(invalid, at + HOUR),
    }
    assert by_reason(failures) == [
        f"oncall, pager: {invalid} (last tried at 2026-03-01 13:00:00Z)",
        "chat: no worker has taken it",
    ]


@pytest.mark.parametrize(
    ("answer", "reason", "what"),
    [
        (status(7, "no."), "TemporalRefuses", "answers PermissionDenied: no"),
        (status(14, "no hosts"), "TemporalRefuses", "answers Unavailable: no hosts"),
        (None, "TemporalUnreachable", "cannot be reached: Connection refused"),
    ],
)
async def test_temporal_that_answers_with_an_error_is_told_from_one_that_does_not_answer(
    answer: Headers | None, reason: str, what: str
) -> None:
    async with GrpcServer(answer or OK) as server:
        address = server.address
        environment = {"TEMPORAL_ADDRESS": address}
        found = await temporal_findings(environment, ()) if answer else []
    if answer is None:
        found = await temporal_findings(environment, ())
    assert [(one.reason, one.what) for one in found] == [(reason, f"Temporal at {address} {what}")]
