"""A network that learns by slopes of certified values in its features: batches, held-out rows, the best pass."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from mercer.estimators.learned_kernel import FEWEST_OF_A_CLASS
from mercer.estimators.settle import settle_choices
from mercer.estimators.value_slopes import row_slopes
from mercer.exceptions import DataError
from mercer.interop.tensor_rows import TensorRows, asked, features_of, torch_library
from mercer.losses import as_loss
from mercer.problems import AddedRows

__all__ = ["NetworkTraining", "evenly_mixed", "predicted_halves"]

#: weight of the half of a batch that is predicted from the other one, and of held-out rows: so small that rows with it
#: hardly change the fit, which would make them look well predicted where features are so far apart that none are
HALF, JUDGE = AddedRows(3e-3), AddedRows(1e-4)
#: relative duality gaps of the fits to batches, and of those that judge a pass
BATCH_TOL, JUDGED_TOL = 1e-6, 1e-7
#: λ that are looked at after each pass, in units of the last one, which at first an estimator chooses to FIRST_TOL
LAMBDA_STEPS, FIRST_TOL = np.array([1 / 3, 1.0, 3.0]), 1e-2
#: λ times rows of the fits to batches, where λ is not given: for targets of deviation 1. The choice of an estimator
#: would be far too large for features that do not tell anything yet, and then nothing could be learned
BATCH_PRIOR = 0.1
#: rows that predict held-out rows and held-out rows that are, at most
HEAD_ROWS, HELD_OUT_JUDGES = 500, 500


def evenly_mixed(order: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return rows in an order like the given one, in which the rows of each class are evenly spread.

    Examples
    --------
    >>> evenly_mixed(np.array([3, 0, 1, 2, 4, 5]), np.array([1, 1, 0, 0, 0, 0]))
    array([3, 0, 2, 4, 1, 5])
    """
    place, of_rows = np.empty(len(order)), _column(labels)[order]
    for label in np.unique(of_rows):
        where = np.flatnonzero(of_rows == label)
        place[where] = (np.arange(len(where)) + 0.5) / len(where)
    return order[np.argsort(place, kind="stable")]


def _column(labels: Any) -> np.ndarray:
    """Return labels as an array of shape (n,); several columns of them are the estimator's to refuse."""
    return np.reshape(np.asarray(labels), (len(labels), -1))[:, 0]


def _needed(labels: np.ndarray) -> list[int]:
    """Return how many of these rows, in their order, hold enough of each class."""
    places = {label: np.flatnonzero(labels == label) for label in np.unique(labels)}
    for label, where in places.items():
        if len(where) < FEWEST_OF_A_CLASS:
            raise DataError(
                f"DeepKernel: {len(where)} of {len(labels)} rows to learn from are of class {label}; halves of batches "
                f"predict each other, which takes {FEWEST_OF_A_CLASS} of each class at least."
            )
    return [int(where[FEWEST_OF_A_CLASS - 1]) + 1 for where in places.values()]


