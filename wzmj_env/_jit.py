"""One ``njit`` decorator for the whole package, its cache on disk, and two bit intrinsics.

Numba's own ``cache=True`` has four traps which this module closes:

* it does not see edits in *other* modules, though their code is compiled in: here the cache folder is named by a
  hash of every source of the package, of the settings that change code, and of the versions of numba and numpy;
* it raises at import when no folder can be written (read-only install, no HOME): here the next place is tried, and
  with no place at all functions are compiled in each process;
* a damaged file raises: here each file starts with its own SHA-256, and one that does not match is a miss;
* its index is read, changed and written by each process, so that cold starts at once can mix up entries: here each
  entry is one file, named by its whole key and put in place by one rename.

The files are pickles, and loading one runs what it says. So they lie in a folder that belongs to this user and that
nobody else may open (0700); a folder of anybody else is never used.

``WZMJ_CACHE_DIR`` names another place for it. ``NUMBA_CACHE_DIR`` is neither read nor set.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import shutil
import stat
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numba
import numpy as np
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent
ENV_CACHE_DIR = "WZMJ_CACHE_DIR"
KEYS_KEPT = 6  # folders of compiled code kept: this one and the newest others (an edit or a setting makes a new one)
DIGEST_BYTES = hashlib.sha256().digest_size


# --- where --------------------------------------------------------------------------------------------------------


def _candidates() -> Iterator[Path]:
    """Folders which could hold our caches, best first. A place that users may share gets the user's number."""
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    if explicit := os.environ.get(ENV_CACHE_DIR):
        yield Path(explicit).absolute() / f"wzmj-{user}"
    home = os.environ.get("HOME", "")
    if sys.platform == "win32":
        if local := os.environ.get("LOCALAPPDATA"):
            yield Path(local) / "wzmj" / "Cache"
    elif os.path.isabs(xdg := os.environ.get("XDG_CACHE_HOME", "")):
        yield Path(xdg) / "wzmj"
    elif os.path.isabs(home) and os.path.isdir(home):  # a home that does not exist is not made
        yield Path(home) / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "wzmj"
    try:
        yield Path(tempfile.gettempdir()) / f"wzmj-{user}"
    except OSError:  # no usable temporary folder anywhere
        return


def _is_private(folder: Path) -> bool:
    """Make ``folder`` if need be; whether it is a writable folder of this user which nobody else can open."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()  # not stat: a link that somebody else put there leads anywhere
        if not stat.S_ISDIR(found.st_mode):
            return False
        if hasattr(os, "geteuid"):
            if found.st_uid != os.geteuid():
                return False
            if found.st_mode & 0o077:
                folder.chmod(0o700)
        return os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        return False


@functools.cache
def cache_dir() -> Path | None:
    """The private folder for everything this package caches, or None when there is nowhere to write.

    The first usable of: ``$WZMJ_CACHE_DIR/wzmj-UID``, the user's cache folder (``$XDG_CACHE_HOME/wzmj``,
    ``~/.cache/wzmj``, or what the platform has), ``wzmj-UID`` in the temporary folder. Looked up once a process.
    """
    for folder in _candidates():
        if _is_private(folder):
            return folder
        if ENV_CACHE_DIR in os.environ and folder.parent == Path(os.environ[ENV_CACHE_DIR]).absolute():
            warnings.warn(f"{ENV_CACHE_DIR}: {folder} is not a writable folder of this user; trying others",
                          RuntimeWarning, stacklevel=2)  # fmt: skip
    warnings.warn(
        f"no folder can be written for compiled code, so every process compiles anew; set {ENV_CACHE_DIR}",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


# --- what ---------------------------------------------------------------------------------------------------------


def _hash_sources(hasher: Any, root: Path, files: Iterator[Path]) -> bool:
    """Feed names and contents of ``files``, in a fixed order; whether there was any."""
    paths = sorted(files)
    for path in paths:
        source = path.read_bytes()
        hasher.update(f"{path.relative_to(root).as_posix()}\0{len(source)}\0".encode())
        hasher.update(source)
    return bool(paths)


def _package_key() -> str | None:
    """Names the code that this process would compile; None when the sources cannot be read (a zip)."""
    settings = (
        *("numba", numba.__version__, "numpy", np.__version__, sys.implementation.cache_tag),
        *("boundscheck", config.BOUNDSCHECK, "opt", str(config.OPT), "debug", config.DEBUGINFO_DEFAULT),
    )
    hasher = hashlib.sha256(repr(settings).encode())
    try:
        return hasher.hexdigest()[:20] if _hash_sources(hasher, PACKAGE, PACKAGE.rglob("*.py")) else None
    except OSError:
        return None


# Taken now, at import: sources edited later in the life of this process are not the ones it has loaded.
PACKAGE_KEY = _package_key()


@functools.cache
def _code_dir() -> Path | None:
    """The folder of this key's compiled code, made and marked as used; old ones are pruned when it is new."""
    base = cache_dir()
    if base is None or PACKAGE_KEY is None:
        return None
    folder = base / f"jit-{PACKAGE_KEY}"
    is_new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    if is_new:
        _prune(base, keep=folder)
    return folder


