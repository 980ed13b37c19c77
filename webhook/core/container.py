"""Which container of a pod is the LLM server, and what proves that another program runs there.

Order: the annotation; those whose command or image is the profile's; the only one; the one that owns the declared
port. The last two hold only when the pod's own label names the backend. Nothing is changed here.
"""

from __future__ import annotations

from dataclasses import dataclass

from webhook.core import command
from webhook.core.command import Command, Start
from webhook.core.decision import Reason
from webhook.core.patch import Tokens, look
from webhook.core.profile import Catalog, Json, Profile


@dataclass(frozen=True, slots=True)
class Server:
    """A container read against one profile: its index, how it starts, its program, and what recognises it."""

    index: int
    container: Json
    start: Start
    command: Command
    by_command: bool
    by_image: bool

    @property
    def tokens(self) -> Tokens:
        """Where the container sits in its pod template."""
        return ("spec", "containers", self.index)

    @property
    def image(self) -> str:
        """The container's image."""
        return str(self.container.get("image") or "")

    @property
    def is_matched(self) -> bool:
        """Command or image are the profile's."""
        return self.by_command or self.by_image

    @property
    def is_proven(self) -> bool:
        """The program is the profile's: its command, or its image with the image's own entry point."""
        return self.by_command or (self.by_image and self.start.by_image)

    @property
    def is_foreign(self) -> bool:
        """A command is given that is not the profile's."""
        return not self.by_command and not self.start.by_image


def read(pod: Json, profile: Profile) -> list[Server]:
    """Read every container of a pod against one profile."""
    found = []
    for index, container in enumerate(look(pod, ("spec", "containers")) or []):
        start = command.start_of(container)
        program = start.find(profile.match)
        by_image = command.is_image(str(container.get("image") or ""), profile.match.images)
        found.append(Server(index, container, start, program or start.last, program is not None, by_image))
    return found


def is_other(server: Server, profile: Profile, catalog: Catalog) -> bool:
    """Say whether a container is known to run another program than the profile's server.

    A web UI, a router, a worker without HTTP, another engine: by the profile's `others`, by programs.yaml, or since
    another profile recognises it.
    """
    programs_here = server.start.commands
    if any(command.has_words(item, words) for item in programs_here for words in profile.match.others):
        return True
    if server.is_proven:
        return False
    image, programs = server.image, catalog.programs
    if command.is_image(image, programs.meshes + programs.proxies + programs.others):
        return True
    rest = [other.match for other in catalog.profiles.values() if other.name != profile.name]
    if any(server.start.find(match) for match in rest):
        return True
    return not server.by_image and any(command.is_image(image, match.images) for match in rest)


def choose(
    servers: list[Server], *, port: str | None, default_port: int | None, by_label: bool
) -> list[Server] | Reason:
    """Return the servers (two matches: both), or the reason why none is chosen.

    `port` is the text of the port annotation, `default_port` the profile's; `by_label` says that the pod's own label
    names the backend, so that an unmatched container may be taken.
    """
    matched = [server for server in servers if server.is_proven] or [server for server in servers if server.by_image]
    if matched:
        return matched
    if not by_label:
        return Reason.NO_ENGINE_FOUND
    if len(servers) == 1:
        return servers
    owners = [server for server in servers if _owns(server.container, port, default_port)]
    return owners if len(owners) == 1 else Reason.SERVER_AMBIGUOUS


def _owns(container: Json, port: str | None, default_port: int | None) -> bool:
    """Say whether a container declares the port by number or name."""
    wanted = {port} if port else {str(default_port)}
    return any(
        str(item.get(key)) in wanted for item in container.get("ports") or [] for key in ("containerPort", "name")
    )


def detect(pod: Json, catalog: Catalog) -> Profile | None:
    """Return the only profile that recognises a container: by command first, else by image (backend `auto`)."""
    starts = [
        (command.start_of(container), str(container.get("image") or ""))
        for container in look(pod, ("spec", "containers")) or []
    ]
    profiles = [profile for profile in catalog.profiles.values() if profile.match.auto]
    by_command = [profile for profile in profiles if any(start.find(profile.match) for start, _ in starts)]
    by_image = [p for p in profiles if any(command.is_image(image, p.match.images) for _, image in starts)]
    found = by_command or by_image
    return found[0] if len(found) == 1 else None
