"""What is in a live cluster: workloads and pods with pod templates, and what is wrong with them.

What is a mistake the core says; here it is only said of the right object, once. Nothing is ever written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from webhook.cluster.client import FORBIDDEN, ClusterError, Session
from webhook.cluster.resources import Resource
from webhook.core.admission import validate
from webhook.core.decision import Finding, Level, Policy, Reason, Request
from webhook.core.patch import look
from webhook.core.profile import Catalog, Json
from webhook.core.workload import KINDS, owners

_OF_PODS = frozenset({Reason.NOT_PATCHED, Reason.STATUS_MISMATCH})
_ENDED = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Looked:
    """One object that was looked at, or a kind that may not be read (then `name` is empty)."""

    namespace: str
    kind: str
    name: str
    findings: tuple[Finding, ...]

    @property
    def place(self) -> str:
        """Where the object is, for people."""
        return "/".join(part for part in (self.namespace, self.kind, self.name) if part)


@dataclass(slots=True)
class Survey:
    """The objects of a cluster, read kind by kind, and the uids of those whose template was looked at."""

    session: Session
    catalog: Catalog
    policy: Policy
    namespace: str | None = None
    seen: set[str] = field(default_factory=set)

    def look(self, resources: list[Resource]) -> Iterator[Looked]:
        """Yield every workload that no other one makes, then every pod that may still end. Raises ClusterError."""
        kinds = {(resource.group, resource.kind): resource for resource in resources}
        ordered = [kinds[key] for key, row in KINDS.items() if key in kinds and not row.batch]
        for resource in sorted(ordered, key=lambda item: item.kind == "Pod"):
            yield from self._kind(resource)

    def _kind(self, resource: Resource) -> Iterator[Looked]:
        try:
            items = self.session.items(resource.collection(self.namespace))
        except ClusterError as error:
            if error.status != FORBIDDEN:
                raise
            finding = Finding(Reason.UNREADABLE, Level.ERROR, "", str(error))
            yield Looked(self.namespace or "", resource.kind, "", (finding,))
            return
        for item in items:
            obj = {"apiVersion": resource.api_version, "kind": resource.kind, **item}
            self.seen.add(obj["metadata"]["uid"])
            if not _is_passed_over(obj):
                namespace = obj["metadata"].get("namespace", "")
                yield Looked(namespace, resource.kind, obj["metadata"]["name"], tuple(self._findings(obj)))

    def _findings(self, obj: Json) -> list[Finding]:
        """Return what is wrong with an object; a template's mistakes are not said again for each of its pods."""
        metadata = obj["metadata"]
        request = Request(
            obj, metadata.get("namespace", ""), uid=metadata["uid"], name=metadata["name"], kind=obj["kind"]
        )
        findings = validate(request, self.catalog, self.policy).findings
        owner = _controller(obj)
        if owner is None or owner.get("uid") not in self.seen:
            return list(findings)
        return [finding for finding in findings if finding.reason in _OF_PODS]


def _is_passed_over(obj: Json) -> bool:
    """Say whether an object needs no look: another workload makes it, or it is a pod that has ended or is ending."""
    if obj["kind"] != "Pod":
        return _controller(obj) is not None
    return look(obj, ("status", "phase")) in _ENDED or "deletionTimestamp" in obj["metadata"]


def _controller(obj: Json) -> Json:
    return next((owner for owner in owners(obj) if owner.get("controller") is True), None)
