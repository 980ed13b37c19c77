"""What the shipped profiles claim about engines, one claim a test: a wrong edit of a fact must be seen here."""

from webhook import names
from webhook.catalog import load
from webhook.core.admission import decide
from webhook.core.decision import Allow, Policy, Reason, Request
from webhook.core.profile import Setting
from webhook.profile_proof import minimal_pod

CATALOG, _ = load()
PROFILES = CATALOG.profiles
PAGES = {name: profile.metrics for name, profile in PROFILES.items() if profile.metrics}


def test_readiness_is_asked_where_the_engine_knows_about_its_model():
    assert {name: profile.readiness.path for name, profile in PROFILES.items()} == {
        "vllm": "/health",
        "sglang": "/health",
        "tgi": "/health",
        "llamacpp": "/health",
        "ollama": "/",
        "triton": "/v2/health/ready",
        "tensorrt-llm": "/health",
        "nim": "/v1/health/ready",
        "lmdeploy": "/health",
        "tei": "/health",
        "ray-serve": "/-/healthz",
        "kserve-huggingface": "/v2/health/ready",
        "openvino": "/v2/health/ready",
        "mlserver": "/v2/health/ready",
        "infinity": "/health",
        "fastapi": "/readyz",
    }


def test_only_sglang_takes_a_second_to_say_that_it_is_healthy():
    assert {name: p.readiness.min_seconds for name, p in PROFILES.items() if p.readiness.min_seconds} == {"sglang": 1.0}


def test_gauges_are_at_metrics_but_for_two():
    assert {name: page.path for name, page in PAGES.items() if page.path != "/metrics"} == {
        "nim": "/v1/metrics",
        "tensorrt-llm": "/prometheus/metrics",
    }


def test_three_have_their_gauges_on_a_port_of_its_own():
    assert {name: page.port.default for name, page in PAGES.items() if page.port} == {
        "triton": 8002,
        "mlserver": 8082,
        "ray-serve": 8080,
    }


def test_a_missing_sample_means_idle_only_where_it_is_written_first_when_a_request_comes():
    assert {name for name, page in PAGES.items() if page.absent == "idle"} == {"tgi", "tei"}


def test_what_turns_the_page_of_gauges_on_and_off():
    assert {name: page.on for name, page in PAGES.items() if not page.enabled} == {
        "sglang": Setting(("--enable-metrics",)),
        "llamacpp": Setting(("--metrics",), ("LLAMA_ARG_ENDPOINT_METRICS",)),
        "openvino": Setting(("--metrics_enable",)),
        "tensorrt-llm": Setting(),  # a YAML file turns it on
    }
    assert {name: page.off for name, page in PAGES.items() if page.off != Setting()} == {
        "vllm": Setting(("--disable-log-stats",)),
        "lmdeploy": Setting(("--disable-metrics",)),
    }


def test_one_page_is_guarded_by_a_key_that_a_variable_of_the_engine_holds():
    assert {name: page.key_env for name, page in PAGES.items() if page.key_env} == {"llamacpp": "LLAMA_API_KEY"}


def test_who_binds_localhost_in_its_own_image_unless_told_otherwise():
    bound = {name: profile.host.in_image or profile.host.default for name, profile in PROFILES.items()}

    assert {name for name, host in bound.items() if host != "0.0.0.0"} == {  # noqa: S104
        "sglang",
        "tensorrt-llm",
        "ray-serve",
        "fastapi",
    }


def test_a_variable_sets_the_port_of_these_and_never_vllm_s():
    assert {name: profile.http.setting.env for name, profile in PROFILES.items() if profile.http.setting.env} == {
        "tgi": ("PORT",),
        "tei": ("PORT",),
        "llamacpp": ("LLAMA_ARG_PORT",),
        "ollama": ("OLLAMA_HOST",),
        "nim": ("NIM_SERVER_PORT",),
        "mlserver": ("MLSERVER_HTTP_PORT",),
        "infinity": ("INFINITY_PORT",),
        "fastapi": ("UVICORN_PORT", "PORT"),
    }


def test_the_other_default_port_of_llama_cpp_is_a_candidate():
    assert {name: profile.http.also for name, profile in PROFILES.items() if profile.http.also} == {"llamacpp": (9931,)}


def test_who_can_serve_https_by_itself():
    assert {name: p.tls.flags for name, p in PROFILES.items() if p.tls.flags} == {
        "vllm": ("--ssl-keyfile", "--ssl-certfile"),
        "sglang": ("--ssl-keyfile", "--ssl-certfile"),
        "llamacpp": ("--ssl-key-file", "--ssl-cert-file"),
        "lmdeploy": ("--ssl",),
        "fastapi": ("--ssl-keyfile", "--ssl-certfile", "--keyfile", "--certfile"),
    }


def test_a_prefix_moves_health_and_gauges_of_llama_cpp_only():
    assert {name for name, p in PROFILES.items() if p.base_path != Setting()} == {"llamacpp"}


def test_who_caps_its_own_drain_and_by_what():
    assert {name: p.shutdown.cap for name, p in PROFILES.items() if p.shutdown.cap != Setting()} == {
        "vllm": Setting(("--shutdown-timeout",)),
        "tgi": Setting(("--graceful-termination-timeout",), ("GRACEFUL_TERMINATION_TIMEOUT",)),
        "triton": Setting(("--exit-timeout-secs",)),
        "ray-serve": Setting((), ("RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S",)),
    }


def test_native_drain_is_vllm_s_and_lost_with_several_api_servers():
    assert [name for name, p in PROFILES.items() if p.shutdown.flag] == ["vllm"]
    assert (PROFILES["vllm"].shutdown.flag, PROFILES["vllm"].shutdown.since) == ("--shutdown-timeout", "0.18.0")
    assert {"--api-server-count", "--data-parallel-size"} <= set(PROFILES["vllm"].shutdown.single)


def test_every_official_image_holds_a_shell_and_some_no_curl():
    assert {name for name, profile in PROFILES.items() if "sh" not in profile.tools} == set()
    assert {name for name, profile in PROFILES.items() if "curl" not in profile.tools} == {
        "ollama",
        "mlserver",
        "tensorrt-llm",
        "fastapi",
    }
    assert PROFILES["ollama"].tools == ("sh", "bash")


def test_only_the_middleware_s_profile_has_a_drain_endpoint_and_only_when_asked():
    endpoints = {name: profile.drain_endpoint for name, profile in PROFILES.items() if profile.drain_endpoint}

    assert [*endpoints] == ["fastapi"]
    assert endpoints["fastapi"].path.format(settle=10, wait=95) == "/drain?settle=10&wait=95"
    assert endpoints["fastapi"].asked_only


def test_no_shipped_profile_sets_post_start():
    assert [name for name, profile in PROFILES.items() if profile.post_start] == []


def test_keys_are_known_as_secrets():
    assert PROFILES["vllm"].secret.flags == ("--api-key",)
    assert "VLLM_API_KEY" in PROFILES["vllm"].secret.env
    assert {name for name, profile in PROFILES.items() if "HF_TOKEN" not in profile.secret.env} == {"ollama"}


def test_auto_leaves_a_web_application_alone_that_may_not_have_the_middleware():
    pod = minimal_pod(PROFILES["fastapi"])
    pod["metadata"]["labels"][names.BACKEND] = names.AUTO

    decision = decide(Request(object=pod, kind="Pod"), CATALOG, Policy(version="0"))

    assert isinstance(decision, Allow)
    assert decision.outcomes[0].reasons == (Reason.NO_ENGINE_FOUND,)
