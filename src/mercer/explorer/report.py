"""From a fitted model and rows to a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from mercer._html import objective_of
from mercer._version import __version__
from mercer.estimators.summary import facts
from mercer.exceptions import DataError, UnsupportedError
from mercer.explorer.kinds import EXPLORED_KINDS, Kind, explored_kind
from mercer.explorer.page import page_of
from mercer.explorer.subject import Subject
from mercer.plotting.validation import name_of, refuse_gram

__all__ = ["Report", "explore"]


@dataclass(frozen=True)
class Report:
    """A page: shown in notebooks, saved as one HTML file.

    Attributes
    ----------
    html : str
        The page.
    title : str
    kind : str
        What is shown, the name of the view.
    """

    html: str = field(repr=False)
    title: str
    kind: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, and return its path."""
        path = Path(path)
        path.write_text(self.html, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        frame = "width:100%;height:46rem;border:1px solid #8886;border-radius:8px"
        return f'<iframe title="{escape(self.title)}" srcdoc="{escape(self.html)}" style="{frame}"></iframe>'


def explore(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    target_name: str | None = None,
    source: str | None = None,
) -> Report:
    """Return a page in which θ and the inputs are moved, and one sees at once what the model says.

    θ is the quantile level, the cost, the fraction of outliers, or the point of a curve. The page also says what was
    fitted, its certificate, how well it is calibrated on the rows given, what it leaves, and which columns matter. It
    is one file, which needs no network.

    Parameters
    ----------
    model : estimator
        Fitted: any estimator of mercer, also at the end of a Pipeline; or what predicts quantiles, probabilities,
        curves, scores or numbers in their manner.
    X : array, data frame or functions, with n_samples rows
        Rows, best some that the model was not fitted on. They say where columns are moved, too. Of a
        :class:`~mercer.estimators.VectorAutoRegressor` the series, rows in the order of time.
    y : array or what ``fit`` takes, optional
        What was observed of them. Without it the page does not judge the model.
    title : str, optional
        Of the page.
    feature_names : sequence of str, optional
        Names of the columns of an array; those of a data frame are known.
    target_name : str, optional
        What is predicted; the name of a Series by default.
    source : str, optional
        What the rows are, in a few words, such as "flats.csv, rows of the fit".

    Returns
    -------
    Report
        With ``save(path)``.

    Examples
    --------
    >>> import mercer
    >>> from mercer.datasets import make_sine
    >>> X, y = make_sine(60, random_state=0)
    >>> report = mercer.explore(mercer.KernelQuantileRegressor().fit(X, y), X, y, target_name="voltage")
    >>> report
    Report(title='Quantiles of voltage', kind='fan')
    """
    check_is_fitted(model)
    kind = _kind_of(model)
    refuse_gram("explore", model)
    subject = Subject(model, X, y, feature_names, name_of(y, target_name))
    _check(subject, feature_names)
    exhibit = kind.show(subject)
    title = title or kind.title.format(target=subject.target or "y")
    inner = _innermost(model)
    data = {
        "title": title,
        "lead": _lead(inner, subject, source),
        "facts": [[name, value] for name, value in facts(inner, feature_names) if value],
        "objective": objective_of(type(inner), staged=getattr(inner, "stages_", None) is not None),
        "panels": exhibit.panels,
        "view": exhibit.view,
        "explore": exhibit.data,
        "version": __version__,
    }
    return Report(page_of(title, exhibit.view, data), title, exhibit.view)


def _kind_of(model: Any) -> Kind:
    kind = explored_kind(model)
    if kind is None:
        known = ", ".join(type(each).__name__ for each in EXPLORED_KINDS)
        raise UnsupportedError(f"explore has no page for a {type(model).__name__}; there are pages of {known}.")
    return kind


def _check(subject: Subject, names: Sequence[str] | None) -> None:
    if subject.n == 0:
        raise DataError("explore: X must have a row at least.")
    if subject.y is not None and len(subject.y) != subject.n:
        raise DataError(f"explore: X and y have inconsistent numbers of samples, {subject.n} and {len(subject.y)}.")
    d = getattr(subject.X, "shape", (0, 0))[-1]
    if names is not None and len(names) != d:
        raise DataError(f"explore: feature_names has {len(names)} names for {d} columns.")


def _innermost(model: Any) -> Any:
    """Return the estimator at the end of pipelines and within searches."""
    if hasattr(model, "steps"):
        return _innermost(model.steps[-1][1])
    return _innermost(model.best_estimator_) if hasattr(model, "best_estimator_") else model


def _lead(model: Any, subject: Subject, source: str | None) -> str:
    shown = source or f"{subject.n} rows that were given"
    judged = "" if len(subject.judged) == subject.n else f", of which {len(subject.judged)} are compared"
    what = f"{type(model).__name__}, shown on {shown}{judged}."
    if subject.y is None or source is not None:
        return what
    return what + " If the model was fitted on them, new rows will look worse."
