"""Runs every lit file below this folder as a pytest case, so that xdist spreads them over cores.

lit itself parses the RUN lines and runs them, as lit.cfg.py at the top of the repository says.
"""

from __future__ import annotations

from pathlib import Path

import lit.discovery
import lit.LitConfig
import lit.Test
import pytest

# lit leaves the pipes between a RUN line's commands for the garbage collector to close.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

FOLDER = Path(__file__).resolve().parent
NO_TESTS = {"lit.local.cfg.py", Path(__file__).name, "Inputs"}
FILES = sorted(
    path
    for path in FOLDER.rglob("*")
    if path.suffix in {".mlir", ".py"} and NO_TESTS.isdisjoint(path.relative_to(FOLDER).parts)
)


@pytest.fixture(scope="module")
def lit_config(tmp_path_factory: pytest.TempPathFactory) -> lit.LitConfig.LitConfig:
    return lit.LitConfig.LitConfig(
        progname="lit",
        path=[],
        diagnostic_level="note",
        useValgrind=False,
        valgrindLeakCheck=False,
        valgrindArgs=[],
        noExecute=False,
        debug=False,
        isWindows=False,
        order="smart",
        params={"exec_root": str(tmp_path_factory.mktemp("lit"))},
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_lit(path: Path, lit_config: lit.LitConfig.LitConfig) -> None:
    (test,) = lit.discovery.find_tests_for_inputs(lit_config, [str(path)])
    result = test.config.test_format.execute(test, lit_config)
    if result.code is lit.Test.UNSUPPORTED:
        pytest.skip(result.output.strip() or "a feature that the file requires is missing here")
    assert not result.code.isFailure, f"{result.code.name}\n{result.output}"
