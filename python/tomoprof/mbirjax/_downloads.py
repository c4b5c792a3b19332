"""download_and_extract: files of a server, of Google Drive or of a folder, unpacked where they are archives."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import urllib.error
import urllib.request
import warnings
from typing import Any
from urllib.parse import urlparse

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")


def get_top_level_tar_dir(tar_path: Any, max_entries: int = 1) -> str:
    """The folder that an archive has at its top, by its first max_entries entries."""
    folders: set[str] = set()
    with tarfile.open(os.fspath(tar_path)) as archive:
        for number, member in enumerate(archive):
            if member.name.strip():
                folders.add(member.name.split("/")[0])
            if len(folders) > 1 or number + 1 >= max_entries:
                break
    if len(folders) != 1:
        raise ValueError(f"No top level directory found in {tar_path}")
    return folders.pop()


def _drive_id(url):
    found = re.search(r"drive\.google\.com/(?:file/d/|open\?id=)([\w-]+)", url)
    if not found:
        raise ValueError(f"{url}: not a link to a file of Google Drive; expected https://drive.google.com/file/d/ID/view")
    return found[1]


def _of_drive(number, folder):
    """A file of Google Drive, whose name a small file beside it keeps."""
    marker = os.path.join(folder, f".gdrive_{number}")
    if os.path.exists(marker):
        with open(marker, encoding="utf-8") as file:
            path = os.path.join(folder, os.path.basename(file.read().strip()))
        if os.path.exists(path):
            return path, False
    try:
        import gdown
    except ImportError:
        raise ImportError("files of Google Drive need gdown: pip install gdown") from None
    os.makedirs(folder, exist_ok=True)
    path = gdown.download(f"https://drive.google.com/uc?id={number}", output=folder + os.sep, quiet=False)
    if not path or not os.path.isfile(path):
        raise RuntimeError(f"Google Drive download failed: file {number}")
    with open(marker, "w", encoding="utf-8") as file:
        file.write(os.path.basename(path))
    return path, True


def _fetch(url, path):
    """A file of a server, under its name when it is whole."""
    part = path + ".part"
    try:
        with urllib.request.urlopen(url, timeout=60) as source, open(part, "wb") as target:
            shutil.copyfileobj(source, target)
        os.replace(part, path)
    except urllib.error.HTTPError as error:
        reason = {401: "authentication failed!", 403: "URL forbidden!", 404: "URL not found!"}.get(error.code, error.reason)
        raise RuntimeError(f"HTTP {error.code}: {reason}") from None
    except OSError as error:
        raise RuntimeError(f"{url}: {error}") from None
    finally:
        if os.path.exists(part):
            os.remove(part)


def _take(url, folder):
    """(path, whether it is new) of a file in `folder`."""
    parsed = urlparse(os.fspath(url))
    remote = parsed.scheme in ("http", "https")
    if remote and "drive.google.com" in url:
        return _of_drive(_drive_id(url), folder)
    path = os.path.join(folder, os.path.basename(parsed.path if remote else url))
    if os.path.exists(path):
        return path, False
    if not remote and not os.path.isfile(url):
        raise RuntimeError(f"Provided file path does not exist: {url}")
    os.makedirs(folder, exist_ok=True)
    if remote:
        _fetch(url, path)
    else:
        shutil.copy2(url, path)
    return path, True


def download_and_extract(download_url: str, save_dir: str) -> str:
    """Fetches a file (http, https, Google Drive, or a path) into a folder, if it is not there, and unpacks a .tar file of any compression.

    Returns the path of the file, or of the archive's top folder. An archive that would write outside of save_dir is a RuntimeError."""
    path, new = _take(download_url, save_dir)
    if not path.lower().endswith(ARCHIVES):
        return path
    if new:
        try:
            with tarfile.open(path) as archive:
                for member in archive.getmembers():
                    target = os.path.realpath(os.path.join(save_dir, member.name))
                    if os.path.commonpath([os.path.realpath(save_dir), target]) != os.path.realpath(save_dir) or member.isdev():
                        raise RuntimeError(f"{path}: {member.name} would be written outside of {save_dir}")
                safe: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                archive.extractall(save_dir, **safe)
        except (tarfile.TarError, OSError) as error:
            raise RuntimeError(f"Failed to extract tar file: {error}") from None
    return os.path.join(save_dir, get_top_level_tar_dir(path))


def download_and_extract_tar(download_url: str, save_dir: str) -> str:
    """Deprecated: `download_and_extract`."""
    warnings.warn("'download_and_extract_tar' is deprecated. Use 'download_and_extract' instead.", stacklevel=2)
    return download_and_extract(download_url, save_dir)
