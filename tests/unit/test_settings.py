"""Settings from flags, environment and file: precedence, and every fault with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.core.decision import Policy, Rule, Sidecar
from webhook.settings import SettingFault, Settings, parse_kubernetes_version

FILE = "s.yaml"


def build(flags=None, environ=None, text=None):
    return Settings.build(flags or {}, environ or {}, None if text is None else (FILE, text))


def faults(flags=None, environ=None, text=None):
    found = build(flags, environ, text)
    assert isinstance(found, tuple)
    return [str(fault) for fault in found]


def test_nothing_given_is_local():
    assert build() == Settings(
        host=None, port=8443, metrics_port=9090, shutdown_delay=0.0, log_level="info", validate_pods=False
    )


@pytest.mark.parametrize(
    ("flag", "variable", "line", "port"),
    [
        ("1", "2", "port: 3", 1),
        (None, "2", "port: 3", 2),
        (None, "", "port: 3", 3),
        (None, "", "", 8443),
    ],
)
def test_flag_beats_environment_beats_file_beats_default(flag, variable, line, port):
    assert build({"port": flag}, {"DRAINHOOK_PORT": variable}, line).port == port


def test_every_setting_can_stand_in_the_file():
    text = """
host: 127.0.0.1
port: 1
metricsPort: 2
tlsCert: a
tlsKey: b
profiles: [p, q]
skipInvalidProfiles: true
kubernetesVersion: "1.30"
shutdownDelay: 1.5
reloadSeconds: 3
logLevel: debug
validatePods: deny
sidecarImage: registry.example:5000/drainhook@sha256:0a
sidecarPullPolicy: Always
sidecarWithoutShell: true
rules:
- backend: vllm
  namespaceSelector: {team: llm}
  podSelector: {matchLabels: {app: x}}
  image: "*/vllm*"
