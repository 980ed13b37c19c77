"""What preStop hook a container has: none, our own (recognised by its form), or the user's, and what becomes of it.

Ours: exec with `drainhook` as `$0`; httpGet with our header; sleep when the status names that rung and the seconds
agree. What is recognised as ours is not the user's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from webhook import names
from webhook.core.container import Server
from webhook.core.endpoint import named_port
from webhook.core.patch import Tokens, field_path, look
from webhook.core.profile import Json

PRE_STOP: Tokens = ("lifecycle", "preStop")  # below a container
_SLEEP = re.compile(r"\s*(?:exec\s+)?(?:/\S*/)?sleep\s+([0-9]{1,6})(?:\.[0-9]+)?([smh]?)\s*;?\s*")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_COMPARES_TEXT = re.compile(r"==?\s*[\"']?0\.0")
_ARGV = "--"  # parameters of the drain script that hold the user's hook, see Existing.words
_CHAIN = "chain="
_CHAINED_TCP = "chained=tcp"
_CHAINED_SLEEP = re.compile(r"chained=sleep:([0-9]{1,10})")
_ARGV_AT = 4  # sh -c SCRIPT drainhook, then parameters


@dataclass(frozen=True, slots=True)
class Existing:
    """The preStop hook of a container.

    `form` is none, exec, http, sleep, tcp or unknown; `argv`, `url` and `seconds` belong to it. `is_ours` means that
    drainhook made it; then the rest describes the user's hook that was chained into it.
    """

    form: str
    is_ours: bool = False
    argv: tuple[str, ...] = ()
    url: str = ""
    seconds: int = 0
    refusal: str = ""

    @property
    def is_user(self) -> bool:
        """The user's own hook stands in the container."""
        return self.form != "none" and not self.is_ours

    @property
    def words(self) -> list[str]:
        """The parameters of the drain script that chain this hook; `_chained` reads them back."""
        return {
            "exec": [_ARGV, *self.argv],
            "http": [f"{_CHAIN}{self.url}"],
            "sleep": [f"chained=sleep:{self.seconds}"],
            "tcp": [_CHAINED_TCP],
        }.get(self.form, [])

    @property
    def is_weak(self) -> bool:
        """The hook waits or knocks, or compares metrics as text, but does not drain."""
        text = " ".join(self.argv)
        polls_as_text = "requests" in text.partition("grep")[2] or _COMPARES_TEXT.search(text) is not None
        return self.form in {"sleep", "tcp"} or polls_as_text


def existing_hook(server: Server, status: Json) -> Existing:
    """Read the preStop hook of a container; `status` is the decoded status annotation or None."""
    hook = look(server.container, PRE_STOP)
    if not hook:
        return Existing("none")
    argv = look(hook, ("exec", "command"))
    if isinstance(argv, list) and argv and all(isinstance(word, str) for word in argv):
        if argv[:2] == ["sh", "-c"] and argv[3:_ARGV_AT] == [names.HOOK_NAME]:
            return _chained(argv[_ARGV_AT:])
        return _exec(tuple(argv))
    if isinstance(hook.get("httpGet"), dict):
        return _http(server, hook["httpGet"])
    seconds = look(hook, ("sleep", "seconds"))
    if isinstance(seconds, int):
        if _is_our_sleep(server, seconds, status):
            return Existing("none", is_ours=True)
        return Existing("sleep", seconds=max(seconds, 0))
    if "tcpSocket" in hook:
        return Existing("tcp")
    return Existing("unknown", refusal="its kind of handler is not known")


def _is_our_sleep(server: Server, seconds: int, status: Json) -> bool:
    rungs = str(look(status, ("hook",))).split(",")
    place = field_path((*server.tokens, *PRE_STOP))
    if "sleep" not in rungs or place not in (look(status, ("changed",)) or ()):
        return False
    parts = [look(status, ("budget", key)) for key in ("settle", "drain")]
    return all(isinstance(part, int) for part in parts) and sum(parts) == seconds


def _exec(argv: tuple[str, ...]) -> Existing:
    """Recognise `sleep N`, alone or in a shell string."""
    is_shell = len(argv) == 3 and argv[1] == "-c"  # noqa: PLR2004  # sh -c SCRIPT
    found = _SLEEP.fullmatch(argv[2] if is_shell else " ".join(argv))
    if found:
        return Existing("sleep", argv=argv, seconds=int(found[1]) * _SECONDS[found[2]])
    return Existing("exec", argv=argv)


def _http(server: Server, get: Json) -> Existing:
    headers = get.get("httpHeaders")
    headers = headers if isinstance(headers, list) else []
    if any(isinstance(item, dict) and item.get("name") == names.HOOK_HEADER for item in headers):
        return Existing("none", is_ours=True)
    port = named_port(server, str(get.get("port")))
    refusal = ""
    if headers:
        refusal = "it sends headers of its own"
    elif str(get.get("host") or names.LOCAL_HOST) not in {names.LOCAL_HOST, "localhost"}:
        refusal = "it calls another host"
    elif port is None:
        refusal = "its port cannot be resolved in this container"
    path = str(get.get("path") or "/")
    scheme = str(get.get("scheme") or "HTTP").lower()
    return Existing("http", url=f"{scheme}://{names.LOCAL_HOST}:{port}/{path.lstrip('/')}", refusal=refusal)


def _chained(parameters: list[str]) -> Existing:
    """Read back the user's hook from the parameters of ours."""
    if _ARGV in parameters:
        return Existing("exec", is_ours=True, argv=tuple(parameters[parameters.index(_ARGV) + 1 :]))
    for word in parameters:
        if word.startswith(_CHAIN):
            return Existing("http", is_ours=True, url=word.removeprefix(_CHAIN))
        if slept := _CHAINED_SLEEP.fullmatch(word):
            return Existing("sleep", is_ours=True, seconds=int(slept[1]))
        if word == _CHAINED_TCP:
            return Existing("tcp", is_ours=True)
    return Existing("none", is_ours=True)
