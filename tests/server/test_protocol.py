"""The wire protocol as the API server checks it: rows W1 to W4 and W7 to W10 of the admission checklist."""

from __future__ import annotations

import http.client
import json

import pytest

from tests.server.reviews import JSON, V1, bare_pod, faulty_deployment, operations, pod, review, well_formed

V1BETA1 = "admission.k8s.io/v1beta1"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/mutate", review(bare_pod())),
        ("/mutate", review(pod())),
        ("/mutate", review(None)),
        ("/mutate", review(pod(), version=V1BETA1)),
        ("/validate", review(pod())),
        ("/validate", review(faulty_deployment())),
    ],
    ids=["allow", "patch", "null-object", "v1beta1", "validate", "deny"],
)
def test_w1_every_answer_repeats_the_uid(client, path, body):
    answer = client.post(path, json=body).json()

    assert answer["response"]["uid"] == body["request"]["uid"]


def test_w2_the_answer_repeats_version_and_kind(client):
    answer = client.post("/mutate", json=review(pod())).json()

    assert (answer["apiVersion"], answer["kind"]) == (V1, "AdmissionReview")


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_w2_v1beta1_is_answered_in_kind_and_changes_nothing(client, path):
    body = review(pod() if path == "/mutate" else faulty_deployment(), version=V1BETA1)

    response = well_formed(client.post(path, json=body).json(), body["request"]["uid"], V1BETA1)

    assert response["allowed"] is True
    assert "patch" not in response
    assert response["warnings"] == [
        "drainhook: admission.k8s.io/v1beta1 is not served, nothing was changed; set admissionReviewVersions to [v1]."
    ]


def test_w2_another_version_is_refused_by_http(client):
    answer = client.post("/mutate", json=review(pod(), version="admission.k8s.io/v2"))

    assert (answer.status_code, answer.text) == (400, "The body is not an AdmissionReview of admission.k8s.io/v1.\n")


def test_w3_an_unchanged_object_gets_neither_patch_nor_patch_type(client):
    response = client.post("/mutate", json=review(bare_pod())).json()["response"]

    assert response == {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "allowed": True,
        "auditAnnotations": {"decision": "allow", "reason": "not_labelled"},
    }


def test_w4_the_patch_is_a_base64_json_array_of_adds(client):
    response = client.post("/mutate", json=review(pod())).json()["response"]

    assert response["patchType"] == "JSONPatch"
    assert {operation["op"] for operation in operations(response)} == {"add"}


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_w7_what_has_no_object_is_allowed_without_patch(client, path, operation):
    body = review(None, operation=operation, oldObject=pod())

    response = well_formed(client.post(path, json=body).json(), body["request"]["uid"])

    assert response["allowed"] is True
    assert "patch" not in response


def test_w8_no_framework_answer_reaches_the_api_server(client):
    """FastAPI's own 422 is no AdmissionReview; nothing but a review or a plain 4xx may come back."""
    broken = review(pod())
    del broken["request"]["operation"]
    broken["request"]["kind"] = ["no", "mapping"]

    response = well_formed(client.post("/mutate", json=broken).json(), broken["request"]["uid"])

    assert response["allowed"] is True


def test_w8_an_empty_body_gets_a_400_with_a_sentence(client):
    answer = client.post("/mutate", content=b"", headers=JSON)

    assert (answer.status_code, answer.text) == (400, "The body is not a JSON object.\n")


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/mutate", 405), ("POST", "/other", 404)])
def test_w8_other_methods_and_paths_are_4xx(client, method, path, status):
    assert client.request(method, path).status_code == status


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ([], "The body is not a JSON object."),
        ([review(pod())], "The body is not a JSON object."),
        ({}, "The body is not an AdmissionReview of admission.k8s.io/v1."),
        ({"apiVersion": V1, "kind": "AdmissionReview"}, "The review has no request."),
        ({"apiVersion": V1, "kind": "AdmissionReview", "request": None}, "The review has no request."),
        ({"apiVersion": V1, "kind": "AdmissionReview", "request": [1]}, "The review has no request."),
        ({"apiVersion": V1, "kind": "AdmissionReview", "request": {}}, "The request has no uid."),
        ({"apiVersion": V1, "kind": "AdmissionReview", "request": {"uid": 7}}, "The request has no uid."),
    ],
)
def test_w9_what_has_no_uid_is_a_400_that_says_why(client, body, text):
    answer = client.post("/mutate", json=body)

    assert (answer.status_code, answer.text) == (400, text + "\n")


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
@pytest.mark.parametrize("document", [None, [], "pod", 7, {}, {"kind": "Pod"}, {"kind": "Pod", "spec": None}])
def test_w9_null_and_wrong_objects_are_allowed(client, path, document):
    body = review(document)

    response = well_formed(client.post(path, json=body).json(), body["request"]["uid"])

    assert response["allowed"] is True
    assert "patch" not in response


def test_w9_missing_user_info_is_no_fault(client):
    body = review(pod())
    del body["request"]["userInfo"]

    assert "patch" in client.post("/mutate", json=body).json()["response"]


@pytest.mark.parametrize("media", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_w10_json_is_accepted_with_parameters(client, media):
    answer = client.post("/mutate", content=b"{}", headers={"content-type": media})

    assert answer.status_code == 400


@pytest.mark.parametrize("media", ["", "text/plain", "application/yaml", "application/jsonp", "multipart/form-data"])
def test_w10_other_content_types_are_refused(client, media):
    answer = client.post("/mutate", content=b"{}", headers={"content-type": media} if media else {})

    assert (answer.status_code, answer.text) == (415, "The content type must be application/json.\n")


def test_w10_the_content_type_is_looked_at_before_the_body_is_read(server):
    """Only the head is sent; the answer comes although the body never does."""
    head = b"POST /mutate HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 100000\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(head)

        assert connection.recv(100).startswith(b"HTTP/1.1 415 ")


def test_w14_the_audit_log_gets_decision_and_reasons(client):
    response = client.post("/mutate", json=review(pod())).json()["response"]

    assert response["auditAnnotations"]["decision"] == "patch"
    assert "hook_exec" in response["auditAnnotations"]["reason"].split(",")


def test_a_refusal_is_a_422_with_causes(client):
    response = client.post("/validate", json=review(faulty_deployment())).json()["response"]

    field = "spec.template.metadata.annotations[drainhook.dev/drain-seconds]"
    assert response["allowed"] is False
    assert (response["status"]["code"], response["status"]["reason"]) == (422, "Invalid")
    details = response["status"]["details"]
    assert (details["group"], details["kind"], details["name"]) == ("apps", "Deployment", "llm")
    assert [(cause["reason"], cause["field"]) for cause in details["causes"]] == [("FieldValueInvalid", field)]
    assert details["causes"][0]["message"].startswith('Invalid value: "-5": ')


def test_answers_carry_no_header_that_nobody_needs(client):
    assert client.post("/mutate", json=review(pod())).headers.keys() == {"content-length", "content-type"}


def test_one_connection_carries_many_reviews(server):
    connection = http.client.HTTPSConnection("localhost", server.port, timeout=10, context=server.context())
    connection.connect()
    socket = connection.sock
    for _ in range(3):
        connection.request("POST", "/mutate", json.dumps(review(pod())), JSON)
        answer = connection.getresponse()

        assert (answer.status, len(answer.read()) > 0, connection.sock) == (200, True, socket)
    connection.close()
