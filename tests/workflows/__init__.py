"""Remediation on a real Temporal server, with scripted activities in place of the cluster."""

import pytest

# The assertions about all incidents are there, and pytest must show their values.
pytest.register_assert_rewrite("tests.workflows.checked")
