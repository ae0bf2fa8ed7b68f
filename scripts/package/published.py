"""The crates that are published: their order, and what must be in each. Called by scripts/package/crates.

usage: published.py order | version CRATE | check FILE.crate
"""

import json
import re
import subprocess
import sys
import tarfile
import tomllib

LICENCES = {"LICENSE-MIT": "Permission is hereby granted", "LICENSE-APACHE": "Apache License"}


def published():
    """Name to package, of the workspace's members that may be published."""
    shown = subprocess.run(("cargo", "metadata", "--no-deps", "--format-version", "1"), capture_output=True, check=True, text=True).stdout
    return {package["name"]: package for package in json.loads(shown)["packages"] if package["publish"] != []}


def order():
    """Each crate after those that it depends on."""
    packages, done = published(), []
    while len(done) < len(packages):
        ready = [name for name, package in sorted(packages.items()) if name not in done and all(
            dependency["name"] in done or dependency["name"] not in packages or dependency["kind"] == "dev"
            for dependency in package["dependencies"])]
        if not ready:
            sys.exit(f"depend on each other: {sorted(packages.keys() - set(done))}")
        done += ready
    for name, package in packages.items():
        for dependency in package["dependencies"]:
            # A path alone would be dropped (tests) or be an error (else).
            if "path" in dependency and dependency["kind"] != "dev" and dependency["name"] not in packages:
                sys.exit(f"{name} depends on {dependency['name']}, which is not published")
    return done


def faults(name, files):
    """What is wrong with a packed crate; `files` maps a path inside it to its text."""
    manifest = tomllib.loads(files["Cargo.toml"])
    package = manifest["package"]
    for licence, words in LICENCES.items():
        if words not in files.get(licence, ""):
            yield f"no licence text {licence}"
    for key in ("description", "license", "rust-version", "keywords", "categories"):
        if not package.get(key):
            yield f"no {key}"
    if len(package.get("keywords", [])) > 5:
        yield "more than five keywords"
    documented = package.get("metadata", {}).get("docs", {}).get("rs", {})
    if "lib" in manifest and not (documented.get("all-features") and any("windows" in target for target in documented.get("targets", []))):
        yield "docs.rs is not told to document all features, and Windows"
    readme = files.get(package.get("readme") or "", "")
    if not readme.startswith(f"# {name}\n"):
        yield "no README of its own"
    for link in re.findall(r"\]\(([^)]+)\)", readme):
        if not link.startswith("https://"):
            yield f"the README links to {link}: relative on the registry's page"
    for path, text in files.items():
        if re.search(r"(^|/)(target|\.git)/|\.profraw$|~$", path):
            yield f"{path} does not belong there"
        if text is not None and path.endswith(".rs") and (found := re.search(r'include_(?:str|bytes)!\("((?:\.\./)+[^"]+)"', text)):
            depth = path.count("/") - found[1].count("../")
            if depth < 0 and "cfg(doctest)" not in text:
                yield f"{path} includes {found[1]}, which is not in the crate"


def check(path):
    name = re.fullmatch(r"(.+)-\d+\.\d+\.\d+.*\.crate", path.rsplit("/", 1)[-1])[1]
    files = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            data = archive.extractfile(member)
            if data is not None:
                files[member.name.split("/", 1)[1]] = data.read().decode(errors="replace")
    wrong = list(faults(name, files))
    if wrong:
        sys.exit("".join(f"{name}: {fault}\n" for fault in wrong))


match sys.argv[1:]:
    case ["order"]:
        print(*order(), sep="\n")
    case ["version", name]:
        print(published()[name]["version"])
    case ["check", path]:
        check(path)
    case _:
        sys.exit(__doc__)
