"""The errors of a release."""


class ReleaseError(Exception):
    """The release cannot be created; the message is one sentence."""
