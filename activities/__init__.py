"""Idempotent effects on the cluster; activities decide only whether their input still holds."""
