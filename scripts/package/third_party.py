"""Prints the licences of what is linked into `wirestamp` for one target, with each package's own licence texts.

usage: third_party.py TARGET [FEATURES]      FEATURES: of wirestamp-cli beside its default ones, with commas
"""

import json
import pathlib
import re
import subprocess
import sys

TEXT = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)


def linked(target, features):
    """The packages that the program contains: what it depends on, without tests, build scripts and macros."""
    manifest = ("--manifest-path", "crates/wirestamp-cli/Cargo.toml", "--features", features)
    command = ("cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target, *manifest)
    shown = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    packages = {package["id"]: package for package in shown["packages"]}
    nodes = {node["id"]: node for node in shown["resolve"]["nodes"]}
    waiting = [package for package in packages if packages[package]["name"] == "wirestamp-cli"]
    found = set()
    while waiting:
        package = waiting.pop()
        if package in found or any("proc-macro" in part["kind"] for part in packages[package]["targets"]):
            continue
        found.add(package)
        waiting += [dependency["pkg"] for dependency in nodes[package]["deps"]
                    if any(kind["kind"] is None for kind in dependency["dep_kinds"])]
    return sorted((packages[package] for package in found if packages[package]["source"]), key=lambda package: (package["name"], package["version"]))


def texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    named = [folder / package["license_file"]] if package["license_file"] else []
    return [path.read_text(errors="replace").strip() for path in sorted({*named, *(path for path in folder.iterdir() if path.is_file() and TEXT.search(path.name))})
            if path.suffix not in (".rs", ".py", ".toml")]


packages = linked(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
print(f"wirestamp contains these {len(packages)} packages. Each package's licence, and below it the texts that come with it.\n"
      "A text that several packages share is printed once. Rust's standard library is under MIT or Apache-2.0.\n")
seen, missing = {}, []
for package in packages:
    name = f"{package['name']} {package['version']}"
    print(f"{'=' * 78}\n{name}: {package['license'] or 'see the text'}")
    if package["authors"]:
        print("by " + ", ".join(package["authors"]))
    own = texts(package)
    if not own:
        missing.append(name)
        print("(no text comes with the package)")
    for text in own:
        if text in seen:
            print(f"(the text of {seen[text]})")
        else:
            seen[text] = name
            print(f"\n{text}\n")
plots = pathlib.Path(__file__).parents[2] / "crates/wirestamp-cli/src/output/html"
print(f"{'=' * 78}\nuPlot 1.6.32, in HTML reports and on the monitor's page: MIT\n\n{(plots / 'uPlot.LICENSE').read_text().strip()}\n")
if len(packages) < 20:
    sys.exit("too few packages: is this the program?")
print(f"without a text of their own: {len(missing)} of {len(packages)}: {', '.join(missing)}", file=sys.stderr)
