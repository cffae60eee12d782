"""What can go wrong on a laptop: one tree, each error one sentence that says what to do."""


class DevclusterError(Exception):
    """Something that the person who started us has to know or do; the message is one sentence."""


class BuildError(DevclusterError):
    """A program could not be built from its sources."""


class MissingProgramError(DevclusterError):
    """A program that we need is neither on PATH nor among the installed packages."""


class NotReadyError(DevclusterError):
    """A server did not become ready in time."""


class HopelessError(DevclusterError):
    """A program dies whenever it is started."""


class InUseError(DevclusterError):
    """Another `paramedic dev` runs on the same directory."""


class SettingsError(DevclusterError):
    """What was asked for makes no sense."""
