"""The one exception of the test cluster. Its message is a plain sentence for a person; nothing else lives here."""

from __future__ import annotations


class ClusterError(Exception):
    """Something that the cluster needs is missing or failed; the message says how to mend it."""
