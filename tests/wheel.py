"""Build the wheel and try it alone: `python tests/wheel.py [--all] [--python 3.12]`.

For each Python that pyproject.toml claims and that is found here, once with the newest versions pip finds and once with the
lowest allowed ones (constraints-lowest.txt): a fresh venv and an empty folder outside the clone, the wheel installed, the
README's first program run twice, the first time with an empty cache, then `wheel_smoke.py` without extras and with them.
Exit 1 when anything fails, or with --all when a claimed Python is not found.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = "eval,render,web"  # train needs torch, which is not installed here
CLASSIFIER = "Programming Language :: Python :: 3."


def claimed() -> list[str]:
    """The versions of Python in the classifiers, such as `3.11`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return ["3." + line.removeprefix(CLASSIFIER) for line in project["classifiers"] if line.startswith(CLASSIFIER)]


def find_python(version: str) -> str | None:
    """An interpreter of this version that can make venvs: this one, one on the path, or one of pyenv's."""
    names = [sys.executable, shutil.which(f"python{version}")]
    names += sorted(map(str, Path.home().glob(f".pyenv/versions/{version}*/bin/python")), reverse=True)
    ask = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    for name in filter(None, names):
        found = subprocess.run([name, "-c", ask], capture_output=True, text=True)
        if found.returncode == 0 and found.stdout.strip() == version:
            return name
    return None


def copy_sources(folder: Path) -> Path:
    """A copy to build from: setuptools would put what lies in an old build/ into the wheel too."""
    copy = folder / "sources"
    shutil.copytree(ROOT / "wzmj_env", copy / "wzmj_env", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "LICENSES", copy / "LICENSES")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    return copy


def first_program() -> str:
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[0]


def try_wheel(python: str, wheel: str, folder: Path, constraints: list[str]) -> tuple[float, float, str]:
    """Seconds of the README's program cold and warm, and the versions it ran with. CalledProcessError when anything fails."""
    empty = folder / "empty"
    empty.mkdir(parents=True)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA", "WZMJ"))}
    environ["WZMJ_CACHE_DIR"] = str(folder)

    def run(*command: str) -> float:
        start = time.perf_counter()
        done = subprocess.run(command, cwd=empty, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(done.stdout)
            done.check_returncode()
        return time.perf_counter() - start

    run(python, "-m", "venv", str(folder / "venv"))
    mine = str(folder / "venv" / "bin" / "python")
    smoke = (mine, "-I", str(ROOT / "tests" / "wheel_smoke.py"))
    golden = str(ROOT / "tests" / "golden" / "digests.json")
    run(mine, "-m", "pip", "install", *constraints, wheel)
    program = first_program()
    cold, warm = run(mine, "-I", "-c", program), run(mine, "-I", "-c", program)
    run(*smoke, "bare", golden)
    for left in empty.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    run(mine, "-m", "pip", "install", *constraints, f"{wheel}[{EXTRAS}]")
    run(*smoke, "extras", golden)
    ask = "import importlib.metadata as m; print(*(f'{n} {m.version(n)}' for n in ('numpy', 'numba', 'gymnasium', 'pettingzoo')))"
    return cold, warm, subprocess.check_output([mine, "-I", "-c", ask], text=True).strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="fail when a claimed Python is not found")
    parser.add_argument("--python", action="append", metavar="VERSION", help="only this version; repeatable")
    options = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = copy_sources(folder)
        subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", name, str(sources)], check=True)
        (wheel,) = folder.glob("wzmj-*.whl")
        print(wheel.name)
        for version in options.python or claimed():
            python = find_python(version)
            if python is None:
                print(f"{version}  not found here: not tried")
                failed += [version] * options.all
                continue
            for lane, constraints in (("newest", []), ("lowest", ["--constraint", str(ROOT / "constraints-lowest.txt")])):
                place = folder / f"{version}-{lane}"
                try:
                    cold, warm, versions = try_wheel(python, str(wheel), place, constraints)
                    print(f"{version} {lane}  first program: cold {cold:.1f} s, warm {warm:.1f} s  ({versions})", flush=True)
                except subprocess.CalledProcessError as error:
                    print(f"{version} {lane}  FAILED: {' '.join(map(str, error.cmd))[:200]}", flush=True)
                    failed.append(f"{version} {lane}")
                shutil.rmtree(place)
    print(f"failed: {', '.join(failed)}" if failed else "all good")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
