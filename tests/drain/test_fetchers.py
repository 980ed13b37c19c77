"""What each fetcher can tell: statuses, broken answers, TLS, keys, proxies. The table stands in docs/hook.md too.

The server's drain endpoint (`call=`) is asked, since its status is logged; an idle page then ends the hook.
Never here: how the page is read (test_metrics.py).
"""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest
import trustme

from tests.drain.engine import Answer, Engine
from tests.drain.hook import FETCHERS, SHELLS, Ended, Hook, found
from tests.drain.story import BUSY, GAUGES, IDLE, budget, page, polled

KEY = "s3cret-$(touch)-%s+/=="
RAW = [name if name in {"curl", "wget"} else pytest.param(name, marks=pytest.mark.slow) for name in FETCHERS]
EVERY_SHELL = [name if name == "dash" else pytest.param(name, marks=pytest.mark.slow) for name in SHELLS]
TOLD = {
    "200": (Answer("done"), "called"),
    "200 in chunks": (Answer("done" * 50_000, manner="chunked"), "called"),
    "401": (Answer("x", 401), "401"),
    "404": (Answer("x", 404), "404"),
    "500": (Answer("x", 500), "500"),
    "501": (Answer("x", 501), "501"),
    "503": (Answer("x", 503), "503"),
    "cut": (Answer("done", manner="cut"), "unreadable"),
    "hang": (Answer(manner="hang"), "timeout"),
    "reset": (Answer(manner="reset"), "unreadable"),
    "refused": (None, "refused"),
}
# GNU wget gives one exit code for everything that goes wrong in the network
TOLD_OTHERWISE = {("wget", "reset"): "refused"}


def told(hook: Hook, answer: Answer | None, *, limit: int = 1) -> str:
    """Return the status that the hook logs for an answer; without one the port is closed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        closed = free.getsockname()[1]
    with Engine([IDLE], routes={"/drain": answer or IDLE}) as engine:
        url = engine.url("/drain") if answer else f"http://127.0.0.1:{closed}/drain"
        ended = hook.run(*budget(drain=limit), *polled(engine), f"call={url}")
    lines = [line.rsplit(": ", 1)[1] for line in ended.log if "no answer from" in line]
    return lines[0] if lines else str(ended.end)


@pytest.mark.parametrize("fetcher", RAW)
def test_each_fetcher_tells_the_answers_apart(tmp_path: Path, fetcher: str) -> None:
    """Refused, timeout, unreadable and every status; where it cannot, the answer is unknown and never idle."""
    said = {
        name: told(Hook(tmp_path / name, tools=(fetcher, "sleep", "grep")), answer)
        for name, (answer, _) in TOLD.items()
    }
    assert said == {name: TOLD_OTHERWISE.get((fetcher, name), text) for name, (_, text) in TOLD.items()}


@pytest.mark.parametrize("fetcher", RAW)
def test_a_page_in_chunks_is_put_together(tmp_path: Path, fetcher: str) -> None:
    """The border of a chunk falls into the line of the gauge."""
    hook = Hook(tmp_path, tools=(fetcher, "sleep"))
    with Engine([page(21, 300, manner="chunked"), page(0, manner="chunked")]) as engine:
        ended = hook.run(*budget(), *polled(engine))
    assert (ended.record["inflight_start"], ended.end) == (321, "idle")


@pytest.mark.parametrize(
    "shell", [name if name == "dash" else pytest.param(name, marks=pytest.mark.slow) for name in SHELLS]
)
def test_a_hanging_fetch_is_killed_at_the_deadline(tmp_path: Path, shell: str) -> None:
    """Also one that has no limit of its own: this curl ignores -m and SIGTERM."""
    stubborn = {"curl": "trap '' TERM\nexec /bin/sleep 30"}
    hook = Hook(tmp_path, shell, tools=("sleep", "grep"), scripts=stubborn)
    with Engine([BUSY]) as engine:
        client = engine.hold()
        ended = hook.run(*budget(drain=2), *polled(engine))
        client.close()
    assert (ended.code, ended.end) == (0, "deadline")
    assert ended.said("timeout")
    assert ended.seconds < 2.8


def test_a_fetcher_that_crashes_gives_way_to_the_next(tmp_path: Path) -> None:
    """Debian's busybox crashes on `wget -T`; a curl without its libraries ends with 127."""
    broken = {"curl": "exit 127", "wget": "kill -SEGV $$"}
    hook = Hook(tmp_path, tools=("python3", "sleep"), scripts=broken)
    with Engine([BUSY, IDLE]) as engine:
        ended = hook.run(*budget(), *polled(engine))
    assert (ended.record["inflight_start"], ended.end) == (4, "idle")


def test_an_old_wget_without_the_header_option_still_reads_the_page(tmp_path: Path) -> None:
    """A busybox before 1.33 has no -S: the exit code alone must do."""
    old = {
        "wget": 'case $* in *S*) echo "wget: invalid option -- S" >&2; exit 1;; esac\nshift 2\n/usr/bin/wget -qO- "$@"'
    }
    hook = Hook(tmp_path, tools=("sleep",), scripts=old)
    with Engine([BUSY, IDLE]) as engine:
        client = engine.hold()
        ended = hook.run(*budget(idle=1), *polled(engine))
        client.close()
    assert (ended.end, ended.record["inflight_end"]) == ("idle", 0)


