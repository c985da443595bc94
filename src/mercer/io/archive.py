"""A zip archive whose members are stored as they are, so that no file asks for more memory than it has bytes."""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mercer.exceptions import ModelFileError
from mercer.io.limits import MOST_DIRECTORY_BYTES, MOST_MEMBERS
from mercer.linalg.memory import in_words, memory_budget

__all__ = ["Archive", "new_archive", "opened"]

#: bytes of a member that are read at a time
CHUNK = 2**20
#: the first bytes of an archive, and the time of its members, so that equal models are equal files
BEGINNING, EPOCH = b"PK\x03\x04", (1980, 1, 1, 0, 0, 0)


@contextmanager
def new_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Write an archive beside ``path``, and put it in its place when it is complete."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to save in", str(path.parent))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            yield archive
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Add a member to a new archive."""
    archive.writestr(zipfile.ZipInfo(name, EPOCH), data)


class Archive:
    """The members of an archive, of which none is larger than the file, nor all of them together.

    Parameters
    ----------
    archive : ZipFile
        Opened for reading.
    size : int
        Bytes of the file.
    """

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        members = archive.infolist()
        self._archive = archive
        self._members = {info.filename: info for info in members}
        if len(members) > MOST_MEMBERS or len(self._members) < len(members):
            raise ModelFileError("it has too many members, or two of one name.")
        for info in members:
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                raise ModelFileError(
                    f"its member {info.filename[:60]!r} is compressed, which members of models are not."
                )
        if sum(info.file_size for info in members) > size:
            raise ModelFileError("its members say that they are larger than the file.")

    @property
    def names(self) -> set[str]:
        """The names of all members."""
        return set(self._members)

    def read(self, name: str, most: int | None = None) -> bytearray:
        """Return a member of at most so many bytes."""
        if name not in self._members:
            raise ModelFileError(f"it has no member {name[:60]!r}.")
        size = self._members[name].file_size
        if most is not None and size > most:
            raise ModelFileError(f"its member {name!r} takes {in_words(size)}; at most {in_words(most)} are read.")
        data, place = bytearray(size), 0
        with _whole(), self._archive.open(name) as member:
            while place < size:
                part = member.read(min(CHUNK, size - place))
                if not part:
                    raise EOFError
                data[place : place + len(part)] = part
                place += len(part)
            member.read(1)  # at its end the checksum of the archive is compared
        return data


@contextmanager
def _whole() -> Iterator[None]:
    """Say of whatever goes wrong in the middle of an archive that the file is not whole: zipfile may raise anything."""
    try:
        yield
    except (ModelFileError, MemoryError):
        raise
    except Exception as error:
        raise ModelFileError("it is truncated, or was changed.") from error


class _Guarded:
    """A file of which nobody reads more at once than the table of contents of a model may take."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(MOST_DIRECTORY_BYTES + 1 if size < 0 else min(size, MOST_DIRECTORY_BYTES + 1))
        if len(data) > MOST_DIRECTORY_BYTES:
            raise ModelFileError("its table of contents is larger than that of any model.")
        return data


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open an archive; errors about what is in it, raised within the block, too, name the file."""
    with path.open("rb") as stream:
        try:
            size = os.fstat(stream.fileno()).st_size
            if stream.read(len(BEGINNING)) != BEGINNING:
                raise ModelFileError("it does not begin as a zip archive does.")
            if size > memory_budget():
                raise ModelFileError(
                    f"it takes {in_words(size)}, more than the memory budget of {in_words(memory_budget())}. Load it "
                    "within mercer.linalg.memory_limit(bytes), if the machine has them."
                )
            with _whole():
                archive = zipfile.ZipFile(_Guarded(stream))
            with archive:
                yield Archive(archive, size)
        except ModelFileError as error:
            raise ModelFileError(f"{path} is not a model that can be loaded: {error}") from error
