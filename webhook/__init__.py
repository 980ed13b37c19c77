"""drainhook: drain hooks, grace periods and readiness probes for LLM servers on Kubernetes.

Only the version lives here; import the part you need from its own module.
"""

__version__ = "0.1.0"
