"""Extension modules that call Python functions."""

from __future__ import annotations

from types import ModuleType

import helpers_extensions
import pytest


@pytest.fixture(scope="session")
def with_pybind11() -> ModuleType:
    """A module of pybind11."""
    return helpers_extensions.pybind11_module()


@pytest.fixture(scope="session")
def with_cython() -> ModuleType:
    """A module of Cython."""
    return helpers_extensions.cython_module()


@pytest.fixture(scope="session")
def with_nanobind() -> ModuleType:
    """A module of nanobind."""
    return helpers_extensions.nanobind_module()
