"""The layers of the service: who may import whom. The contracts stand in pyproject.toml."""

from itertools import permutations
from pathlib import Path

import grimp
import pytest
from importlinter import configuration
from importlinter.application.use_cases import lint_imports

from service.systems import SYSTEMS

configuration.configure()  # its command line does the same, and silences every logger that there is
PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


@pytest.mark.parametrize("contract", ["one-way", "pure", "store", "api"])
def test_the_layers_hold(contract, capsys):
    assert lint_imports(str(PYPROJECT), limit_to_contracts=(contract,), cache_dir=None), capsys.readouterr().out


def test_one_game_knows_nothing_of_another():
    graph = grimp.build_graph("service", cache_dir=None)
    for one, other in permutations((f"service.systems.{each}" for each in SYSTEMS), 2):
        assert not graph.find_shortest_chains(one, other)
