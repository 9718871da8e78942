"""A module imports only modules that stand before it; all modules have their place."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_imports_run_in_one_direction():
    done = subprocess.run([Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_module_has_its_place():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    placed = {name.strip("()") for name in contracts[0]["layers"]}
    modules = {path.stem for path in (ROOT / "wzmj_env").glob("*.py")} - {"__init__"}
    assert modules <= placed


def test_importing_the_package_leaves_heavy_things_alone():
    program = "import sys, wzmj_env; print([m for m in ('pettingzoo', 'gymnasium', 'torch', 'tqdm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
