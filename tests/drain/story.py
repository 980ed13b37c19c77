"""The figures that most tests share: a metrics page with two gauges, and the parameters that name them.

Never here: a test, or anything of a real profile.
"""

from __future__ import annotations

from tests.drain.engine import Answer, Engine

GAUGES = ("gauge=llm:running", "gauge=llm:waiting")


def page(running: object, waiting: object = 0.0, *, manner: str = "plain") -> Answer:
    """Write a metrics page as exporters write it."""
    lines = [
        "# HELP llm:running Number of requests in execution.",
        "# TYPE llm:running gauge",
        f'llm:running{{engine="0",model_name="tiny"}} {running}',
        "# HELP llm:waiting Number of requests in the queue.",
        "# TYPE llm:waiting gauge",
        f'llm:waiting{{engine="0",model_name="tiny"}} {waiting}',
        'llm:tokens_total{engine="0",model_name="tiny"} 811.0',
    ]
    return Answer("\n".join(lines) + "\n", manner=manner)


BUSY = page(3.0, 1.0)
IDLE = page(0.0)


def budget(settle: int = 0, drain: int = 8, idle: int = 1) -> tuple[str, ...]:
    """Name the three waits, in whole seconds."""
    return (f"settle={settle}", f"drain={drain}", f"idle={idle}")


def polled(engine: Engine) -> tuple[str, ...]:
    """Name serving port, page and gauges of an engine."""
    return (f"ports={engine.port}", f"url={engine.url()}", *GAUGES)
