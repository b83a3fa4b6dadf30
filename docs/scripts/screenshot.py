"""Draws the text of a terminal as SVG, readable on light and dark pages. docs/figures/demo.svg was made so:

    tmux new-session -d -s demo -x 142 -y 26 "wardcast demo --rate 1 --duration 16s; sleep 60"
    sleep 25; tmux capture-pane -pJ -t demo | python3 docs/scripts/screenshot.py "wardcast demo --rate 1 --duration 16s"
"""
import html
import sys

SIZE, LINE, WIDTH, EDGE = 13, 18, 7.83, 16

lines = ["$ " + sys.argv[1], ""] + sys.stdin.read().rstrip("\n").split("\n")
width = round(2 * EDGE + WIDTH * max(map(len, lines)))
height = 2 * EDGE + LINE * len(lines)
print(f'''<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"
 role="img">
<title>{html.escape(sys.argv[1])} in a terminal</title>
<style>
rect {{ fill: #f6f8fa; stroke: #d0d7de }}
text {{ fill: #1f2328; white-space: pre }}
@media (prefers-color-scheme: dark) {{ rect {{ fill: #161b22; stroke: #30363d }} text {{ fill: #e6edf3 }} }}
</style>
<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6"/>
<g font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}">''')
for number, line in enumerate(lines):
    if line.strip():
        # textLength keeps the columns of the terminal, whatever the font.
        print(f'<text x="{EDGE}" y="{EDGE + SIZE + number * LINE}" xml:space="preserve" lengthAdjust="spacingAndGlyphs" '
              f'textLength="{len(line) * WIDTH:.1f}">{html.escape(line)}</text>')
print("</g>\n</svg>")
