"""What can go wrong in a simulation: a branch of the tree of devcluster."""

from devcluster.errors import DevclusterError


class SimulationError(DevclusterError):
    """Root of the errors of the simulation."""


class BadRequestError(SimulationError):
    """A request on the control socket that cannot be carried out; names the field and its value."""


class ControlUnavailableError(SimulationError):
    """Nobody answers on the control socket, or the connection broke before the answer."""


class ControlPathError(SimulationError):
    """The control socket cannot be opened at the path that was given."""


class MachineRoomError(SimulationError):
    """The file that keeps the machines over a restart cannot be read."""
