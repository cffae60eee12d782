"""The demo: shows failures and their remediation on real servers, in several scenarios."""
