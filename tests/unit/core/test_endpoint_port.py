"""endpoint: the port, where it is written, and when it is unknown."""

from __future__ import annotations

import pytest

from tests.unit.core.engines import IMAGE, OTHER_IMAGE, OWN, endpoint, profile, server
from webhook.core.endpoint import declared_ports, locate, named_port

SECRET = {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
ADDRESS = profile(
    http={"default": 11434, "env": ["OWN_ADDRESS"], "flags": ["--bind"]},
    host={"default": "127.0.0.1", "in_image": "0.0.0.0", "env": ["OWN_ADDRESS"], "flags": ["--bind"]},  # noqa: S104
)
IN_IMAGE = profile(http={"default": 3000, "in_image": 80, "env": ["PORT"], "also": [9931]})
GRPC = profile(grpc={"default": 8001, "flags": ["--grpc"], "env": ["OWN_GRPC"]})
PAGE = profile(metrics={"path": "/gauges", "port": {"default": 8002, "flags": ["--page"]}})


def env(**values):
    """Return literal variables of a container."""
    return [{"name": name, "value": value} for name, value in values.items()]


def ports(*numbers):
    """Return the declared ports of a container."""
    return [{"containerPort": number} for number in numbers]


@pytest.mark.parametrize(
    ("own", "fields", "found"),
    [
        # annotation > flag > env > default
        (OWN, {"args": ["--port", "9000"], "port": 7000}, ((7000,), "annotation")),
        (OWN, {"args": ["--port", "9000"], "env": env(OWN_PORT="9001")}, ((9000,), "flag")),
        (OWN, {"env": env(OWN_PORT="9001")}, ((9001,), "env")),
        (OWN, {}, ((8000,), "default")),
        (OWN, {"ports": ports(8000)}, ((8000,), "default")),
        # a default that another port is declared beside is a candidate among others
        (OWN, {"ports": ports(9000)}, ((8000, 9000), "default")),
        (IN_IMAGE, {}, ((80, 9931), "default")),
        (IN_IMAGE, {"image": OTHER_IMAGE}, ((3000, 80, 9931), "default")),
        (IN_IMAGE, {"ports": ports(80)}, ((80,), "default")),
        (GRPC, {"ports": ports(8001, 9000)}, ((8000, 9000), "default")),
        (PAGE, {"ports": ports(8002)}, ((8000,), "default")),
        # what cannot be read is unknown, never the default
        (OWN, {"args": ["--port", "$(P)"], "env": [{"name": "P", **SECRET}]}, ((8000,), "unknown")),
        (OWN, {"args": ["--port", "$P"], "ports": ports(9000)}, ((9000,), "unknown")),
        (OWN, {"env": [{"name": "OWN_PORT", **SECRET}]}, ((8000,), "unknown")),
        (OWN, {"args": ["--config", "f"]}, ((8000,), "unknown")),
        (OWN, {"args": ["--config", "f", "--port", "1"]}, ((1,), "flag")),
        (OWN, {"args": ["--config", "f"], "ports": ports(9000, 9001)}, ((9000, 9001), "unknown")),
        (IN_IMAGE, {"env": [{"name": "PORT", **SECRET}]}, ((80, 9931), "unknown")),
        (profile(http={"default": None}), {}, ((), "unknown")),
        (profile(http={"default": None}), {"ports": ports(9000)}, ((9000,), "unknown")),
        # values that are no port
        (OWN, {"args": ["--port", "0"]}, ((8000,), "unknown")),
        (OWN, {"args": ["--port", "-1"]}, ((8000,), "unknown")),
        (OWN, {"args": ["--port", "65535"]}, ((65535,), "flag")),
        (OWN, {"args": ["--port", "65536"]}, ((8000,), "unknown")),
        (OWN, {"args": ["--port", "9" * 5000]}, ((8000,), "unknown")),
        (OWN, {"args": ["--port", ""]}, ((8000,), "unknown")),
        (OWN, {"args": ["--port", "--host"]}, ((8000,), "default")),
        (OWN, {"args": ["--port", "٨٠٠٠"]}, ((8000,), "unknown")),
        (OWN, {"args": ["--port", "10.0.0.1"]}, ((8000,), "unknown")),
        (OWN, {"args": ["--port"]}, ((8000,), "default")),
        (OWN, {"env": env(OWN_PORT="tcp://10.0.0.1:8000")}, ((8000,), "env")),
        # a unix socket has no port
        (OWN, {"args": ["--uds", "/run/own.sock", "--port", "1"]}, ((), "flag")),
        (OWN, {"args": ["--host", "/run/own.sock"]}, ((), "default")),
        (OWN, {"args": ["--host", "unix:/run/own"]}, ((), "default")),
    ],
)
def test_the_port_is_found_or_unknown(own, fields, found):
    """Annotation beats flag beats variable beats default, and an unreadable value makes the port unknown."""
    located = endpoint(own, **{"image": IMAGE, **fields})
    assert (located.ports, located.source) == found


@pytest.mark.parametrize(
    ("value", "found", "is_local"),
    [
        ("0.0.0.0:9000", ((9000,), "env"), False),
        ("http://0.0.0.0:9000", ((9000,), "env"), False),
        ("http://0.0.0.0:9000/", ((9000,), "env"), False),
        (":9000", ((9000,), "env"), False),
        ("[::]:9000", ((9000,), "env"), False),
        ("[::1]:9000", ((9000,), "env"), True),
        ("127.0.0.1:9000", ((9000,), "env"), True),
        ("http://127.0.0.1:9000", ((9000,), "env"), True),
        ("localhost:9000", ((9000,), "env"), True),
        ("10.0.0.1", ((11434,), "default"), False),
        ("::", ((11434,), "default"), False),
        ("::1", ((11434,), "default"), True),
        ("[::]", ((11434,), "default"), False),
        ("127.0.0.1", ((11434,), "default"), True),
        ("", ((11434,), "default"), False),
        ("http://0.0.0.0", ((11434,), "unknown"), False),
        ("$(ADDRESS)", ((11434,), "unknown"), False),
        ("${HOST}:9000", ((9000,), "env"), False),
        ("0.0.0.0:0", ((11434,), "unknown"), False),
        ("0.0.0.0:99999", ((11434,), "unknown"), False),
    ],
)
def test_one_variable_may_hold_address_and_port(value, found, is_local):
    """`OLLAMA_HOST` and `--bind` hold both: an address alone means the default port, and says who can reach it."""
    located = endpoint(ADDRESS, image=IMAGE, env=env(OWN_ADDRESS=value))
    assert ((located.ports, located.source), located.is_local) == (found, is_local)


@pytest.mark.parametrize(
    ("fields", "is_known", "is_mismatched"),
    [
        ({"port": 7000}, True, False),
        ({"port": 7000, "ports": ports(8000)}, True, True),
        ({"args": ["--port", "9000"]}, True, False),
        ({"args": ["--port", "9000"], "ports": ports(8000)}, True, True),
        ({"env": env(OWN_PORT="9000")}, True, False),
        ({}, False, False),
        ({"ports": ports(8000)}, True, False),
        ({"ports": ports(9000)}, False, True),
        ({"args": ["--port", "$P"], "ports": ports(9000)}, False, False),
    ],
)
def test_a_port_is_known_where_it_is_written(fields, is_known, is_mismatched):
    """A default is known only where it is declared; another declared port beside a known one is a mismatch."""
    located = endpoint(**{"image": IMAGE, **fields})
    assert (located.is_known, located.is_mismatched) == (is_known, is_mismatched)


@pytest.mark.parametrize(
    ("declared", "numbers"),
    [
        (None, ()),
        ([{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 2}], (1, 2)),
        ([{"containerPort": 1, "protocol": "UDP"}], ()),
        ([{"containerPort": True}, {"containerPort": "1"}, {"containerPort": 0}, {"containerPort": 65536}, {}], ()),
    ],
)
def test_only_tcp_ports_are_declared_ones(declared, numbers):
    """A value that no port can have is none."""
    assert declared_ports(server(image=IMAGE, ports=declared)) == numbers


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("1", 1),
        ("65535", 65535),
        ("http", 9000),
        ("0", None),
        ("65536", None),
        ("0000809999", None),
        ("9" * 5000, None),
        ("-1", None),
        ("8000 ", None),
        ("٨", None),
        ("", None),
        ("grpc", None),
        ("broken", None),
    ],
)
def test_a_port_is_a_number_in_range_or_a_declared_name(name, number):
    """Anything else is None, which the caller reports."""
    declared = [{"containerPort": 9000, "name": "http"}, {"containerPort": "9", "name": "broken"}]
    assert named_port(server(image=IMAGE, ports=declared), name) == number


def test_the_best_candidate_is_the_first_one():
    """Without any candidate there is no port."""
    assert (endpoint(image=IMAGE, ports=ports(9000)).port, endpoint(args=["--uds", "s"]).port) == (8000, None)


def test_the_annotations_port_needs_no_other_source():
    """A number from the annotation is taken as it is."""
    assert locate(server(image=IMAGE), OWN, 7000).ports == (7000,)
