#!/usr/bin/env python3
"""Checks the links of the built pages: each file and each anchor that a page names is there, and nothing that a page shows
is fetched from elsewhere. Links to other sites are not followed.

usage: links.py FOLDER
"""

import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

# What is fetched when the page is shown, as opposed to what a reader may follow.
SHOWN = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], {"", "__top"}
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name"):
                self.anchors.add(value)
            if name in ("href", "src") and value and (tag, dict(attributes).get("rel")) != ("link", "canonical"):
                self.links.append((tag, name, value))


def faults(folder, pages, path):
    for tag, name, value in pages[path].links:
        parts = urlsplit(value)
        if parts.scheme or parts.netloc:
            if (tag, name) in SHOWN and parts.scheme != "data":
                yield f"fetched from elsewhere when shown: {value}"
            continue
        if path.endswith("404.html"):
            continue  # it is shown for any address, so its links begin at the site's root
        target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path))) if parts.path else path
        if os.path.isdir(target):
            target = os.path.join(target, "index.html")
        if not os.path.exists(target):
            yield f"no such file: {value}"
        elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"no such place in {os.path.relpath(target, folder)}: #{parts.fragment}"


def main():
    folder = sys.argv[1]
    paths = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names if name.endswith(".html")]
    pages = {os.path.normpath(path): Page(path) for path in paths}
    found = [f"{os.path.relpath(path, folder)}: {fault}" for path in sorted(pages) for fault in faults(folder, pages, path)]
    print("\n".join(found), file=sys.stderr)
    print(f"links: {sum(len(page.links) for page in pages.values())} in {len(pages)} pages, {len(found)} wrong")
    if found or not pages:
        sys.exit(1)


main()
