"""The pages made from the code are what the code makes; programs run; commands name what exists."""

import argparse
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

from wzmj_env import __version__, cli

import generate

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")] + sorted((ROOT / "docs").glob("*.md"))
TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}


@pytest.mark.parametrize("name", generate.PAGES)
def test_page_is_up_to_date(name):
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == generate.PAGES[name](), "run python docs/generate.py"


def test_no_picture_is_left_over():
    assert {f"rules/{file.name}" for file in (ROOT / "docs" / "rules").iterdir()} == {n for n in generate.PAGES if "/" in n}


PROGRAMS = {
    f"{name}-{number}": program
    for name, text in TEXTS.items()
    for number, program in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_of_the_docs_runs(program):
    exec(compile(PROGRAMS[program], program, "exec"), {})


def test_readme_has_programs():
    assert sum(name.startswith("README.md") for name in PROGRAMS) >= 2


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name):
    for target in re.findall(r"\]\(([^)#:\s]+)", TEXTS[name]):
        assert ((ROOT / name).parent / target).exists(), target


def test_every_rule_has_its_number_on_the_page():
    found = {(int(a), int(b)) for a, b in re.findall(r"\*\*R(\d+)\.(\d+)", TEXTS["docs/rules.md"])}
    last = {1: 2, 2: 4, 3: 5, 4: 4, 5: 8, 6: 4, 7: 16, 8: 6, 9: 5, 10: 7}
    assert found == {(part, number) for part, most in last.items() for number in range(1, most + 1)}


# --- commands --------------------------------------------------------------------------------------------------------

PROGRAM = r"(?:wzmj|make|python3?|pip|pytest) "


def commands_of(text):
    """The commands in inline code, in indented and in fenced blocks; lines that go on are joined."""
    inline = re.findall(rf"(?<!`)`({PROGRAM}[^`]+)`", text)
    fenced = re.findall(r"```(?:sh|bash)?\n(.*?)```", text, re.DOTALL)
    indented = re.findall(r"^ {4}(.+)$", re.sub(r"\n {5,}", " ", re.sub(r"```.*?```", "", text, flags=re.DOTALL)), re.MULTILINE)
    lines = [line for block in (*fenced, *indented) for line in block.splitlines() if re.match(PROGRAM, line)]
    return [re.sub(r"\s+#.*", "", command) for command in inline + lines]


COMMANDS = sorted({command for text in TEXTS.values() for command in commands_of(text)})


def options_in(command):
    return {option.split("=")[0] for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", command)}


def wzmj_parser(words):
    """The parser of a command of `wzmj`, of a command of that where it has any."""
    found = cli.parser()
    for word in words:
        below = next((a for a in found._actions if isinstance(a, argparse._SubParsersAction)), None)
        if below is None:
            break
        assert word in below.choices, f"wzmj has no {word}"
        found = below.choices[word]
    return found


def check_wzmj(command):
    words = [word for word in command.split()[1:] if not word.startswith("--")]
    if command.split()[1].startswith("--"):
        words = []
    known = {option for action in wzmj_parser(words)._actions for option in action.option_strings}
    assert options_in(command) <= known, f"{options_in(command) - known} of {command}"


def check_python(command):
    words = command.split()
    if "-m" in words:
        module = words[words.index("-m") + 1]
        found = importlib.util.find_spec(module)
        assert found is not None, module
        if not module.startswith("train."):
            return
        path = Path(found.origin)
    else:
        path = ROOT / next(word for word in words[1:] if not word.startswith("-"))
        assert path.is_file(), path
    source = path.read_text(encoding="utf-8")
    for option in options_in(command) - {"--field"}:
        field = option[2:].replace("-", "_")
        assert f'"{option}"' in source or re.search(rf"^    {field}: ", source, re.MULTILINE), f"{option} of {command}"


def check_extras(command):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for named in re.findall(r"(?:wzmj|\.)\[([\w,]+)\]", command):
        assert set(named.split(",")) <= set(extras), named


def check_make(command):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert command.split()[1] in targets


CHECKS = {"wzmj": check_wzmj, "python": check_python, "python3": check_python, "pip": check_extras, "make": check_make}


@pytest.mark.parametrize("command", COMMANDS)
def test_command_names_what_exists(command):
    check_extras(command)
    if "…" not in command.split()[1] and not command.startswith("python3 -m venv"):
        CHECKS.get(command.split()[0], lambda _: None)(command)
    for path in re.findall(r"(?<![\w/.])(?:configs|examples|tests|docs|benchmarks)/[\w./-]*\w", command):
        assert (ROOT / path).exists(), path


def test_commands_are_found():
    assert {command.split()[0] for command in COMMANDS} >= {"wzmj", "make", "python", "pip"}
    assert len(COMMANDS) >= 30


# --- the project -----------------------------------------------------------------------------------------------------


def test_version_is_the_same_in_citation_and_changelog():
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_lowest_versions_are_those_that_are_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["eval"], *extras["render"], *extras["web"]]
    allowed = {name.lower(): low for name, low in (re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in wanted)}
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    tried = {}
    for name, version in (re.match(r"([\w-]+)==([\d.]+)", line).groups() for line in lines if not line.startswith("#")):
        tried.setdefault(name.lower(), version)  # of two, the first is that of the older Pythons
    assert tried.keys() == allowed.keys()
    assert all(f"{tried[name]}.0.0".startswith(f"{low}.") for name, low in allowed.items()), (tried, allowed)
