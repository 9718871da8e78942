"""The cache of compiled code and of the tables: edits, damage, read-only places, many starts at once.

A small package with our `_jit.py` stands in for the whole, so that a compile takes a second.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wzmj_env
from wzmj_env import tables

SOURCE = Path(wzmj_env.__file__).parent
INNER = "from ._jit import njit\n\n@njit\ndef inner(x):\n    return x + {}\n"
OUTER = "from ._jit import njit\nfrom .inner import inner\n\n@njit\ndef outer(x):\n    return inner(x) * 10\n"
ASK = "from tiny.outer import outer; print(outer(1), sum(outer.stats.cache_hits.values()))"


@pytest.fixture
def home(tmp_path):
    """A folder with the package `tiny` in it and a place for the cache."""
    package = tmp_path / "site" / "tiny"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    shutil.copy(SOURCE / "_jit.py", package)
    (package / "inner.py").write_text(INNER.format(1))
    (package / "outer.py").write_text(OUTER)
    return tmp_path


def start(home, program=ASK, **environment):
    names = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "WZMJ", "XDG"))}
    names |= {"PYTHONPATH": str(home / "site"), "WZMJ_CACHE_DIR": str(home / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    names = {k: v for k, v in (names | environment).items() if v is not None}
    return subprocess.Popen([sys.executable, "-c", program], env=names, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ask(home, program=ASK, **environment):
    """Value and cache hits of `outer(1)`, or what `program` prints, in a new process."""
    process = start(home, program, **environment)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return tuple(int(x) for x in out.split())


def test_the_second_process_finds_compiled_code(home):
    assert ask(home) == (20, 0)
    assert ask(home) == (20, 1)


def test_an_edit_in_another_module_takes_effect(home):
    assert ask(home) == (20, 0)
    (home / "site" / "tiny" / "inner.py").write_text(INNER.format(2))
    assert ask(home) == (30, 0)
    (home / "site" / "tiny" / "inner.py").write_text(INNER.format(1))
    assert ask(home) == (20, 1)


def test_bounds_checking_has_code_of_its_own(home):
    assert ask(home) == (20, 0)
    assert ask(home, NUMBA_BOUNDSCHECK="1") == (20, 0)
    assert ask(home, NUMBA_BOUNDSCHECK="1") == (20, 1)


@pytest.mark.parametrize("damage", ["cut", "emptied", "changed", "garbage"])
def test_a_damaged_file_is_compiled_again(home, damage):
    ask(home)
    files = list((home / "cache").rglob("*.bin"))
    assert files
    for file in files:
        data = file.read_bytes()
        file.write_bytes({"cut": data[: len(data) // 2], "emptied": b"", "garbage": b"x" * 1000,
                          "changed": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]}[damage])  # fmt: skip
    assert ask(home) == (20, 0)
    assert ask(home) == (20, 1)


def test_a_read_only_install_works(home):
    package = home / "site" / "tiny"
    for path in (*package.iterdir(), package):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert ask(home) == (20, 0)
        assert ask(home) == (20, 1)
    finally:
        package.chmod(0o755)


@pytest.mark.parametrize("environment", [{"HOME": None}, {"HOME": "/nonexistent"}, {"HOME": ""}])
def test_no_home_works(home, environment):
    kept_in_temporary_folder = {"WZMJ_CACHE_DIR": None, "TMPDIR": str(home), **environment}
    assert ask(home, **kept_in_temporary_folder) == (20, 0)
    assert ask(home, **kept_in_temporary_folder) == (20, 1)


def test_nowhere_to_write_works(home):
    blocked = home / "file"
    blocked.write_text("no folder")
    nowhere = {"WZMJ_CACHE_DIR": str(blocked), "HOME": str(blocked), "XDG_CACHE_HOME": str(blocked), "TMPDIR": "/proc"}
    program = f"import tempfile; tempfile.tempdir = '/proc/none'; {ASK}"
    process = start(home, program, **nowhere)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert out.split() == ["20", "0"]
    assert "WZMJ_CACHE_DIR" in err


def test_eight_cold_starts_at_once(home):
    processes = [start(home) for _ in range(8)]
    for process in processes:
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert out.split()[0] == "20"
    assert ask(home) == (20, 1)
    assert not list((home / "cache").rglob("*.tmp"))


def test_a_folder_of_somebody_else_is_not_used(home):
    """The files are pickles: a folder that others may write is closed to them or left alone."""
    folder = home / "cache" / f"wzmj-{os.getuid()}"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    ask(home)
    assert folder.stat().st_mode & 0o077 == 0


def test_an_edit_beside_a_function_outside_of_the_package_takes_effect(home):
    (home / "site" / "helper.py").write_text("from tiny._jit import njit\n\n@njit\ndef helper(x):\n    return x + 1\n")
    (home / "site" / "agent.py").write_text(
        "from tiny._jit import njit\nfrom helper import helper\n\n@njit\ndef act(x):\n    return helper(x)\n"
    )
    program = "from agent import act; print(act(1), sum(act.stats.cache_hits.values()))"
    assert ask(home, program) == (2, 0)
    assert ask(home, program) == (2, 1)
    helper = home / "site" / "helper.py"
    helper.write_text(helper.read_text().replace("x + 1", "x + 2"))
    assert ask(home, program) == (3, 0)


def test_old_folders_are_pruned(home):
    cache = home / "cache" / f"wzmj-{os.getuid()}"
    cache.mkdir(parents=True, mode=0o700)
    for age in range(9):
        folder = cache / f"jit-old{age}"
        folder.mkdir()
        os.utime(folder, (1_000_000 - age, 1_000_000 - age))
    (cache / "tables").mkdir()
    ask(home)
    kept = {path.name for path in cache.iterdir()}
    assert {f"jit-old{age}" for age in range(5)} < kept and "jit-old5" not in kept
    assert "tables" in kept and len(kept) == 7


# --- tables ----------------------------------------------------------------------------------------------------------


def test_tables_are_kept_and_found_again(tmp_path, monkeypatch):
    built = tables.load(tmp_path)
    monkeypatch.setattr(tables, "build", None)  # not called again
    again = tables.load(tmp_path)
    assert all(np.array_equal(built[name], again[name]) for name in built)


@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "version"])
def test_damaged_tables_are_built_anew(tmp_path, monkeypatch, damage):
    tables.load(tmp_path)
    (file,) = tmp_path.iterdir()
    data = file.read_bytes()
    file.write_bytes({"cut": data[:-1], "empty": b"", "changed": data[:5000] + b"!" + data[5001:], "version": data}[damage])
    if damage == "version":
        monkeypatch.setattr(tables, "TABLE_VERSION", tables.TABLE_VERSION + 1)
    again = tables.load(tmp_path)
    assert all(np.array_equal(again[name], table) for name, table in tables._tables.items())
    assert data in {path.read_bytes() for path in tmp_path.iterdir()}


def test_tables_need_no_folder(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    for folder in (None, blocked):
        assert set(tables.load(folder)) == set(tables._tables)
