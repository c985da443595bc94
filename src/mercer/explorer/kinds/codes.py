"""Codes: rows as points, and what the decoder makes of any code."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.estimators.delegation import offers, reach
from mercer.explorer.kinds.base import Exhibit, Kind, histogram
from mercer.explorer.packing import packed, rounded
from mercer.explorer.subject import Subject

__all__ = ["Codes"]

#: values of each code that can be chosen, codes that are moved, and columns that are drawn
STEPS_OF_CODES, MOVED_CODES, COLUMNS_DRAWN = (41, 15, 7), 3, 120


class Codes(Kind):
    """Few numbers for each row, and the way back."""

    title = "Codes"

    def takes(self, estimator: Any) -> bool:
        return offers(estimator, "reconstruction_error") and offers(estimator, "inverse_transform")

    def show(self, subject: Subject) -> Exhibit:
        codes = subject.ask("transform", subject.rows)
        moved = min(codes.shape[1], MOVED_CODES)
        count = STEPS_OF_CODES[moved - 1]
        axes = [np.linspace(column.min(), column.max(), count) for column in codes.T[:moved]]
        model, inner = reach(subject.estimator, subject.rows, "reconstruction_error")
        grid = np.tile(np.median(codes, axis=0), (count**moved, 1))
        grid[:, :moved] = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, moved)
        decoded = np.asarray(model.inverse_transform(grid))
        names = self._names(model, subject, decoded.shape[1])[:COLUMNS_DRAWN]
        data: dict[str, Any] = {
            "codes": rounded(codes[subject.drawn, :moved].T, 5),
            "axes": [rounded(axis) for axis in axes],
            "rows": [int(row) for row in subject.judged[subject.drawn]],
            "columns": names,
            "decoded": packed(decoded[:, : len(names)].reshape(*[count] * moved, len(names))),
            "given": packed(self._given(model, inner)[subject.drawn, : len(names)]),
        }
        error = np.asarray(model.reconstruction_error(inner))
        text = "Squared distance between a row and what its code gives back, in units of the mean of k(x, x)."
        return Exhibit("codes", data, [histogram("What codes lose", text, error, "reconstruction error")])

    def _names(self, model: Any, subject: Subject, width: int) -> list[str]:
        names = subject.names
        if getattr(model, "encoder_", None) is not None:
            names = model.encoder_.get_feature_names_out()
        elif names is None:
            names = getattr(model, "feature_names_in_", None)
        if names is None or len(names) != width:
            return [f"column {j}" for j in range(width)]
        return [str(name) for name in names]

    def _given(self, model: Any, rows: Any) -> np.ndarray:
        encoder = getattr(model, "encoder_", None)
        return np.asarray(rows if encoder is None else encoder.transform(rows), dtype=float)
