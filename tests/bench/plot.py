"""The measured ratios as bars: an SVG without a library, for the docs."""

from html import escape

WIDTH, ROW, LEFT = 760, 34, 470
AIMS = {"shipped": 0.5, "bare": 0.7, "draw": 0.6}


def aim(title: str) -> float:
    return next((value for word, value in AIMS.items() if word in title.replace("a session draw", "draw").split(", ")), 0.6)


def bars(ratios: list[tuple[str, float]]) -> str:
    """One bar a row, to the floor at 1; a line where the aim is."""
    height, full = ROW * len(ratios) + 30, WIDTH - LEFT - 60
    rows = []
    for number, (title, ratio) in enumerate(ratios):
        top, there = 10 + ROW * number, LEFT + full * aim(title)
        rows += [
            f'<text x="{LEFT - 10}" y="{top + 16}" text-anchor="end">{escape(title)}</text>',
            f'<rect x="{LEFT}" y="{top}" width="{full}" height="22" fill="#e8e2da"/>',
            f'<rect x="{LEFT}" y="{top}" width="{full * min(ratio, 1):.0f}" height="22" fill="#b4471f"/>',
            f'<line x1="{there:.0f}" x2="{there:.0f}" y1="{top - 3}" y2="{top + 25}" stroke="#222" stroke-dasharray="3 2"/>',
            f'<text x="{LEFT + full + 8}" y="{top + 16}">{ratio:.2f}</text>',
        ]
    note = f'<text x="{LEFT}" y="{height - 6}" font-size="11">1 is the floor on the same server; dashed: the aim</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">\n'
        + f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n'
        + "\n".join([*rows, note])
        + "\n</svg>\n"
    )
