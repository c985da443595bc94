"""The plan of the house, read off the source: which tier may import what, and who may rescale a problem.

A tier imports itself and the tiers before it in ``TIERS``. The checker works on source text, so that it can be shown
to fail.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import mercer

SOURCE = Path(mercer.__file__).parent

TIERS = {
    "core": [
        *("_html", "_params", "_state", "_version", "exceptions", "backend", "linalg", "measures"),
        *(
            "kernels",
            "losses",
            "operator_valued",
            "features",
            "interpolation",
            "magnitudes",
            "quantile_function",
            "rows",
        ),
    ],
    "solving": ["problems", "solvers"],
    "learning": ["stages", "preprocessing", "forests", "estimators", "model_selection", "guarantees", "__init__"],
    "edges": ["plotting", "datasets", "testing", "io", "cli", "interop", "explorer"],
}
ORDER = list(TIERS)
TIER_OF = {part: tier for tier, parts in TIERS.items() for part in parts}
STRANGERS = {"kernels": "losses", "losses": "kernels"}

#: the package itself wires what enters itself in a registry of a tier above, and gives save, load and explore names
WIRING = {("__init__", "interop"), ("__init__", "io"), ("__init__", "explorer")}

#: what the package depends on; anything else is an optional extra, imported in a function of an edge
DEPENDENCIES = {"numpy", "scipy", "array_api_compat", "sklearn", "threadpoolctl", "mercer"}
OPTIONAL = {
    "matplotlib",
    "pandas",
    "torch",
    "jax",
    "dask",
    "distributed",
    "cloudpickle",
    "skfda",
    "cvxpy",
    "hypothesis",
    "cupy",
    "polars",
    "shtab",
    "pyarrow",
    "rich",
    "tqdm",
    "skpro",
}
#: modules whose classes derive from those of an extra, which they import; nothing imports these modules
DERIVED_FROM_EXTRAS = {"mercer.interop.skpro": {"skpro", "pandas"}}

#: parts that take λ, objective and gap of a problem as they are (R3)
TAKE_AS_IT_IS = {"estimators", "model_selection", "guarantees"}
SCALED = {"alpha", "objective", "gap", "primal", "dual", "scale", "share", "mass"}
OWNERS = ("problem", "result", "certificate")
#: kinds of outputs, which nobody asks for: they are asked what they can do
KINDS_OF_OUTPUTS = {"GridCurves", "ScatteredCurves", "GramOutputs"}


#: parts that ask a Gram operator for what they need, and what they must not look at
ASK_THE_GRAM = {"problems", "solvers", "estimators", "model_selection", "guarantees", "testing"}
STORAGE_CLASSES = {
    *("Dense", "LowRank", "Tensor", "KernelGram", "PairGram", "Kronecker", "PairKronecker"),
    *("FlatGram", "OperatorGram", "FeatureGram", "SumGram", "KroneckerSpectral", "FlatSpectral"),
}
PARTS_OF_GRAMS = {"left", "right", "left_root", "right_root", "_row_root", "_column_root", "_operator", "_given"}


def part_of(module: str) -> str:
    """The part of the house in which a dotted module lives: ``mercer.linalg.eigen`` → ``linalg``."""
    return [*module.split("."), "__init__"][1]


def imports(tree: ast.AST, module: str, package: bool):
    """Yield (line, imported dotted name, inside a function, for type checkers only)."""

    def visit(node, inside, typing_only):
        for child in ast.iter_child_nodes(node):
            function = inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            guarded = typing_only or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield child.lineno, alias.name, inside, typing_only
            elif isinstance(child, ast.ImportFrom):
                base = child.module or ""
                if child.level:
                    parents = module.split(".")[: None if package and child.level == 1 else package - child.level]
                    base = ".".join([*parents, base]).rstrip(".")
                for alias in child.names:
                    name = f"{base}.{alias.name}" if base == "mercer" and alias.name in TIER_OF else base
                    yield child.lineno, name, inside, typing_only
            yield from visit(child, function, guarded)

    yield from visit(tree, False, False)


def violations(module: str, source: str, package: bool = False) -> list[str]:
    """Return what a module does against the plan, one sentence each."""
    part = part_of(module)
    if part not in TIER_OF:
        return [f"{module}: {part} belongs to no tier; say in TIERS to which"]
    tier = TIER_OF[part]
    found = []
    if "utils" in module.split("."):
        found.append(f"{module}: is called utils")
    tree = ast.parse(source)
    for line, name, inside, typing_only in imports(tree, module, package):
        where = f"{module}:{line}"
        top = name.split(".")[0]
        wired = top == "mercer" and (part, part_of(name)) in WIRING
        if top == "mercer":
            other = part_of(name)
            if ORDER.index(TIER_OF.get(other, "edges")) > ORDER.index(tier) and not wired:
                found.append(f"{where}: {tier} imports {name} of {TIER_OF.get(other)}")
            if STRANGERS.get(part) == other:
                found.append(f"{where}: {part} know no {other}")
        if name in ("importlib", "importlib.util", "runpy"):
            found.append(f"{where}: imports {name}, through which modules are loaded unseen")
        if top == "sklearn" and tier in ("core", "solving"):
            found.append(f"{where}: {tier} imports sklearn")
        if inside and not wired and not (tier == "edges" and top in OPTIONAL):
            found.append(f"{where}: imports {name} inside a function")
        foreign = top not in DEPENDENCIES and top not in sys.stdlib_module_names
        derived = top in DERIVED_FROM_EXTRAS.get(module, ())
        if name in DERIVED_FROM_EXTRAS:
            found.append(f"{where}: imports {name}, which needs an extra")
        if foreign and not derived and not inside and not (typing_only and tier == "edges"):
            found.append(f"{where}: imports {top} at module level")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            found.append(f"{module}:{node.lineno}: prints")
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("__import__", "import_module"):
            found.append(f"{module}:{node.lineno}: loads a module unseen, by {ast.unparse(node.func)}")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            kinds = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)} & KINDS_OF_OUTPUTS
            found += [f"{module}:{node.lineno}: asks for {kind}" for kind in sorted(kinds)]
    found += rescalings(module, tree) if part in TAKE_AS_IT_IS else []
    return found + (storage(module, tree) if part in ASK_THE_GRAM else [])


def storage(module: str, tree: ast.AST) -> list[str]:
    """Return where somebody looks at what a Gram operator is made of, instead of asking it."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in PARTS_OF_GRAMS:
            found.append(f"{module}:{node.lineno}: reads {ast.unparse(node)}, a part of a Gram operator")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type"):
            kinds = {one.id for argument in node.args for one in ast.walk(argument) if isinstance(one, ast.Name)}
            found += [f"{module}:{node.lineno}: asks for {kind}" for kind in sorted(kinds & STORAGE_CLASSES)]
    return found


