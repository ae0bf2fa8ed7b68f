"""Checks that what the pages print stands in the samples unchanged.

Everything outside of ">>> added" ... "<<<" is the page's; its SHA-256 is recorded here, of the text
with plain quotes for typographic ones.

usage: printed_parts.py [PAGE_TEXT...]
With texts of the pages, each printed part must be found in one of them, word for word.
"""
import hashlib
import pathlib
import sys

RECORDED = {
    "winsock_send.c": "ca9138b0d610b0c5ab6a452ed096c462e7525df925c34425bee20db7a3fa5388",
    "winsock_receive.c": "f13dba463d66786cea3b4970f21c1c6f55ce8612ffb9eeade405413d60c15a03",
    "packet_timestamping_1.c": "7306cc1d90f93c38183854a564790723d4ef09fde777f2e70da28528135f7c09",
    "packet_timestamping_2.c": "c6504f6090e8ebc92c3ad6b232bfbe81c0d4a64d33e7804e8c1b8ea5cea18ac1",
}


def printed(source):
    """What is left of a sample without the added parts."""
    lines, added = [], False
    for line in source.splitlines():
        marker = line.strip()
        if marker == "// >>> added":
            assert not added, "an added part within an added part"
            added = True
        elif marker == "// <<<":
            assert added, "the end of an added part that has not begun"
            added = False
        elif not added:
            lines.append(line)
    assert not added, "an added part without an end"
    return "\n".join(lines).strip() + "\n"


def plain(text):
    return text.replace("“", '"').replace("”", '"').replace("’", "'")


def main():
    here = pathlib.Path(__file__).parent
    pages = [plain(pathlib.Path(page).read_text()) for page in sys.argv[1:]]
    wrong = 0
    for name, recorded in RECORDED.items():
        text = printed((here / name).read_text())
        found = hashlib.sha256(text.encode()).hexdigest()
        if found != recorded:
            print(f"{name}: the printed part is not the page's: {found}")
            wrong += 1
        if pages and not any(text.strip() in page for page in pages):
            print(f"{name}: the printed part is on none of the pages")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
