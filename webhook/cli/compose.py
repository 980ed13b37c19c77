"""Composes the nodes of one document with libyaml, once, and says what is wrong with a text that has none.

libyaml's own composer is used wherever it can be (it is four times as fast); it forgets where aliases stood, so
documents with anchors are composed from events here. No value is made here.
"""

from __future__ import annotations

import re
from typing import Final

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stubs do not export it
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from webhook.cli.nodes import AliasNode, Unreadable
from webhook.cli.scalars import FIRST, TEXT, Tag, tag_of
from webhook.core.profile import Json

_ANCHOR: Final = re.compile(r"&(?<![^\s\[{,:]&)[^\s&,\[\]{}]")
"""Every anchor looks so; of the ampersands of shell scripts hardly any does."""

Aliases = dict[int, list[AliasNode]]
"""The aliases of each anchored node, by the node's id."""


class _Parser(CParser):
    """libyaml with Kubernetes' meaning of scalars: the tag of a node carries its value."""

    def descend_resolver(self, _parent: Node, _index: object) -> None:
        """Path resolvers are not used; the C composer calls this for every node."""

    def ascend_resolver(self) -> None:
        """See `descend_resolver`."""

    def resolve(self, kind: type[Node], value: str, implicit: tuple[bool, bool]) -> Tag:
        """Return the tag of a node without an explicit one."""
        if kind is ScalarNode and implicit[0] and (not value or value[0] in FIRST):
            return tag_of(value)
        return TEXT


def compose(text: str) -> tuple[Node | None, Aliases]:
    """Return the root of the one document in the text (None when it holds nothing) and where its aliases stand.

    Raises Unreadable with the place of the fault.
    """
    parser = _Parser(text)
    try:
        if _ANCHOR.search(text):
            return _FromEvents(parser).document()
        return parser.get_single_node(), {}
    except yaml.YAMLError as error:
        raise _unreadable(error, text) from None
    finally:
        parser.dispose()


class _FromEvents:
    """Composes nodes from events and keeps the aliases."""

    def __init__(self, parser: _Parser) -> None:
        self.parser = parser
        self.anchors: dict[str, Node] = {}
        self.open: set[int] = set()
        self.aliases: Aliases = {}

    def document(self) -> tuple[Node | None, Aliases]:
        self.parser.get_event()
        if self.parser.check_event(yaml.StreamEndEvent):
            return None, {}
        self.parser.get_event()
        root = self._node(())
        self.parser.get_event()
        if not self.parser.check_event(yaml.StreamEndEvent):
            raise Unreadable("a second document without a line of three dashes before it")
        return root, self.aliases

    def _node(self, place: tuple[int, ...]) -> Node:
        event: Json = self.parser.get_event()
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, place)
        is_scalar = isinstance(event, yaml.ScalarEvent)  # as a name, or the checker would know less of its marks
        if is_scalar:
            tag: Json = event.tag or self.parser.resolve(ScalarNode, event.value, event.implicit)
            node: Node = ScalarNode(tag, event.value, event.start_mark, event.end_mark, event.style)
        else:
            kind = MappingNode if isinstance(event, yaml.MappingStartEvent) else SequenceNode
            node = kind(event.tag or TEXT, [], event.start_mark, event.end_mark, event.flow_style)
        if event.anchor:
            self.anchors[event.anchor] = node
        if not isinstance(node, ScalarNode):
            self.open.add(id(node))
            self._fill(node, place)
            self.open.discard(id(node))
        return node

    def _fill(self, node: Node, place: tuple[int, ...]) -> None:
        while not self.parser.check_event(yaml.MappingEndEvent, yaml.SequenceEndEvent):
            inner = (*place, len(node.value))
            key = self._node(inner) if isinstance(node, MappingNode) else None
            item = self._node(inner)
            node.value.append(item if key is None else (key, item))
        closing: Json = self.parser.get_event()
        node.end_mark = closing.end_mark

    def _alias(self, event: Json, place: tuple[int, ...]) -> AliasNode:
        target = self.anchors.get(event.anchor)
        if target is None:
            raise Unreadable(f"no anchor of the name {event.anchor}", event.start_mark.line, event.start_mark.column)
        if id(target) in self.open:
            raise Unreadable(f"anchor {event.anchor} contains itself", event.start_mark.line, event.start_mark.column)
        alias = AliasNode(target, place, event)
        self.aliases.setdefault(id(target), []).append(alias)
        return alias


def _unreadable(error: yaml.YAMLError, text: str) -> Unreadable:
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        message = f"a control character (code {error.character}) has no place in YAML"
        return Unreadable(message, before.count("\n"), len(before) - before.rfind("\n") - 1)
    if isinstance(error, yaml.MarkedYAMLError):
        # A key without its colon is noticed a line later; then the context says where it stands.
        is_key = error.context == "while scanning a simple key"
        mark = error.context_mark if is_key else error.problem_mark or error.context_mark
        message = " ".join(filter(None, (error.problem, error.context)))
        last = text.count("\n")  # at the end of the text libyaml counts a line that is not there
        return Unreadable(message, min(mark.line, last) if mark else 0, mark.column if mark else 0)
    return Unreadable(str(error))
