"""How the site is made of pages that are also read on a code host: MkDocs calls these functions."""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {"benchmarks.md": "benchmarks/README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)]*)?\)")  # to a file, with an anchor perhaps

log = logging.getLogger("mkdocs.hooks")  # warnings fail a strict build


def on_config(config: Any) -> Any:
    """Leave out of the navigation what is not there."""
    config["nav"] = _there(config["nav"])
    return config


def _there(entry: Any) -> Any:
    if isinstance(entry, list):
        return [kept for kept in map(_there, entry) if kept]
    if isinstance(entry, dict):
        return {title: kept for title, target in entry.items() if (kept := _there(target))}
    return entry if (ROOT / OUTSIDE.get(entry, f"docs/{entry}")).is_file() else None


def on_files(files: Files, config: Any) -> Files:
    """Pages that lie elsewhere in the repository."""
    for name, path in OUTSIDE.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as they are right in the repository become links of the site; those to sources become their names."""
    name = page.file.src_uri
    source = OUTSIDE.get(name, f"docs/{name}")
    pages = {path: uri for uri, path in OUTSIDE.items()}

    def changed(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if not (ROOT / path).exists():
            log.warning("%s: a link to %s, which does not exist", source, target)
        uri = pages.get(path, path.removeprefix("docs/") if path.startswith("docs/") else None)
        return text if uri is None else f"[{text}]({uri}{anchor})"

    return LINK.sub(changed, markdown)
