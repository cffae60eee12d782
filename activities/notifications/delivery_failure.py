"""DeliveryFailure: why a notification was not delivered, in words without any part of an address or token.

Errors of libraries quote URLs, and URLs are secrets. So no such error is chained, and none of its text is
kept: Temporal stores the failure of an activity with its causes.
"""

from datetime import timedelta
from enum import StrEnum


class DeliveryProblem(StrEnum):
    """The kinds of failures, as the metric names them."""

    POLICY_UNREAD = "PolicyUnread"
    FILE_UNREADABLE = "FileUnreadable"
    ADDRESS_REFUSED = "AddressRefused"
    NO_CONNECTION = "NoConnection"
    NO_ANSWER = "NoAnswer"
    REJECTED = "Rejected"
    """An answer from 300 to 499; redirects are not followed."""
    RATE_LIMITED = "RateLimited"
    SERVER_ERROR = "ServerError"
    INTERNAL_ERROR = "InternalError"
    """An error of ours."""


class DeliveryFailure(Exception):
    """The attempt failed; a later one may succeed."""

    def __init__(self, problem: DeliveryProblem, sentence: str, retry_after: timedelta | None = None) -> None:
        """`retry_after`: how long the receiver wants no request; None: it does not say."""
        super().__init__(sentence)
        self.problem = problem
        self.retry_after = retry_after
