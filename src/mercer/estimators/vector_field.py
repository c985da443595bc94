"""Vector fields from few noisy vectors: with their potentials, sources and rotation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.backend import as_like, to_numpy
from mercer.estimators.field_evidence import FIRST_VALUES, VALUES, TunedField, tune_field
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import Smoothness
from mercer.estimators.vector_valued import VectorValuedRegressor
from mercer.exceptions import DataError, parameter_error
from mercer.kernels import Gaussian, Identity
from mercer.operator_valued import CurlFree, DivergenceFree, MatrixValuedKernel

__all__ = ["VectorFieldRegressor"]

KINDS: dict[str, list[Any]] = {
    "helmholtz": [CurlFree, DivergenceFree],
    "curl-free": [CurlFree],
    "divergence-free": [DivergenceFree],
}


class VectorFieldRegressor(VectorValuedRegressor):
    """Vector fields on R^d from few noisy vectors: with potentials, sources and rotation, all tuned by evidence.

    Minimises (1/n) Σ_i s_i L(y_i − b − h(x_i)) + (λ/2)‖h‖² over fields h: R^d → R^d in the space of a kernel K(x, z) ∈
    R^{d×d} whose functions are gradients (``"curl-free"``, forces with an energy), flows without sources
    (``"divergence-free"``), or sums of both (``"helmholtz"``), and a constant b. For the square loss that is the mean
    of a Gaussian process. The fitted field knows its derivatives exactly.

    Parameters
    ----------
    kernel : {"helmholtz", "curl-free", "divergence-free"} or MatrixValuedKernel, default="helmholtz"
        K. By name, its potentials have Gaussian kernels, with a length for each part and the weight of the parts by
        evidence. A kernel such as ``Helmholtz(Matern(2.5, 1.0), Gaussian(0.5), weight=0.3)`` is taken literally.
    alpha : float or "auto", default="auto"
        λ; by evidence together with the rest by default.
    approximation : FeatureMap, "auto" or None, default="auto"
        Features in place of the kernel, as in :class:`VectorValuedRegressor`; they have all derivatives that it has.
        "auto" is the kernel itself.
    loss : {"square", "huber", "epsilon_ridge", "epsilon_insensitive"} or Loss, default="square"
        See :class:`VectorValuedRegressor`. For robust losses, what is tuned hardly sees outlying vectors.
    geometry : {"norm", "componentwise"}, default=None
        Whether a loss given by name is one of the length of a residual (the default), or of each component.
    fit_intercept : bool or "auto", default="auto"
        Whether there is a constant b, a mean flow. "auto" asks the evidence: far from the data a constant goes on for
        ever, and with few data all round a vortex it is wrong there.
    solver : str or Solver, default="auto"
        See :func:`mercer.solvers.select`.
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=None
        Limit on the iterations; that of the solver by default.
    warm_start : bool, default=False
        Start from the last fit when the shape of the data is the same.
    verbose : int, default=0
        1 reports on standard error what is computed, and the duality gap as it falls.

    Attributes
    ----------
    kernel_ : MatrixValuedKernel
        K with numbers: CurlFree, DivergenceFree or Helmholtz for kernels by name.
    approximation_ : Approximation or None
        What took the place of the kernel, and its cost in accuracy; None for the kernel itself.
    alpha_, loss_ : float, Loss
        With numbers for all that was automatic.
    intercept_ : array of shape (d,)
        b; 0 without one.
    dual_coef_, X_fit_, expansion_
        h(x) = Σ_i K(x, x_i)c_i, as in :class:`VectorValuedRegressor`.
    posterior_, signal_variance_, noise_variance_
        Of the square loss: the Gaussian process, as there.
    objective_, dual_gap_, relative_gap_, n_iter_, status_, solver_
        The certificate, and how the solver ended.

    See Also
    --------
    VectorValuedRegressor : Outputs that are no field, with as many components as you like.

    Notes
    -----
    *Evidence.* Lengths, sizes of the parts and noise maximise the marginal likelihood of the Gaussian process times a
    weak prior around the distances of points and the size of the vectors, by L-BFGS from several starts, on at most 400
    numbers. Positions should have one unit: a part has one length for all columns.

    *Evidence or leave-one-out?* Evidence was better on most data, not on all. Lengths, weight, λ and constant of the
    least error of left-out vectors (blocks of one matrix, in closed form) had a root mean squared error of 0.55 against
    0.38 on average on four currents seen by 8 to 27 buoys (better on one, 0.69 against 0.96), and 0.178 against 0.162
    for 20 drifters; see ``reproduce/fields.py`` for more. It seems that errors of a dozen left-out vectors are too few
    numbers to choose five parameters by, while the evidence is about all of them at once.

    *Missing components* (NaN) are allowed. On the line, d = 1, every function is a gradient.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import VectorFieldRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(30, 2))
    >>> Y = np.stack([-X[:, 1], X[:, 0]], axis=1) + 0.05 * rng.normal(size=(30, 2))  # a vortex
    >>> model = VectorFieldRegressor().fit(X, Y)
    >>> bool(abs(model.curl([[0.0, 0.0]])[0] - 2) < 0.2), bool(abs(model.divergence([[0.0, 0.0]])[0]) < 0.2)
    (True, True)
    >>> velocity, std = model.predict([[0.5, 0.0]], return_std=True)
    >>> velocity.shape, std.shape
    ((1, 2), (1, 2))
    """

    #: parameters of :class:`VectorValuedRegressor` that fields do not have
    output_matrix = None
    metric = None

    def __init__(
        self,
        kernel="helmholtz",
        *,
        alpha="auto",
        approximation="auto",
        loss="square",
        geometry=None,
        fit_intercept="auto",
        solver="auto",
        tol=1e-4,
        max_iter=None,
        warm_start=False,
        verbose=0,
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.approximation = approximation
        self.loss = loss
        self.geometry = geometry
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # kernels of fields are NumPy's
        tags.target_tags.single_output = False
        return tags

    # -- what the parameters mean ------------------------------------------------------------------------------

    @property
    def _whole(self) -> bool:
        """Yes: the kernel of a field does not decompose."""
        return True

    def _check_settings(self) -> None:
        super()._check_settings()
        named = isinstance(self.kernel, str) and self.kernel in KINDS
        if not (named or isinstance(self.kernel, MatrixValuedKernel)):
            allowed = (
                ", ".join(map(repr, KINDS)) + " or a MatrixValuedKernel, such as Helmholtz(Matern(2.5), Matern(2.5))"
            )
            hint = "For k_X·Γ, and outputs that are no field, see VectorValuedRegressor."
            raise parameter_error(self, "kernel", self.kernel, allowed, hint)

    def _check_intercept(self) -> None:
        if not (isinstance(self.fit_intercept, str) and self.fit_intercept == "auto"):
            super()._check_intercept()

    def _adapted_kernel(self, X):
        if isinstance(self.kernel, str):
            return self._kinds(X.shape[1])[0](Gaussian("median")).adapt(X)
        return super()._adapted_kernel(X)

    def _kinds(self, d: int) -> list[Any]:
        """Return the parts of a kernel given by name; on the line there are gradients only."""
        kinds = KINDS[self.kernel]
        return kinds if d > 1 else [kind for kind in kinds if kind is CurlFree] or kinds

    def _read(self, y, like):
        outputs = super()._read(y, like)
        d, p = like.shape[1], outputs.values.shape[1]
        if p != d:
            raise DataError(
                f"{type(self).__name__}: a field on R^d has d components; got inputs with {d} columns and vectors with "
                f"{p}. Choose the columns that are positions, or use VectorValuedRegressor for other outputs."
            )
        if d == 1 and self.kernel == "divergence-free":
            raise parameter_error(
                self, "kernel", self.kernel, "'curl-free' on the line", "There a field without sources is a constant."
            )
        return outputs

    def _sample(self, X, outputs, keep, weight, columns) -> Sample:
        """Return the sample, with a constant part where evidence is for one."""
        sample = super()._sample(X, outputs, keep, weight, columns)
        if self.fit_intercept != "auto":
            return sample
        free, none = (self._tuned(sample, None, variance, FIRST_VALUES).loss for variance in (1.0, 0.0))
        return replace(sample, fit_intercept=bool(free < none))

    def _smoothness(self, sample, kernels, output_kernels, alpha, loss, learn, families) -> Smoothness:
        """Return the kernel and λ of greatest evidence, as far as they are not given."""
        if alpha is not None and not isinstance(self.kernel, str):
            return Smoothness(kernels[0], Identity(), alpha)
        variance = np.inf if sample.fit_intercept else 0.0
        tuned = self._tuned(sample, alpha, variance)
        return Smoothness(tuned.kernel, Identity(), alpha if alpha is not None else tuned.shift / len(sample))

    def _tuned(self, sample: Sample, alpha: float | None, constant_variance: float, values: int = VALUES) -> TunedField:
        X, Y = to_numpy(sample.X).astype(float), to_numpy(sample.outputs.values).astype(float)
        kinds = self._kinds(X.shape[1]) if isinstance(self.kernel, str) else [self._adapted_kernel(sample.X)]
        weight = None if sample.weight is None else to_numpy(sample.weight).astype(float)
        shift = None if alpha is None else alpha * len(sample)
        return tune_field(kinds, X, Y, weight, constant_variance, shift, values)

    @property
    def _stream_fits_intercept(self) -> bool:
        return bool(np.any(to_numpy(self.intercept_))) if self.fit_intercept == "auto" else bool(self.fit_intercept)

    # -- the field and its derivatives -------------------------------------------------------------------------

    def jacobian(self, X):
        """Return ∂f_a/∂x_b at (i, a, b) for the rows of X, shape (n_samples, d, d)."""
        return self._like_predictions(self._of_field("jacobian", X))

    def divergence(self, X):
        """Return Σ_a ∂f_a/∂x_a, where the field has sources, shape (n_samples,)."""
        return self._like_predictions(np.trace(self._of_field("jacobian", X), axis1=1, axis2=2))

    def curl(self, X):
        """Return the rotation of the field.

        Returns
        -------
        array of shape (n_samples,)
            In the plane ∂f₂/∂x₁ − ∂f₁/∂x₂, the vorticity: positive where the field turns counterclockwise.
        array of shape (n_samples, 3)
            In space ∇ × f.
        array of shape (n_samples, d, d)
            Otherwise ∂f_a/∂x_b − ∂f_b/∂x_a at (i, a, b).
        """
        J = self._of_field("jacobian", X)
        turn, d = J - J.transpose(0, 2, 1), J.shape[1]
        if d == 2:
            turn = turn[:, 1, 0]
        elif d == 3:
            turn = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1)
        return self._like_predictions(turn)

    def parts(self, X):
        """Return the parts of the field without rotation, without sources, and constant: their sum is ``predict(X)``.

        Returns
        -------
        curl_free, divergence_free, constant : arrays of shape (n_samples, d)
        """
        curl_free, divergence_free = self._of_field("parts", X)
        constant = np.zeros_like(curl_free) + to_numpy(self.intercept_)
        return tuple(self._like_predictions(part) for part in (curl_free, divergence_free, constant))

    def potential(self, X):
        """Return u, shape (n_samples,), whose gradient is the part without rotation; ⟨b, x⟩ is that of the constant."""
        return self._like_predictions(self._of_field("potential", X))

    def stream_function(self, X):
        """Return ψ, shape (n_samples,), in the plane: (∂ψ/∂x₂, −∂ψ/∂x₁) is the part without sources."""
        return self._like_predictions(self._of_field("stream_function", X))

    def _of_field(self, method: str, X: Any) -> Any:
        """Return what the kernel knows of h at X."""
        check_is_fitted(self)
        expansion: Any = self.expansion_
        return getattr(expansion, method)(to_numpy(self._valid_inputs(X, method)).astype(float))

    def _like_predictions(self, array: Any) -> Any:
        return as_like(array, self.expansion_.like)
