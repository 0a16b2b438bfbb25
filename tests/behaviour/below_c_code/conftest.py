"""Extension modules that call Python functions."""

from __future__ import annotations

from types import ModuleType

import helpers_extensions
import pytest


@pytest.fixture(scope="session")
def with_pybind11(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A module of pybind11."""
    return helpers_extensions.pybind11_module(tmp_path_factory.mktemp("pybind11"))


@pytest.fixture(scope="session")
def with_cython(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A module of Cython."""
    return helpers_extensions.cython_module(tmp_path_factory.mktemp("cython"))


@pytest.fixture(scope="session")
def with_nanobind(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A module of nanobind."""
    return helpers_extensions.nanobind_module(tmp_path_factory.mktemp("nanobind"))
