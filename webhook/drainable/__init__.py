"""A drain for ASGI servers of one's own: `app = Drainable(app)`, nothing but the standard library.

It counts what is in flight, refuses new work once the pod is leaving, answers the drain hook when all is done, and lets
the process end with 0 on SIGTERM. Works on asyncio under uvicorn, gunicorn, hypercorn and granian; docs/drainable.md.
"""

from webhook.drainable.middleware import Drainable
from webhook.drainable.shutdown import Cleanup

__all__ = ["Cleanup", "Drainable"]
