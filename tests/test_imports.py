"""The layers of the service: who may import whom (pyproject.toml, tool.importlinter)."""

from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


@pytest.mark.parametrize("contract", ["one-way", "pure", "games", "store", "api"])
def test_the_layers_hold(contract, capsys):
    status = lint_imports(str(PYPROJECT), limit_to_contracts=(contract,), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out
