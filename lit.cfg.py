"""lit's configuration: `lit tests/lit` here does what `pytest tests/lit` does.

RUN lines may use relax-opt, relax-run, FileCheck (or filecheck), not, and %python for a script that
imports relax_mlir. The tools are started as modules of this checkout, so nothing needs installing.
"""

import importlib
import importlib.util
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parent

config.name = "relax_mlir"
config.test_format = lit.formats.ShTest()
config.suffixes = []  # tests/lit/lit.local.cfg.py says which files there are tests
config.test_source_root = str(root)
config.test_exec_root = lit_config.params.get("exec_root", str(root / ".lit"))

config.environment["PYTHONPATH"] = str(root)
config.environment["PYTHONWARNINGS"] = "error"

# A command is a word of its own, not a part of a path or of an option.
commands = {
    "relax-opt": "relax_mlir.tools.relax_opt",
    "relax-run": "relax_mlir.tools.relax_run",
    "[Ff]ile[Cc]heck": "filecheck",
}
for command, module in commands.items():
    config.substitutions.append((rf"(?<![\w/.-]){command}(?![\w/.-])", f"%python -m {module}"))
config.substitutions.append(("%python", sys.executable))

for package in ("onnx", "torch"):
    if importlib.util.find_spec(package):
        config.available_features.add(package)
# What only CPUs with certain instructions are asked for, by their names in /proc/cpuinfo.
sys.path.insert(0, str(root))
cpu_target = importlib.import_module("relax_mlir.lowering.linalg_to_vector.cpu_target")
config.available_features.update(cpu_target.host_cpu().features)
