config.suffixes = [".mlir", ".py"]
config.excludes = ["lit.local.cfg.py", "test_lit.py", "Inputs"]
