"""Which kinds with pod templates a cluster knows, how users spell them, and their paths in the API.

Plurals and short names come from the API server's discovery; which kinds carry a template, from the table KINDS.
"""

from __future__ import annotations

from dataclasses import dataclass

from webhook.cluster.client import NOT_FOUND, ClusterError, Session
from webhook.core.profile import Json
from webhook.core.workload import KINDS


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind as the API server serves it; `spellings` are the names by which kubectl takes it."""

    group: str
    version: str
    kind: str
    plural: str
    spellings: frozenset[str]
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects: lists leave it out."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def collection(self, namespace: str | None) -> str:
        """Return the path of all objects, or of those of a namespace."""
        root = f"/apis/{self.group}" if self.group else "/api"
        place = f"/namespaces/{namespace}" if namespace is not None and self.namespaced else ""
        return f"{root}/{self.version}{place}/{self.plural}"


def groups() -> list[str]:
    """Return the API groups of the table, core first: a name without group means the first that has it, as kubectl."""
    return sorted({group for group, _ in KINDS})


def discover(session: Session) -> list[Resource]:
    """Return every resource of these groups that the cluster serves, of kinds without a template too.

    A group that is not installed gives none. Raises ClusterError.
    """
    return [resource for group in groups() for resource in _group(session, group)]


def absent(resources: list[Resource]) -> list[str]:
    """Return the kinds with a template that the cluster does not know."""
    known = {(resource.group, resource.kind) for resource in resources}
    missing = [key for key, row in KINDS.items() if not row.batch and key not in known]
    return sorted(f"{kind}.{group}" if group else kind for group, kind in missing)


def find(resources: list[Resource], spelled: str) -> Resource | None:
    """Return the resource that a user means by `deploy`, `deployments` or `deployments.apps`."""
    name, _, group = spelled.lower().partition(".")
    for resource in resources:
        groups_meant = {"", resource.group, f"{resource.version}.{resource.group}"}
        if name in resource.spellings and group in groups_meant:
            return resource
    return None


def _group(session: Session, group: str) -> list[Resource]:
    try:
        version = "v1" if not group else session.get(f"/apis/{group}")["preferredVersion"]["version"]
        listed = session.get(f"/apis/{group}/{version}" if group else f"/api/{version}")["resources"]
    except ClusterError as error:
        if error.status == NOT_FOUND:
            return []
        raise
    return [_resource(group, version, row) for row in listed if "/" not in row["name"]]


def _resource(group: str, version: str, row: Json) -> Resource:
    spellings = {row["name"], row.get("singularName"), row["kind"].lower(), *(row.get("shortNames") or ())}
    known = frozenset(name for name in spellings if name)
    return Resource(group, version, row["kind"], row["name"], known, row.get("namespaced", True))
