"""Copies the guide, and the documents that its pages link, for a package. A link of those documents to something that is not
copied becomes plain text, so that no link leads nowhere.

usage: guide.py PROGRAM FOLDER      the index is FOLDER/guide/index.md
       guide.py check FOLDER        ends with an error if a link leads nowhere
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def links(page):
    """Where the relative links of a page lead."""
    found = (match[3] for match in LINK.finditer(page.read_text()))
    return [(page.parent / link).resolve() for link in found if ":" not in link]


def copy(program, folder):
    pages = [path for path in (ROOT / "guide").rglob("*") if path.suffix in (".md", ".png", ".svg")]
    linked = {path for page in pages if page.suffix == ".md" for path in links(page) if path.is_file()}
    for path in sorted({*pages, *linked}):
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    subprocess.run((sys.executable, ROOT / "scripts/guide/commands.py", program, folder / "guide/commands.md"), check=True)
    for page in folder.rglob("*.md"):
        def kept(match):
            there = ":" in match[3] or (page.parent / match[3]).exists()
            return match[0] if there else match[2]
        page.write_text(LINK.sub(kept, page.read_text()))


def check(folder):
    pages = sorted(folder.rglob("*.md"))
    wrong = [f"{page.relative_to(folder)}: {link}" for page in pages for link in links(page) if not link.exists()]
    names = {page.name for page in pages}
    wrong += [f"no {name}" for name in ("index.md", "first-ten-minutes.md", "commands.md", "error-bound.md") if name not in names]
    if wrong:
        sys.exit("the guide in the package:\n" + "\n".join(wrong))


if sys.argv[1] == "check":
    check(pathlib.Path(sys.argv[2]).resolve())
else:
    copy(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
