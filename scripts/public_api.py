"""Prints the public API of a crate from the pages that rustdoc made of it: one line for each signature.

Re-exported items of other crates are in these pages as well, which they are not in rustdoc's JSON.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

# Lists on a page that say nothing of their own: auto traits, blanket implementations, what `Deref` lends, and who
# implements a trait, which is on the pages of those types.
SKIPPED = ("synthetic-implementations", "blanket-implementations", "deref-methods", "implementors", "foreign-impls")
VOID = {"br", "img", "input", "link", "meta", "wbr", "hr", "rect", "path"}


class Page(HTMLParser):
    """The declaration of an item, and the signatures of its methods and implementations."""

    def __init__(self, only_declaration: bool):
        super().__init__()
        self.only_declaration = only_declaration
        self.open: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] | None = None
        self.signatures: list[tuple[int, str]] = []

    def inside(self, identifier: str) -> bool:
        return any(attributes.get("id", "").startswith(identifier) for _, attributes in self.open)

    def has_class(self, name: str) -> bool:
        return any(name in attributes.get("class", "").split() for _, attributes in self.open)

    def depth(self, tag: str, classes: list[str]) -> int | None:
        """How far a signature is indented that begins here; `None`: none does."""
        if tag == "pre" and "item-decl" in classes:
            return 0
        if self.only_declaration or "code-header" not in classes or any(map(self.inside, SKIPPED)):
            return None
        if tag == "h3" and self.has_class("impl"):
            return 1
        # what a trait's implementation has is the trait's; its own page declares that
        own = tag == "h4" and not self.inside("trait-implementations-list") and not self.has_class("methods")
        return 2 if own else None

    def handle_starttag(self, tag, attributes):
        attributes = {name: value or "" for name, value in attributes}
        if self.text is None:
            depth = self.depth(tag, attributes.get("class", "").split())
            if depth is not None:
                self.text = []
                self.indent, self.ends_at = depth, len(self.open)
        self.part(tag)
        if tag not in VOID:
            self.open.append((tag, attributes))

    def part(self, tag: str) -> None:
        """A line of its own on the page: an attribute before the item, a `where` after it."""
        if self.text is not None and tag in ("div", "br"):
            self.text.append(" ")

    def handle_endtag(self, tag):
        self.part(tag)
        while self.open and self.open.pop()[0] != tag:
            pass
        if self.text is not None and len(self.open) <= self.ends_at:
            self.signatures.append((self.indent, " ".join("".join(self.text).split())))
            self.text = None

    def handle_data(self, data):
        # "Show 15 fields" before long declarations; notes and links to the source beside signatures
        noise = any(tag == "summary" for tag, _ in self.open) and self.has_class("item-decl")
        if self.text is not None and not noise and not self.has_class("src") and not self.has_class("tooltip"):
            self.text.append(data)


def of_page(path: Path) -> list[str]:
    page = Page(path.name.startswith(("type.", "trait.")))
    page.feed(path.read_text())
    if page.only_declaration:
        page.signatures = page.signatures[:1]
    # what the derive of `PartialEq` adds is the compiler's
    signatures = (one for one in page.signatures if not one[1].startswith("impl StructuralPartialEq"))
    return ["    " * indent + signature for indent, signature in signatures]


def root_names(root: Path) -> list[str]:
    """What the crate's first page lists: what a program names without a module, and the modules."""
    page = (root / "index.html").read_text()
    names = re.findall(r'<dt id="reexport\.(\w+)"|title="\w+ ' + root.name + r'::(\w+)"', page)
    return sorted({exported or declared for exported, declared in names})


def main(folder: str) -> None:
    root = Path(folder)
    print("the root", *root_names(root), sep="\n    ")
    for path in sorted(root.rglob("*.html")):
        kind, dot, name = path.name.partition(".")
        if not dot or not name.endswith(".html") or kind in ("index", "all", "sidebar", "help", "settings"):
            continue
        item = "::".join([root.name, *path.parent.relative_to(root).parts, name.removesuffix(".html")])
        lines = of_page(path)
        if lines:  # else it is a page that leads to another
            print(f"{kind} {item}", *lines, sep="\n    ")


if __name__ == "__main__":
    main(sys.argv[1])
