"""Sessions: where they go, what they send, and what an error says."""

from __future__ import annotations

import pytest

from tests.unit.cluster.apiserver import kubeconfig
from webhook.cluster.client import ClusterError, connect

POD = "/api/v1/namespaces/llm/pods/p"
UNKNOWN = {"metadata": {"name": "p"}, "spec": {"fieldOfTomorrow": [1, {"a": None}]}}


def test_a_session_keeps_fields_that_no_model_knows(api):
    """A typed round trip would drop them."""
    api.add(POD, UNKNOWN)
    session = api.session()
    found = session.get(POD)
    session.put(POD, found)

    assert api.objects[POD]["spec"] == UNKNOWN["spec"]


def test_a_list_is_read_page_by_page(api):
    """A cluster has more objects than one answer."""
    api.page_size = 2
    for number in range(5):
        api.add(f"/api/v1/namespaces/llm/pods/p{number}", {"metadata": {"name": f"p{number}"}})

    found = api.session().items("/api/v1/namespaces/llm/pods")
    assert [item["metadata"]["name"] for item in found] == ["p0", "p1", "p2", "p3", "p4"]


def test_what_the_server_refuses_is_said_in_its_words(api):
    """Status and message are those of the answer."""
    with pytest.raises(ClusterError, match='"p" not found') as caught:
        api.session().get(POD)
    assert caught.value.status == 404


def test_warnings_of_the_server_are_kept(api):
    """Kubectl would print them."""
    api.add(POD, UNKNOWN)
    api.warnings = ['say \\"please\\"', "and, thanks"]
    session = api.session()
    session.patch(POD, [])

    assert session.warnings == ['say "please"', "and, thanks"]


def test_an_answer_that_is_no_object_is_an_error(api):
    """A proxy in between may answer anything."""
    api.pages["/version"] = ["v1"]
    with pytest.raises(ClusterError, match="no JSON object"):
        api.session().version()


def test_a_refusal_without_a_text_names_its_code(api):
    """A proxy's 502 has no Status."""
    api.refuse("GET", POD, (502, []))
    with pytest.raises(ClusterError, match="answered 502"):
        api.session().get(POD)


def test_the_version_is_that_of_the_server(api):
    """Major and minor as numbers."""
    assert api.session().version() == (1, 37)
    api.pages["/version"] = {"gitVersion": "tip"}
    with pytest.raises(ClusterError, match="'tip' is no Kubernetes version"):
        api.session().version()


def test_a_kubeconfig_names_server_login_and_namespace(api, tmp_path):
    """As for kubectl; another context has other values."""
    path = str(kubeconfig(tmp_path, api.url))

    assert connect(path).namespace == "llm"
    assert connect(path, "there").namespace == "default"
    assert connect(path).version() == (1, 37)


def test_the_login_is_sent(api, tmp_path):
    """A request without it would be anonymous."""
    connect(str(kubeconfig(tmp_path, api.url))).version()
    assert api.logins == {"Bearer secret-token"}


def test_a_server_that_is_gone_is_one_sentence(tmp_path):
    """No traceback of the HTTP library."""
    path = kubeconfig(tmp_path, "http://127.0.0.1:1")
    with pytest.raises(ClusterError, match=r"^The API server at http://127.0.0.1:1 does not answer: .*refused.*\.$"):
        connect(str(path)).version()


@pytest.mark.parametrize("text", ["", "{", "a: b", '{"current-context": "x"}'])
def test_a_kubeconfig_that_cannot_be_used_is_one_sentence(tmp_path, text):
    """Whatever its loader raises."""
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(ClusterError, match=r"^No cluster to talk to: .+"):
        connect(str(path))


def test_without_kubeconfig_and_pod_there_is_no_cluster(tmp_path, monkeypatch):
    """Nothing is guessed."""
    monkeypatch.setattr("kubernetes.config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ClusterError, match=r"^No cluster to talk to: Service host/port is not set"):
        connect()


def test_a_user_without_a_home_has_no_kubeconfig(monkeypatch):
    """The image's user is only a number: its home cannot be found."""
    monkeypatch.setattr("kubernetes.config.KUBE_CONFIG_DEFAULT_LOCATION", "~nobody-of-this-name/.kube/config")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ClusterError, match="Service host/port is not set"):
        connect()