- backend: tgi
"""
    assert build(text=text) == Settings(
        host="127.0.0.1",
        port=1,
        metrics_port=2,
        tls_cert=Path("a"),
        tls_key=Path("b"),
        profiles=(Path("p"), Path("q")),
        skip_invalid_profiles=True,
        kubernetes_version=(1, 30),
        shutdown_delay=1.5,
        reload_seconds=3.0,
        log_level="debug",
        rules=(Rule("vllm", {"team": "llm"}, {"app": "x"}, "*/vllm*"), Rule("tgi")),
        validate_pods=True,
        sidecar_image="registry.example:5000/drainhook@sha256:0a",
        sidecar_pull_policy="Always",
        sidecar_without_shell=True,
    )


def test_every_setting_but_rules_can_stand_in_the_environment():
    environ = {
        "DRAINHOOK_CA_OUT": "ca",
        "DRAINHOOK_PROFILES": "a:b",
        "DRAINHOOK_SKIP_INVALID_PROFILES": "true",
        "DRAINHOOK_VALIDATE_PODS": "deny",
        "DRAINHOOK_SIDECAR_IMAGE": "drainhook:0.1.0",
        "DRAINHOOK_KUBERNETES_VERSION": "v1.31.2",
        "DRAINHOOK_SETTINGS": "read by the command line",
        "HOME": "/root",
    }

    assert build(environ=environ) == Settings(
        ca_out=Path("ca"),
        profiles=(Path("a"), Path("b")),
        skip_invalid_profiles=True,
        validate_pods=True,
        sidecar_image="drainhook:0.1.0",
        kubernetes_version=(1, 31),
    )


def test_the_variables_of_a_service_of_the_same_name_are_no_settings():
    """The kubelet makes them; DRAINHOOK_PORT looks like ours."""
    environ = {
        "DRAINHOOK_PORT": "tcp://10.0.0.1:443",
        "DRAINHOOK_SERVICE_HOST": "10.0.0.1",
        "DRAINHOOK_SERVICE_PORT": "443",
        "DRAINHOOK_SERVICE_PORT_HTTPS": "443",
        "DRAINHOOK_PORT_443_TCP_ADDR": "10.0.0.1",
        "DRAINHOOK_METRICS_SERVICE_HOST": "10.0.0.1",
        "DRAINHOOK_METRICS_PORT": "tcp://10.0.0.2:9090",
    }

    assert build(environ=environ) == Settings()


@pytest.mark.parametrize(("given", "delay"), [(None, 10.0), ("0", 0.0), ("20", 20.0)])
def test_inside_a_cluster_the_delay_is_ten_seconds(given, delay):
    assert build({"shutdown_delay": given}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}).shutdown_delay == delay


def test_the_policy_is_what_decisions_depend_on():
    settings = Settings(kubernetes_version=(1, 30), rules=(Rule("vllm"),), validate_pods=True)

    assert settings.policy == Policy(settings.policy.version, (1, 30), (Rule("vllm"),), deny_pods=True)


def test_without_an_image_there_is_no_sidecar():
    settings = Settings(sidecar_image="i", sidecar_pull_policy="Never", sidecar_without_shell=True)

    assert Settings().policy.sidecar is None
    assert settings.policy.sidecar == Sidecar("i", "Never", without_shell=True)


@pytest.mark.parametrize(
    ("text", "version"), [("1.30", (1, 30)), ("v1.31.4", (1, 31)), ("1.29.3-gke.100", (1, 29)), ("1.30+", (1, 30))]
)
def test_versions_as_clusters_write_them(text, version):
    assert parse_kubernetes_version(text) == version


@pytest.mark.parametrize("raw", ["1", "one", "", 1.3, None, "1.30 or so", "1.-3"])
def test_what_is_no_version_is_refused(raw):
    with pytest.raises(ValueError, match=r"is no Kubernetes version; write it in quotes, like '1\.30'\.$"):
        parse_kubernetes_version(raw)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("port: 70000", "s.yaml: port: 70000 is no port; it must be 0 to 65535."),
        ("port: 8443.5", "s.yaml: port: 8443.5 is no port; it must be 0 to 65535."),
        ("port: true", "s.yaml: port: True is no port; it must be 0 to 65535."),
        ("port: [1]", "s.yaml: port: [1] is no port; it must be 0 to 65535."),
        ("host: 7", "s.yaml: host: 7 is no text."),
        ("profiles: p", "s.yaml: profiles: 'p' is no list of directories."),
        ("skipInvalidProfiles: maybe", "s.yaml: skipInvalidProfiles: 'maybe' is neither true nor false."),
        (
            "kubernetesVersion: 1.30",
            "s.yaml: kubernetesVersion: 1.3 is no Kubernetes version; write it in quotes, like '1.30'.",
        ),
        ("shutdownDelay: 301", "s.yaml: shutdownDelay: 301 is no number of seconds from 0 to 300."),
        ("shutdownDelay: soon", "s.yaml: shutdownDelay: 'soon' is no number of seconds from 0 to 300."),
        ("shutdownDelay: .nan", "s.yaml: shutdownDelay: nan is no number of seconds from 0 to 300."),
        ("shutdownDelay: true", "s.yaml: shutdownDelay: True is no number of seconds from 0 to 300."),
        ("logLevel: loud", "s.yaml: logLevel: 'loud' is none of debug, info, warning, error."),
        ("validatePods: true", "s.yaml: validatePods: True is neither deny nor warn."),
        (
            "sidecarImage: 'own/drainhook: 1'",
            "s.yaml: sidecarImage: 'own/drainhook: 1' is no image like registry.example/drainhook:0.1.0.",
        ),
        (
            "sidecarImage: i\nsidecarPullPolicy: always",
            "s.yaml: sidecarPullPolicy: 'always' is none of Always, IfNotPresent, Never.",
        ),
        ("sidecarImage: i\nsidecarWithoutShell: 2", "s.yaml: sidecarWithoutShell: 2 is neither true nor false."),
        ("rules: {}", "s.yaml: rules: must be a list of rules."),
        (
            "rules: [{image: x}]",
            "s.yaml: rules: [0] must have a backend, and may have namespaceSelector, podSelector and image.",
        ),
        ("rules: [{backend: x, image: 7}]", "s.yaml: rules: [0].image must be a text."),
        (
            "rules: [{backend: x}, {backend: y, podSelector: {matchExpressions: []}}]",
            "s.yaml: rules: [1].podSelector must map labels to texts (matchExpressions are not supported).",
        ),
        ("[]", "s.yaml: must be a mapping of settings."),
        ("port: 1\nhost: [", "s.yaml:2: not YAML: expected the node content, but found '<stream end>'."),
        ("\x00", "s.yaml: not YAML: unreadable."),
    ],
)
def test_a_fault_names_its_place_and_what_would_be_right(text, fault):
    assert faults(text=text) == [fault]


def test_an_unknown_key_names_those_that_exist():
    [fault] = faults(text="prot: 1")

    assert fault.startswith("s.yaml: prot: no such setting; there are caOut, host, kubernetesVersion, ")


def test_an_unknown_variable_is_a_fault():
    assert faults(environ={"DRAINHOOK_PROT": "1"}) == ["DRAINHOOK_PROT: there is no such setting."]


def test_all_faults_are_said_at_once():
    found = faults({"port": "x", "log_level": "y"}, {"DRAINHOOK_METRICS_PORT": "z"}, "shutdownDelay: -1")

    assert [text.split(":")[0] for text in found] == ["s.yaml", "DRAINHOOK_METRICS_PORT", "--port", "--log-level"]


@pytest.mark.parametrize(
    ("flags", "place"),
    [
        ({"tls_cert": "a"}, "--tls-cert, --tls-key"),
        ({"tls_key": "a"}, "--tls-cert, --tls-key"),
        ({"tls_cert": "a", "tls_key": "b", "ca_out": "c"}, "--ca-out"),
        ({"port": "9090"}, "--metrics-port"),
        ({"sidecar_pull_policy": "Never"}, "sidecarPullPolicy, sidecarWithoutShell"),
        ({"sidecar_without_shell": True}, "sidecarPullPolicy, sidecarWithoutShell"),
    ],
)
def test_what_contradicts_itself_is_a_fault(flags, place):
    [fault] = build(flags)

    assert fault.place == place


def test_ports_that_the_system_chooses_do_not_contradict():
    assert build({"port": "0", "metrics_port": "0"}).port == 0


def test_flags_that_were_not_given_do_not_count():
    assert build(
        {"port": None, "profiles": (), "skip_invalid_profiles": None}, text="port: 5\nprofiles: [a]"
    ) == Settings(port=5, profiles=(Path("a"),))


def test_a_fault_reads_as_one_line():
    assert str(SettingFault("--port", "no.")) == "--port: no."
