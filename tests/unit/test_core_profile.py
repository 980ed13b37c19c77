"""profile_from: data in, frozen values out."""

from webhook.core.profile import (
    Budget,
    DrainEndpoint,
    Host,
    Match,
    Metrics,
    Port,
    Profile,
    Readiness,
    Setting,
    Shutdown,
    profile_from,
)

SMALLEST = {
    "name": "own",
    "title": "Own",
    "shutdown_class": "A",
    "match": {"images": ["*own*"], "commands": ["own serve"]},
    "http": {"default": None},
    "host": {"default": "0.0.0.0"},  # noqa: S104
    "readiness": {"path": "/ready"},
    "metrics": None,
    "tools": ["sh"],
}


def test_what_is_not_said_gets_the_default():
    assert profile_from(SMALLEST, "0123abcd") == Profile(
        name="own",
        title="Own",
        digest="0123abcd",
        shutdown_class="A",
        match=Match(("*own*",), ("own serve",), (), auto=True),
        http=Port(Setting(), None),
        grpc=None,
        host=Host(Setting(), "0.0.0.0"),  # noqa: S104
        tls=Setting(),
        base_path=Setting(),
        config_flags=(),
        readiness=Readiness("/ready", 0.0),
        metrics=None,
        drain_endpoint=None,
        shutdown=Shutdown(),
        tools=("sh",),
        budget=Budget(settle=10, drain=95, reserve=15),
        secret=Setting(),
        post_start=None,
        unverified={},
    )


def test_every_field_arrives_where_it_belongs():
    said = SMALLEST | {
        "match": {"images": [], "commands": ["own"], "others": ["own bench"], "auto": False},
        "http": {"default": 1, "in_image": 2, "flags": ["--port"], "env": ["PORT"], "also": [3]},
        "grpc": {"default": 4},
        "host": {"default": "a", "in_image": "b", "flags": ["--host"], "env": ["HOST"], "socket_flags": ["--uds"]},
        "tls": {"flags": ["--key"], "env": ["KEY"]},
        "base_path": {"flags": ["--prefix"]},
        "config_flags": ["--config"],
        "readiness": {"path": "/r", "min_seconds": 1},
        "metrics": {
            "path": "/m",
            "running": ["r"],
            "waiting": ["w"],
            "absent": "idle",
            "port": {"default": 5},
            "enabled": False,
            "enabled_by": {"flags": ["--on"]},
            "disabled_by": {"env": ["OFF"]},
            "key_env": "TOKEN",
            "refresh_seconds": 10,
            "idle_seconds": 15,
        },
        "drain_endpoint": {"path": "/drain", "asked_only": True},
        "shutdown": {"cap": {"flags": ["--cap"]}, "flag": "--cap", "since": "1.2", "single": ["--many"]},
        "budget": {"settle": 1, "drain": 2, "reserve": 3},
        "secret": {"env": ["SECRET"]},
        "unverified": {"tls": "why"},
    }

    profile = profile_from(said, "")

    assert profile.match == Match((), ("own",), ("own bench",), auto=False)
    assert profile.http == Port(Setting(("--port",), ("PORT",)), 1, 2, (3,))
    assert profile.grpc == Port(Setting(), 4)
    assert profile.host == Host(Setting(("--host",), ("HOST",)), "a", "b", ("--uds",))
    assert profile.tls == Setting(("--key",), ("KEY",))
    assert profile.base_path == Setting(("--prefix",))
    assert profile.config_flags == ("--config",)
    assert profile.readiness == Readiness("/r", 1.0)
    assert profile.metrics == Metrics(
        path="/m",
        running=("r",),
        waiting=("w",),
        absent="idle",
        port=Port(Setting(), 5),
        enabled=False,
        on=Setting(("--on",)),
        off=Setting((), ("OFF",)),
        key_env="TOKEN",
        refresh_seconds=10.0,
        idle_seconds=15,
    )
    assert profile.drain_endpoint == DrainEndpoint("/drain", asked_only=True)
    assert profile.shutdown == Shutdown(Setting(("--cap",)), "--cap", "1.2", ("--many",))
    assert profile.budget == Budget(1, 2, 3)
    assert profile.budget.grace == 6
    assert profile.secret == Setting((), ("SECRET",))
    assert profile.unverified == {"tls": "why"}


def test_a_budget_may_say_one_number_only():
    assert profile_from(SMALLEST | {"budget": {"drain": 300}}, "").budget == Budget(10, 300, 15)


def test_post_start_becomes_a_handler_as_kubernetes_writes_it():
    command = profile_from(SMALLEST | {"post_start": ["warm", "up"]}, "").post_start
    fetched = profile_from(SMALLEST | {"post_start": {"httpGet": {"path": "/warm", "port": 1}}}, "").post_start

    assert command == {"exec": {"command": ["warm", "up"]}}
    assert fetched == {"httpGet": {"path": "/warm", "port": 1, "scheme": "HTTP"}}
