"""What can go wrong with a release."""


class ReleaseError(Exception):
    """There is no release; one sentence says why."""
