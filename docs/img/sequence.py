"""Draws docs/img/sequence.svg: one termination without and with the drain hook. Run it after a change of the text."""

from pathlib import Path

WIDTH, ROW, LEFT = 880, 46, 150
INK, SOFT, LOST, DONE, HOOK = "#24292f", "#8c959f", "#cf222e", "#1a7f37", "#0969da"


def bar(x: int, y: int, width: int, colour: str, text: str) -> str:
    """Return a labelled bar."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="22" rx="4" fill="{colour}" fill-opacity="0.18" '
        f'stroke="{colour}"/><text x="{x + 8}" y="{y + 15}" fill="{INK}">{text}</text>'
    )


def mark(x: int, top: int, bottom: int, text: str) -> str:
    """Return a vertical line with its label on top."""
    return (
        f'<line x1="{x}" y1="{top}" x2="{x}" y2="{bottom}" stroke="{SOFT}" stroke-dasharray="3 3"/>'
        f'<text x="{x}" y="{top - 6}" text-anchor="middle" fill="{SOFT}">{text}</text>'
    )


def lane(y: int, text: str) -> str:
    """Return the name of a lane."""
    return f'<text x="{LEFT - 12}" y="{y + 15}" text-anchor="end" fill="{INK}">{text}</text>'


def main() -> None:
    """Write the picture beside this file."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 430" font-family="system-ui, sans-serif" '
        f'font-size="13"><rect width="{WIDTH}" height="430" fill="#ffffff"/>'
        f'<text x="20" y="30" font-size="16" font-weight="600" fill="{INK}">Without a hook</text>'
    )
    out, top = [head], 70
    out += [mark(330, top, top + 100, "pod deleted, SIGTERM"), mark(700, top, top + 100, "SIGKILL (30 s)")]
    out += [lane(top + 8, "requests"), bar(LEFT, top + 8, 180, DONE, "streaming")]
    out.append(bar(330, top + 8, 370, LOST, "cut, or hangs"))
    out += [lane(top + 8 + ROW, "new requests"), bar(330, top + 8 + ROW, 120, LOST, "still routed: lost")]
    top = 235
    out.append(f'<text x="20" y="{top - 40}" font-size="16" font-weight="600" fill="{INK}">With drainhook</text>')
    marks = {330: "pod deleted", 430: "settled", 640: "SIGTERM"}
    out += [mark(place, top, top + 150, text) for place, text in marks.items()]
    out += [lane(top + 8, "drain hook"), bar(330, top + 8, 100, HOOK, "settle 10 s")]
    out.append(bar(430, top + 8, 210, HOOK, "drain: gauges and connections"))
    out += [lane(top + 8 + ROW, "requests"), bar(LEFT, top + 8 + ROW, 470, DONE, "streaming to the last byte")]
    out += [lane(top + 8 + 2 * ROW, "new requests"), bar(330, top + 8 + 2 * ROW, 100, DONE, "still served")]
    out.append(bar(430, top + 8 + 2 * ROW, 300, SOFT, "other replicas"))
    out += [bar(640, top + 8, 104, SOFT, "reserve 15 s")]
    out.append(
        f'<text x="{LEFT}" y="415" fill="{SOFT}">terminationGracePeriodSeconds = settle + drain + reserve; '
        "the hook ends as soon as the engine is idle</text></svg>"
    )
    Path(__file__).with_suffix(".svg").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
