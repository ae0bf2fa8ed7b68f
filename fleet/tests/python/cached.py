"""Tests whose commands have a cache of their own."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

from test_fleet import lines, run


class Cached(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.work = pathlib.Path(temporary.name)
        caches = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.work / "cache")})
        caches.start()
        self.addCleanup(caches.stop)

    def asked(self, *words, code=0):
        """The rows of an answer, or the error."""
        found, out, err = run(*words)
        self.assertEqual(found, code, err)
        return lines(out) if code == 0 else err

    def segments(self, table="probes"):
        return sorted((self.work / "cache").rglob(f"{table}/**/*.parquet"))
