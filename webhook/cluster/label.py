"""Labels on the pod templates of live workloads: what would change, and the change itself.

Which templates a kind has, and what a label brings about, the core says. Nothing is printed or asked here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from webhook import names
from webhook.cluster.client import CONFLICT, ClusterError, Session
from webhook.cluster.resources import Resource, find
from webhook.core.admission import decide
from webhook.core.decision import Finding, Level, Outcome, Policy, Reason, Request
from webhook.core.patch import look, plan, pointer
from webhook.core.profile import Catalog, Json
from webhook.core.workload import KINDS, Template, owners, templates

ATTEMPTS: Final = 5  # a controller may write the status between our look and our change
_PODS: Final = "are labelled through the template of the workload that makes them"


class RefusedError(Exception):
    """A workload that cannot be labelled; the message is a plain sentence."""


@dataclass(frozen=True, slots=True)
class Row:
    """One template: its place, the label that it has and the one that it gets (empty for none), what comes of it."""

    path: str
    current: str
    wanted: str
    outcome: Outcome | None = None

    @property
    def is_changed(self) -> bool:
        """Say whether the label changes."""
        return self.current != self.wanted


@dataclass(slots=True)
class Labelling:
    """What labelling one live workload means. `operations` is empty where nothing is to do."""

    resource: Resource
    namespace: str
    object: Json
    operations: list[Json] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the workload."""
        return str(self.object["metadata"]["name"])

    @property
    def path(self) -> str:
        """The path of the workload in the API."""
        return f"{self.resource.collection(self.namespace)}/{self.name}"

    @property
    def has_errors(self) -> bool:
        """Say whether a finding is an error: then the API server would get a refusal from our webhook."""
        return any(finding.level is Level.ERROR for finding in self.findings)


def fetch(session: Session, resources: list[Resource], spelled: str, namespace: str) -> Labelling:
    """Read the workload that a user names as `deploy/chat`. Raises RefusedError, ClusterError."""
    kind, slash, name = spelled.partition("/")
    if not slash or not kind or not name or "/" in name:
        raise RefusedError(f"{spelled}: name a workload as kind/name, like deploy/chat.")
    resource = find(resources, kind)
    if resource is None:
        raise RefusedError(f"{spelled}: this cluster knows no kind {kind} with a pod template.")
    row = KINDS.get((resource.group, resource.kind))
    if resource.kind == "Pod":
        raise RefusedError(f"{spelled}: pods {_PODS}.")
    if row is None or row.batch:
        why = "carries no pod template" if row is None else "ends by itself and is left alone"
        raise RefusedError(f"{spelled}: a {resource.kind} {why}.")
    found = session.get(f"{resource.collection(namespace)}/{name}")
    owner = next((item for item in owners(found) if item.get("controller") is True), None)
    if owner is not None:
        maker = f"{owner.get('kind')} {owner.get('name')}"
        raise RefusedError(f"{spelled}: belongs to {maker}, which makes it: label that.")
    return Labelling(resource, namespace, found)


def prepare(labelling: Labelling, backend: str, catalog: Catalog, policy: Policy) -> None:
    """Fill in what labelling means: the templates that the label would do something for get it, the others do not."""
    obj = labelling.object
    wanted = {template.path: template for template in templates(obj)}
    _, labelled = plan(obj, [((*template.labels, names.BACKEND), backend) for template in wanted.values()])
    request = Request(labelled, labelling.namespace, name=labelling.name, kind=labelling.resource.kind)
    decision = decide(request, catalog, policy)
    outcomes = {outcome.path: outcome for outcome in decision.outcomes}
    useful = [template for path, template in wanted.items() if _is_useful(outcomes.get(path))]
    for path, template in wanted.items():
        current = _current(obj, template)
        given = backend if template in useful else current
        labelling.rows.append(Row(path, current, given, outcomes.get(path)))
    changes = [((*template.labels, names.BACKEND), backend) for template in useful]
    labelling.operations = plan(obj, changes)[0] if any(row.is_changed for row in labelling.rows) else []
    labelling.findings = list(decision.findings)


def prepare_removal(labelling: Labelling) -> None:
    """Fill in what taking the label away means."""
    for template in templates(labelling.object):
        current = _current(labelling.object, template)
        labelling.rows.append(Row(template.path, current, ""))
        if current:
            labelling.operations.append({"op": "remove", "path": pointer((*template.labels, names.BACKEND))})


def send(session: Session, labelling: Labelling, *, dry_run: bool) -> None:
    """Change the labels in the cluster, or let the API server only try.

    Raises RefusedError where the workload is not the one that was looked at any more, ClusterError.
    """
    query = {"dryRun": "All"} if dry_run else {}
    for attempt in range(ATTEMPTS):
        now = session.get(labelling.path)
        if _essence(now) != _essence(labelling.object):
            raise RefusedError(f"{labelling.resource.kind} {labelling.name} changed meanwhile: look at it again.")
        # Writing the version that was read makes the API server refuse with 409 when there is a newer one.
        lock = {"op": "replace", "path": "/metadata/resourceVersion", "value": now["metadata"]["resourceVersion"]}
        try:
            session.patch(labelling.path, [lock, *labelling.operations], fieldManager="drainhook-label", **query)
        except ClusterError as error:
            if error.status != CONFLICT or attempt + 1 == ATTEMPTS:
                raise
        else:
            return


def rollout(labelling: Labelling) -> str:
    """Say what the API server's controllers do when the template changes."""
    kind, spec = labelling.resource.kind, labelling.object.get("spec") or {}
    replicas = spec.get("replicas", 1)
    if kind == "DaemonSet":
        replicas = look(labelling.object, ("status", "desiredNumberScheduled")) or 0
    if kind in {"ReplicaSet", "ReplicationController", "PodTemplate"}:
        return "Running pods stay as they are; new ones are made from the new template."
    if kind not in {"Deployment", "StatefulSet", "DaemonSet"}:
        return f"The operator of {kind} decides when its pods are replaced."
    strategy = spec.get("strategy" if kind == "Deployment" else "updateStrategy") or {}
    if spec.get("paused"):
        return "The Deployment is paused: pods are replaced when it is resumed."
    if strategy.get("type") == "OnDelete":
        return "OnDelete: each pod is replaced when somebody deletes it."
    limits = (strategy.get("rollingUpdate") or {}).items()
    how = ", ".join([strategy.get("type", "RollingUpdate"), *(f"{key} {value}" for key, value in sorted(limits))])
    return f"This starts a rollout: {replicas} pods are replaced ({how})."


def loses_requests(labelling: Labelling) -> bool:
    """Say whether pods without a hook end in the rollout: a template that had no label yet."""
    return any(row.is_changed and not row.current for row in labelling.rows)


def _is_useful(outcome: Outcome | None) -> bool:
    """Say whether the webhook would act upon the label: another one would only promise something."""
    return outcome is not None and (outcome.status is not None or Reason.CR_FIELD in outcome.reasons)


def _current(obj: Json, template: Template) -> str:
    labels = look(obj, template.labels)
    return str(labels.get(names.BACKEND) or "") if isinstance(labels, dict) else ""


def _essence(obj: Json) -> Json:
    """Return what a user looks at before she agrees: everything but what controllers write."""
    return {key: value for key, value in obj.items() if key not in {"metadata", "status"}}
