"""The errors of the simulation, which are errors of devcluster."""

from devcluster.errors import DevclusterError


class SimulationError(DevclusterError):
    """Root of the errors that the simulation raises."""


class BadRequestError(SimulationError):
    """A request on the control socket is invalid; the message has the field and its value."""


class ControlUnavailableError(SimulationError):
    """No process answers on the control socket, or the connection broke before the answer."""


class ControlPathError(SimulationError):
    """The control socket cannot be opened at the given path."""


class MachineRoomError(SimulationError):
    """The file that keeps the machines over a restart cannot be read."""
