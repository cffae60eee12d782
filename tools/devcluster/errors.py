"""The errors of devcluster; each message is one sentence and says what to do."""


class DevclusterError(Exception):
    """Root of the errors; the message is one sentence for the person who runs the command."""


class BuildError(DevclusterError):
    """A program could not be built from its sources."""


class MissingProgramError(DevclusterError):
    """A required program is neither on PATH nor among the installed packages."""


class NotReadyError(DevclusterError):
    """A server did not become ready in time."""


class HopelessError(DevclusterError):
    """A program dies after every start, so waiting for it is useless."""


class InUseError(DevclusterError):
    """Another `paramedic dev` runs on the same directory."""


class OptionsError(DevclusterError):
    """An option, or a combination of options, makes no sense."""


class DemoFailedError(DevclusterError):
    """An expected event did not happen; the message is one sentence."""
