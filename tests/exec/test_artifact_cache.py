"""Compiled modules on disk: found again by content, never trusted when damaged."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.driver.cached_compile import CachedCode
from relax_mlir.runtime.artifact_cache import ArtifactCache
from relax_mlir.runtime.compiled_code import Code
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

K, N = 160, 448  # large enough to be packed: a constant that compiling makes


@I.ir_module
class Layer:
    @R.function
    def main(x: R.Tensor((16, K), "float32"), w: R.Tensor((K, N), "float32")) -> R.Tensor(
        (16, N), "float32"
    ):
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            R.output(y)
        return y


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RELAX_MLIR_CACHE", "1")
    monkeypatch.setenv("RELAX_MLIR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELAX_MLIR_CACHE_MIN_SECONDS", "0")
    return tmp_path


def weights(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((K, N)).astype("float32")


def code_of(executable: relax_mlir.driver.Executable) -> Code:
    code = executable.mod._code
    assert isinstance(code, Code)
    return code


def compiled(w: np.ndarray) -> tuple[Code, np.ndarray]:
    """Compile, call, and wait until the code is filed; the code, and the largest error."""
    executable = relax_mlir.compile(Layer, "llvm", params={"w": w})
    x = np.random.default_rng(7).standard_normal((16, K)).astype("float32")
    got = relax.VirtualMachine(executable, relax_mlir.cpu())["main"](x).numpy()
    for thread in threading.enumerate():
        if thread.name == "relax_mlir cache":
            thread.join()
    np.testing.assert_allclose(got, np.maximum(x @ w, 0), rtol=1e-4, atol=1e-3)
    return code_of(executable), got


def entries(folder: Path) -> list[Path]:
    return [path.parent for path in folder.glob("*/index.json")]


def test_second_compilation_comes_from_disk(folder: Path) -> None:
    first, expected = compiled(weights(0))
    second, got = compiled(weights(0))
    assert not isinstance(first, CachedCode)
    assert isinstance(second, CachedCode)
    np.testing.assert_array_equal(got, expected)
    assert len(entries(folder)) == 1


def test_other_content_is_another_entry(folder: Path) -> None:
    compiled(weights(0))
    other, _ = compiled(weights(1))
    assert not isinstance(other, CachedCode)
    with relax_mlir.transform.PassContext(opt_level=1):
        levelled, _ = compiled(weights(0))
    assert not isinstance(levelled, CachedCode)
    assert len(entries(folder)) == 3


def test_source_and_export_work_from_disk(folder: Path, tmp_path: Path) -> None:
    compiled(weights(0))
    executable = relax_mlir.compile(Layer, "llvm", params={"w": weights(0)})
    assert isinstance(code_of(executable), CachedCode)
    assert "llvm.func" in executable.inspect_source()
    path = tmp_path / "layer.so"
    executable.export_library(str(path))
    x = np.ones((16, K), "float32")
    got = relax_mlir.runtime.load_module(path)["main"](relax_mlir.runtime.tensor(x))
    np.testing.assert_allclose(got.numpy(), np.maximum(x @ weights(0), 0), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("what", ["module.so", "index.json", "constants"])
def test_damage_is_compiled_again(folder: Path, what: str) -> None:
    compiled(weights(3))
    (entry,) = entries(folder)
    victims = list((folder / "constants").iterdir()) if what == "constants" else [entry / what]
    assert victims
    for victim in victims:
        content = bytearray(victim.read_bytes())
        content[len(content) // 2] ^= 0x10
        victim.unlink()  # the old pages may be in use
        victim.write_bytes(content if what != "index.json" else content[:20])
    again, _ = compiled(weights(3))
    assert not isinstance(again, CachedCode)
    healed, _ = compiled(weights(3))
    assert isinstance(healed, CachedCode)


def test_opt_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE", "0")
    compiled(weights(0))
    assert list(folder.iterdir()) == []


def test_passes_of_ones_own_and_instruments_are_not_cached(folder: Path) -> None:
    class Counter:
        passes = 0

        def run_before_pass(self, module: object, info: object) -> None:
            self.passes += 1

    counter = Counter()
    with relax_mlir.transform.PassContext(instruments=[counter]):
        compiled(weights(0))
        before = counter.passes
        compiled(weights(0))
    assert counter.passes == 2 * before > 0
    relax_mlir.compile(Layer, "llvm", relax_pipeline=relax.get_pipeline("zero"))
    assert entries(folder) == []


def test_the_longest_unused_go_first(folder: Path) -> None:
    for seed, age in ((0, 300), (1, 200), (2, 100)):
        known = {*folder.rglob("*")}
        compiled(weights(seed))
        for path in {*folder.rglob("*")} - known:
            stamp = path.stat().st_mtime - age
            os.utime(path, (stamp, stamp))
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    ArtifactCache(folder, int(sum(sizes) * 0.6)).evict()
    assert isinstance(compiled(weights(2))[0], CachedCode)
    assert not isinstance(compiled(weights(0))[0], CachedCode)


PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from test_artifact_cache import compiled, weights, CachedCode
print(isinstance(compiled(weights(5))[0], CachedCode))
"""


def test_processes_share_entries_and_may_write_at_once(folder: Path) -> None:
    program = PROGRAM.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-c", program]
    first = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert all(process.communicate()[0].strip() in ("True", "False") for process in first)
    assert all(process.returncode == 0 for process in first)
    assert len(entries(folder)) == 1
    assert subprocess.check_output(command, text=True).strip() == "True"
    assert not list(folder.glob(".*"))