def constants(source: str) -> set[str]:
    """Return the names of the module constants of a source text."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            targets = [target for target, _ in assignments(node)]
        else:
            targets = [node.target] if isinstance(node, ast.AnnAssign) else []
        found |= {target.id for target in targets if isinstance(target, ast.Name) and target.id.isupper()}
    return found


def clashes(sources: dict[str, str]) -> list[str]:
    """Return constants that several modules define: one meaning has one name and one place."""
    where: dict[str, list[str]] = {}
    for module, source in sources.items():
        for name in sorted(constants(source)):
            where.setdefault(name, []).append(module)
    return [f"{name}: {', '.join(homes)}" for name, homes in where.items() if len(homes) > 1]


def rescalings(module: str, tree: ast.AST) -> list[str]:
    """Return where λ, objective or gap of a problem, a result or a certificate is a factor or a divisor.

    Names that stand for them in the same function count, too; differences and comparisons do not rescale.
    """
    found = []
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for scope in [tree, *functions]:
        aliases = {
            target.id
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign)
            for target, value in assignments(node)
            if isinstance(target, ast.Name) and isinstance(value, ast.Attribute) and is_scaled(value, set())
        }
        for node in ast.walk(scope):
            if isinstance(node, ast.BinOp):
                operands = [node.left, node.right]
            elif isinstance(node, ast.AugAssign):
                operands = [node.target, node.value]
            else:
                continue
            if not isinstance(node.op, (ast.Mult, ast.Div, ast.FloorDiv, ast.Pow)):
                continue
            for operand in operands:
                if is_scaled(operand, aliases if scope is not tree else set()):
                    found.append(f"{module}:{node.lineno}: rescales {ast.unparse(operand)}, which problems/ does")
    return sorted(set(found))


def assignments(node: ast.Assign):
    """Yield (target, value), those of tuples one by one."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def is_scaled(node: ast.AST, aliases: set[str]) -> bool:
    """Say whether an operand is λ, objective or gap of a problem, within arithmetic or ``float(...)``."""
    if isinstance(node, ast.Name):
        return node.id in aliases
    if isinstance(node, ast.Attribute):
        owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
        return node.attr in SCALED and any(name in owner for name in OWNERS)
    if isinstance(node, ast.BinOp):
        return is_scaled(node.left, aliases) or is_scaled(node.right, aliases)
    if isinstance(node, ast.UnaryOp):
        return is_scaled(node.operand, aliases)
    is_float = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float"
    return is_float and any(is_scaled(argument, aliases) for argument in node.args)


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        names = path.relative_to(SOURCE.parent).with_suffix("").parts
        package = names[-1] == "__init__"
        yield ".".join(names[:-1] if package else names), path, package


