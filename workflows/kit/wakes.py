"""Wakes: signals without facts, which make the workflow observe again."""


class Wakes:
    """The wakes of one run; those that arrive while the main loop is busy are answered by one observation."""

    def __init__(self) -> None:
        self._received = self._answered = 0

    def receive(self) -> None:
        """Record a wake; the signal handler does nothing else."""
        self._received += 1

    @property
    def has_new(self) -> bool:
        """True if a wake arrived since the last answer; the main loop must not rest then."""
        return self._received > self._answered

    def answer(self) -> None:
        """Start an observation; a wake that arrives from now on requires another one."""
        self._answered = self._received
