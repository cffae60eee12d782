import json
from datetime import timedelta

import pytest

from kube import errors
from kube.errors import KubernetesError
from kube.status import classify


def _status(reason: str, message: str = "no", **details: object) -> bytes:
    return json.dumps({"kind": "Status", "reason": reason, "message": message, "details": details}).encode()


@pytest.mark.parametrize(
    ("code", "body", "expected"),
    [
        pytest.param(307, b"", errors.Malformed, id="a redirect"),
        pytest.param(400, _status("BadRequest"), errors.Invalid, id="bad request"),
        pytest.param(401, _status("Unauthorized"), errors.Unauthorized, id="unauthorized"),
        pytest.param(403, _status("Forbidden"), errors.Forbidden, id="forbidden"),
        pytest.param(404, _status("NotFound", name="a"), errors.NotFound, id="no such object"),
        pytest.param(404, b"404 page not found\n", errors.KindUnknown, id="no such group version"),
        pytest.param(404, _status("NotFound"), errors.KindUnknown, id="no such plural"),
        pytest.param(409, _status("AlreadyExists"), errors.AlreadyExists, id="name taken"),
        pytest.param(409, _status("Conflict"), errors.Conflict, id="changed"),
        pytest.param(409, b"", errors.Conflict, id="conflict without a Status"),
        pytest.param(410, _status("Expired"), errors.Expired, id="expired"),
        pytest.param(410, _status("Gone"), errors.Expired, id="gone"),
        pytest.param(415, _status("UnsupportedMediaType"), KubernetesError, id="anything else"),
        pytest.param(422, _status("Invalid"), errors.Invalid, id="invalid"),
        pytest.param(429, _status("TooManyRequests"), errors.TooManyRequests, id="too many requests"),
        pytest.param(500, _status("InternalError"), errors.ServerFault, id="internal error"),
        pytest.param(503, b"<html>", errors.ServerFault, id="a proxy without a backend"),
        pytest.param(504, _status("Timeout"), errors.ServerFault, id="timeout"),
    ],
)
def test_answer_becomes_the_error_that_tells_what_to_do(
    code: int, body: bytes, expected: type[KubernetesError]
) -> None:
    error = classify("GET /x", "/x", code, body)

    assert type(error) is expected
    assert isinstance(error, errors.RequestRefused) == (code in {400, 403, 422})
    assert (error.status, error.path) == (code, "/x")


def test_message_says_what_was_asked_and_what_was_answered() -> None:
    error = classify("GET /x", "/x", 404, _status("NotFound", 'nodes "a" not found', name="a"))

    assert error.message == 'GET /x was answered 404 NotFound: nodes "a" not found'
    assert str(error) == error.message


def test_body_that_is_no_status_is_not_quoted() -> None:
    assert (
        classify("GET /x", "/x", 502, b'{"kind":"Page","message":"secret"}').message
        == "GET /x was answered 502."
    )


def test_long_message_is_cut() -> None:
    error = classify("GET /x", "/x", 500, _status("InternalError", "m" * 1000))

    assert len(error.message) < 256 + 60
    assert error.message.endswith("m…")


def test_long_reason_is_cut() -> None:
    error = classify("GET /x", "/x", 500, _status("r" * 1_000_000))

    assert len(error.message) < 128 + 60
    assert error.reason == "r" * 127 + "…"


def test_wait_is_read_from_the_header_or_else_from_the_status() -> None:
    body = _status("TooManyRequests", retryAfterSeconds=3)

    assert classify("GET /x", "/x", 429, body, "7").retry_after == timedelta(seconds=7)
    assert classify("GET /x", "/x", 429, body).retry_after == timedelta(seconds=3)
    assert classify("GET /x", "/x", 503, b"", "1").retry_after == timedelta(seconds=1)
    assert classify("GET /x", "/x", 429, b"", "Wed, 21 Oct 2015 07:28:00 GMT").retry_after is None


def test_wait_has_a_limit() -> None:
    limit = timedelta(minutes=5)

    assert classify("GET /x", "/x", 429, b"", "9" * 20).retry_after == limit
    assert (
        classify("GET /x", "/x", 429, _status("TooManyRequests", retryAfterSeconds=10**20)).retry_after
        == limit
    )
    assert classify("GET /x", "/x", 429, b"", "9" * 5000).retry_after is None
