"""Paths in a parameter of the loss: κ of Huber from κ_max down, ε of a tube from ε_max down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.backend import as_like, namespace, to_numpy
from mercer.exceptions import UnsupportedError, parameter_error
from mercer.losses import Loss, Square
from mercer.problems import Certificate, DualProblem
from mercer.solvers.auto import plan
from mercer.solvers.base import Monitor, SolverResult, smallest_tol
from mercer.solvers.closed_form import ClosedForm
from mercer.solvers.enclosing_ball import enclosing_ball

__all__ = ["largest_epsilon", "largest_kappa", "loss_path"]

#: gap of ridge regression: its residuals are right to six digits, with missing entries, too
RIDGE_TOL = 1e-12


def loss_path(
    problem: DualProblem, parameter: str, values: Any, solver: Any = "auto", *, tol: float = 1e-4
) -> Iterator[SolverResult]:
    """Yield certified results for several values of one parameter of the loss, each started from the one before.

    The first starts from the ridge solution or from the intercept-only model, whichever has the smaller gap. A natural
    sequence falls from :func:`largest_kappa`, where the Huber fit is the ridge fit, or from :func:`largest_epsilon`,
    where the fit is the intercept-only model: these first results need no iteration. Warm starts save steps of the
    proximal gradient and of L-BFGS; ADMM, whose own start is the ridge solution, gains nothing reliable from them.

    Parameters
    ----------
    problem : DualProblem
        Everything else; the value of the parameter in its loss is not used.
    parameter : str
        Name of the parameter, for instance ``loss.threshold.name``: ``"kappa"`` or ``"epsilon"``.
    values : array-like of float
        Its values, in an order in which neighbours are close.
    solver : {"auto"}, name or Solver, default="auto"
        What solves; ``"auto"`` chooses for each value.
    tol : float, default=1e-4
        Bound on the relative duality gap, where the solver is not given with its own.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense, Kronecker
    >>> from mercer.losses import Huber
    >>> from mercer.measures import Measure
    >>> from mercer.problems import Certificate, DualProblem
    >>> gram = Kronecker(Dense(np.eye(3)), Dense(np.eye(1)))
    >>> Y, mu = np.array([[1.0], [2.0], [9.0]]), Measure(np.zeros((1, 1)), np.ones(1))
    >>> problem = DualProblem(gram, Huber(), Y, mu, alpha=1.0)
    >>> top = largest_kappa(problem)  # the residuals of the ridge fit are λn/(λn + 1)·y
    >>> top
    6.75
    >>> [result.coef[:, 0].round(2).tolist() for result in loss_path(problem, "kappa", [top, 1.0])]
    [[0.75, 1.5, 6.75], [0.75, 1.0, 1.0]]
    """
    if problem.has_slopes:
        raise UnsupportedError("loss_path: problems with slopes have no path. Solve them one by one, with with_loss.")
    names = sorted(problem.loss.get_params())
    if parameter not in names:
        allowed = (
            "a parameter of the loss, " + " or ".join(map(repr, names)) if names else "that of a loss with parameters"
        )
        raise parameter_error("loss_path", "parameter", parameter, allowed, f"The loss is {problem.loss.named!r}.")
    losses = [problem.loss.replace(**{parameter: value}) for value in np.atleast_1d(values).tolist()]
    return _solve_all(problem, losses, solver, tol)


def _solve_all(problem: DualProblem, losses: list[Loss], solver: Any, tol: float) -> Iterator[SolverResult]:
    start: Any = None
    tube = problem.loss.threshold if _inside(problem.loss) == "nothing" and _has_tube(problem.loss) else None
    largest, centre = (np.inf, None) if tube is None else _smallest_tube(problem)
    gram = problem.gram  # with what one fit has computed of it, for those that follow
    for loss in losses:
        method, at_loss = plan(solver, problem.with_loss(loss).with_gram(gram), tol, owner="loss_path")
        if tube is not None and getattr(loss, tube.name) >= largest:  # no loss; solvers see it well above ε_max only
            method.check(at_loss)
            certificate = Certificate(0.0, 0.0, 0.0, as_like(centre, problem.Y))
            result = Monitor(method, None).result(problem.Y * 0, certificate, 0)
        else:
            if start is None and loss.has_conjugate:
                at_loss = _ridge_solver(at_loss).prepare(at_loss)
                start = _start(at_loss)
            at_loss = method.prepare(at_loss)
            gram = at_loss.gram
            result = method.solve(at_loss, init=start)
        start = result.coef
        yield result


def _start(problem: DualProblem) -> Any:
    """The better one of the ridge solution and the intercept-only model."""
    candidates = [problem.feasible(A) for A in (_ridge(problem), problem.Y * 0)]
    return min(candidates, key=lambda A: problem.certificate(A).gap)


def _ridge(problem: DualProblem) -> Any:
    """The dual array of the square loss, which is its residual."""
    return _ridge_solver(problem).solve(problem.with_loss(Square())).coef


def _ridge_solver(problem: DualProblem) -> ClosedForm:
    return ClosedForm(tol=max(RIDGE_TOL, smallest_tol(problem)))


def largest_kappa(problem: DualProblem) -> float:
    """Return κ_max, the least κ for which the Huber fit is the ridge fit.

    κ_max = max_i ‖r_i‖_μ, or max_ij |r_ij| for the pointwise loss, with r the residuals of the ridge fit: up to κ_max
    the Huber loss is the square loss on all of them. It is right to six digits; in single precision to as many as a
    relative gap of 1e-5 leaves where entries are missing, and to those of the closed form otherwise.

    Parameters
    ----------
    problem : DualProblem
        With a :class:`~mercer.losses.Huber` loss, or another one that is the square loss inside its threshold, whose
        value is not used.
    """
    _require(problem, "largest_kappa", "square", "Huber")
    sizes = problem.loss.sizes(_ridge(problem), problem.measure)
    return float(namespace(sizes).max(sizes))


def largest_epsilon(problem: DualProblem) -> float:
    """Return ε_max, the least ε for which the intercept-only model is a fit.

    ε_max = min_b max_i ‖y_i − b‖_μ, or min_b max_ij |y_ij − b_j| for pointwise losses, with b = 0 where there is no
    intercept: from ε_max on, one function has all y_i in its tube, and the loss is zero. With an intercept this is the
    radius of the smallest ball (half the largest range at a node for pointwise losses), to nine digits and never below
    it; the mean of y as b would give more.

    Parameters
    ----------
    problem : DualProblem
        With an ε-ridge or ε-insensitive loss, or another one that costs nothing inside its threshold, whose value is
        not used.
    """
    _require(problem, "largest_epsilon", "nothing", "EpsilonRidge or EpsilonInsensitive")
    if not _has_tube(problem.loss):
        raise UnsupportedError(
            "largest_epsilon: a tube is that of a row or of an entry, and "
            f"{problem.loss.named!r} takes several of them together here. Put curves on a common grid, with NaN "
            "where nothing was observed, and take geometry='norm' or 'componentwise'."
        )
    return _smallest_tube(problem)[0]


def _has_tube(loss: Loss) -> bool:
    """Whether sizes are those of entries or of rows, each by itself, so that the smallest tube is known."""
    return (loss.pointwise or loss.of_norms) and not loss.couples_rows


def _smallest_tube(problem: DualProblem) -> tuple[float, np.ndarray]:
    """ε_max and the b of this tube, (m,)."""
    Y, measure = to_numpy(problem.Y).astype(float), problem.measure
    observed = np.ones(Y.shape, dtype=bool) if measure.observed is None else to_numpy(measure.observed)
    weights = to_numpy(measure.weights).astype(float) * observed
    if problem.fit_intercept and not problem.loss.pointwise:
        return enclosing_ball(Y, weights)
    b = np.zeros(Y.shape[1])
    if problem.fit_intercept:
        high = np.max(Y, axis=0, where=observed, initial=-np.inf)
        low = np.min(Y, axis=0, where=observed, initial=np.inf)
        b = np.where(high >= low, (high + low) / 2, 0.0)
    residual = np.where(observed, np.abs(Y - b), 0.0)
    sizes = residual if problem.loss.pointwise else np.sqrt(np.sum(weights * residual**2, axis=1))
    return float(np.max(sizes)), b


def _inside(loss: Loss) -> str | None:
    """What residuals below the threshold of the loss cost; None where it has none."""
    return None if loss.threshold is None else loss.threshold.inside


def _require(problem: DualProblem, owner: str, inside: str, examples: str) -> None:
    if _inside(problem.loss) != inside:
        cost = "costs nothing" if inside == "nothing" else "is the square loss"
        allowed = f"one with the loss {examples}, or another that {cost} inside its threshold"
        raise parameter_error(owner, "problem", problem.loss, allowed)
