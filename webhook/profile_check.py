"""Whether data is a profile: the JSON Schema in sentences, and the few laws that a schema can't say.

Loads jsonschema, so only `webhook.catalog` calls it, and only for files that are not shipped.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import resources

from webhook.core.profile import IDLE_SECONDS, Json
from webhook.profile_file import Place, ProfileFault, ProfileText, dotted

_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_SHOWN = 60  # characters of a wrong value in a message


def schema() -> Json:
    """Return the published JSON Schema of a profile."""
    return json.loads(resources.files("webhook").joinpath("profile.schema.json").read_text("utf-8"))


@lru_cache(maxsize=1)
def _validator() -> Json:
    from jsonschema import Draft202012Validator  # noqa: PLC0415  # 70 ms that a start without own profiles saves

    return Draft202012Validator(schema())


def check(data: Json, text: ProfileText) -> tuple[ProfileFault, ...]:
    """Return all that is wrong with a profile, at the lines of the file it comes from.

    `data` is the whole profile: with `extends`, what the file says merged into what it extends.
    """
    faults = [fault for error in _validator().iter_errors(data) for fault in _faults(error, text)]
    if not faults:
        faults += _laws(data, text)
    return tuple(sorted(faults, key=lambda fault: (fault.line, fault.field)))


def _faults(error: Json, text: ProfileText) -> Iterator[ProfileFault]:
    """Turn one error of the validator into faults; every unknown or missing field gets its own."""
    place: Place = tuple(error.absolute_path)
    if error.validator == "anyOf" and (branch := _branch(error)):
        for item in branch:
            yield from _faults(item, text)
        return
    if error.validator == "additionalProperties" and "properties" in error.schema:
        for key in error.instance:
            if key not in error.schema["properties"]:
                yield text.fault((*place, key), _unknown(key, error.schema["properties"]))
    elif error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        if missing and error.message.startswith(repr(missing[0])):  # the validator says one error for each
            for key in missing:
                yield ProfileFault(text.path, text.line(place), dotted((*place, key)), "is missing")
    else:
        yield text.fault(place, _sentence(error))


def _branch(error: Json) -> list[Json]:
    """Return the errors of the only alternative whose kind (mapping, list, null) is that of the value."""
    branches: dict[int, list[Json]] = {}
    for item in error.context:
        branches.setdefault(item.relative_schema_path[0], []).append(item)
    fitting = [
        items
        for items in branches.values()
        if not any(item.validator == "type" and not item.relative_path for item in items)
    ]
    return fitting[0] if len(fitting) == 1 else []


def _unknown(key: str, known: Mapping[str, Json]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"is no field; did you mean {near[0]}?" if near else f"is no field; known here: {', '.join(sorted(known))}"


def _sentence(error: Json) -> str:
    """Say what would be right, and what stands there."""
    value, limit = error.instance, error.validator_value
    shown = json.dumps(value, ensure_ascii=False, default=str)
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    match error.validator:
        case "type":
            wanted = " or ".join(_KINDS[kind] for kind in ([limit] if isinstance(limit, str) else limit))
            hint = "; put it in quotes" if "text" in wanted and isinstance(value, int | float) else ""
            return f"must be {wanted}, not {shown}{hint}"
        case "enum":
            return f"must be one of {', '.join(map(str, limit))}, not {shown}"
        case "dependentRequired":
            needed = (f"{key} needs {', '.join(others)}" for key, others in limit.items() if key in value)
            return "; ".join(needed)
        case "uniqueItems":
            return "holds a value twice"
        case _:
            said = error.schema.get("description") or error.message
            return f"{shown} does not fit; right is: {said}"


def _laws(data: Json, text: ProfileText) -> Iterator[ProfileFault]:
    """Find what must hold between fields and does not."""
    if data["name"] != text.name:
        yield text.fault(("name",), f"must be the file's name, {text.name}, not {data['name']}")
    page = data["metrics"] or {}
    refresh, idle = page.get("refresh_seconds", 0), page.get("idle_seconds", IDLE_SECONDS)
    if idle <= refresh:
        place: Place = ("metrics", "idle_seconds" if "idle_seconds" in page else "refresh_seconds")
        yield text.fault(place, f"zeros must span more than refresh_seconds ({refresh:g}); idle_seconds is {idle}")
    for path in data.get("unverified", {}):
        if not has_field(data, path):
            yield text.fault(("unverified", path), "names no field of this profile")


def has_field(data: Json, path: str) -> bool:
    """Say whether a dotted path names a field that the data holds."""
    here = data
    for part in path.split("."):
        if not isinstance(here, dict) or part not in here:
            return False
        here = here[part]
    return True
