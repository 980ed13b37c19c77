"""What a decision is: a request in, then allow, patch or deny, with reasons and findings.

A reason is a key (metric label, status), and a sentence (explain, docs). A finding is a user's mistake or a risk
at an exact field path. No decision is taken here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from webhook import names
from webhook.core.profile import Json


class Level(StrEnum):
    """How bad a finding is: an error fails CI and may deny a workload, a warning is only said."""

    ERROR = "error"
    WARNING = "warning"


class Cause(StrEnum):
    """The kind of a finding in Kubernetes' own words (`details.causes[].reason` of a 422 answer)."""

    INVALID = "FieldValueInvalid"
    REQUIRED = "FieldValueRequired"
    FORBIDDEN = "FieldValueForbidden"
    NOT_SUPPORTED = "FieldValueNotSupported"
    DUPLICATE = "FieldValueDuplicate"


class Reason(StrEnum):
    """Why something was changed, kept, left alone or found: key and sentence."""

    sentence: str

    def __new__(cls, key: str, sentence: str) -> Self:
        """Make the member from its key; the sentence rides along."""
        member = str.__new__(cls, key)
        member._value_ = key
        member.sentence = sentence
        return member

    # Left alone as a whole.
    NOT_LABELLED = "not_labelled", "No backend label on the pod template, and its namespace is not enabled."
    OPTED_OUT = "opted_out", f"The label {names.INJECT}: {names.INJECT_DISABLED} opts this pod out."
    UNKNOWN_BACKEND = "unknown_backend", "The backend label names no profile."
    MIRROR_POD = (
        "mirror_pod",
        "A mirror pod belongs to its node's static manifest; the API server refuses a changed one.",
    )
    WINDOWS_POD = "windows_pod", "A Windows pod cannot run the drain hook."
    BATCH_JOB = "batch_job", "A Job ends by itself; a drain hook would only delay its deletion."
    NO_ENGINE_FOUND = "no_engine_found", "No container's command or image is that of a known engine."
    SERVER_AMBIGUOUS = "server_ambiguous", "Several containers could be the server; the container annotation decides."
    WRONG_ENGINE = "wrong_engine", "The container runs another program than the profile's server."
    ANNOTATIONS_FULL = (
        "annotations_full",
        "The annotations leave no room for the status: the API server would refuse the patched pod.",
    )
    MALFORMED_OBJECT = "malformed_object", "The object has a field whose type no pod can have."
    OPERATION_IGNORED = "operation_ignored", "Only the creation of a pod is patched."
    KIND_IGNORED = "kind_ignored", "The kind carries no pod template that may be patched here."
    CR_FIELD = "cr_field", "The kind lacks the fields; its pods are patched at admission."

    # The hook and its rung. The status names reasons in the order in which they stand here.
    TWO_SERVERS = "two_servers", "Two containers match the profile; both get the hook within one shared budget."
    IMAGE_UNKNOWN = "image_unknown", "The image is not a known one; it is assumed to hold what the official one holds."
    IMAGE_TOOLS = "image_tools", "The image-tools annotation says what the image holds."
    HOOK_EXEC = "hook_exec", "The image holds a shell: the drain script runs in the container."
    HOOK_HTTP = "hook_http", "The server's own drain endpoint is called by httpGet."
    HOOK_SIDECAR = "hook_sidecar", "A native sidecar runs the drain script; the hook waits for its answer."
    HOOK_SLEEP = "hook_sleep", "No shell in the image: the native sleep action waits settle plus drain."
    HOOK_NONE = "hook_none", "The hook annotation asks for none."
    NO_RUNG = "no_rung", "No kind of hook can run in this container on this cluster version."
    HOOK_KEPT = "hook_kept", "The container has its own preStop hook; it is not touched."
    HOOK_CHAINED = "hook_chained", "The container's own preStop hook runs first, within the same deadline."
    HOOK_REPLACED = "hook_replaced", "The existing-hook annotation asks to replace the container's own preStop hook."
    SETTLE_ONLY = (
        "settle_only",
        "The engine drains by itself after SIGTERM and has no gauges: the hook only waits to settle.",
    )

    # Probe, grace period, the rest.
    PROBE_ADDED = "probe_added", "The container had no readiness probe."
    PROBE_KEPT = "probe_kept", "The container has its own readiness probe; it is not touched."
    PROBE_OFF = "probe_off", "The readiness annotation asks for none."
    PROBE_LOCAL = "probe_local", "The server binds localhost or a socket, which the kubelet cannot reach."
    PROBE_PORT_UNKNOWN = (
        "probe_port_unknown",
        "Port, scheme or path are not known for sure; a wrong probe would keep a serving pod un-Ready.",
    )
    PROBE_FOREIGN = "probe_foreign", "The program is not known to be the profile's server."
    POST_START_ADDED = "post_start_added", "The profile has a postStart hook and the container had none."
    NATIVE_DRAIN_ADDED = "native_drain_added", "The engine's own drain flag is added as asked."
    GRACE_RAISED = "grace_raised", "The grace period is raised to settle plus drain plus reserve."
    GRACE_KEPT = "grace_kept", "The grace period is long enough; what it has beyond the sum goes to the drain."
    GRACE_NOT_RAISED = (
        "grace_not_raised",
        "Without a hook, a longer grace period would only delay SIGKILL for this engine.",
    )
    TEMPLATE_GUESSED = "template_guessed", "The kind is unknown; the pod template was found by its shape."

    # Findings: a user's mistake or a risk.
    BAD_OVERRIDE = "bad_override", "An annotation has a value that does not fit."
    UNKNOWN_KEY = "unknown_key", "An annotation of drainhook's domain that nobody reads."
    WRONG_OBJECT = "wrong_object", "The key stands on the workload, but the pod template counts."
    STATUS_MISMATCH = "status_mismatch", "Something changed what drainhook had set."
    NOT_PATCHED = "not_patched", "The pod is labelled but passed the webhook unpatched."
    CHAIN_REFUSED = "chain_refused", "This preStop hook cannot be chained; it is kept."
    HOOK_UNAVAILABLE = "hook_unavailable", "The kind of hook that is asked for cannot be used here."
    SIDECAR_UNAVAILABLE = "sidecar_unavailable", "The native sidecar that is asked for cannot be used here."
    SIDECAR_UNUSED = "sidecar_unused", "A sidecar of an earlier pass is still there; no hook calls it."
    MESH_CAPTURES_PORT = "mesh_captures_port", "A mesh captures the port; the kubelet's httpGet would be no mesh peer."
    MESH_SIDECAR = "mesh_sidecar", "A mesh sidecar could leave before the engine has drained."
    DRAIN_FROM_NODE = "drain_from_node", "The kubelet calls from the node's address; the server must allow it."
    NATIVE_DRAIN_REFUSED = (
        "native_drain_refused",
        "The engine's own drain flag would not help here, or cannot be added.",
    )
    NATIVE_CAP = "native_cap", "The template's own shutdown limit is longer than the reserve."
    LONG_GRACE = "long_grace", "Longer than 600 s: cluster-autoscaler and spot notices cut it."
    PID1_SHELL = "pid1_shell", "A shell is PID 1 and may keep SIGTERM from the engine."
    METRICS_OFF = "metrics_off", "The engine's metrics are off; only connections can tell whether it is idle."
    PORT_MISMATCH = "port_mismatch", "The port that the server listens on is not among the declared ones."
    PORT_UNKNOWN = "port_unknown", "The port stands in a file or a variable that cannot be read at admission."
    HOST_PID = "host_pid", "With the host's or a shared PID namespace the hook cannot write to the container's log."
    FRONT_PROXY = "front_proxy", "A proxy in the same pod may end before the engine has drained."
    GROUP_WORKER = "group_worker", "A member of a group: requests end when its leader does."
    WEAK_HOOK = "weak_hook", "The kept preStop hook does not drain."
    LIVENESS_KILLS_DRAIN = "liveness_kills_drain", "The liveness probe could end a busy or draining server."
    SECRET_INLINE = "secret_inline", "A key stands in the manifest in plain text."

    # Findings about the text of a manifest (command line only).
    UNREADABLE = "unreadable", "The file or document cannot be read."
    DUPLICATE_KEY = "duplicate_key", "A key stands twice in one mapping; the last one would win silently."
    TEMPLATE_TEXT = "template_text", "The document holds template text and is no YAML yet."
    EDIT_FAILED = "edit_failed", "The text could not be edited with proof that the result is right."


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault or risk: `reason` names its kind, `path` is the exact field, `message` says what would be right.

    `value` is what stands there (None when nothing does; never a secret).
    """

    reason: Reason
    level: Level
    path: str
    message: str
    value: Json = None
    cause: Cause = Cause.INVALID

    @property
    def text(self) -> str:
        """The message behind the field that it is about."""
        return f"{self.path}: {self.message}" if self.path else self.message


@dataclass(frozen=True, slots=True)
class Request:
    """One object to decide about: an admission request, or a document of a manifest.

    `labels` and `annotations` are those of the object's Namespace. `operation` is CREATE for documents.
    """

    object: Json
    namespace: str = ""
    operation: str = "CREATE"
    old: Json = None
    uid: str = ""
    name: str = ""
    kind: str = ""
    subresource: str = ""
    user: str = ""
    dry_run: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was decided for one pod template. `path` is its field path: empty for a Pod, `spec.template` otherwise.

    `status` is the value of the status annotation, or None where the template was left alone.
    """

    path: str
    reasons: tuple[Reason, ...]
    status: Json = None


