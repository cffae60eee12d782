"""Wakes: signals without facts, that something has changed which the workflow is to observe again."""


class Wakes:
    """Those of one run; several that come while the main loop is busy are answered by one observation."""

    def __init__(self) -> None:
        self._received = self._answered = 0

    def receive(self) -> None:
        """Note one that has come: all that a signal handler may do."""
        self._received += 1

    @property
    def has_new(self) -> bool:
        """Whether one came since the latest that was answered: then the main loop must not rest."""
        return self._received > self._answered

    def answer(self) -> None:
        """Begin to observe what has changed; a wake that comes from now on asks for it again."""
        self._answered = self._received
