"""Kernels on what a network makes of images, series or any tensors, by slopes of certified values.

It is imported by name, ``from mercer.interop.torch import DeepKernel``. PyTorch is imported where a network is trained
or asked: ``pip install "mercer[torch]"``.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._params import check_number
from mercer.estimators import KernelQuantileRegressor
from mercer.estimators.gradient_search import LEARNERS
from mercer.estimators.infinite_task import as_random_state
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.validation import own_errors, refuse_words
from mercer.exceptions import DataError, parameter_error
from mercer.interop.network_training import NetworkTraining, evenly_mixed
from mercer.interop.tensor_rows import TensorRows, features_of, torch_library
from mercer.kernels import Gaussian, as_kernel

__all__ = ["DeepKernel"]

#: rows below which there are no batches to speak of, and the least that batches have
FEWEST_TRAINED, FEWEST_IN_BATCHES = 10, 4


class DeepKernel(SummarisedEstimator):
    """A kernel k(φ(x), φ(z)) with a network φ, and the convex problem with this kernel, solved with a certificate.

    The network learns by mini-batches. Of each batch one half is predicted from the other, and the loss of that,

        (V_ε − V_0)/ε,    V_ε = min_h R_A(h) + ε R_B(h) + (λ/2)‖h‖²,

    has a slope in φ(x_i) by the envelope theorem, −λ Σ_j ⟨c_i, T c_j⟩ ∂₁k(φ(x_i), φ(x_j)) of each value, whatever its
    loss; PyTorch carries it on to the weights, by Adam. So the network learns what a kernel machine that has not seen a
    row needs to predict it, not to fit the rows itself. Training ends when the loss of rows that are held out does not
    fall any more; the best network is taken, and the estimator is fitted to what it makes of all rows, to its ``tol``.
    So all that it has is there: every quantile, cost or output, functions that do not cross, a duality gap.

    Parameters
    ----------
    module : torch.nn.Module
        φ: tensors of shape (n, ...) to features (n, p), fresh or pretrained. It stays as it is, a copy is trained;
        parts that are not to be trained have ``requires_grad_(False)``. A last layer ``BatchNorm1d(p, affine=False)``
        keeps features at the scale of the kernel.
    kernel : Kernel or str, default=None
        k on features, ``Gaussian()`` by default: its length is the median distance at the start, and the network sees
        to the rest. It has to have derivatives.
    estimator : estimator, default=None
        KernelQuantileRegressor (the default), CostSensitiveClassifier, VectorValuedRegressor or FunctionalRegressor,
        of which the kernel is replaced.
    max_epochs : int, default=30
        Passes over the rows.
    batch_size : int, default=256
        Rows of a batch; that of a ``DataLoader`` where one is fitted to.
    learning_rate : float, default=3e-3
        Of Adam.
    patience : int, default=5
        Passes without a lower held-out loss after which training ends.
    validation_fraction : float, default=0.2
        Share of the rows that is held out.
    device : str or None, default=None
        Where the network is trained; "cuda" where there is one, else "cpu".
    random_state : int, RandomState or None, default=0
        What is held out, and the order of rows.
    verbose : int, default=0
        That of the final fit.

    Attributes
    ----------
    module_ : torch.nn.Module
        The network that was learned.
    estimator_ : estimator
        Fitted to its features, with its certificate.
    history_ : dict of arrays
        ``"value"``, the mean loss of halves of batches, and ``"held_out_loss"``, after each pass.
    best_epoch_ : int
        The pass whose network was taken.
    held_out_ : array of int
        The rows that were held out; the final fit has them, but on the network only the end of its training depends.

    Notes
    -----
    While the network learns, λ times rows is 0.1 (over the deviation of y for losses that grow linearly), unless it is
    given: what is chosen for features that do not tell anything yet would be far too large. In the final fit it is what
    predicts held-out rows best: rows that the network has learned from would have it far too small. Batch normalisation
    gets mean and variance of 500 rows at the start and after each pass, so that the features of new rows, the kernel's
    length and what was learned belong together.

    Floating inputs get the precision of the network. In single precision, PyTorch's products round otherwise for other
    numbers of rows, so that predictions of rows together and alone differ by about 1e-7; after ``module.double()`` they
    do not.

    mercer.save refuses the network, which is code: save ``module_.state_dict()`` by PyTorch and ``estimator_`` by
    mercer.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> from mercer.interop.torch import DeepKernel
    >>> X = np.random.default_rng(0).normal(size=(200, 1, 8))  # short series, of which the sum of squares matters
    >>> y = np.sqrt(np.sum(X[:, 0] ** 2, axis=1))
    >>> module = nn.Sequential(nn.Flatten(), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    >>> model = DeepKernel(module, batch_size=80, max_epochs=3).fit(X, y)
    >>> model.predict_quantile(X[:4], [0.1, 0.9]).shape
    (4, 2)
    """

    def __init__(
        self,
        module,
        kernel=None,
        *,
        estimator=None,
        max_epochs=30,
        batch_size=256,
        learning_rate=3e-3,
        patience=5,
        validation_fraction=0.2,
        device=None,
        random_state=0,
        verbose=0,
    ):
        self.module = module
        self.kernel = kernel
        self.estimator = estimator
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _base(self) -> Any:
        return KernelQuantileRegressor() if self.estimator is None else self.estimator

    def __sklearn_tags__(self):
        tags = get_tags(self._base)
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = False
        tags.array_api_support = False
        return tags

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y=None):
        """Train the network, and solve the convex problem with its features.

        Parameters
        ----------
        X : array-like or tensor of shape (n_samples, ...), or torch.utils.data.DataLoader
            Inputs of the network, which become floating unless they are a tensor of integers; or a loader of pairs
            (x, y) whose dataset knows its length, of which ``collate_fn`` and ``batch_size`` are used.
        y : array-like
            Targets, as the estimator takes them; None for a loader.

        Returns
        -------
        self : DeepKernel
        """
        torch = torch_library()
        self._check_settings(torch)
        network = copy.deepcopy(self.module).to(self._device(torch))
        rows, batch_size = self._rows(torch, X, y, next(iter(network.parameters())))
        rng = as_random_state(self, self.random_state)
        seed, order = rng.randint(2**31 - 1), rng.permutation(len(rows))
        order = evenly_mixed(order, rows.targets) if is_classifier(self._base) else order
        n_out = int(np.ceil(self.validation_fraction * len(rows)))
        if len(rows) - n_out < FEWEST_IN_BATCHES:
            allowed = f"a share that leaves {FEWEST_IN_BATCHES} of {len(rows)} rows to learn from"
            raise parameter_error(self, "validation_fraction", self.validation_fraction, allowed)
        kernel = Gaussian("median") if self.kernel is None else as_kernel(self.kernel, self)
        head = clone(self._base).set_params(kernel=kernel)
        with torch.random.fork_rng():  # dropout and the like have the seed of the fit, and others keep theirs
            torch.manual_seed(seed)
            training = NetworkTraining(network, rows, head, order[n_out:], order[:n_out], rng)
            alpha = training.run(self.max_epochs, batch_size, self.learning_rate, self.patience)
        self.module_, self.held_out_ = training.network, np.sort(training.held_out)
        self.history_, self.best_epoch_ = training.history, training.best
        final = head.set_params(kernel=training.head.kernel, verbose=self.verbose)
        if isinstance(head.alpha, str):
            final.set_params(alpha=alpha / len(rows))
        self.estimator_ = final.fit(training.features(np.arange(len(rows))), rows.targets)
        return self

    def _check_settings(self, torch: Any) -> None:
        if not isinstance(self.module, torch.nn.Module):
            allowed = "a torch.nn.Module that makes features (n, p) of inputs (n, ...)"
            raise parameter_error(self, "module", self.module, allowed, "For instance nn.Sequential(...).")
        if not any(weight.requires_grad for weight in self.module.parameters()):
            allowed = "a module with weights that are to be trained"
            hint = "Features that are fixed are inputs: fit the estimator to module(X).detach().numpy()."
            raise parameter_error(self, "module", self.module, allowed, hint)
        if type(self._base) not in LEARNERS:
            allowed = "one of " + ", ".join(kind.__name__ for kind in LEARNERS)
            raise parameter_error(self, "estimator", self.estimator, allowed)
        for name, least in (("max_epochs", 1), ("batch_size", FEWEST_IN_BATCHES), ("patience", 1)):
            check_number(self, name, getattr(self, name), low=least, strict=False, integer=True)
        check_number(self, "learning_rate", self.learning_rate, low=0)
        check_number(self, "validation_fraction", self.validation_fraction, low=0, high=1)

    def _device(self, torch: Any) -> Any:
        """Return the device where the network is to be trained."""
        found = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            device = torch.device(found if self.device is None else self.device)
            torch.empty(0, device=device)
        except (RuntimeError, TypeError, AssertionError) as error:
            allowed = f"a device that PyTorch has here, such as {found!r}"
            raise parameter_error(self, "device", self.device, allowed, str(error).splitlines()[0]) from error
        return device

    def _rows(self, torch: Any, X: Any, y: Any, weight: Any) -> tuple[TensorRows, int]:
        """Return the rows, as a network with such a weight takes them, and how many make a batch."""
        if isinstance(X, torch.utils.data.DataLoader):
            if y is not None or not hasattr(X.dataset, "__len__") or X.batch_size is None:
                raise DataError(
                    "DeepKernel: a DataLoader brings its targets and batches, from a dataset that knows its length; "
                    "leave y out. Of an endless stream pass some rows as arrays."
                )
            if X.batch_size < FEWEST_IN_BATCHES:
                raise DataError(
                    f"DeepKernel: batch_size = {X.batch_size} of the DataLoader; halves of batches are predicted from "
                    f"each other, which takes {FEWEST_IN_BATCHES} rows at least. Pass DataLoader(..., batch_size=256)."
                )
            _check_number_of_rows(len(X.dataset))
            rows, batch_size = TensorRows.of_dataset(X.dataset, X.collate_fn, weight), int(X.batch_size)
        else:
            y = y.detach().cpu().numpy() if isinstance(y, torch.Tensor) else y
            X, dtype = _as_inputs(torch, X)
            with own_errors("X"):
                X, y = validate_data(self, X, y, allow_nd=True, dtype=dtype, multi_output=True, y_numeric=False)
            _check_number_of_rows(len(X))
            rows, batch_size = TensorRows.of_arrays(X, y, weight), int(self.batch_size)
        if not is_classifier(self._base):
            refuse_words(self, rows.targets)
        return rows, batch_size

    # -- prediction --------------------------------------------------------------------------------------------

    def features(self, X):
        """Return the features that the network makes of rows, shape (n_samples, p)."""
        torch = torch_library()
        check_is_fitted(self)
        X, dtype = _as_inputs(torch, X)
        with own_errors("X"):
            X = validate_data(self, X, reset=False, allow_nd=True, dtype=dtype)
        weight = next(iter(self.module_.parameters()))
        return features_of(self.module_, TensorRows.of_arrays(X, None, weight), np.arange(len(X)))

    @property
    def classes_(self):
        """Classes of a classifier."""
        return self.estimator_.classes_

    def score(self, X, y, **keywords):
        """Return the score of the estimator."""
        return self.estimator_.score(self.features(X), y, **keywords)


def _as_inputs(torch: Any, X: Any) -> tuple[Any, Any]:
    """Return inputs for scikit-learn to check, and their dtype: only tensors of integers, such as words, stay such."""
    if not isinstance(X, torch.Tensor):
        return X, np.float32
    integers = X.dtype in (torch.int32, torch.int64)
    X = X.detach().cpu().numpy()
    return X, X.dtype if integers else np.float32


def _check_number_of_rows(n: int) -> None:
    if n < FEWEST_TRAINED:
        raise DataError(
            f"DeepKernel: n_samples = {n}; halves of batches and held-out rows are asked for, which takes "
            f"{FEWEST_TRAINED} rows at least."
        )


def _handed_on(name: str) -> Any:
    """Return a method that asks the fitted estimator about features."""

    def offered(model: DeepKernel) -> bool:
        return hasattr(getattr(model, "estimator_", model._base), name)

    def method(self, X, *arguments, **keywords):
        check_is_fitted(self)
        return getattr(self.estimator_, name)(self.features(X), *arguments, **keywords)

    method.__name__, method.__doc__ = name, f"Return what the estimator's ``{name}`` says of the features of X."
    return available_if(offered)(method)


for _name in (
    "predict",
    "predict_at",
    "predict_quantile",
    "predict_interval",
    "predict_function",
    "predict_cdf",
    "predict_mean",
    "predict_proba",
    "decision_function",
    "decision_functions",
):
    setattr(DeepKernel, _name, _handed_on(_name))
