"""The lifespan protocol: when the server starts and ends, also around an application that knows no lifespan."""

from __future__ import annotations

from typing import Protocol

from webhook.drainable.answers import App, Message, Receive, Scope, Send


class Ends(Protocol):
    """What begins before the application's start and ends before its end."""

    def start(self) -> None:
        """Begin."""

    async def stop(self) -> None:
        """End."""

    def give_up(self) -> None:
        """Undo the beginning: the application did not start."""


async def run_lifespan(app: App, scope: Scope, receive: Receive, send: Send, ends: Ends) -> None:
    """Pass the protocol on. An application that raises before it asked for anything, or returns, does not speak it."""
    asked: list[str] = []
    told: list[str] = []
    ends.start()

    async def hear() -> Message:
        message = await receive()
        asked.append(message["type"])
        if message["type"] == "lifespan.shutdown":
            await ends.stop()
        return message

    async def tell(message: Message) -> None:
        told.append(message["type"])
        if message["type"] == "lifespan.startup.failed":
            ends.give_up()
        await send(message)

    try:
        await app(scope, hear, tell)
    except Exception:
        if asked or told:  # a real one that failed
            raise
    await _go_on(hear, tell, asked, told)


async def _go_on(hear: Receive, tell: Send, asked: list[str], told: list[str]) -> None:
    """Speak the rest of the protocol for an application that has returned."""
    if not asked:
        await hear()
    if not told:
        await tell({"type": "lifespan.startup.complete"})
    if told[-1] == "lifespan.startup.complete":
        if asked[-1] != "lifespan.shutdown":
            await hear()
        await tell({"type": "lifespan.shutdown.complete"})
