"""Regressions of objects that go on learning, in the coordinates that the objects of the first batch have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.candidates import EncodedCandidates, join_objects
from mercer.estimators.object_space import ObjectSpace
from mercer.estimators.object_terms import KernelTerm
from mercer.estimators.partial_fit import StreamedFit
from mercer.estimators.read_objects import check_same_number, read_object_outputs
from mercer.estimators.validation import read_weight, validate_inputs
from mercer.kernels.objects import take_objects
from mercer.linalg import right_factor
from mercer.losses import Loss, MaxMargin
from mercer.measures import Measure

__all__ = ["StreamedObjects"]


class StreamedObjects(StreamedFit):
    """The stream of a function into the space of k_Y: what of later objects is beyond its coordinates is not learned.

    Objects of later batches join the candidates.
    """

    terms_: tuple[KernelTerm, ...]
    space_: ObjectSpace
    candidates_: EncodedCandidates
    intercept_: np.ndarray
    output_matrix_: np.ndarray | None
    X_fit_: Any
    dual_coef_: Any
    support_: Any
    saturated_: Any

    def _needs_all_rows(self) -> str:
        owner: Any = self
        if owner._of_objects or owner._whole:
            return "features take the place of one kernel on vectors. Pass k_X alone as kernel."
        if owner._given_outputs:
            return "a Gram matrix of outputs is that of all rows. Pass the objects, and output_kernel."
        if owner.mean_rank is not None:
            return "the best predictor of a rank needs all rows. Leave mean_rank out."
        if isinstance(owner.loss, MaxMargin) or (isinstance(owner.loss, str) and owner.loss == "max_margin"):
            return "'max_margin' has one number a row. Take a loss of norms, such as 'square'."
        return super()._needs_all_rows()

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        candidates: Any = self.space_.encode(read_object_outputs(self, y))
        begins = self.stream_.n_rows == 0  # with the objects of the fit
        joined = candidates if begins else self._joined(candidates, sample_weight)
        super()._learn(X, candidates, sample_weight)
        if not begins:
            owner: Any = self
            owner._keep_candidates(joined)

    def _joined(self, new: EncodedCandidates, sample_weight: Any) -> EncodedCandidates:
        """Return the candidates so far, and the new ones of positive weight."""
        if sample_weight is not None:
            rows = np.flatnonzero(read_weight(sample_weight, new.coordinates) > 0)
            new = EncodedCandidates(take_objects(new.objects, rows), new.coordinates[rows], new.sizes[rows])
        old = self.candidates_
        return EncodedCandidates(
            join_objects(self, [old.objects, new.objects]),
            np.concatenate([old.coordinates, new.coordinates]),
            np.concatenate([old.sizes, new.sizes]),
        )

    def _valid_inputs(self, X: Any, method: str = "predict") -> Any:
        return validate_inputs(self, X, self.intercept_, None, method)

    def _stream_targets(self, y: Any, n_rows: int) -> np.ndarray:
        check_same_number(self, len(y), n_rows)
        coordinates: np.ndarray = y.coordinates
        return coordinates

    def _stream_measure(self) -> Measure:
        r = len(self.intercept_)
        return Measure(np.arange(float(r)), np.ones(r))

    def _stream_loss(self) -> Loss:
        return self.loss_

    def _in_features(self, measure: Measure) -> tuple[Any, np.ndarray | None, np.ndarray]:
        (term,) = self.terms_
        if self.output_matrix_ is None:
            return term.kernel, np.eye(len(measure)), term.coef
        factor = right_factor(self.output_matrix_, np.asarray(to_numpy(measure.weights)))
        return term.kernel, factor, np.linalg.lstsq(factor, term.coef.T, rcond=None)[0].T

    def _take_coef(self, coef: np.ndarray) -> None:
        (term,) = self.terms_
        factor: Any = self.stream_.factor
        self.feature_coef_ = coef @ factor.T
        self.terms_ = (replace(term, coef=self.feature_coef_),)

    def _take_intercept(self, b: np.ndarray) -> None:
        self.intercept_ = b
        self.support_ = self.saturated_ = None
