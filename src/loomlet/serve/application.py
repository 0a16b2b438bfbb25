"""Finds what is to be served: an application by name, or a folder."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

from loomlet.serve.settings import Settings

__all__ = ["ApplicationError", "find_application", "folder_of"]

NAMES = ("app", "application", "create_app", "make_app")
"""What is looked for in a module if no name is given."""


class ApplicationError(Exception):
    """The application cannot be found, or is none."""


def folder_of(target: str) -> Path | None:
    """The folder that a target names; None if it names an application."""
    path = Path(target)
    return path if path.is_dir() and (os.sep in target or ":" not in target) else None


def find_application(settings: Settings) -> Any:
    """Imports the application.  ApplicationError if there is none; what its import raises
    propagates."""
    folder = os.path.abspath(settings.app_dir)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module_name, _, name = settings.target.partition(":")
    module = _import(module_name, folder)
    found = _by_name(module, name) if name else _first_of(module)
    if settings.factory or (not name and getattr(found, "__name__", "") in NAMES[2:]):
        found = found()
    if not callable(found):
        raise ApplicationError(f"expected {settings.target} to be callable, found {found!r}")
    return found


def _import(name: str, folder: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the application itself misses a module
        raise ApplicationError(
            f"there is not a folder and no module {name!r} in {folder}; expected a folder, "
            "or package.module:name"
        ) from None


def _by_name(module: Any, name: str) -> Any:
    found = module
    for part in name.removesuffix("()").split("."):
        if not hasattr(found, part):
            raise ApplicationError(f"module {module.__name__!r} has no {name!r}")
        found = getattr(found, part)
    return found() if name.endswith("()") else found


def _first_of(module: Any) -> Any:
    for name in NAMES:
        if hasattr(module, name):
            return getattr(module, name)
    raise ApplicationError(
        f"module {module.__name__!r} has none of {', '.join(NAMES)}; name it: "
        f"{module.__name__}:name"
    )
