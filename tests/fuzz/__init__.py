"""The differential check: generated pods, decided by drainhook, judged by Kubernetes' own validation.

Only this check lives here; what it finds becomes a case of tests/conformance.
"""
