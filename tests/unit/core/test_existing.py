"""existing: what preStop hook a container has, and whose it is."""

from __future__ import annotations

import pytest

from tests.unit.core.engines import IMAGE, server
from webhook import names
from webhook.core.existing import Existing, existing_hook

OUR_ARGV = ["sh", "-c", "SCRIPT", "drainhook", "settle=10", "drain=95", "ports=8000"]
PLACE = "spec.containers[0].lifecycle.preStop"
STATUS = {"hook": "sleep", "budget": {"settle": 10, "drain": 95}, "changed": [PLACE], "reasons": []}


def hook_of(handler, status=None):
    """Read a handler on a container that declares the port `api`."""
    declared = [{"containerPort": 9000, "name": "api"}]
    return existing_hook(server(image=IMAGE, ports=declared, lifecycle={"preStop": handler}), status)


@pytest.mark.parametrize("lifecycle", [None, {}, {"preStop": None}, {"preStop": {}}, {"postStart": {"exec": {}}}])
def test_no_hook_is_no_hook(lifecycle):
    """Null and an empty handler are none."""
    assert existing_hook(server(image=IMAGE, lifecycle=lifecycle), None) == Existing("none")


@pytest.mark.parametrize(
    ("argv", "hook"),
    [
        (["sleep", "10"], Existing("sleep", argv=("sleep", "10"), seconds=10)),
        (["/bin/sleep", "10s"], Existing("sleep", argv=("/bin/sleep", "10s"), seconds=10)),
        (["sh", "-c", "sleep 2m"], Existing("sleep", argv=("sh", "-c", "sleep 2m"), seconds=120)),
        (["sh", "-c", " exec sleep 1h ; "], Existing("sleep", argv=("sh", "-c", " exec sleep 1h ; "), seconds=3600)),
        (["sleep", "1.5"], Existing("sleep", argv=("sleep", "1.5"), seconds=1)),
        (["sleep", "infinity"], Existing("exec", argv=("sleep", "infinity"))),
        (["sleep", "9999999"], Existing("exec", argv=("sleep", "9999999"))),
        (["sleep"], Existing("exec", argv=("sleep",))),
        (["sh", "-c", "sleep 5 && stop"], Existing("exec", argv=("sh", "-c", "sleep 5 && stop"))),
        (["stop", "--now"], Existing("exec", argv=("stop", "--now"))),
        (["sh", "-c", "x", "drainhooks"], Existing("exec", argv=("sh", "-c", "x", "drainhooks"))),
        (["bash", "-c", "x", "drainhook"], Existing("exec", argv=("bash", "-c", "x", "drainhook"))),
    ],
)
def test_a_users_exec_hook_is_read(argv, hook):
    """`sleep N` is recognised with its seconds, alone or in a shell string; the rest is an argv."""
    assert hook_of({"exec": {"command": argv}}) == hook


@pytest.mark.parametrize(
    ("more", "hook"),
    [
        ([], Existing("none", is_ours=True)),
        (["--", "stop", "--now"], Existing("exec", is_ours=True, argv=("stop", "--now"))),
        (["--", "a", "--", "b"], Existing("exec", is_ours=True, argv=("a", "--", "b"))),
        (["chain=http://127.0.0.1:1/x"], Existing("http", is_ours=True, url="http://127.0.0.1:1/x")),
        (["chained=sleep:60"], Existing("sleep", is_ours=True, seconds=60)),
        (["chained=tcp"], Existing("tcp", is_ours=True)),
        (["chained=sleep:²"], Existing("none", is_ours=True)),
        (["chained=sleep:" + "9" * 5000], Existing("none", is_ours=True)),
        (["chained=sleep:"], Existing("none", is_ours=True)),
    ],
)
def test_our_own_exec_hook_is_recognised_by_its_name(more, hook):
    """`drainhook` as `$0` is ours, and what was chained into it is read back."""
    assert hook_of({"exec": {"command": [*OUR_ARGV, *more]}}) == hook


@pytest.mark.parametrize(
    ("get", "hook"),
    [
        ({"port": 9000, "path": "/stop"}, Existing("http", url="http://127.0.0.1:9000/stop")),
        ({"port": "api", "path": "stop"}, Existing("http", url="http://127.0.0.1:9000/stop")),
        ({"port": "9000", "scheme": "HTTPS"}, Existing("http", url="https://127.0.0.1:9000/")),
        ({"port": 9000, "host": "localhost", "path": None}, Existing("http", url="http://127.0.0.1:9000/")),
    ],
)
def test_a_users_http_hook_is_an_address(get, hook):
    """Its port is a number or a declared name."""
    assert hook_of({"httpGet": get}) == hook


