"""The pages made from the code are what the code makes; the README's programs run."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))


@pytest.mark.parametrize("name", generate["PAGES"])
def test_page_is_up_to_date(name):
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == generate["PAGES"][name](), "run python docs/generate.py"


PROGRAMS = [
    program
    for name in ("README.md", "docs/records.md", "docs/libraries.md")
    for program in re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)
]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_readme_program_runs(program):
    exec(compile(program, "program of the docs", "exec"), {})


def test_readme_has_programs():
    assert len(PROGRAMS) >= 3
