"""Copies the guide, and the documents that its pages link, for a package. A link of those documents to something that is not
copied becomes plain text, and is printed, so that no link leads nowhere. Pages of the guide itself keep all their links.

usage: guide.py PROGRAM FOLDER      the index is FOLDER/guide/index.md
       guide.py check FOLDER        ends with an error if a page of guide/mkdocs.yml is missing, or a link leads nowhere
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
# Where a page leads in any form, also those that LINK does not know: with a title, by reference, HTML. Anchors are checked
# where the same pages are built: scripts/guide/links.py.
LEADS = re.compile(r"\]\(\s*<?([^)\s>]+)|^ *\[[^\]]+\]:\s*<?([^\s>]+)|\b(?:href|src)=[\"']?([^\"'\s>]+)", re.MULTILINE)


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
    dropped = []
    for page in sorted(folder.rglob("*.md")):
        def kept(match):
            there = ":" in match[3] or (page.parent / match[3]).exists()
            if not there:
                dropped.append(f"{page.relative_to(folder)}: {match[3]}")
            return match[0] if there else match[2]
        page.write_text(LINK.sub(kept, page.read_text()))
    print("links to what is not in the package, now plain text:", *dropped, sep="\n  ", file=sys.stderr)
    if any(link.startswith("guide/") for link in dropped):
        sys.exit("a page of the guide links something that is not in the package")


def check(folder):
    listed = re.findall(r": (guide/\S+\.md)$", (ROOT / "guide/mkdocs.yml").read_text(), re.MULTILINE)
    wrong = [f"no {page}" for page in {*listed, "guide/index.md", "guide/commands.md"} if not (folder / page).is_file()]
    for page in sorted(folder.rglob("*.md")):
        found = (next(filter(None, match.groups())) for match in LEADS.finditer(CODE.sub("", page.read_text())))
        for link in (link.split("#")[0] for link in found if ":" not in link):
            if link and not (page.parent / link).exists():
                wrong.append(f"{page.relative_to(folder)}: {link}")
    if wrong:
        sys.exit("the guide in the package:\n" + "\n".join(sorted(wrong)))


if sys.argv[1] == "check":
    check(pathlib.Path(sys.argv[2]).resolve())
else:
    copy(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
