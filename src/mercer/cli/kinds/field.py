"""Vector fields."""

from __future__ import annotations

import numpy as np

from mercer.cli.kinds.base import Kind, Predicted, Problem, names_in, weight_of
from mercer.cli.tables import number_column
from mercer.cli.terminal import CommandError, names_of
from mercer.estimators import VectorFieldRegressor

__all__ = ["Field"]

#: names of the kernels of fields
FIELDS = ("helmholtz", "curl-free", "divergence-free")


class Field(Kind):
    """A vector at each position."""

    name = "field"
    help = "a vector field from vectors at some positions"
    example = "mercer fit field wind.csv --position x,y --vector u,v --out wind.mercer"
    models = (VectorFieldRegressor,)

    def add_arguments(self, parser):
        parser.add_argument("--position", required=True, type=names_of, metavar="X,Y", help="the coordinates")
        parser.add_argument("--vector", required=True, type=names_of, metavar="U,V", help="the components, in order")
        parser.add_argument("--field", choices=FIELDS, default=FIELDS[0], help="gradients, no sources, or both")

    def pose(self, frame, options):
        if options.features is not None:
            raise CommandError("--features means nothing for fields: the inputs are the columns of --position")
        for name in options.position:
            number_column(frame, name, options.data)  # which refuses what is no number
        Y = np.stack([number_column(frame, name, options.data) for name in options.vector], axis=1)
        inputs = frame[options.position]
        model = VectorFieldRegressor(options.field, verbose=int(options.verbose))
        return Problem(model, inputs, Y, weight_of(frame, options), {"target": list(options.vector)})

    def predict(self, model, inputs, options, notes):
        values = model.predict(inputs)
        names = names_in(notes, "target", values.shape[1]) or [f"v{j + 1}" for j in range(values.shape[1])]
        positions = {str(name): inputs[name] for name in inputs.columns}
        return Predicted(positions | {name: values[:, j] for j, name in enumerate(names)})
