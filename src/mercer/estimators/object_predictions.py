"""What a function into the space of an output kernel says of objects: scores, ranks, the best one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_number
from mercer.estimators.candidates import CandidateLists, EncodedCandidates, count_objects, nonempty
from mercer.estimators.label_search import best_labels
from mercer.estimators.object_space import ObjectSpace
from mercer.estimators.object_terms import KernelTerm
from mercer.estimators.ranking import best_first, score_blocks, truth_ranks
from mercer.estimators.validation import validate_inputs, validate_weight
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Linear
from mercer.kernels.objects import Normalised, ObjectKernel, OnVectors, take_objects
from mercer.losses import Loss, MaxMargin

__all__ = ["ObjectPredictions"]


class ObjectPredictions:
    """Predictions of an estimator that has fitted ``terms_`` of h and ``intercept_`` in the coordinates of ``space_``.

    The score of a candidate z is ⟨h(x) + b, φ(z)⟩ − ½k_Y(z, z), for "max_margin" ⟨h(x), φ(z)⟩.
    """

    kernel: Any
    terms_: tuple[KernelTerm, ...]
    intercept_: np.ndarray
    space_: ObjectSpace
    candidates_: EncodedCandidates
    outputs_fit_: Any
    output_kernel_: Any
    loss_: Loss
    binary_: bool
    columns_: np.ndarray | None

    @property
    def _of_objects(self) -> bool:
        """Whether inputs are objects."""
        return isinstance(self.kernel, ObjectKernel)

    # -- candidates --------------------------------------------------------------------------------------------

    def encode(self, candidates: Any = None) -> EncodedCandidates:
        """Return candidates as the model compares them, to be ranked for many inputs; training outputs by default."""
        check_is_fitted(self)
        if candidates is None:
            return self.candidates_
        if isinstance(candidates, EncodedCandidates):
            if candidates.coordinates.shape[1] != len(self.intercept_):
                raise DataError(f"{type(self).__name__}: these candidates were encoded by another model.")
            return candidates
        return self.space_.encode(candidates)

    def score_candidates(self, X, candidates=None):
        """Return the score of each candidate for each row; the largest one is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or sequence of objects
        candidates : sequence of m objects, EncodedCandidates or CandidateLists, default=None
            One list for all rows, the distinct training outputs by default; :class:`CandidateLists` where each row has
            its own. With ``output_kernel="precomputed"`` rows k_Y(z, training objects), or a pair of those and the
            diagonal.

        Returns
        -------
        array of shape (n_samples, m), or a list of n_samples arrays for CandidateLists
        """
        h = self._coordinates(X, "score_candidates")
        if isinstance(candidates, CandidateLists):
            return self._scores_of_lists(h, candidates, self.encode(candidates.pool))
        encoded = self.encode(candidates)
        scores = h @ encoded.coordinates.T
        if self._penalty:
            scores -= self._penalty * encoded.sizes
        return scores

    def predict(self, X, candidates=None):
        """Return the best candidate for each row, see :meth:`score_candidates`: a list, or an array if they were one.

        With ``output_kernel="precomputed"`` its number: among the objects given to ``fit``, or the candidates.
        """
        h = self._coordinates(X, "predict")
        if isinstance(candidates, CandidateLists):
            encoded = self.encode(candidates.pool)
            scores = self._scores_of_lists(h, candidates, encoded)
            best = [int(rows[np.argmax(one)]) for rows, one in zip(candidates.rows, scores, strict=True)]
            return take_objects(encoded.objects, best)
        encoded = self.encode(candidates)
        return take_objects(encoded.objects, self._best(h, encoded, 1)[:, 0])

    def rank(self, X, candidates=None, k=10):
        """Return the numbers of the k best candidates of each row, the best first: shape (n_samples, k), or lists.

        Of equal scores the first candidate comes first; where there are fewer than k, all of them are ranked.
        """
        check_number(self, "k", k, low=1, strict=False, integer=True)
        h = self._coordinates(X, "rank")
        if isinstance(candidates, CandidateLists):
            scores = self._scores_of_lists(h, candidates, self.encode(candidates.pool))
            return [best_first(one[None, :], min(int(k), len(one)))[0] for one in scores]
        return self._best(h, self.encode(candidates), int(k))

    def truth_rank(self, X, y, candidates=None):
        """Return the place of the true object of each row among candidates, shape (n_samples,): 1 is the best.

        Of candidates with equal scores it has the middle; its own score is computed, so that it need not be among them.
        """
        h, truth = self._coordinates(X, "truth_rank"), self._truth(X, y)
        own = np.sum(h * truth.coordinates, axis=1) - self._penalty * truth.sizes
        if isinstance(candidates, CandidateLists):
            scores = self._scores_of_lists(h, candidates, self.encode(candidates.pool))
            ranks = [truth_ranks(one[None, :], own[i : i + 1])[0] for i, one in enumerate(scores)]
            return np.array(ranks)
        blocks = self._blocks(h, self.encode(candidates))
        return np.concatenate([truth_ranks(scores, own[rows]) for rows, scores in blocks])

    # -- how far objects are -----------------------------------------------------------------------------------

    def misfit(self, X, y):
        """Return how far the objects are from the prediction: ½‖φ(y_i) − h(x_i) − b‖², shape (n_samples,).

        For "max_margin" −⟨h(x_i), φ(y_i)⟩.
        """
        h, truth = self._coordinates(X, "misfit"), self._truth(X, y)
        return self._offset(h) + self._penalty * truth.sizes - np.sum(h * truth.coordinates, axis=1)

    def misfits(self, X, candidates=None):
        """Return :meth:`misfit` of each candidate, in the shape of ``score_candidates``."""
        h, scores = self._coordinates(X, "misfits"), self.score_candidates(X, candidates)
        if isinstance(scores, list):
            return [offset - one for offset, one in zip(self._offset(h), scores, strict=True)]
        return self._offset(h)[:, None] - scores

    def score(self, X, y, sample_weight=None):
        """Return R² in the space of k_Y, 1 − Σ_i s_i‖φ(z_i) − f(x_i)‖² / Σ_i s_i‖φ(z_i) − φ̄‖²."""
        h, truth = self._coordinates(X, "score"), self._truth(X, y)
        weight = np.ones(len(h)) if sample_weight is None else validate_weight(sample_weight, h)
        mean = weight @ truth.coordinates / weight.sum()
        errors, spread = (
            float(weight @ (truth.sizes - 2 * np.sum(truth.coordinates * f, axis=1) + np.sum(f**2, axis=1)))
            for f in (h, np.broadcast_to(mean, h.shape))
        )
        rounding = 1e-12 * float(weight @ truth.sizes)
        return 1 - errors / spread if spread > rounding else float(errors <= rounding)

    # -- vectors -----------------------------------------------------------------------------------------------

    def predict_mean(self, X):
        """Return h(x) + b itself, shape (n_samples, d): vectors, where outputs are vectors with the linear kernel."""
        h = self._coordinates(X, "predict_mean")
        kernel = self.output_kernel_
        if not (isinstance(kernel, OnVectors) and kernel.kernel == Linear()):
            raise UnsupportedError(
                f"{type(self).__name__}: h(x) is a vector in the space of {kernel!r}, which has no coordinates that "
                "mean something. Take output_kernel='linear', or score_candidates."
            )
        mean = h @ self.space_.directions
        return mean[:, 0] if getattr(self.outputs_fit_, "ndim", 2) == 1 else mean

    def predict_labels(self, X):
        """Return the label vectors of 0 and 1 that are best among all 2^p, shape (n_samples, p).

        For the linear output kernel, which calls labels above ½, and for ``Normalised(OnVectors(Linear()))``, for which
        the best of the p + 1 sets of largest values is the best of all.
        """
        h = self._coordinates(X, "predict_labels")
        kernel = self.output_kernel_
        normalised = isinstance(kernel, Normalised)
        inner = kernel.kernel if isinstance(kernel, Normalised) else kernel
        if not (self.binary_ and isinstance(inner, OnVectors) and inner.kernel == Linear()):
            raise UnsupportedError(
                f"{type(self).__name__}: all label vectors can be searched for outputs of 0 and 1 with the linear "
                f"kernel, normalised or not; this model has {kernel!r}. Pass candidates to predict."
            )
        values = h @ self.space_.directions
        return best_labels(values, self._penalty, normalised).astype(int)

    # -- how it works ------------------------------------------------------------------------------------------

    def _coordinates(self, X, method: str) -> np.ndarray:
        """Return h(x) + b in the coordinates of the space, shape (n_samples, r)."""
        check_is_fitted(self)
        X = (
            nonempty(X, f"{type(self).__name__}: inputs", "")
            if self._of_objects
            else validate_inputs(self, X, self.intercept_, self.columns_, method)
        )
        return sum((term.evaluate(X) for term in self.terms_), self.intercept_)

    @property
    def _penalty(self) -> float:
        """What k_Y(z, z) is multiplied with in scores: ½ for distances, 0 for inner products."""
        return 0.0 if isinstance(self.loss_, MaxMargin) else 0.5

    def _offset(self, h: np.ndarray) -> np.ndarray:
        """Return what the misfits of one row have in common."""
        return self._penalty * np.sum(h**2, axis=1)

    def _truth(self, X: Any, y: Any) -> EncodedCandidates:
        """Return the true objects of all rows, encoded."""
        truth, n = self.encode(y), count_objects(X)
        if len(truth) != n:
            raise DataError(
                f"{type(self).__name__}: X and Z have inconsistent numbers of samples, {n} and {len(truth)}."
            )
        return truth

    def _blocks(self, h: np.ndarray, candidates: EncodedCandidates) -> Any:
        return score_blocks(h, candidates.coordinates, candidates.sizes, self._penalty)

    def _best(self, h: np.ndarray, candidates: EncodedCandidates, k: int) -> np.ndarray:
        """Return the numbers of the k best candidates of each row, the best first."""
        k = min(k, len(candidates))
        return np.concatenate([best_first(scores, k) for _, scores in self._blocks(h, candidates)])

    def _scores_of_lists(self, h: np.ndarray, lists: CandidateLists, encoded: EncodedCandidates) -> list[np.ndarray]:
        if len(lists) != len(h):
            raise DataError(f"{type(self).__name__}: {len(h)} rows need as many lists of candidates; got {len(lists)}.")
        return [
            encoded.coordinates[rows] @ one - self._penalty * encoded.sizes[rows]
            for one, rows in zip(h, lists.rows, strict=True)
        ]
