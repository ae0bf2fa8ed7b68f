"""Where recordings are: a folder of this machine, or a prefix of an object store, of which objects are listed and read and nothing else."""

import hashlib
import os
import pathlib
import stat
import urllib.parse

import pyarrow as pa

from . import cache

SCHEMES = ("s3", "gs", "abfs", "abfss")
OPTIONS = ("endpoint_override", "region", "scheme")
"""What may stand after `?`: neither keys, nor what makes or removes buckets."""
PIECE = 1 << 22
LINK = "a symbolic link to a folder, which is not followed: name the folder that it leads to as DIR, or mount it here"


class Refused(Exception):
    """What the user can do something about."""


def of(text):
    """The place that a command names."""
    return Store(str(text)) if is_url(text) else Folder(text)


def is_url(text):
    return "://" in str(text)


def for_spark(name):
    """As Spark calls it: `s3a` is the connector that Hadoop has for S3."""
    return name.replace("s3://", "s3a://", 1) if name.startswith("s3://") else name


class Folder:
    """Files of this machine, by their paths."""

    at_a_time = os.cpu_count() or 1

    def __init__(self, path):
        self.root = pathlib.Path(path)
        self.checked = self.root / ".wirestamp-checked.json"
        self._above = len(os.path.join(self.root, ""))

    def __str__(self):
        return str(self.root)

    def exists(self):
        return self.root.is_dir()

    def files(self, below, is_within=None):
        """Each file that ends in `.parquet`, with what it must still have to be the same (it is never written again under its name); and each place
        that was not looked into, with the reason. Links to folders below a table's are not followed: `compact` would remove files elsewhere.
        `is_within`: whether a file or folder is asked for, by its name below this place; None: all are."""
        found, closed = {}, {}
        folders = [str(self.root / below)]
        for link in [self.root / part for part in list(pathlib.Path(below).parents)[:-2]] + [self.root / below]:
            if link.parent != self.root and link.is_symlink():
                return {}, {str(link): LINK}
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in (entry for entry in entries if is_within is None or is_within(self.relative(entry.path))):
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                        elif entry.is_symlink() and entry.is_dir():
                            closed[entry.path] = LINK
                        elif entry.name.endswith(".parquet"):
                            found[entry.path] = _key(entry)
            except FileNotFoundError:
                continue  # the table has no files, or the monitor removed the folder meanwhile
            except OSError as error:
                closed[folder] = f"cannot be read ({error.strerror})"
        return found, closed

    def relative(self, name):
        return name[self._above :]

    def open(self, name):
        """What pyarrow reads the file from."""
        # opening a pipe would wait for a writer
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise OSError("not a regular file")
        return pa.OSFile(name)

    def read(self, name):
        """The content of the file with this name below the place."""
        with self.open(str(self.root / name)) as source:
            return source.read()

    def read_through(self, name):
        """Nothing: what cannot be read of a file here is the file's own fault."""


class Store:
    """Objects below a prefix, by their URLs without options. Keys are those that the environment or the machine has."""

    at_a_time = 4 + (os.cpu_count() or 1)
    """Some wait for the network."""

    def __init__(self, url):
        from pyarrow import fs

        parts = urllib.parse.urlsplit(url)
        # no message repeats a URL that has keys
        if "@" in parts.netloc:
            raise Refused("a URL is seen by others and does not take keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what your store's client reads")
        bare = f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")
        if parts.scheme not in SCHEMES:
            raise Refused(f"{bare}: neither a folder nor one of {', '.join(f'{scheme}://' for scheme in SCHEMES)}")
        options = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        if unknown := sorted(set(options) - set(OPTIONS)):
            raise Refused(f"{bare}: a URL takes the options {', '.join(OPTIONS)}, not {unknown[0]}")
        if parts.scheme == "s3":
            options = _of_environment(options)
        self.url, self.scheme = bare, parts.scheme
        self._known_as = f"{bare}?{urllib.parse.urlencode(sorted(options.items()))}"
        try:
            self.filesystem, self._root = fs.FileSystem.from_uri(self._known_as)
        except (ValueError, OSError) as error:
            raise Refused(f"{bare}: {error}") from error

    def __str__(self):
        return self.url

    def exists(self):
        from pyarrow import fs

        return self.filesystem.get_file_info(self._root).type == fs.FileType.Directory

    def files(self, below, is_within=None):
        """As of a folder."""
        from pyarrow import fs

        def listed(path, recursive):
            selector = fs.FileSelector(path, allow_not_found=True, recursive=recursive)
            return [info for info in self.filesystem.get_file_info(selector) if is_within is None or is_within(self.relative(self._name(info.path)))]

        # of days that are not asked for, no object is listed
        found = listed(f"{self._root}/{below}", recursive=is_within is None)
        if is_within is not None:
            found += [info for folder in found if folder.type == fs.FileType.Directory for info in listed(folder.path, recursive=True)]
        return {self._name(info.path): [info.size, info.mtime_ns] for info in found if info.type == fs.FileType.File and info.path.endswith(".parquet")}, {}

    def relative(self, name):
        return name.removeprefix(f"{self.url}/")

    def open(self, name):
        """As of a folder."""
        return self.filesystem.open_input_file(f"{self._root}/{self.relative(name)}")

    def read(self, name):
        """As of a folder."""
        with self.open(name) as source:
            return source.read()

    def read_through(self, name):
        """Reads an object to its end: an error, if it is the store that does not answer and not the object that is damaged."""
        with self.open(name) as source:
            while source.read(PIECE):
                pass

    @property
    def checked(self):
        """In the user's cache, if there is one: nothing is written to the store."""
        folder = cache.folder()
        return folder and folder / f"{hashlib.sha256(self._known_as.encode()).hexdigest()[:32]}.json"

    def for_duckdb(self):
        """The store as DuckDB reads from it."""
        from fsspec.implementations.arrow import ArrowFSWrapper

        class Objects(ArrowFSWrapper):
            protocol = self.scheme

            @classmethod
            def _strip_protocol(cls, path):
                return path.partition("://")[2] or path

        return Objects(self.filesystem, skip_instance_cache=True)

    def _name(self, path):
        return f"{self.url}/{path.removeprefix(f'{self._root}/')}"


def _of_environment(options):
    """A bucket's region is asked for at AWS, unless it is known; a server of one's own has none."""
    endpoint = options.get("endpoint_override") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = options.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if endpoint and not region:
        region = "us-east-1"
    scheme, _, address = (endpoint or "").rpartition("://")
    known = {"endpoint_override": address, "scheme": options.get("scheme") or scheme, "region": region}
    return {name: value for name, value in known.items() if value}


def _key(path):
    try:
        now = path.stat()
    except OSError:
        return None  # nothing is known of it: reading it says why
    return [now.st_size, now.st_mtime_ns]