@pytest.mark.parametrize(
    ("get", "refusal"),
    [
        ({"port": 9000, "httpHeaders": [{"name": "A", "value": "b"}]}, "it sends headers of its own"),
        ({"port": 9000, "host": "10.0.0.1"}, "it calls another host"),
        ({"port": "grpc"}, "its port cannot be resolved in this container"),
        ({"port": 0}, "its port cannot be resolved in this container"),
        ({"port": None}, "its port cannot be resolved in this container"),
        ({}, "its port cannot be resolved in this container"),
    ],
)
def test_a_users_http_hook_may_be_impossible_to_chain(get, refusal):
    """The reason is kept for the finding."""
    assert hook_of({"httpGet": get}).refusal == refusal


@pytest.mark.parametrize("headers", [None, 5, "x", {}, [], [None, 5, "x"]])
def test_headers_of_a_wrong_type_do_no_harm(headers):
    """Nothing among them is ours."""
    assert hook_of({"httpGet": {"port": 9000, "httpHeaders": headers}}).is_ours is False


def test_our_own_http_hook_is_recognised_by_its_header():
    """Whatever version it names."""
    get = {"port": 1, "httpHeaders": [{"name": names.HOOK_HEADER, "value": "0.1"}]}
    assert hook_of({"httpGet": get}) == Existing("none", is_ours=True)


@pytest.mark.parametrize(
    ("seconds", "status", "hook"),
    [
        (105, STATUS, Existing("none", is_ours=True)),
        (105, STATUS | {"hook": "exec,sleep"}, Existing("none", is_ours=True)),
        (106, STATUS, Existing("sleep", seconds=106)),
        (105, None, Existing("sleep", seconds=105)),
        (105, STATUS | {"hook": "kept"}, Existing("sleep", seconds=105)),
        (105, STATUS | {"hook": 5}, Existing("sleep", seconds=105)),
        (105, STATUS | {"changed": []}, Existing("sleep", seconds=105)),
        (105, STATUS | {"budget": None}, Existing("sleep", seconds=105)),
        (105, STATUS | {"budget": {"settle": "10", "drain": 95}}, Existing("sleep", seconds=105)),
        (-5, None, Existing("sleep", seconds=0)),
    ],
)
def test_a_native_sleep_is_ours_only_where_the_status_agrees(seconds, status, hook):
    """The status must name the rung and the place, and its settle and drain must add up to the seconds."""
    assert hook_of({"sleep": {"seconds": seconds}}, status) == hook


@pytest.mark.parametrize(
    "handler",
    [
        {"exec": {"command": []}},
        {"exec": {"command": "stop"}},
        {"exec": {"command": ["stop", 5]}},
        {"exec": None},
        {"sleep": {"seconds": "5"}},
        {"sleep": None},
        {"httpGet": 5},
        {"wasm": {}},
    ],
)
def test_an_unknown_handler_is_the_users_and_stays(handler):
    """What is not understood is not touched."""
    hook = hook_of(handler)
    assert hook == Existing("unknown", refusal="its kind of handler is not known")
    assert hook.is_user is True


def test_a_tcp_hook_is_known():
    """It knocks and waits for nothing."""
    assert hook_of({"tcpSocket": {"port": 9000}}) == Existing("tcp")


@pytest.mark.parametrize(
    ("hook", "is_user", "is_weak"),
    [
        (Existing("none"), False, False),
        (Existing("none", is_ours=True), False, False),
        (Existing("sleep", seconds=5), True, True),
        (Existing("tcp"), True, True),
        (Existing("http"), True, False),
        (Existing("exec", argv=("stop",)), True, False),
        (Existing("exec", argv=("sh", "-c", "curl m | grep num_requests")), True, True),
        (Existing("exec", argv=("sh", "-c", 'until [ "$n" == "0.0" ]; do x; done')), True, True),
        (Existing("exec", argv=("sh", "-c", "[ $n = 0.0 ]")), True, True),
        (Existing("exec", argv=("sh", "-c", "requests | grep x")), True, False),
        (Existing("exec", argv=("sh", "-c", "grep " * 200_000)), True, False),
    ],
)
def test_a_hook_that_only_waits_or_compares_text_is_weak(hook, is_user, is_weak):
    """A sleep, a knock, or metrics compared as text do not drain."""
    assert (hook.is_user, hook.is_weak) == (is_user, is_weak)