def _prune(base: Path, keep: Path) -> None:
    """Remove all but the newest key folders. A process still using one only misses, and compiles again."""
    aged = []
    for folder in base.glob("jit-*"):
        try:
            aged.append((folder.stat().st_mtime, folder))
        except OSError:  # another process pruned it
            continue
    for _, folder in sorted(aged)[:-KEYS_KEPT]:
        if folder != keep:
            shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _foreign_key(folder: Path) -> str | None:
    """For functions outside of this package (agents, tests): the sources beside them, which they may call."""
    hasher = hashlib.sha256()
    try:
        return hasher.hexdigest() if _hash_sources(hasher, folder, folder.glob("*.py")) else None
    except OSError:
        return None


# --- the cache of one function ------------------------------------------------------------------------------------


class _Packing(CompileResultCacheImpl):  # type: ignore[misc]
    """Numba's packing of a compiled function into plain data and back, without its search for a folder."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self._lineno = func.__code__.co_firstlineno
        self._locator = SimpleNamespace(_py_file=func.__code__.co_filename)  # for its warnings


class _Cache(FunctionCache):  # type: ignore[misc]
    """One file for each compiled signature: SHA-256 of the rest, then the pickle of (key, compiled data)."""

    def __init__(self, func: Callable[..., Any], options: dict[str, Any]) -> None:
        self._py_func = func
        self._name = f"{func.__module__}.{func.__qualname__}"
        self._impl = _Packing(func)
        file = Path(func.__code__.co_filename).resolve()
        source = "" if file.is_relative_to(PACKAGE) else _foreign_key(file.parent)
        self._identity = (self._name, func.__code__.co_firstlineno, sorted(options.items()), str(file), source)
        self._enabled = source is not None

    @property
    def cache_path(self) -> str | None:
        folder = _code_dir()
        return None if folder is None else str(folder)

    def flush(self) -> None:
        """Called before a function is recompiled: nothing to forget, its file is replaced."""

    def _file(self, key: tuple[Any, ...]) -> Path | None:
        folder = _code_dir() if self._enabled else None
        if folder is None:
            return None
        return folder / f"{self._name.replace('<', '').replace('>', '')[-80:]}-{_digest(repr(key).encode())[:16]}.bin"

    def _key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (self._identity, self._index_key(sig, codegen))  # numba's: signature, processor, bytecode, closure

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for ``sig``, or None. Whatever is wrong with a file, it is a miss."""
        try:
            target_context.refresh()
            key = self._key(sig, target_context.codegen())
            path = self._file(key)
            if path is None:
                return None
            content = path.read_bytes()
            digest, body = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
            if hashlib.sha256(body).digest() != digest:
                return None
            found, data = pickle.loads(body)
            return self._impl.rebuild(target_context, data) if found == key else None
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function. A full disk or a folder gone costs the next process some time, nothing else."""
        if not self._impl.check_cachable(data):
            return
        try:
            key = self._key(sig, data.codegen)
            path = self._file(key)
            if path is None:
                return
            body = dumps((key, self._impl.reduce(data)))
            write_atomically(path, hashlib.sha256(body).digest() + body)
        except (OSError, pickle.PicklingError):
            return


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` by one rename: a reader sees the whole old file or the whole new one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


# --- the decorator ------------------------------------------------------------------------------------------------


@overload
def njit(func: F) -> F: ...
@overload
def njit(**options: Any) -> Callable[[F], F]: ...
def njit(func: Any = None, **options: Any) -> Any:
    """``numba.njit`` as this package uses it: cached as above, without the GIL, numpy's rules for errors.

    No signatures: they would compile at import. With ``NUMBA_DISABLE_JIT=1`` the function stays as it is.
    """
    if func is None:
        return functools.partial(njit, **options)
    if config.DISABLE_JIT:
        return func
    options = {"nogil": True, "error_model": "numpy", **options}
    dispatcher = numba.njit(**options)(func)
    dispatcher._cache = _Cache(func, options)  # what cache=True does, with our cache for numba's
    return dispatcher


# --- bits ---------------------------------------------------------------------------------------------------------

SPREAD = 32  # bits that `spread` writes
CACHE_LINE = 64  # bytes

if TYPE_CHECKING or config.DISABLE_JIT:

    def popcount(x: Any) -> int:
        """How many bits of a uint64 are set; int64."""
        return int(x).bit_count()

    def trailing_zeros(x: Any) -> int:
        """The index of the lowest set bit of a uint64, 64 when none is; int64."""
        x = int(x)
        return (x & -x).bit_length() - 1 if x else 64

    def fetch_ahead(array: Any, index: int) -> None:
        """Ask the processor for element `index` of an array, which will be used soon. Past the end it does nothing."""

    def spread(x: Any, out: Any, first: int) -> None:
        """Write the lowest 32 bits of a uint64, lowest first, to `out[first : first + 32]`, one element each."""
        for i in range(32):
            out[first + i] = int(x) >> i & 1

else:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    # For compiled code only. One machine instruction each where the processor has it.

    @intrinsic
    def popcount(typingctx, x):
        """How many bits of a uint64 are set; int64."""

        def build(context, builder, signature, args):
            return builder.ctpop(args[0])

        return types.int64(types.uint64), build

    @intrinsic
    def trailing_zeros(typingctx, x):
        """The index of the lowest set bit of a uint64, 64 when none is; int64."""

        def build(context, builder, signature, args):
            zero_is_undefined = context.get_constant(types.boolean, False)
            return builder.cttz(args[0], zero_is_undefined)

        return types.int64(types.uint64), build

    @intrinsic
    def spread(typingctx, x, out, first):
        """Write the lowest 32 bits of a uint64, lowest first, to `out[first : first + 32]`, one element each.

        `out` is a contiguous array of bytes or floats. Two or three instructions where the processor has AVX-512,
        without a bounds check.
        """

        def build(context, builder, signature, args):
            dtype = signature.args[1].dtype
            element = context.get_data_type(dtype)
            flags = builder.bitcast(builder.trunc(args[0], ir.IntType(32)), ir.VectorType(ir.IntType(1), 32))
            convert = builder.uitofp if isinstance(dtype, types.Float) else builder.zext
            vector = ir.VectorType(element, 32)
            data = context.make_array(signature.args[1])(context, builder, args[1]).data
            where = builder.bitcast(builder.gep(data, [args[2]]), vector.as_pointer())
            builder.store(convert(flags, vector), where, align=1)
            return context.get_dummy_value()

        return types.void(types.uint64, out, types.intp), build

    @intrinsic
    def fetch_ahead(typingctx, array, index):
        """Ask the processor for element `index` of an array, which will be used soon. Past the end it does nothing."""

        def build(context, builder, signature, args):
            array_type = signature.args[0]
            data = context.make_array(array_type)(context, builder, args[0]).data
            size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
            byte, number = ir.IntType(8), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), number, number, number])
            prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            first = builder.bitcast(builder.gep(data, [args[1]]), byte.as_pointer())
            for offset in range(0, size, CACHE_LINE):
                to_read_often = [ir.Constant(number, flag) for flag in (0, 3, 1)]  # read, keep in all caches, data
                builder.call(prefetch, [builder.gep(first, [ir.Constant(ir.IntType(64), offset)]), *to_read_often])
            return context.get_dummy_value()

        return types.void(array, types.intp), build