class NetworkTraining:
    """Trains a network so that halves of batches are predicted from each other, by a kernel on its features.

    Parameters
    ----------
    network : torch.nn.Module
        Is changed.
    rows : TensorRows
        All rows.
    head : estimator
        With the kernel on features; λ "auto", or a number for all rows.
    train, held_out : arrays of int
        Rows to learn from, and rows that tell when to stop.
    rng : RandomState
        For the order of rows.
    """

    def __init__(
        self, network: Any, rows: TensorRows, head: Any, train: np.ndarray, held_out: np.ndarray, rng: Any
    ) -> None:
        self.network, self.rows, self.train, self.held_out, self.rng = network, rows, train, held_out, rng
        self.labels = _column(rows.targets) if is_classifier(head) else None
        self.n_judges = min(len(train), HEAD_ROWS)
        if self.labels is not None:
            self.n_judges = max(self.n_judges, *_needed(self.labels[train]))
        self.judges = np.concatenate([train[: self.n_judges], held_out[:HELD_OUT_JUDGES]])
        self.features(self.judges[: self.n_judges])  # lazy layers get their sizes
        self._settle()
        Z = self.features(self.judges[: self.n_judges])
        settings = {"approximation": None, "verbose": 0, "warm_start": False, "kernel": head.kernel.adapt(Z)}
        self.head = clone(head).set_params(**settings)
        first = _fitted(clone(self.head).set_params(tol=FIRST_TOL), Z, rows.targets[self.judges[: self.n_judges]])
        #: the same with numbers for all that it chooses: values of which differences are taken are those of one problem
        self.settled = settle_choices(first)
        self.values: list[float] = []
        self.losses: list[float] = []
        #: λ times rows that held-out rows ask for, at first unknown
        self.alpha: float | None = None

    @property
    def best(self) -> int:
        """The pass with the least held-out loss."""
        return int(np.argmin(self.losses))

    @property
    def history(self) -> dict[str, np.ndarray]:
        """What is minimised, and the held-out loss, after each pass."""
        return {"value": np.array(self.values), "held_out_loss": np.array(self.losses)}

    def features(self, index: np.ndarray) -> np.ndarray:
        """Return the features of some rows."""
        return features_of(self.network, self.rows, index)

    def _learn(self) -> None:
        """Have the network learn; layers whose weights are not to be trained keep their statistics, too."""
        self.network.train()
        for layer in self.network.modules():
            weights = list(layer.parameters())
            if weights and not any(weight.requires_grad for weight in weights):
                layer.eval()

    def _settle(self) -> None:
        """Give batch normalisation the mean and variance of rows to learn from.

        Running averages start far from them and lag behind the weights. The kernel would have the length of features
        that no batch has, and held-out rows be judged by other features than those that were learned.
        """
        torch = torch_library()
        kinds = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)
        self._learn()
        layers = [layer for layer in self.network.modules() if isinstance(layer, kinds) and layer.training]
        layers = [layer for layer in layers if layer.track_running_stats]
        if not layers:
            return
        momenta = [layer.momentum for layer in layers]
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None  # the plain average
        with torch.no_grad():
            asked(self.network, self.rows.inputs(self.judges[: self.n_judges]))
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum

    def run(self, max_epochs: int, batch_size: int, learning_rate: float, patience: int) -> float:
        """Pass over the rows until held-out loss has not fallen for ``patience`` passes; take the best network.

        Returned is λ times rows that held-out rows ask for.
        """
        weights = [weight for weight in self.network.parameters() if weight.requires_grad]
        optimiser = torch_library().optim.Adam(weights, lr=learning_rate)
        model, state, alpha = self._of_batches(), None, 0.0
        for _ in range(max_epochs):
            values = [self._step(batch, model, optimiser) for batch in self._batches(batch_size)]
            self.values.append(float(np.mean(values)))
            self._settle()
            loss, self.alpha = self._held_out_loss()
            self.losses.append(loss)
            if self.best == len(self.losses) - 1:
                state, alpha = copy.deepcopy(self.network.state_dict()), self.alpha
            if len(self.losses) - 1 - self.best >= patience:
                break
        self.network.load_state_dict(state)
        return alpha

    def _batches(self, batch_size: int) -> list[np.ndarray]:
        """Return batches of all rows to learn from, in random order; each has rows of each class, if need be more."""
        order = self.rng.permutation(self.train)
        if self.labels is not None:
            order, rarest = evenly_mixed(order, self.labels), np.unique(self.labels[order], return_counts=True)[1].min()
            return np.array_split(order, max(1, min(round(len(order) / batch_size), rarest // FEWEST_OF_A_CLASS)))
        batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
        return [batch for batch in batches if 2 * len(batch) >= min(batch_size, len(order))]

    def _of_batches(self) -> Any:
        """Return the estimator for batches, with numbers for all that it chooses; its ``alpha`` is λ times rows."""
        model, y = clone(self.settled), self.rows.targets
        if isinstance(self.head.alpha, str):
            loss = as_loss(model.loss)
            numbers = not is_classifier(model) and loss.growth < 2
            unit = float(np.mean(np.abs(y - np.median(y, axis=0)))) if numbers else 1.0
            return model.set_params(alpha=BATCH_PRIOR / (unit or 1.0) ** (2 - loss.growth), tol=BATCH_TOL)
        return model.set_params(alpha=self.head.alpha * len(self.rows), tol=BATCH_TOL)

    def _held_out_loss(self) -> tuple[float, float]:
        """Return the least loss of the rows that are held out, and λ times rows that has it, near that of last time.

        The rows that the network has learned from know too little of λ: they are predicted far better than others.
        """
        Z, y, n = self.features(self.judges), self.rows.targets[self.judges], self.n_judges
        given = not isinstance(self.head.alpha, str)
        if given:
            self.alpha = self.head.alpha * len(self.rows)
        elif self.alpha is None:
            chosen = clone(self.settled).set_params(alpha=self.head.alpha, tol=FIRST_TOL)
            self.alpha = _fitted(chosen, Z[:n], y[:n]).alpha_ * n
        weight = JUDGE.weights(np.ones(len(Z)), np.arange(len(Z)) >= n)
        found = []
        for alpha in [self.alpha] if given else self.alpha * LAMBDA_STEPS:
            model = clone(self.settled).set_params(alpha=alpha / n, tol=JUDGED_TOL)
            without = _fitted(model, Z[:n], y[:n]).objective_
            with_them = _fitted(clone(model).set_params(alpha=JUDGE.alpha(alpha / n)), Z, y, weight).objective_
            found.append((float(JUDGE.difference(with_them, without)), float(alpha)))
        return min(found)

    def _step(self, batch: np.ndarray, model: Any, optimiser: Any) -> float:
        """Move the network by the slopes of one batch, and return the loss of its halves."""
        self._learn()
        features, Z = asked(self.network, self.rows.inputs(batch))
        value, slopes = predicted_halves(model, Z, self.rows.targets[batch])
        optimiser.zero_grad()
        features.backward(torch_library().as_tensor(slopes, dtype=features.dtype, device=features.device))
        optimiser.step()
        return value


def predicted_halves(model: Any, Z: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the mean loss of both halves of rows that are predicted from each other, and its slope in Z.

    Parameters
    ----------
    model : estimator
        With numbers for kernel and ``alpha``, which is λ times rows.
    Z, y : arrays of shape (n, p) and (n, ...)
        Features and targets.
    """
    n, value, slopes = len(Z), 0.0, np.zeros(Z.shape)
    halves = np.array_split(np.arange(n), 2)
    if is_classifier(model):  # every other row of each class
        second = np.isin(np.arange(n), np.concatenate([np.flatnonzero(_column(y) == k)[1::2] for k in np.unique(y)]))
        halves = [np.flatnonzero(~second), np.flatnonzero(second)]
    for train, other in (halves, halves[::-1]):
        both = np.concatenate([train, other])
        alpha, weight = model.alpha / len(train), HALF.weights(np.ones(n), np.arange(n) >= len(train))
        without = _fitted(clone(model).set_params(alpha=alpha), Z[train], y[train])
        with_them = _fitted(clone(model).set_params(alpha=HALF.alpha(alpha)), Z[both], y[both], weight)
        value += HALF.difference(with_them.objective_, without.objective_) / 2
        before = np.zeros(Z.shape)
        before[: len(train)] = row_slopes(without, Z[train], y[train])
        slopes[both] += HALF.difference(row_slopes(with_them, Z[both], y[both], weight), before) / 2
    return value, slopes


def _fitted(model: Any, Z: np.ndarray, y: np.ndarray, weight: Any = None) -> Any:
    with warnings.catch_warnings():  # a gap that is not quite reached is of no concern here
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(Z, y, weight)
