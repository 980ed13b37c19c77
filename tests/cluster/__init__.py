"""A real Kubernetes on this machine for tests: `python -m tests.cluster up`, `down`, `kubectl`, ... (`make cluster`).

Everything of the cluster is here and nothing of drainhook's own behaviour; docs/testing.md says how to use it.
"""
