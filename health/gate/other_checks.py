"""OtherChecks: health checks that others handle, as they matter to ours, those of a cluster together."""

from enum import StrEnum


class OtherChecks(StrEnum):
    """Those of a cluster."""

    NONE = "None"
    TERMINATING_ONLY = "TerminatingOnly"
    """One that looks at the condition Terminating alone."""
    OTHERS = "Others"
