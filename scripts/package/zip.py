"""Packs a folder into a zip whose bytes depend on the files alone: sorted, with the time of SOURCE_DATE_EPOCH.

usage: zip.py FILE.zip PARENT FOLDER
"""

import os
import pathlib
import sys
import time
import zipfile

target, parent, folder = sys.argv[1:]
when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
with zipfile.ZipFile(target, "w") as archive:
    for path in sorted(pathlib.Path(parent, folder).rglob("*")):
        if path.is_file():
            entry = zipfile.ZipInfo(str(path.relative_to(parent)), when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes(), compresslevel=9)
