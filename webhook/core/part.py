"""One server of a template before its budget is known: how it is reached, which rung it gets, whose hook stays.

Here the user's hook and ours meet: keep, chain or replace. No change is made here, that is `webhook.core.inject`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from webhook import names
from webhook.core.checks import has_mesh
from webhook.core.container import Server
from webhook.core.decision import Finding, Level, Policy, Reason
from webhook.core.endpoint import Endpoint, locate, named_port
from webhook.core.existing import PRE_STOP, Existing, existing_hook
from webhook.core.hook import Rung, Site, choose_rung
from webhook.core.native import NativeDrain, args_place, native_drain
from webhook.core.overrides import Overrides, bad_value
from webhook.core.patch import Tokens, field_path, look
from webhook.core.profile import Catalog, Json, Profile
from webhook.core.sidecar import refusal, standing


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pod template that is opted in, with all that the decision about it depends on."""

    pod: Json
    tokens: Tokens
    profile: Profile
    servers: list[Server]
    overrides: Overrides
    catalog: Catalog
    policy: Policy
    status: Json

    @property
    def path(self) -> str:
        """The field path of the template with a trailing dot; empty for a Pod."""
        text = field_path(self.tokens)
        return f"{text}." if text else ""

    @property
    def annotations_path(self) -> str:
        """The field path of the template's annotations."""
        return f"{self.path}metadata.annotations"

    def was_ours(self, place: str) -> bool:
        """Say whether an earlier pass changed this place."""
        return place in (look(self.status, ("changed",)) or [])


@dataclass(slots=True)
class Part:
    """What is decided for one server before the budget is known."""

    server: Server
    endpoint: Endpoint
    existing: Existing
    rung: Rung
    native: NativeDrain
    keeps: bool = False  # the user's hook stays as it is
    chained: Existing | None = None
    findings: list[Finding] = field(default_factory=list)


def part_of(candidate: Candidate, server: Server) -> Part:
    """Find out how a server is reached, what hook it has and which rung it gets."""
    overrides, annotations_path = candidate.overrides, candidate.annotations_path
    findings: list[Finding] = []
    port = named_port(server, overrides.port) if overrides.port is not None else None
    if overrides.port is not None and port is None:
        message = "must be a port number or the name of a port of the server's container"
        findings.append(bad_value(annotations_path, names.PORT, overrides.port, message))
    endpoint = locate(server, candidate.profile, port)
    existing = existing_hook(server, candidate.status)
    path = candidate.path + field_path((*server.tokens, *PRE_STOP))
    meshed, count = has_mesh(candidate.pod, candidate.catalog), len(candidate.servers)
    no_sidecar = refusal(candidate.pod, endpoint, candidate.policy, servers=count, has_mesh=meshed)
    has_sidecar = standing(candidate.pod) is not None
    site = Site(server, endpoint, meshed, path, annotations_path, no_sidecar, has_sidecar)
    rung = choose_rung(candidate.profile, overrides, site, candidate.policy)
    native = NativeDrain()
    if overrides.native_drain:
        ours = candidate.was_ours(args_place(server))
        native = native_drain(candidate.profile, server, f"{annotations_path}[{names.NATIVE_DRAIN}]", is_ours=ours)
    part = Part(server, endpoint, existing, rung, native)
    _merge(candidate, part, path)
    part.findings = [*findings, *rung.findings, *native.findings]
    return part


def _merge(candidate: Candidate, part: Part, path: str) -> None:
    """Decide between the user's hook and ours; first row that fits.

    | `existing-hook` | rung | the user's hook                                 | what stands afterwards        |
    |-----------------|------|-------------------------------------------------|-------------------------------|
    | any             | none | any                                             | theirs                        |
    | `keep`          | any  | any                                             | theirs                        |
    | `chain`         | exec | a command, a local httpGet, a sleep, a tcpSocket | ours, which runs theirs first |
    | `chain`         | any  | any                                             | theirs, with a finding        |
    | `replace`       | any  | any                                             | ours                          |

    One that an earlier pass chained stays so on the exec rung; on others it gets its place back or is replaced.
    """
    existing, wanted, rung = part.existing, candidate.overrides.existing_hook, part.rung
    if existing.is_ours:
        part.chained = existing if existing.form != "none" and rung.name == "exec" else None
        if existing.form == "exec" and rung.name != "exec" and (wanted != "replace" or rung.name == "none"):
            _keep(part, wanted, "only the exec rung can run both", path)  # the user's hook gets its place back
        elif rung.name != "none" and Reason.HOOK_REPLACED in (look(candidate.status, ("reasons",)) or []):
            rung.reasons.append(Reason.HOOK_REPLACED)
    elif existing.is_user:
        refusal = existing.refusal or ("" if rung.name == "exec" else "only the exec rung can run both")
        if rung.name == "none" or wanted == "keep" or (wanted == "chain" and refusal):
            _keep(part, wanted, refusal, path)
        elif wanted == "chain":
            part.chained = existing
        else:
            rung.reasons.append(Reason.HOOK_REPLACED)
    if part.chained is not None:
        rung.reasons.append(Reason.HOOK_CHAINED)


def _keep(part: Part, wanted: str, refusal: str, path: str) -> None:
    """Let the user's hook stay as it is, and say so where the annotation asked for more."""
    part.keeps, rung = True, part.rung
    rung.reasons[:] = [Reason.HOOK_KEPT]
    if wanted == "chain":
        message = f"cannot be chained: {refusal}; it is kept"
        rung.findings.append(Finding(Reason.CHAIN_REFUSED, Level.WARNING, path, message))
    if wanted != "replace":
        rung.findings[:] = [item for item in rung.findings if item.reason is not Reason.NO_RUNG]
