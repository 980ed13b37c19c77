"""endpoint: scheme, path, address and page of gauges of a server, with what is only guessed."""

from __future__ import annotations

import pytest

from tests.unit.core.engines import DATA, IMAGE, OTHER_IMAGE, OWN, endpoint, profile
from webhook.core.endpoint import Endpoint

SECRET = {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
ADDRESS = profile(
    http={"default": 11434, "env": ["OWN_ADDRESS"], "flags": ["--bind"]},
    host={"default": "127.0.0.1", "in_image": "0.0.0.0", "env": ["OWN_ADDRESS"], "flags": ["--bind"]},  # noqa: S104
)
GRPC = profile(grpc={"default": 8001, "flags": ["--grpc"], "env": ["OWN_GRPC"]})
PAGE = profile(metrics={"path": "/gauges", "port": {"default": 8002, "flags": ["--page"]}})
OFF = profile(
    metrics={"path": "/metrics", "enabled": False, "enabled_by": {"flags": ["--on"], "env": ["OWN_ON"]}},
)


def env(**values):
    """Return literal variables of a container."""
    return [{"name": name, "value": value} for name, value in values.items()]


def ports(*numbers):
    """Return the declared ports of a container."""
    return [{"containerPort": number} for number in numbers]


def test_a_plain_server_is_located():
    """The official image without any setting listens on its default port, with gauges on the same one."""
    assert endpoint(image=IMAGE) == Endpoint(
        ports=(8000,),
        source="default",
        scheme="http",
        prefix="",
        is_local=False,
        is_socket=False,
        extra_ports=(),
        declared=(),
        metrics_urls=("http://127.0.0.1:8000/metrics",),
        metrics_off=False,
        is_sure=True,
    )


def test_every_setting_is_read():
    """Flags move port, scheme and path, of the server and of its page of gauges."""
    argv = ["own", "serve", "--port=9000", "--tls-key", "k", "--prefix", "/v1/", "--host", "127.0.0.1"]
    assert endpoint(command=argv, ports=ports(9000)) == Endpoint(
        ports=(9000,),
        source="flag",
        scheme="https",
        prefix="/v1",
        is_local=True,
        is_socket=False,
        extra_ports=(),
        declared=(9000,),
        metrics_urls=("https://127.0.0.1:9000/v1/metrics",),
        metrics_off=False,
        is_sure=True,
    )


@pytest.mark.parametrize(
    ("own", "fields", "is_local", "is_socket"),
    [
        (OWN, {}, False, False),
        (OWN, {"args": ["--host", "127.0.0.1"]}, True, False),
        (OWN, {"args": ["--host", "127.0.1.1"]}, True, False),
        (OWN, {"args": ["--host", "localhost"]}, True, False),
        (OWN, {"args": ["--host", "::1"]}, True, False),
        (OWN, {"args": ["--host", "$(POD_IP)"]}, False, False),
        (OWN, {"args": ["--host", ""]}, False, False),
        (OWN, {"env": env(OWN_HOST="127.0.0.1")}, True, False),
        (ADDRESS, {}, False, False),
        (ADDRESS, {"image": OTHER_IMAGE}, True, False),
        (OWN, {"args": ["--uds", "/run/own.sock"]}, True, True),
        (OWN, {"args": ["--host", "own.sock"]}, True, True),
    ],
)
def test_who_can_reach_the_server(own, fields, is_local, is_socket):
    """Localhost and sockets are for the pod alone; what the official image binds counts only in it."""
    located = endpoint(own, **{"image": IMAGE, **fields})
    assert (located.is_local, located.is_socket) == (is_local, is_socket)


@pytest.mark.parametrize(
    ("fields", "scheme"),
    [
        ({}, "http"),
        ({"args": ["--tls-key", "k"]}, "https"),
        ({"args": ["--tls-key=false"]}, "http"),
        ({"env": env(OWN_TLS="/tls/key")}, "https"),
        ({"env": env(OWN_TLS="TLS")}, "https"),
        ({"env": env(OWN_TLS="DISABLED")}, "http"),
        ({"env": env(OWN_TLS="false")}, "http"),
        ({"env": env(OWN_TLS="0")}, "http"),
        ({"env": env(OWN_TLS="")}, "http"),
        ({"env": [{"name": "OWN_TLS", **SECRET}]}, "https"),
    ],
)
def test_tls_is_on_where_a_key_or_a_mode_is_given(fields, scheme):
    """A mode that says off is off."""
    assert endpoint(image=IMAGE, **fields).scheme == scheme


@pytest.mark.parametrize(
    ("value", "prefix"),
    [("", ""), ("/", ""), ("v1", "/v1"), ("/v1/", "/v1"), ("/a/b", "/a/b"), ("/{0}{x}", "/{0}{x}"), ("/%s", "/%s")],
)
def test_a_base_path_moves_every_page(value, prefix):
    """The path is text, whatever braces it holds."""
    located = endpoint(image=IMAGE, args=["--prefix", value])
    assert (located.prefix, located.metrics_urls) == (prefix, (f"http://127.0.0.1:8000{prefix}/metrics",))


@pytest.mark.parametrize(
    ("fields", "is_sure"),
    [
        ({}, True),
        ({"args": ["--port", "1"]}, True),
        ({"args": ["--config", "f"]}, False),
        ({"args": ["--config", "f", "--port", "1"]}, False),
        ({"args": ["--config", "f"], "port": 7000}, True),
        ({"args": ["--prefix", "$(X)"], "port": 7000}, False),
        ({"env": [{"name": "OWN_PREFIX", **SECRET}], "port": 7000}, False),
        ({"args": ["--prefix", "/v1"]}, True),
        ({"args": ["--prefix", "/v1", "--key", "k"]}, False),
        ({"args": ["--prefix", "/v1"], "env": env(OWN_KEY="k")}, False),
        ({"args": ["--prefix", "/v1"], "env": [{"name": "OWN_KEY", **SECRET}]}, False),
        ({"args": ["--key", "k"]}, True),
        ({"envFrom": [{"secretRef": {}}]}, False),
        ({"envFrom": [{"secretRef": {}}], "ports": ports(8000)}, True),
        ({"envFrom": [{"secretRef": {}}], "args": ["--port", "1"]}, True),
        ({"envFrom": []}, True),
        ({"args": ["m", "$EXTRA"]}, False),
        ({"args": ["m", "$EXTRA"], "ports": ports(8000)}, True),
        ({"args": ["--model", "$MODEL"]}, True),
    ],
)
def test_what_could_hide_makes_unsure(fields, is_sure):
    """A file, a variable of unknown value or an open list of them could move port, scheme or path."""
    assert endpoint(**{"image": IMAGE, **fields}).is_sure is is_sure


def test_without_variables_of_its_own_an_engine_is_not_moved_by_any():
    """`envFrom` is harmless where port, TLS and base path have no variable."""
    flags_only = profile(http=DATA["http"] | {"env": []}, tls={}, base_path={})
    assert endpoint(flags_only, image=IMAGE, envFrom=[{"secretRef": {}}]).is_sure is True


@pytest.mark.parametrize(
    ("own", "fields", "urls", "off"),
    [
        (profile(metrics=None), {}, (), False),
        (OWN, {}, ("http://127.0.0.1:8000/metrics",), False),
        (OWN, {"ports": ports(9000)}, ("http://127.0.0.1:8000/metrics", "http://127.0.0.1:9000/metrics"), False),
        (OWN, {"args": ["--quiet"]}, (), True),
        (OWN, {"args": ["--quiet=false"]}, ("http://127.0.0.1:8000/metrics",), False),
        (OWN, {"env": env(OWN_QUIET="1")}, (), True),
        (OWN, {"env": env(OWN_QUIET="0")}, ("http://127.0.0.1:8000/metrics",), False),
        (OWN, {"args": ["--uds", "/run/own.sock"]}, (), False),
        (OFF, {}, (), True),
        (OFF, {"args": ["--on"]}, ("http://127.0.0.1:8000/metrics",), False),
        (OFF, {"env": env(OWN_ON="true")}, ("http://127.0.0.1:8000/metrics",), False),
        (OFF, {"env": env(OWN_ON="False")}, (), True),
        (OFF, {"env": [{"name": "OWN_ON", **SECRET}]}, ("http://127.0.0.1:8000/metrics",), False),
        (PAGE, {"args": ["--tls-key", "k"]}, ("http://127.0.0.1:8002/gauges",), False),
        (PAGE, {"args": ["--page", "9002"]}, ("http://127.0.0.1:9002/gauges",), False),
        (PAGE, {"args": ["--page", "$P"]}, (), False),
    ],
)
def test_the_page_of_gauges_is_found_or_off(own, fields, urls, off):
    """One address for each candidate port, none where the page is turned off or its port unknown."""
    located = endpoint(own, image=IMAGE, **fields)
    assert (located.metrics_urls, located.metrics_off) == (urls, off)


@pytest.mark.parametrize(
    ("own", "fields", "extra"),
    [
        (OWN, {}, ()),
        (GRPC, {}, (8001,)),
        (GRPC, {"args": ["--grpc", "9001"]}, (9001,)),
        (GRPC, {"args": ["--grpc", "$P"], "ports": ports(8000, 9001)}, (8001, 8000, 9001)),
        (GRPC, {"env": [{"name": "OWN_GRPC", **SECRET}]}, (8001,)),
        (profile(grpc={"default": None, "flags": ["--grpc"]}), {"args": ["--grpc", "1"]}, (1,)),
    ],
)
def test_connections_on_the_grpc_port_count_too(own, fields, extra):
    """An unknown one is looked for among the declared ports: a connection nobody counts is a request lost."""
    assert endpoint(own, image=IMAGE, **fields).extra_ports == extra


@pytest.mark.parametrize(
    ("script", "extra", "urls", "is_sure"),
    [
        ("own serve a --port 1 & own serve b --port 2 & wait", (2,), (), False),
        ("own serve a --port 1 & own serve b", (8000,), (), False),
        ("own serve a --port 1; own serve b --port 1", (), ("http://127.0.0.1:1/metrics",), True),
        ("own serve a --port 1; own serve b --port $P", (), (), False),
        ("own serve a --port 1; report", (), ("http://127.0.0.1:1/metrics",), True),
    ],
)
def test_two_servers_in_one_container_are_both_watched(script, extra, urls, is_sure):
    """The gauges of one prove nothing about the other, so that only connections count and no probe is sure."""
    located = endpoint(command=["sh", "-c", script])
    assert (located.ports, located.extra_ports, located.metrics_urls, located.is_sure) == ((1,), extra, urls, is_sure)
