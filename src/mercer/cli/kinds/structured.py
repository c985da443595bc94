"""Objects: sets of labels, strings and label vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.cli.kinds.base import Kind, Predicted, Problem, add_calibration, inputs_of, names_in, weight_of
from mercer.cli.tables import matching_columns, number_column, require_columns, rows_with
from mercer.cli.terminal import CommandError, names_of
from mercer.estimators import ConformalCandidates, InputOutputKernelRegressor
from mercer.kernels.objects import Normalised, Spectrum

if TYPE_CHECKING:
    import pandas

__all__ = ["Structured"]

#: output kernels of each way to write objects, the default first
LABEL_KERNELS = ("linear", "agreement", "tanimoto")
SET_KERNELS = ("jaccard", "intersection")
TEXT_KERNELS = ("spectrum",)
#: what stands between labels of a set where a model does not say, and between candidates of one row
SEPARATOR, BETWEEN_CANDIDATES = ";", " | "


class Structured(Kind):
    """Objects with a kernel: the best candidate for each row, the few best, or a set that holds the truth."""

    name = "structured"
    help = "sets of labels, strings or columns of 0 and 1, each predicted as a whole"
    example = (
        "mercer fit structured films.csv --target genres --separator ';' --out genres.mercer --calibrate\n"
        "  mercer fit structured pictures.csv --labels 'has_*' --out labels.mercer"
    )
    models = (InputOutputKernelRegressor, ConformalCandidates)
    options = ("coverage", "top")

    def add_arguments(self, parser):
        parser.add_argument("--target", metavar="COLUMN", help="a column of text: strings, or sets of labels")
        parser.add_argument("--separator", metavar="MARK", help="what stands between the labels of a set, such as ';'")
        parser.add_argument("--labels", type=names_of, metavar="PATTERN", help="columns of 0 and 1, such as 'has_*'")
        parser.add_argument(
            "--kernel",
            choices=[*LABEL_KERNELS, *SET_KERNELS, *TEXT_KERNELS],
            help="when two objects are alike: by default jaccard for sets, spectrum for strings, linear for columns",
        )
        add_calibration(parser, "sets of candidates")

    def pose(self, frame, options):
        if options.separator is not None and not options.separator.strip():
            raise CommandError("--separator must be a mark such as ';'")
        if (options.target is None) == (options.labels is None):
            raise CommandError("objects are --target COLUMN of text, or --labels PATTERN, columns of 0 and 1")
        if options.labels is not None:
            names = matching_columns(frame, options.labels, "--labels", options.data)
            objects, notes = _label_vectors(frame, names, options.data), {"target": names}
        else:
            names, notes = [options.target], {"target": [options.target], "separator": options.separator}
            frame = frame if options.separator else rows_with(frame, options.target, options.data)
            objects = _texts(frame, options.target, options.separator, options.data)
        kernel: Any = _kernel(options)
        if kernel == TEXT_KERNELS[0] and min(map(len, objects)) < Spectrum().length:
            kernel = Normalised(Spectrum(shorter=True))  # whose features are there for short strings, too
        model: Any = InputOutputKernelRegressor(output_kernel=kernel, verbose=int(options.verbose))
        if options.calibrate:
            model = ConformalCandidates(model, random_state=0)
        return Problem(model, inputs_of(frame, options, names), objects, weight_of(frame, options), notes)

    def observed(self, frame, notes, path):
        names = notes.get("target")
        if not (isinstance(names, list) and names and all(name in frame.columns for name in names)):
            return frame, None
        if "separator" not in notes:
            return frame, _label_vectors(frame, names, path)
        separator = notes["separator"] if isinstance(notes["separator"], str) else None
        frame = frame if separator else rows_with(frame, names[0], path)
        return frame, _texts(frame, names[0], separator, path)

    def predict(self, model, inputs, options, notes):
        separator = notes["separator"] if isinstance(notes.get("separator"), str) else SEPARATOR
        regression = getattr(model, "estimator_", model)
        found = _columns(_best(regression, inputs), notes, separator)
        if options.top is not None:
            order = regression.rank(inputs, k=options.top)
            texts = _cells(regression.candidates_.objects, separator, notes)
            found |= {f"best {j + 1}": [texts[k] for k in order[:, j]] for j in range(order.shape[1])}
        if options.coverage is not None:
            if not isinstance(model, ConformalCandidates):
                raise CommandError("--coverage needs a model that was fitted with --calibrate")
            sets = model.predict_set(inputs, coverage=options.coverage)
            found["set size"] = [len(one) for one in sets]  # 0, or a candidate that is the empty set
            found["set"] = [BETWEEN_CANDIDATES.join(_cells(one, separator, notes)) for one in sets]
        return Predicted(found)


def _kernel(options: Any) -> str:
    """Return the output kernel, of those that mean something for objects as they are written."""
    allowed: tuple[str, ...] = SET_KERNELS if options.separator is not None else TEXT_KERNELS
    allowed = LABEL_KERNELS if options.labels is not None else allowed
    if options.kernel is None:
        return allowed[0]
    if options.kernel not in allowed:
        hint = "" if options.labels or options.separator else "; sets of labels need --separator"
        raise CommandError(f"--kernel must be one of {', '.join(allowed)} here; got {options.kernel!r}{hint}")
    return options.kernel


def _label_vectors(frame: pandas.DataFrame, names: list[str], path: str) -> pandas.DataFrame:
    """Return columns of 0 and 1, and refuse others."""
    for name in names:
        if not np.isin(number_column(frame, name, path), (0, 1)).all():
            raise CommandError(f"{path}: column {name!r} of --labels holds other numbers than 0 and 1")
    return frame[names].astype(int)


def _texts(frame: pandas.DataFrame, name: str, separator: str | None, path: str) -> list[Any]:
    """Return the cells of a column as strings, or as sets of labels, of which an empty cell is the empty one."""
    require_columns(frame, [name], path)
    column = frame[name]
    if separator is not None:
        cells = column.fillna("").astype(str)
        return [{label.strip() for label in cell.split(separator) if label.strip()} for cell in cells]
    return column.astype(str).tolist()


def _best(model: InputOutputKernelRegressor, inputs: Any) -> Any:
    """Return the best object of each row: of all label vectors where they can be searched, else of the candidates."""
    searched = model.binary_ and model.output_kernel == LABEL_KERNELS[0]
    return model.predict_labels(inputs) if searched else model.predict(inputs)


def _columns(objects: Any, notes: dict[str, Any], separator: str) -> dict[str, Any]:
    """Return objects as columns by name: label vectors as one for each label, others as text."""
    if isinstance(objects, np.ndarray) and objects.ndim == 2:
        names = names_in(notes, "target", objects.shape[1]) or [f"label {j + 1}" for j in range(objects.shape[1])]
        return {name: objects[:, j] for j, name in enumerate(names)}
    (name,) = names_in(notes, "target", 1) or ["predicted"]
    return {name: _cells(objects, separator, notes)}


def _cells(objects: Any, separator: str, notes: dict[str, Any]) -> list[str]:
    """Return each object as the text of a cell."""
    if isinstance(objects, np.ndarray) and objects.ndim == 2:
        names: Any = names_in(notes, "target", objects.shape[1]) or range(1, objects.shape[1] + 1)
        return [separator.join(str(names[j]) for j in np.flatnonzero(row)) for row in objects]
    sets = (set, frozenset)
    return [separator.join(sorted(map(str, one))) if isinstance(one, sets) else str(one) for one in objects]