@dataclass(frozen=True, slots=True)
class Allow:
    """Nothing is changed."""

    outcomes: tuple[Outcome, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """The object is changed by RFC 6902 operations (only `add`)."""

    operations: tuple[Json, ...]
    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Deny:
    """The object is refused: at least one finding is an error. Only `/validate` and `drainhook validate` deny."""

    findings: tuple[Finding, ...]


Decision = Allow | Patch | Deny


@dataclass(frozen=True, slots=True)
class Rule:
    """An administrator's default: pods that match all given parts get `backend`. Globs for `image`."""

    backend: str
    namespace_selector: Mapping[str, str] = field(default_factory=dict)
    pod_selector: Mapping[str, str] = field(default_factory=dict)
    image: str = ""


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The settings of the native sidecar: its image (drainhook's), pull policy, and whether nobody needs to ask for it.

    `pull_policy` is empty where the API server's default shall hold. `without_shell`: it is a rung of the ladder.
    """

    image: str
    pull_policy: str = ""
    without_shell: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """Settings that decisions depend on. `kubernetes` is (major, minor), None when unknown (then 1.28 is assumed).

    `sidecar` is None where no image is set: then there is no such rung.
    """

    version: str
    kubernetes: tuple[int, int] | None = None
    rules: tuple[Rule, ...] = ()
    deny_pods: bool = False
    sidecar: Sidecar | None = None