@pytest.fixture(scope="module")
def tls() -> ssl.SSLContext:
    """Make a server's certificate that nobody trusts, for another name."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("elsewhere.example").configure_cert(context)
    return context


@pytest.mark.parametrize("fetcher", ["curl", "wget", "busybox-wget", "python3"])
def test_https_needs_no_trust(tmp_path: Path, fetcher: str, tls: ssl.SSLContext) -> None:
    """The hook asks its own loopback: the certificate is not checked."""
    hook = Hook(tmp_path, tools=(fetcher, "sleep"))
    if fetcher == "busybox-wget":
        (hook.path() / "openssl").symlink_to(found("openssl"))
    with Engine([BUSY, IDLE], tls=tls) as engine:
        ended = hook.run(*budget(), *polled(engine))
    assert (ended.record["inflight_start"], ended.end) == (4, "idle")


def test_https_by_bash_alone_is_unknown(tmp_path: Path, tls: ssl.SSLContext) -> None:
    """Only bash: it speaks no TLS: the connection count decides."""
    with Engine([IDLE], tls=tls) as engine:
        ended = Hook(tmp_path, tools=("bash", "sleep")).run(*budget(), *polled(engine))
    assert ended.end == "no_connections"
    assert ended.said("no fetcher")


@pytest.mark.parametrize("fetcher", ["curl", "python3", "bash"])
def test_the_key_is_sent_and_no_process_shows_it(tmp_path: Path, fetcher: str) -> None:
    """The token comes from the container's environment; argument lists are public in the pod."""
    seen: list[bool] = []
    hook = Hook(tmp_path, tools=(fetcher, "sleep"), env={"LLM_API_KEY": KEY})
    with Engine([BUSY, IDLE], key=KEY, on_look=lambda _: seen.append(shown(KEY))) as engine:
        ended = hook.run(*budget(), "key=LLM_API_KEY", *polled(engine))
    assert (ended.record["inflight_start"], ended.end) == (4, "idle")
    assert seen
    assert not any(seen)
    assert not ended.said(KEY)


def shown(text: str) -> bool:
    """Whether any process of the machine shows a text in its argument list."""
    is_shown = False
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            is_shown |= text.encode() in file.read_bytes()
        except OSError:
            continue
    return is_shown


def test_wget_never_gets_the_key(tmp_path: Path) -> None:
    """It could take the header by argument only; so the page stays unknown."""
    hook = Hook(tmp_path, tools=("wget", "sleep"), env={"LLM_API_KEY": KEY})
    with Engine([IDLE], key=KEY) as engine:
        ended = hook.run(*budget(), "key=LLM_API_KEY", *polled(engine))
        assert engine.looks == []
    assert ended.end == "no_connections"


@pytest.mark.parametrize(
    "name",
    ["LLM_API_KEY", "$(touch x)", *(pytest.param(name, marks=pytest.mark.slow) for name in ("a;exit 3", "1A", ""))],
)
def test_a_missing_or_malformed_key_name_is_no_key(hook: Hook, name: str) -> None:
    """The name is checked before the shell sees it; a guarded page is then 401, not a failure."""
    with Engine([IDLE], key=KEY) as engine:
        ended = hook.run(*budget(), f"key={name}", *polled(engine))
    assert (ended.code, ended.end) == (0, "no_connections")
    assert ended.said("401")


@pytest.mark.parametrize("manner", ["cut", "cut chunks"])
@pytest.mark.parametrize("fetcher", RAW)
def test_a_cut_page_is_unknown(tmp_path: Path, fetcher: str, manner: str) -> None:
    """What is missing could be the gauge: never idle, not even where absent means idle."""
    hook = Hook(tmp_path, tools=(fetcher, "sleep", "grep"))
    with Engine([Answer("llm:tokens_total 4\n", manner=manner)], routes={"/drain": Answer("done")}) as engine:
        ended = hook.run(*budget(drain=1), "absent=idle", *polled(engine), f"call={engine.url('/drain')}")
    assert (ended.end, ended.record["inflight_start"]) == ("called", None)


@pytest.mark.parametrize("fetcher", RAW)
def test_a_proxy_of_the_pod_is_not_used(tmp_path: Path, fetcher: str) -> None:
    """http_proxy is for the engine's downloads, not for its own loopback."""
    names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY")
    hook = Hook(tmp_path, tools=(fetcher, "sleep"), env=dict.fromkeys(names, "http://127.0.0.1:9"))
    with Engine([BUSY, IDLE]) as engine:
        ended: Ended = hook.run(*budget(), *polled(engine))
    assert (ended.record["inflight_start"], ended.end) == (4, "idle")


def test_the_first_fetcher_that_is_there_is_used(tmp_path: Path) -> None:
    """It is curl before the others, and only one of them asks."""
    hook = Hook(tmp_path, tools=("curl", "wget", "python3", "bash", "sleep"))
    with Engine([BUSY, IDLE]) as engine:
        hook.run(*budget(), f"ports={engine.port}", f"url={engine.url()}", *GAUGES)
        assert all("User-Agent: curl/" in look.header for look in engine.looks)
