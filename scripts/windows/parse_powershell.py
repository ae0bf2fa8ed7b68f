"""Parses PowerShell scripts by the tree-sitter grammar, and tells where that finds no sense.

usage: parse_powershell.py FILE...      PYTHONPATH: what scripts/toolchain/powershell-grammar prints
"""

import sys

import tree_sitter
import tree_sitter_powershell


def errors(node):
    """Every place that is no PowerShell, or where something is missing."""
    if node.is_error or node.is_missing:
        yield node
    elif node.has_error:
        for child in node.children:
            yield from errors(child)


def commands(node):
    """The names of all commands that are called."""
    if node.type == "command_name":
        yield node.text.decode()
    for child in node.children:
        yield from commands(child)


def main():
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
    failed = False
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            root = parser.parse(file.read()).root_node
        for node in errors(root):
            row, column = node.start_point
            what = f"missing {node.type}" if node.is_missing else f"no PowerShell: {node.text.decode()[:60]!r}"
            print(f"{path}:{row + 1}:{column + 1}: {what}")
            failed = True
        called = set(commands(root))
        print(f"{path}: {root.descendant_count} nodes, {len(called)} commands: {', '.join(sorted(called))}")
        failed = failed or not called
    return failed


sys.exit(main())
