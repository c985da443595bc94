"""Tables of what goes with what, asked of the parts themselves when the site is built.

A solver declares what it ``requires`` and refuses the rest in ``check``: a cell is its answer to a small problem. What
takes arrays of other libraries is tried, with array-api-strict, which has nothing that the standard has not.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import operator
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import array_api_strict as strict
import numpy as np
from sklearn.base import OutlierMixin, clone

import mercer
from mercer import kernels, losses, measures, solvers
from mercer.backend import namespace
from mercer.exceptions import MercerError
from mercer.features import RandomFourier
from mercer.kernels import Gaussian, Identity, Kernel, Precomputed
from mercer.losses import EpsilonInsensitive, Huber, Loss, OneClassHinge, Square
from mercer.measures import Grid, Measure
from mercer.operator_valued import CurlFree, Decomposable
from mercer.problems import DualProblem, FeatureProblem, level_set_problem
from mercer.rows import ArrayRows
from mercer.solvers import SOLVERS, Solver, StreamedSolver

YES, NO = "✓", "–"
LEVELS = np.array([0.2, 0.5, 0.8])
X = np.linspace(0, 1, 8)[:, None] ** [[1, 2]]
Y = np.sin(3 * X[:, :1]) + LEVELS
COUPLED = Gaussian(1.0)
#: losses that solvers are asked with, the first that they take
REPRESENTATIVES = [EpsilonInsensitive(0.0, "pointwise"), Huber(0.5, "norm"), Square()]


def concrete(package: Any, base: type) -> Iterator[type]:
    """Yield the classes that a package exports, are of this kind, and need no arguments."""
    for name in package.__all__:
        thing = getattr(package, name)
        if inspect.isclass(thing) and issubclass(thing, base) and not inspect.isabstract(thing):
            required = [
                one
                for one in inspect.signature(thing).parameters.values()
                if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
            ]
            if not required:
                yield thing


def measure_of() -> Measure:
    """Return three points of equal weight."""
    return Grid(LEVELS).build()


def targets_of(loss: Loss) -> np.ndarray:
    """Return values, or signs where the loss is one of classes."""
    return np.where(Y > 0.8, 1.0, -1.0) if loss.indexed_by == "cost" else Y


def with_kernel(loss: Loss, output_kernel: Kernel = COUPLED, **settings: Any) -> DualProblem:
    """Return a problem with a kernel that decomposes, whose columns are coupled unless the output kernel says not."""
    measure = measure_of() if output_kernel is COUPLED else Measure(LEVELS, np.ones(3))
    gram = Decomposable(Gaussian(1.0), output_kernel).bind(measure).gram(X)
    return DualProblem(gram, loss, targets_of(loss), measure, alpha=1e-2, **settings)


def with_holes(loss: Loss) -> DualProblem:
    """Return a problem of which some targets are missing."""
    measure = Measure(LEVELS, np.ones(3), observed=np.arange(Y.size).reshape(Y.shape) % 5 > 0)
    gram = Decomposable(Gaussian(1.0), Identity()).bind(measure).gram(X)
    return DualProblem(gram, loss, targets_of(loss), measure, alpha=1e-2)


def with_matrices(loss: Loss) -> DualProblem:
    """Return a problem whose kernel has matrices for values: a field in the plane."""
    measure = Measure(np.arange(2.0), np.ones(2))
    return DualProblem(
        CurlFree(Gaussian(1.0)).bind(measure).gram(X), loss, targets_of(loss)[:, :2], measure, alpha=1e-2
    )


def with_other_arrays(loss: Loss) -> DualProblem:
    """Return a problem of arrays that are not NumPy's."""
    measure = Measure(strict.asarray(LEVELS), strict.ones(3))
    gram = Decomposable(Gaussian(1.0), Identity()).bind(measure).gram(strict.asarray(X))
    return DualProblem(gram, loss, strict.asarray(targets_of(loss)), measure, alpha=1e-2)


def level_sets(**settings: Any) -> DualProblem:
    """Return the problem of level sets."""
    return level_set_problem(Gaussian(1.0).gram(X), measure_of(), **settings)


def in_features(loss: Loss) -> FeatureProblem:
    """Return a small problem in features."""
    kernel = RandomFourier(5, random_state=0).bind(Gaussian(1.0), X)
    return FeatureProblem((kernel, ArrayRows(X, targets_of(loss))), loss, measure_of(), alpha=1e-2)


def kinds_of(loss: Loss, solver: Solver) -> list[Any]:
    """Return the problems of this loss that a solver may be meant for."""
    if isinstance(loss, OneClassHinge):
        penalised = {"alpha": 1e-2, "offset_gram": Gaussian(1.0)(LEVELS[:, None], LEVELS[:, None])}
        return [] if isinstance(solver, StreamedSolver) else [level_sets(), level_sets(**penalised)]
    if isinstance(solver, StreamedSolver):
        return [in_features(loss)]
    return [with_kernel(loss), with_kernel(loss, Identity())]


def takes(solver: Solver, problem: Any) -> bool:
    """Whether a solver takes a problem, by what it says itself."""
    try:
        solver.check(problem)
    except MercerError:
        return False
    return True