@pytest.mark.parametrize(("module", "path", "package"), [pytest.param(*m, id=m[0]) for m in modules()])
def test_every_module_keeps_to_the_plan(module, path, package):
    assert violations(module, path.read_text(encoding="utf-8"), package) == []


def test_a_constant_has_one_place():
    assert clashes({module: path.read_text(encoding="utf-8") for module, path, _ in modules()}) == []
    assert clashes({"a": "FEW, MANY = 1, 2", "b": "MANY: int = 3"}) == ["MANY: a, b"]


def test_the_modules_were_found():
    found = {module for module, _, _ in modules()}
    assert {"mercer", "mercer.linalg", "mercer.linalg.eigen", "mercer._params", "mercer.solvers.admm"} <= found
    assert len(found) > 50


@pytest.mark.parametrize(
    ("module", "source", "message"),
    [
        ("mercer.linalg.eigen", "from mercer.solvers import ADMM", "core imports mercer.solvers of solving"),
        ("mercer.linalg.eigen", "import mercer.problems.dual", "core imports mercer.problems.dual"),
        ("mercer.linalg.eigen", "from mercer import estimators", "core imports mercer.estimators of learning"),
        ("mercer.linalg.eigen", "from mercer import QuantileFunction", "core imports mercer of learning"),
        ("mercer.linalg.eigen", "from ..solvers import ADMM", "core imports mercer.solvers"),
        ("mercer.linalg.eigen", "from mercer.unheard_of import x", "core imports mercer.unheard_of"),
        ("mercer.interpolation", "if True:\n    from mercer.testing import check_loss", "core imports mercer.testing"),
        ("mercer.solvers.admm", "from mercer.model_selection import coverage", "solving imports mercer.model_sel"),
        ("mercer.solvers.admm", "import mercer.plotting", "solving imports mercer.plotting of edges"),
        ("mercer.estimators.quantile", "from mercer.datasets import sines", "learning imports mercer.datasets"),
        ("mercer", "from mercer.testing import check_loss", "learning imports mercer.testing of edges"),
        ("mercer.kernels.base", "from mercer.losses import Pinball", "kernels know no losses"),
        ("mercer.losses.base", "from mercer.kernels.base import Kernel", "losses know no kernels"),
        ("mercer.kernels.base", "from sklearn.base import clone", "core imports sklearn"),
        ("mercer.solvers.admm", "import sklearn", "solving imports sklearn"),
        ("mercer.plotting.bands", "import matplotlib.pyplot as plt", "imports matplotlib at module level"),
        ("mercer.plotting.bands", "try:\n    import pandas\nexcept ImportError:\n    pass", "imports pandas at"),
        ("mercer.testing.losses", "class A:\n    from hypothesis import given", "imports hypothesis at module level"),
        ("mercer.interop.torch", "import torch", "imports torch at module level"),
        ("mercer.interop.skpro", "import torch", "imports torch at module level"),
        ("mercer.interop", "from mercer.interop.skpro import QuantileProbaRegressor", "which needs an extra"),
        ("mercer.losses.base", "import tqdm", "imports tqdm at module level"),
        ("mercer.kernels.base", "def f():\n    import math", "imports math inside a function"),
        ("mercer.kernels.base", "class A:\n    def f(self):\n        from mercer.linalg import Dense", "inside a func"),
        ("mercer.estimators.quantile", "def f():\n    import matplotlib", "imports matplotlib inside a function"),
        ("mercer.plotting.bands", "def f():\n    from mercer.kernels import Kernel", "inside a function"),
        ("mercer.kernels.utils", "", "is called utils"),
        ("mercer.utils", "", "belongs to no tier"),
        ("mercer.solvers.admm", "def f():\n    print('step')", "prints"),
        ("mercer.estimators.conversion", "import importlib", "imports importlib, through which modules are loaded"),
        ("mercer.estimators.conversion", "from importlib import import_module", "imports importlib, through which"),
        ("mercer.estimators.conversion", "importlib.import_module('mercer.interop.skfda')", "by importlib.import_mod"),
        ("mercer.estimators.conversion", "def f(name):\n    return __import__(name)", "loads a module unseen"),
        ("mercer.estimators.conversion", "import mercer.interop", "learning imports mercer.interop of edges"),
        ("mercer.solvers.admm", "n = problem.gram.left.shape[0]", "reads problem.gram.left, a part of a Gram"),
        ("mercer.problems.dual", "root = self.gram._row_root", "reads self.gram._row_root"),
        ("mercer.estimators.smoothness", "outputs = [gram.right for gram in grams]", "reads gram.right"),
        ("mercer.solvers.auto", "if isinstance(gram, (Kronecker, int)):\n    pass", "asks for Kronecker"),
        ("mercer.testing.solvers", "same = type(gram) is type(Dense)", "asks for Dense"),
        ("mercer.estimators.functional", "scale = problem.alpha / chosen.alpha", "rescales problem.alpha"),
        ("mercer.estimators.functional", "self.objective_ = result.objective / scale", "rescales result.objective"),
        ("mercer.estimators.smoothness", "[float(a) * problem.alpha for a in alphas]", "rescales problem.alpha"),
        ("mercer.estimators.smoothness", "x = 2 * float(self.problem.scale)", "rescales float(self.problem.scale)"),
        ("mercer.estimators.quantile", "def f():\n    a, b = problem.alpha, 1\n    return a * b", "rescales a,"),
        ("mercer.model_selection.path", "gap = (certificate.primal - d) * n", "rescales certificate.primal - d"),
        ("mercer.model_selection.path", "result.gap *= n", "rescales result.gap"),
        ("mercer.estimators.sample", "isinstance(y, GridCurves)", "asks for GridCurves"),
        ("mercer.estimators.sample", "isinstance(y, (dict, ScatteredCurves))", "asks for ScatteredCurves"),
    ],
)
def test_the_checker_finds(module, source, message):
    found = violations(module, source)
    assert found
    assert any(message in each for each in found), found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mercer.linalg.eigen", "import math\nimport numpy as np\nfrom mercer import backend\nfrom . import operators"),
        ("mercer.solvers.admm", "from mercer.problems import DualProblem\nfrom mercer.losses import Pinball"),
        ("mercer.estimators.quantile", "from sklearn.base import BaseEstimator\nfrom mercer.solvers import ADMM"),
        ("mercer.model_selection.scorers", "from mercer import QuantileFunction"),
        ("mercer.plotting.bands", "def f():\n    import matplotlib.pyplot as plt"),
        ("mercer.plotting.bands", "if TYPE_CHECKING:\n    from matplotlib.axes import Axes"),
        ("mercer.testing.kernels", "from mercer.kernels import Kernel\ndef f():\n    from hypothesis import given"),
        ("mercer.losses.base", "'''>>> print(1)'''\nfingerprint(1)"),
        ("mercer.linalg.kronecker", "n = gram.left.shape[0] if isinstance(gram, Kronecker) else 0"),
        ("mercer.testing.solvers", "gram = Kronecker(Dense(left), Dense(right)).spectral().rank"),
        ("mercer.problems.dual", "gap = problem.alpha * n"),
        ("mercer.estimators.functional", "self.alpha_, self.dual_gap_ = problem.alpha, result.gap"),
        ("mercer.estimators.functional", "alpha = 2 * self.alpha\nother = problem.with_alpha(alpha)"),
        ("mercer.estimators.noncrossing", "dual = result.objective - result.gap"),
        ("mercer.estimators.level_sets", "solver = Newton if problem.alpha > 0 else Path"),
    ],
)
def test_the_checker_lets_pass(module, source):
    assert violations(module, source) == []


def test_relative_imports_of_packages_are_resolved():
    assert violations("mercer.kernels", "from .base import Kernel", package=True) == []
    found = violations("mercer.kernels", "from ..losses import Pinball", package=True)
    assert found == ["mercer.kernels:1: kernels know no losses"]
