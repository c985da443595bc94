"""Decisions for every cost of errors."""

from __future__ import annotations

from mercer.cli.kinds.base import Kind, Predicted, Problem, add_target, inputs_of, weight_of
from mercer.cli.tables import rows_with
from mercer.cli.terminal import CommandError
from mercer.estimators import CostSensitiveClassifier

__all__ = ["Cost"]


class Cost(Kind):
    """Two classes: the probability of the positive one, and a column of labels for each cost."""

    name = "cost"
    help = "decisions between two classes for every cost of errors, from one fit"
    example = "mercer fit cost loans.csv --target outcome --positive default --out loans.mercer"
    models = (CostSensitiveClassifier,)
    options = ("levels",)

    def add_arguments(self, parser):
        add_target(parser, "the class, of which there are two")
        parser.add_argument("--positive", metavar="LABEL", help="the positive class; the last in order by default")

    def pose(self, frame, options):
        frame = rows_with(frame, options.target, options.data)
        labels = frame[options.target]
        classes = {str(label): label for label in labels.unique().tolist()}
        if len(classes) != 2:
            raise CommandError(
                f"{options.data}: column {options.target!r} must hold two classes, it has {len(classes)}; for several, "
                "see CostMatrixClassifier and SimplexClassifier in Python"
            )
        if options.positive is not None and options.positive not in classes:
            raise CommandError(f"--positive must be one of {', '.join(classes)}; got {options.positive!r}")
        positive = None if options.positive is None else classes[options.positive]
        model = CostSensitiveClassifier(pos_label=positive, verbose=int(options.verbose))
        inputs = inputs_of(frame, options, [options.target])
        return Problem(model, inputs, labels.to_numpy(), weight_of(frame, options), {"target": [options.target]})

    def observed(self, frame, notes, path):
        names = notes.get("target")
        if not (isinstance(names, list) and len(names) == 1 and names[0] in frame.columns):
            return frame, None
        frame = rows_with(frame, names[0], path)
        return frame, frame[names[0]].to_numpy()

    def predict(self, model, inputs, options, notes):
        place = [str(label) for label in model.classes_].index(str(model.pos_label_))
        found = {f"P({model.pos_label_})": model.predict_proba(inputs)[:, place]}
        for cost in [None] if options.levels is None else options.levels:
            found[f"at cost {model.cost if cost is None else cost:g}"] = model.predict(inputs, cost)
        return Predicted(found)
