"""What a decision is: a request in, then allow, patch or deny, with reasons and findings.

A reason is a key (metric label, status), and a sentence (explain, docs). A finding is a user's mistake or a risk
at an exact field path. No decision is taken here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

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

    def __new__(cls, key: str, sentence: str) -> Reason:
        """Make the member from its key; the sentence rides along."""
        member = str.__new__(cls, key)
        member._value_ = key
        member.sentence = sentence
        return member

    # Left alone as a whole.
    NOT_LABELLED = "not_labelled", "No backend label on the pod template, and its namespace is not enabled."
    OPTED_OUT = "opted_out", "The label drainhook.dev/inject: disabled opts this pod out."


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
class Policy:
    """Settings that decisions depend on. `kubernetes` is (major, minor), None when unknown (then 1.28 is assumed)."""

    version: str
    kubernetes: tuple[int, int] | None = None
    rules: tuple[Rule, ...] = ()
    deny_pods: bool = False
