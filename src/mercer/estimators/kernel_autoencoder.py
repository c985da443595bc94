"""Kernel autoencoders: few numbers for each object, from which its image in the space of a kernel is predicted."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.estimators.certified import is_pairwise
from mercer.estimators.code_layers import CodeLayers
from mercer.estimators.gram_outputs import GramOutputs
from mercer.estimators.infinite_task import as_generator
from mercer.estimators.interruption import interruptible
from mercer.estimators.pre_image import fixed_point_pre_images, nearest_pre_images
from mercer.estimators.progress import progress
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.tables import column_layout
from mercer.estimators.validation import check_gram, own_errors, validate_inputs, validate_rows
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.kernels import Gaussian, Precomputed, as_kernel, pull_back
from mercer.linalg import Dense, pivoted_factor
from mercer.losses import Loss, Square, as_loss
from mercer.magnitudes import check_alpha
from mercer.measures import Measure
from mercer.problems import DualProblem, kernel_slope
from mercer.solvers import SolverResult, plan

__all__ = ["KernelAutoencoder"]

#: trace of the Gram matrix that its factor leaves out, relative to the whole
NEGLIGIBLE_OBJECTS = 1e-9
#: relative duality gap of the decoders that L-BFGS compares
COMPARED_GAP = 1e-7
#: dual variables of objects of length 1 that are rounding
NO_PART = 1e-9
#: a decrease of the objective, relative to what it is without a decoder, that is none
NO_PROGRESS = 1e-9
#: what SciPy's numbers mean; another one is that of a callback which has asked for the end
ENDS_OF_LBFGS = {0: "converged", 1: "max_iter", 2: "stalled"}
#: names of the losses
LOSSES_OF_OBJECTS = ("square", "huber", "epsilon_ridge", "epsilon_insensitive")


class Found(NamedTuple):
    """The end of a minimisation: coefficients of the layers, the decoder, and how it ended."""

    flat: np.ndarray
    value: float
    slope: float
    n_iter: int
    status: str


@dataclass(frozen=True, eq=False)
class CodeDecoder:
    """min_f (1/n) Σ_i L(φ(x_i) − f(z_i)) + (λ/2)‖f‖² for given codes z_i, with outputs behind a Gram matrix."""

    outputs: GramOutputs
    kernel: Any
    loss: Loss
    alpha: float
    solve: Callable[[DualProblem, Any, float], SolverResult]

    def problem(self, codes: np.ndarray) -> DualProblem:
        """Return the problem for these codes."""
        return self.outputs.pose(self.outputs.bind(Precomputed()), self.kernel(codes, codes), self.loss, self.alpha)

    def objective(self, layers: CodeLayers) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """Return coefficients ↦ (objective, gradient); each decoder starts from the one before."""
        start = None

        def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal start
            codes = layers.rows(flat)[-1]
            problem = self.problem(codes)
            result = self.solve(problem, start, COMPARED_GAP)
            start = result.coef
            slope = pull_back(self.kernel, codes, kernel_slope(problem, result.coef))
            return result.objective + layers.penalty(flat), layers.gradient(flat, slope)

        return value_and_gradient


class KernelAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SummarisedEstimator):
    """Codes z ∈ R^p of objects, from which a function f predicts their images φ(x) in the space of a kernel k.

    Minimises over the coefficients Φ of the encoder z(x) = Σ_j k₁(x, x_j)Φ_j, and over the decoder f in the space of
    the kernel k₂·Id,

        (1/n) Σ_i L(φ(x_i) − f(z_i)) + (λ/2)‖f‖² + (λ₁/2) Tr(ΦᵀK₁Φ),

    where L is the square loss ½‖r‖², or a robust or sparse one of the norm. For given codes that is a convex problem
    in f, which is solved with a certificate; its optimal value is differentiated in Φ by the envelope theorem, exactly,
    and L-BFGS does the rest. The problem in Φ is not convex: what is found is a stationary point.

    Prefer it to kernel principal components where few codes should carry much, as the decoder is curved. An ε-loss
    discards objects that are reconstructed to ε, which simplifies the decoder. Robust losses bound what one object does
    to the decoder, but not to the encoder: a code of its own is what an odd object gets.

    Parameters
    ----------
    n_components : int, default=2
        p, the length of a code.
    kernel : Kernel, str or callable, default=None
        k on objects; by default a Gaussian with one scale per column. ``"precomputed"``: X is its Gram matrix.
    encoder_kernel : Kernel, str or callable, default=None
        k₁; k by default.
    decoder_kernel : Kernel, default=None
        k₂ on codes, and the kernel of hidden layers; one with derivatives. By default a Gaussian whose length is the
        median distance of the codes to start from. (A longer one is the same model with larger codes at a higher
        price.)
    hidden : tuple of int, default=()
        Widths of layers between the first one and the codes, and, backwards, between the codes and the last one.
    alpha : float, default=1e-3
        λ of the decoder, in units in which k(x, x) is on average 1: λ is ``alpha`` itself, and the kernel is divided by
        that average.
    encoder_alpha : float, default=1e-3
        λ₁ of the encoder (of each layer), likewise.
    loss : {"square", "huber", "epsilon_ridge", "epsilon_insensitive"} or Loss, default="square"
        By name, κ is 1.345 times the median norm of the residuals of the square loss, and ε is that median. A Loss of
        norms, ``EpsilonRidge(0.4)``, is taken literally, in units in which φ(x) has length about 1.
    n_init : int, default=1
        Starts of the minimisation: leading components of k₁, and from the second on random functions. The best is kept.
    solver : str or Solver, default="auto"
        For the decoder; see :func:`mercer.solvers.select`.
    tol : float, default=1e-5
        Bound on the slopes of the objective at the end, relative to the objective without a decoder. (L-BFGS ends, too,
        where a step lowers the objective by less than 1e-9 of that.) The relative duality gap of the decoder is
        bounded by 1e-7, or a smaller ``tol``.
    max_iter : int, default=300
        Limit on the steps of L-BFGS.
    random_state : int, RandomState or None, default=None
        Of random starts.
    verbose : int, default=0
        1 reports on standard error.

    Attributes
    ----------
    embedding_ : array of shape (n, p)
        Codes of the training objects.
    coefs_ : list of arrays
        Coefficients Φ of the finite layers; of the first one for the rows ``encoder_rows_`` only, which span the rest.
    dual_coef_ : array of shape (n, rank)
        Representer coefficients of f, f(z) = Σ_i k₂(z, z_i)c_i, in coordinates of the span of all φ(x_i).
    pivots_, encoder_pivots_ : array of int
        Training objects that span all of them, in the spaces of k and k₁.
    factor_, encoder_factor_ : arrays of shape (rank, rank)
        Their coordinates, lower triangular.
    X_fit_, encoder_rows_ : array or None
        These objects; None where the kernel is precomputed.
    support_ : array of int
        Objects with a coefficient c_i that is not 0; for ε-losses the others are within ε of their reconstruction.
    kernel_, encoder_kernel_, decoder_kernel_, loss_ : Kernel, Kernel, Kernel, Loss
        With numbers for all that was automatic.
    scale_, encoder_scale_ : float
        The means of k(x_i, x_i) and k₁(x_i, x_i), by which kernels are divided.
    rows_ : list of arrays
        What the finite layers put out for the training objects; ``embedding_`` is one of them.
    objective_, dual_gap_, relative_gap_ : float
        The objective, and how far the decoder is from the best one for these codes.
    slope_ : float
        The largest slope of the objective in a coefficient, relative to the objective without a decoder.
    n_iter_, status_, solver_
        How L-BFGS ended ("converged", "max_iter", "stalled" by rounding or "stopped" by Ctrl-C), and who solved for the
        decoder.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelAutoencoder
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 5, size=80)
    >>> X = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.03 * rng.normal(size=(80, 2))
    >>> model = KernelAutoencoder(1).fit(X)
    >>> model.transform(X).shape, model.inverse_transform(model.transform(X)).shape
    ((80, 1), (80, 2))
    >>> bool(model.score(X) > 0.95)
    True
    """

    _curves_become = "values"

    def __init__(
        self,
        n_components=2,
        *,
        kernel=None,
        encoder_kernel=None,
        decoder_kernel=None,
        hidden=(),
        alpha=1e-3,
        encoder_alpha=1e-3,
        loss="square",
        n_init=1,
        solver="auto",
        tol=1e-5,
        max_iter=300,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.encoder_kernel = encoder_kernel
        self.decoder_kernel = decoder_kernel
        self.hidden = hidden
        self.alpha = alpha
        self.encoder_alpha = encoder_alpha
        self.loss = loss
        self.n_init = n_init
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        return tags

    # -- what the parameters mean ------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        for name in ("n_components", "n_init", "max_iter"):
            check_number(self, name, getattr(self, name), low=1, strict=False, integer=True)
        check_number(self, "tol", self.tol, low=0)
        for name in ("alpha", "encoder_alpha"):
            check_number(self, name, getattr(self, name), low=0)
            check_alpha(self, getattr(self, name))
        if not isinstance(self.hidden, (tuple, list)):
            raise parameter_error(self, "hidden", self.hidden, "a tuple of numbers of columns, such as (20,)")
        for width in self.hidden:
            check_number(self, "hidden", width, low=1, strict=False, integer=True)
        if self.encoder_kernel is not None and (is_pairwise(self.kernel) or is_pairwise(self.encoder_kernel)):
            hint = "The Gram matrix X stands for both; or pass objects that are vectors, and two kernels."
            raise parameter_error(self, "encoder_kernel", self.encoder_kernel, "None with a precomputed kernel", hint)

    def _read_loss(self) -> tuple[Loss, bool]:
        """Return the loss, and whether its threshold is to be taken from residuals."""
        named = isinstance(self.loss, str) and self.loss in LOSSES_OF_OBJECTS
        if not (named or isinstance(self.loss, Loss)):
            allowed = "a Loss of norms or one of " + ", ".join(map(repr, LOSSES_OF_OBJECTS))
            raise parameter_error(self, "loss", self.loss, allowed)
        loss = as_loss(self.loss)
        if not loss.of_norms and not isinstance(loss, Square):
            hint = "For instance Huber(0.5) or EpsilonRidge(0.2), with geometry='norm'."
            raise parameter_error(self, "loss", loss, "a loss of the norm of residuals", hint)
        return loss, named and loss.threshold is not None

    def _kernels(self, X: np.ndarray) -> tuple[Any, Any]:
        """Return k and k₁ with numbers for their parameters."""
        given = Gaussian("standardized") if self.kernel is None else as_kernel(self.kernel, self)
        kernel = given.locate(column_layout(self)).adapt(X)
        if self.encoder_kernel is None:
            return kernel, kernel
        encoder = as_kernel(self.encoder_kernel, self, "encoder_kernel")
        return kernel, encoder.locate(column_layout(self)).adapt(X)

    def _code_kernel(self, codes: np.ndarray) -> Any:
        """Return k₂ with numbers for its parameters."""
        given = Gaussian("median") if self.decoder_kernel is None else self.decoder_kernel
        kernel = as_kernel(given, self, "decoder_kernel")
        if not kernel.differentiable:
            hint = "For instance Gaussian(1.0) or Matern(2.5, 1.0): codes are found by derivatives."
            raise parameter_error(self, "decoder_kernel", self.decoder_kernel, "a kernel with derivatives", hint)
        return kernel.adapt(codes)

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y=None):
        """Learn encoder and decoder.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Objects, or their Gram matrix with ``kernel="precomputed"``.
        y : ignored
            For the API of scikit-learn.

        Returns
        -------
        self : KernelAutoencoder
        """
        self._check_settings()
        loss, automatic = self._read_loss()
        X, *_ = validate_rows(self, X, None)
        require_numpy(self, "Convert X with numpy.asarray.", X)
        if len(X) < 2:
            raise DataError(f"{type(self).__name__}: n_samples = {len(X)}; codes need two objects at least.")
        with progress(self.verbose, f"{type(self).__name__}: Gram matrix of {len(X)} objects"):
            outputs, encoder = self._factors(X)
        scores = leading_scores(encoder, max([self.n_components, *self.hidden]))
        widths = (*self.hidden, self.n_components, *reversed(self.hidden))
        code_kernel = self._code_kernel(scores[:, : widths[-1]])
        layers = CodeLayers(encoder, tuple(map(int, widths)), code_kernel, float(self.encoder_alpha))
        decoder = CodeDecoder(outputs, code_kernel, Square(), float(self.alpha), self._solve)
        with interruptible() as interrupted:
            starts = [layers.start(scores), *self._random_starts(layers)]
            found = min(
                (self._minimise(decoder, layers, one, interrupted) for one in starts), key=lambda one: one.value
            )
            if not isinstance(loss, Square):
                if automatic:
                    loss = loss.for_residuals(self._typical_residual(decoder, layers, found.flat))
                decoder = CodeDecoder(outputs, code_kernel, loss, float(self.alpha), self._solve)
                found = self._minimise(decoder, layers, found.flat, interrupted)
        return self._store(decoder, layers, found)

    def _factors(self, X: np.ndarray) -> tuple[GramOutputs, np.ndarray]:
        """Return the objects as outputs, and the factor of K₁; keep kernels, and the rows that factors are made of."""
        pairwise = self.__sklearn_tags__().input_tags.pairwise
        if pairwise:
            check_gram(self, X)
        self.kernel_, self.encoder_kernel_ = self._kernels(X)
        factors = []
        for kernel in (self.kernel_,) if self.encoder_kernel is None else (self.kernel_, self.encoder_kernel_):
            gram = kernel(X)
            size = float(np.trace(gram)) / len(X)
            if not size > 0:
                raise DataError(f"{type(self).__name__}: all values k(x, x) are 0: there is nothing to encode.")
            found = pivoted_factor(Dense((gram + gram.T) / (2 * size)), NEGLIGIBLE_OBJECTS * len(X))
            assert found is not None  # as there is no limit on its rank
            factors.append((size, found))
        (self.scale_, own), (self.encoder_scale_, other) = factors[0], factors[-1]
        self.pivots_, self.encoder_pivots_ = own.pivots, other.pivots
        self.factor_, self.encoder_factor_ = own.factor[own.pivots], other.factor[other.pivots]
        self.X_fit_ = None if pairwise else X[own.pivots]
        self.encoder_rows_ = None if pairwise else X[other.pivots]
        rank = own.factor.shape[1]
        nodes = Measure(np.arange(float(rank)), np.ones(rank))
        return GramOutputs(own.factor, nodes, 1, 2, located=False), other.factor

    def _random_starts(self, layers: CodeLayers) -> list[np.ndarray]:
        """Return starts whose first layer puts out Gaussian processes of variance about 1."""
        rng = as_generator(self, self.random_state)
        return [rng.normal(size=layers.size) for _ in range(int(self.n_init) - 1)]

    def _solve(self, problem: DualProblem, start: Any, tol: float) -> SolverResult:
        planned = plan(self.solver, problem, tol, None, owner=self)
        return planned.solve(start)

    def _minimise(self, decoder: CodeDecoder, layers: CodeLayers, flat: np.ndarray, interrupted: Any) -> Found:
        """Return where L-BFGS ends, in units of the objective without a decoder."""
        objective, unit = decoder.objective(layers), decoder.problem(layers.rows(flat)[-1]).null_model[0] or 1.0

        def relative(at: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = objective(at)
            return value / unit, gradient / unit

        def look(at: np.ndarray) -> None:
            if interrupted():
                raise StopIteration

        limits: dict[str, Any] = {"maxiter": int(self.max_iter), "maxfun": 10 * int(self.max_iter), "maxcor": 20}
        limits |= {"gtol": float(self.tol), "ftol": NO_PROGRESS}
        end = scipy.optimize.minimize(relative, flat, jac=True, method="L-BFGS-B", callback=look, options=limits)
        steepest = float(np.max(np.abs(end.jac)))
        status = ENDS_OF_LBFGS.get(int(end.status), "stopped")
        status = "converged" if status == "stalled" and steepest <= self.tol else status
        return Found(end.x, float(end.fun), steepest, int(end.nit), status)

    def _typical_residual(self, decoder: CodeDecoder, layers: CodeLayers, flat: np.ndarray) -> float:
        """Return the median length of φ(x_i) − f(z_i)."""
        problem = decoder.problem(layers.rows(flat)[-1])
        predicted = problem.predict(self._solve(problem, None, COMPARED_GAP).coef)
        return decoder.outputs.typical_size(decoder.outputs.values - predicted, "norm")

    def _store(self, decoder: CodeDecoder, layers: CodeLayers, found: Found):
        """Become the model of these layers, with the best decoder behind them."""
        *_, codes = rows = layers.rows(found.flat)
        problem = decoder.problem(codes)
        result = self._solve(problem, None, min(float(self.tol), COMPARED_GAP))
        self.loss_, self.decoder_kernel_ = decoder.loss, decoder.kernel
        self.rows_ = rows
        self.embedding_ = rows[len(self.hidden)]
        first, *others = layers.split(found.flat)
        self.coefs_ = [scipy.linalg.solve_triangular(self.encoder_factor_, first, lower=True, trans=1), *others]
        self.dual_coef_ = problem.primal_coef(result.coef)
        self.support_ = np.flatnonzero(np.linalg.norm(result.coef, axis=1) > NO_PART)
        self.objective_ = result.objective + layers.penalty(found.flat)
        self.dual_gap_, self.relative_gap_, self.solver_ = result.gap, result.relative_gap, result.solver
        self.slope_, self.n_iter_ = found.slope, found.n_iter
        self.status_ = found.status
        self._n_features_out = int(self.n_components)
        if self.status_ != "converged":
            remedy = "Increase max_iter, or accept this slope with a larger tol."
            message = f"{type(self).__name__}: L-BFGS ended ({self.status_}) at a slope of {found.slope:.2g}. {remedy}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        if not self.relative_gap_ <= self.tol:  # its slopes rest on decoders that are better than this
            message = f"{type(self).__name__}: the decoder has a relative duality gap of {self.relative_gap_:.2g}."
            warnings.warn(f"{message} Increase alpha, or pass another solver.", ConvergenceWarning, stacklevel=3)
        return self

    # -- prediction --------------------------------------------------------------------------------------------

    def transform(self, X):
        """Return the codes of objects, shape (n_samples, n_components).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With a precomputed kernel its values with the training objects, one column for each.
        """
        check_is_fitted(self)
        return self._encode(validate_inputs(self, X, self.embedding_, None, "transform"))

    def fit_transform(self, X, y=None):
        """Fit, and return the codes of the training objects."""
        return self.fit(X, y).embedding_.copy()

    def inverse_transform(self, Z, method="fixed_point"):
        """Return objects whose images are near those that the decoder predicts from codes: pre-images.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
        method : {"fixed_point", "nearest"}, default="fixed_point"
            "nearest" is the nearest of the training objects in ``X_fit_``, which span all; from there "fixed_point"
            iterates x ← Σ_j β_j φ'(s_j)x_j / Σ_j β_j φ'(s_j), for radial kernels.

        Returns
        -------
        array of shape (n_samples, n_features)
            Of encoded tables, in the encoded columns.
        """
        check_is_fitted(self)
        if not (isinstance(method, str) and method in ("fixed_point", "nearest")):
            raise parameter_error(self, "method", method, "'fixed_point' or 'nearest'")
        if self.X_fit_ is None:
            raise UnsupportedError(
                f"{type(self).__name__}.inverse_transform: with a precomputed kernel objects are not known. "
                "nearest_objects(Z) says which training objects are nearest."
            )
        beta = self._weights(self._codes(Z))
        if method == "nearest":
            return self.X_fit_[nearest_pre_images(self.kernel_, self.X_fit_, beta)]
        return fixed_point_pre_images(self.kernel_, self.X_fit_, beta)

    def nearest_objects(self, Z):
        """Return the training objects whose images are nearest to those predicted from codes, indices of (n_samples,).

        Only objects in ``pivots_``, which span all others, are looked at.
        """
        check_is_fitted(self)
        predicted = self._decode(self._codes(Z))
        sizes = np.sum(self.factor_**2, axis=1)
        return self.pivots_[np.argmin(sizes[None, :] - 2 * predicted @ self.factor_.T, axis=1)]

    def reconstruction_error(self, X, diagonal=None):
        """Return ‖φ(x) − f(z(x))‖² in units of the mean of k(x, x), shape (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        diagonal : array-like of shape (n_samples,), optional
            The values k(x, x), which a precomputed kernel does not know of new objects.
        """
        check_is_fitted(self)
        X = validate_inputs(self, X, self.embedding_, None, "reconstruction_error")
        size, predicted = self._sizes(X, diagonal), self._decode(self._encode(X))
        across = np.sum(predicted * self._coordinates(X), axis=1)
        return np.maximum(size - 2 * across + np.sum(predicted**2, axis=1), 0.0)

    def score(self, X, y=None, diagonal=None):
        """Return the share of Σ_i k(x_i, x_i) that is reconstructed, 1 − Σ_i ‖φ(x_i) − f(z_i)‖² / Σ_i k(x_i, x_i)."""
        check_is_fitted(self)
        errors = self.reconstruction_error(X, diagonal)
        sizes = self._sizes(validate_inputs(self, X, self.embedding_, None, "score"), diagonal)
        return 1 - float(errors.sum() / sizes.sum())

    def _encode(self, X: np.ndarray) -> np.ndarray:
        """Return the codes: the output of the first layers."""
        values = X[:, self.encoder_pivots_] if self.X_fit_ is None else self.encoder_kernel_(X, self.encoder_rows_)
        rows = values @ self.coefs_[0] / self.encoder_scale_
        return self._through(rows, 1, len(self.hidden) + 1)

    def _through(self, rows: np.ndarray, first: int, last: int) -> np.ndarray:
        """Return what the layers from ``first`` to before ``last`` make of rows."""
        for layer in range(first, last):
            rows = self.decoder_kernel_(rows, self.rows_[layer - 1]) @ self.coefs_[layer]
        return rows

    def _decode(self, codes: np.ndarray) -> np.ndarray:
        """Return f(z) in coordinates of the span of all φ(x_i), shape (n_samples, rank)."""
        rows = self._through(codes, len(self.hidden) + 1, len(self.rows_))
        return self.decoder_kernel_(rows, self.rows_[-1]) @ self.dual_coef_

    def _weights(self, codes: np.ndarray) -> np.ndarray:
        """Return β with f(z) = Σ_j β_j φ(x_j) over the rows of ``X_fit_``, k in its own unit."""
        return scipy.linalg.solve_triangular(self.factor_, self._decode(codes).T, lower=True, trans=1).T

    def _coordinates(self, X: np.ndarray) -> np.ndarray:
        """Return φ(x), projected on the span of the training objects, shape (n_samples, rank)."""
        values = X[:, self.pivots_] if self.X_fit_ is None else self.kernel_(X, self.X_fit_)
        return scipy.linalg.solve_triangular(self.factor_, values.T / self.scale_, lower=True).T

    def _sizes(self, X: np.ndarray, diagonal: Any) -> np.ndarray:
        """Return k(x, x) in units of its mean over the training objects."""
        if diagonal is not None:
            with own_errors("diagonal"):
                diagonal = check_array(diagonal, ensure_2d=False, dtype=np.float64, input_name="diagonal").ravel()
            if len(diagonal) != len(X):
                raise DataError(f"{type(self).__name__}: diagonal must have {len(X)} values; got {len(diagonal)}.")
            return diagonal / self.scale_
        if self.X_fit_ is None and (X.shape[0] != X.shape[1] or not np.allclose(X, X.T)):
            raise DataError(
                f"{type(self).__name__}: with a precomputed kernel errors of new objects need their values k(x, x): "
                "pass diagonal=."
            )
        return self.kernel_.diagonal(X) / self.scale_

    def _codes(self, Z: Any) -> np.ndarray:
        """Return codes as an array of floats."""
        with own_errors("Z"):
            codes = check_array(Z, dtype=np.float64, input_name="Z")
        if codes.shape[1] != self.n_components:
            raise DataError(f"{type(self).__name__}: codes have {self.n_components} columns; got {codes.shape[1]}.")
        return codes


def leading_scores(factor: np.ndarray, count: int) -> np.ndarray:
    """Return the scores of rows of a factor on their leading principal components, of variance 1, shape (n, count).

    The largest score of each is positive; components that are not there are 0.
    """
    centred = factor - factor.mean(axis=0)
    left, sizes, _ = scipy.linalg.svd(centred, full_matrices=False)
    scores = np.zeros((len(factor), count))
    kept = min(count, int(np.sum(sizes > 1e-6 * max(sizes[0], 1e-300))))
    scores[:, :kept] = left[:, :kept] * np.sqrt(len(factor))
    scores[:, :kept] *= np.sign(scores[np.argmax(np.abs(scores[:, :kept]), axis=0), np.arange(kept)])
    return scores
