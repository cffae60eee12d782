"""Activities on a real API server, without a Temporal server."""

import pytest

# Assertions about acts are there, and pytest must show their values.
pytest.register_assert_rewrite("tests.activities.worker_activities")
