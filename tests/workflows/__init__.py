"""Remediation on a real Temporal server, beside a cluster that is played."""

import pytest

# What must hold of all incidents is asserted there, and should say what did not.
pytest.register_assert_rewrite("tests.workflows.checked")