def losses_and_solvers() -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table of losses and solvers."""
    columns = list(concrete(solvers, Solver))
    rows = [
        [
            f"`{loss.__name__}`",
            *[YES if any(takes(solver(), kind) for kind in kinds_of(loss(), solver())) else NO for solver in columns],
        ]
        for loss in concrete(losses, Loss)
    ]
    return ["loss", *[f"`{solver.__name__}`" for solver in columns]], rows


def requirements() -> tuple[list[str], list[list[str]]]:
    """Return each solver, with the words in which it says what it requires."""
    named = {solver: repr(name) for name, solver in SOLVERS.items()}
    rows = [
        [f"`{solver.__name__}`", f"`{named[solver]}`" if solver in named else "", solver.requires]
        for solver in concrete(solvers, Solver)
    ]
    return ["solver", "by name", "requires"], rows


def problems_and_solvers() -> tuple[list[str], list[list[str]]]:
    """Return what problems each solver in memory takes, with a loss that it takes."""
    features = {
        "a free intercept": lambda loss: with_kernel(loss, Identity(), fit_intercept=True),
        "columns that a kernel couples": with_kernel,
        "missing targets": with_holes,
        "a kernel with matrix values": with_matrices,
        "arrays of other libraries": with_other_arrays,
    }
    rows = []
    for kind in concrete(solvers, Solver):
        solver = kind()
        if isinstance(solver, StreamedSolver):
            continue
        loss = next((one for one in REPRESENTATIVES if takes(solver, with_kernel(one, Identity()))), None)
        if loss is not None:  # else it is for level sets only
            answers = [YES if takes(solver, pose(loss)) else NO for pose in features.values()]
            rows.append([f"`{kind.__name__}`", f"`{type(loss).__name__}`", *answers])
    return ["solver", "asked with", *features], rows


def libraries() -> dict[str, Any]:
    """Return the array libraries at hand: functions that make their arrays."""
    found: dict[str, Any] = {"NumPy": np.asarray, "array-api-strict": strict.asarray}
    for name, module, asarray in (("JAX", "jax", "jax.numpy.asarray"), ("PyTorch", "torch", "torch.asarray")):
        if importlib.util.find_spec(module):
            importlib.import_module(module)
            found[name] = operator.attrgetter(asarray.partition(".")[2])(sys.modules[module])
    if "JAX" in found:
        sys.modules["jax"].config.update("jax_enable_x64", True)
    return found


def evaluated(kernel: Kernel) -> Callable:
    """Return the values of a kernel, whose bandwidth is that of the points, as a function of points."""
    settled = kernel.adapt(X)
    return lambda X, Y: settled(X, X)


def mapped(loss: Loss) -> Callable:
    """Return the prox of the conjugate of a loss as a function of targets."""
    return lambda X, Y: loss.conjugate_prox(Y, 0.3 * Y, 0.5, Grid(LEVELS).build(Y))


def solved(solver: Solver, loss: Loss) -> Callable:
    """Return the dual array that a solver finds."""

    def solve(X, Y):
        measure = Grid(LEVELS).build(X)
        gram = Decomposable(Gaussian(1.0), COUPLED).bind(measure).gram(X)
        return solver.solve(DualProblem(gram, loss, Y, measure, alpha=1e-2)).coef

    return solve


def predicted(estimator: Any, of_one: bool = False, signs: bool = False) -> Callable:
    """Return the predictions of an estimator."""

    def fit_and_predict(X, Y):
        y = Y[:, 0] if of_one or signs else Y
        if signs:
            y = namespace(y).astype(y > 0.8, namespace(y).int64)
        fitted = clone(estimator).fit(X) if isinstance(estimator, OutlierMixin) else clone(estimator).fit(X, y)
        return fitted.predict_at(X, LEVELS) if hasattr(fitted, "predict_at") else fitted.predict(X)

    return fit_and_predict


def operations() -> dict[str, Callable]:
    """Return what is tried with the arrays of each library, by name."""
    found: dict[str, Callable] = {}
    for kernel in concrete(kernels, Kernel):
        if kernel is not Precomputed:  # whose inputs are no points
            found[f"kernel `{kernel.__name__}`"] = evaluated(kernel())
    for loss in concrete(losses, Loss):
        if loss.indexed_by != "cost" and loss is not OneClassHinge:
            found[f"loss `{loss.__name__}`"] = mapped(loss())
    for name, solver in SOLVERS.items():
        loss = next((one for one in REPRESENTATIVES if takes(solver(), with_kernel(one))), None)
        if loss is not None:
            found[f"solver `{name}`"] = solved(solver(), loss)
    joint = {"alpha": 1e-2, "measure": measures.GaussLegendre(4), "solver": "proximal_gradient"}
    found |= {
        "`KernelQuantileRegressor()`, as it comes": predicted(mercer.KernelQuantileRegressor(), of_one=True),
        "`KernelQuantileRegressor`, joint": predicted(mercer.KernelQuantileRegressor(**joint), of_one=True),
        "`CostSensitiveClassifier`": predicted(mercer.CostSensitiveClassifier(Gaussian(1.0), **joint), signs=True),
        "`LevelSetDetector`": predicted(mercer.LevelSetDetector(Gaussian(1.0))),
        "`FunctionalRegressor`": predicted(
            mercer.FunctionalRegressor(Gaussian(1.0), output_kernel=Gaussian(1.0), alpha=1e-2, grid=LEVELS)
        ),
        "`VectorValuedRegressor`": predicted(mercer.VectorValuedRegressor(Gaussian(1.0), alpha=1e-2)),
    }
    return found


def arrays_and_functions() -> tuple[list[str], list[list[str]]]:
    """Return what comes back when arrays of a library go in."""
    makers = libraries()
    rows = [[name, *[answer(operation, make) for make in makers.values()]] for name, operation in operations().items()]
    return ["arrays of", *makers], rows


def answer(operation: Callable, make: Callable) -> str:
    """Return ✓ where arrays of the library come back, – where they are refused, and else what comes back."""
    arrays = make(X), make(Y)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = operation(*arrays)
    except MercerError:
        return NO
    return YES if isinstance(result, type(arrays[0])) else type(result).__module__.partition(".")[0]


TABLES = {
    "solvers": requirements,
    "losses": losses_and_solvers,
    "problems": problems_and_solvers,
    "arrays": arrays_and_functions,
}
