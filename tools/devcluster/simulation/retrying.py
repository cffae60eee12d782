"""The back-off of the simulation, and its log of failed work."""

import logging
from datetime import timedelta

from objects.backoff import Backoff

_log = logging.getLogger(__name__)

BACKOFF = Backoff(timedelta(seconds=0.2), timedelta(seconds=7), jitter=(0.8, 1.2))
"""Its longest wait is the one of a real kubelet between two attempts to renew its Lease."""


class FailureLog:
    """Logs the failures of one piece of work.

    Only the first of consecutive failures is a warning: a thousand kubelets may fail at once.
    """

    def __init__(self) -> None:
        self._level = logging.WARNING

    def report(self, part: str, sentence: str) -> None:
        """Log why `part` fails; "" means that it has succeeded."""
        if sentence:
            _log.log(self._level, "%s: tries again until it succeeds: %s", part, sentence)
        self._level = logging.DEBUG if sentence else logging.WARNING
