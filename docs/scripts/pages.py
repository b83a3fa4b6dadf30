"""Takes the screenshots of docs/pages.md from a running scorer, with Debian's Chromium:

    wardcast demo --rate 1 --duration 5m
    python3 docs/scripts/pages.py http://127.0.0.1:8080 docs/figures
"""
import pathlib
import subprocess
import sys
import tempfile

# File, path, width and height.
SHOTS = [("pages-waiting", "/waiting", 1280, 900), ("pages-beds", "/beds", 1280, 900), ("pages-live", "/live", 1280, 1000), ("pages-topics", "/topics", 1280, 1010), ("pages-models", "/models", 1280, 620)]

root, out = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
for name, path, width, height in SHOTS:
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", f"--user-data-dir={profile}",
                        f"--window-size={width},{height}", "--timeout=3000", "--blink-settings=preferredColorScheme=1",
                        f"--screenshot={out / name}.png", root + path], check=True, stderr=subprocess.DEVNULL, timeout=60)
