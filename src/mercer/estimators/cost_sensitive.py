"""A classifier for every cost of a missed positive against a false alarm, from one fit."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_number
from mercer.backend import clip, device, is_numpy, namespace, to_numpy
from mercer.estimators.approximation import StandIn
from mercer.estimators.binary_labels import check_both, positive_class, two_classes, whether_positive
from mercer.estimators.certified import ROUGH_ROWS
from mercer.estimators.infinite_task import DURING_FIT, InfiniteTaskEstimator
from mercer.estimators.intercept_function import InterceptFunction
from mercer.estimators.learned_kernel import FEWEST_OF_A_CLASS, LEARNING, LabelledRows
from mercer.estimators.operating_curve import OperatingCurve
from mercer.estimators.own_levels import OwnLevels
from mercer.estimators.partial_fit import StreamedLevels, can_stream
from mercer.estimators.progress import progress
from mercer.estimators.regularisation import CHOOSING, MOST_ROWS, choose_alpha
from mercer.estimators.renamed import renamed
from mercer.estimators.validation import TrainingRows, take_rows, validate_labels, validate_training, validate_weight
from mercer.exceptions import DataError, parameter_error
from mercer.kernels import Kernel
from mercer.linalg import eigh_fits
from mercer.operator_valued import BoundKernel
from mercer.quantile_function import QuantileFunction, check_levels
from mercer.stages import LabelInputs

__all__ = ["COST_HINT", "CostSensitiveClassifier"]

COST_HINT = (
    "A cost θ weighs positives by θ and negatives by 1 − θ; "
    "if missing a positive is r times as bad as a false alarm, θ = r/(1 + r)."
)
#: rows with costs of their own that are evaluated at once, each at the costs of all of them
ROWS_AT_ONCE = 256


class CostSensitiveClassifier(ClassifierMixin, StreamedLevels, InfiniteTaskEstimator):
    """Support vector classification for all misclassification costs in one model, with a certificate of optimality.

    Minimises, over h in the space of the kernel k_X(x, z)·k_Θ(θ, τ) and a free intercept b(θ) at the nodes θ_j of a
    measure on the costs,

        Σ_j w_j (1/n) Σ_i s_i c_i(θ_j) (1 − y_i (h(x_i)(θ_j) + b(θ_j)))₊ + (λ/2)‖h‖²,

    where y_i = ±1 and c_i(θ) = θ for positives (``pos_label_``) and 1 − θ for negatives, to a relative duality gap of
    ``tol``. The costs are learned jointly, so that any cost in (0, 1) can be asked for at prediction, also one for each
    row. Prefer it to one support vector machine per cost where costs are not known in advance, change, or are to be
    compared. If missing a positive costs a and a false alarm costs b, in any unit, the cost is θ = a/(a + b).

    Parameters
    ----------
    kernel : Kernel, str, callable or OperatorValuedKernel, default=None
        k_X. By default it is learned (see Notes), unless ``alpha`` is a number: columns are warped and get scales by
        evidence, or one for all where that is better on held-out rows. Units of columns do not matter. Strings such as
        "gaussian", "laplacian", "matern", "linear", "precomputed" are understood. To tune a parameter of it, pass the
        record, ``kernel=Gaussian()``, and search over ``kernel__gamma``. Or the whole of K,
        ``Decomposable(Gaussian(), Gaussian(5.0))``, with ``output_kernel=None``.
    output_kernel : Kernel, str or callable, default=None
        k_Θ on costs. By default a Gaussian whose scale is the median distance of the costs.
    alpha : float or "auto", default="auto"
        λ. "auto" is that of the least loss on held-out rows, together with the kernel; with a kernel of yours it comes
        from a closed-form leave-one-out error of the square loss on the labels ±1 (see Notes).
    approximation : FeatureMap, "auto" or None, default="auto"
        Features in place of k_X, for many rows: ``Nystroem(500)`` or ``RandomFourier(1000)`` of :mod:`mercer.features`.
        The fit is then exactly that of the kernel which the features make, with its certificate, and keeps no training
        rows. "auto" takes landmarks where the kernel itself would need more memory than there is, or more than about
        a minute; None never does.
    measure : MeasureRule, default=None
        Which costs are trained on, and their weights; by default ``GaussLegendre(20)`` on (0, 1).
        ``Points([0.1, 0.5, 0.9])`` trains on three costs.
    loss : str or Loss, default="hinge"
        The hinge loss, or a smooth one whose parameter is a cost (``MoreauHinge(0.1)``, ``WeightedMoreauHinge(0.1)``).
    fit_intercept : bool, default=True
        Whether to add b(θ).
    noncrossing : {"rearrange", "penalty", "constraint", "guarantee", None}, default=None
        "rearrange" sorts the decision values of each x on a fine grid of costs: whoever is called positive at
        a cost is so at every greater one. The next three act on h + b while fitting: "penalty" makes falling decision
        values dear, "constraint" forbids them at the training inputs, "guarantee" on the whole box of the training
        inputs (Gaussian kernels, one or two columns). None leaves h + b as it is.
    crossing_penalty : float, default=1.0
        Price of a unit of fall with ``noncrossing="penalty"``.
    crossing_anchors : array-like or data frame of shape (n_anchors, n_features), default=None
        Inputs at which falls are charged ("penalty", by their mean) or forbidden ("constraint"), in place of the
        training inputs: those where predictions will be asked for, or the corners of a design.
    cost : float, default=0.5
        Cost θ in (0, 1) at which ``predict``, ``decision_function`` and ``score`` decide where none is given. The fit
        does not depend on it.
    pos_label : label, default=None
        The positive class, whose errors θ weighs; by default the second class in sorted order.
    solver : str or Solver, default="auto"
        "auto" (see :func:`mercer.solvers.select`), "admm", "interior_point", "proximal_gradient", "lbfgs" (smooth
        losses), or a Solver with settings of its own.
    tol : float, default=1e-3
        Bound on the relative duality gap; a Solver object brings its own.
    max_iter : int, default=None
        Limit on the iterations; that of the solver by default, and always that of a Solver object.
    random_state : int, RandomState or None, default=None
        For random measures (MonteCarlo, Sobol, Halton).
    warm_start : bool, default=False
        Start from the last fit when the numbers of rows and costs are the same; so a fit that Ctrl-C has stopped
        goes on.
    verbose : int, default=0
        1 reports on standard error what is computed, factorisations before they begin and with an estimate of their
        time, and the duality gap as it falls, with an estimate of the time left.

    Attributes
    ----------
    encoder_ : TableEncoder or None
        How columns of text, categories, dates and missing cells of a data frame became numbers, for ``fit`` and for
        predictions; None where X was numbers. What is said below of columns of X is of the encoded ones, whose names
        are ``encoder_.get_feature_names_out()``.
    classes_ : array of shape (2,)
        The labels in sorted order.
    pos_label_ : label
        The positive class.
    inputs_ : LabelInputs or None
        What was learned of the inputs: ``inputs_(X)`` are the rows as ``kernel_`` takes them. None with a kernel or λ
        of yours, and in the other cases that Notes name.
    relevance_ : array of shape (n_columns,) or None
        Where the kernel is learned, the share of each column, or encoded column, in the scales; it sums to 1.
    dual_coef_ : array of shape (n_rows, n_nodes)
        Representer coefficients c: h(x)(θ) = Σ_ij k_X(x, x_i) c_ij k_Θ(θ_j, θ), over the rows of ``X_fit_``.
    X_fit_ : array of shape (n_rows, n_features_in_)
        Training rows of positive weight, identical pairs (x, y) once, then anchors; as ``kernel_`` takes them, where
        it is learned.
    columns_ : array of int or None
        Of a Gram matrix, the columns that belong to rows of positive weight, where not all do.
    slopes_ : array of shape (n_slopes, 1) or None
        Costs at which slopes were represented, with ``noncrossing`` acting in the fit.
    expansion_ : Expansion
        The fitted function h: ``evaluate(X, points)``, ``slope``, ``norm``, ``state()``. With a kernel of explicit
        features (:class:`~mercer.kernels.FeatureKernel`) it holds no training rows.
    intercept_ : array of shape (n_nodes,)
        b at the nodes; piecewise linear in between, constant beyond. Where the kernel is learned, thresholds of
        held-out rows are taken off it (see Notes).
    optimal_intercept_ : array of shape (n_nodes,)
        b of the least objective, of which the certificate speaks: ``intercept_`` without thresholds.
    intercept_function_ : InterceptFunction
        b(θ), through ``intercept_``.
    rearranged_ : bool
        Whether decision values are sorted, with ``noncrossing="rearrange"`` in the fit.
    box_ : array of shape (2, n_features_in_) or None
        Lowest and highest inputs between which predicted functions rise by proof, with ``noncrossing="guarantee"``.
    approximation_ : Approximation or None
        What took the place of the kernel, and its cost in accuracy, estimated on a sample; None for the kernel itself.
        With features ``X_fit_`` and ``dual_coef_`` are None: ``expansion_`` holds all that is left.
    alpha_ : float
        λ that was used.
    kernel_, output_kernel_ : Kernel
        With numbers for their bandwidths. (An OperatorValuedKernel that has no such factors is ``kernel_`` itself.)
    measure_ : Measure
        Nodes and weights.
    grid_ : array of shape (n_grid,)
        Costs on which decision values are sorted, and of the operating curve by default.
    objective_, dual_gap_, relative_gap_ : float
        Value of the objective, and how far it may be from the optimum, absolutely and relatively.
    n_iter_, status_, solver_ : int, str, Solver
        How the solver ended.

    Notes
    -----
    Ctrl-C in the middle of a fit keeps the best model so far: fitted, with its gap, ``status_ == "stopped"`` and a
    warning. A second one is a KeyboardInterrupt, and so is the first while λ is chosen or rows are checked.

    A cost θ' ∈ (−1, 1), as some papers have it, is θ = (θ' + 1)/2. Beyond the outer nodes (0.0034 and 0.9966 by
    default) decisions are those at the outer nodes: nothing is extrapolated.

    With ``measure=Points([θ], [1.0])`` and ``output_kernel="constant"`` this is the support vector machine
    ``sklearn.svm.SVC(C=1/(n·λ), class_weight={negative: 1 − θ, positive: θ})``.

    Without a kernel or λ of yours, k_X(x, x') is g·exp(−½ Σ_k s_k (z_k − z_k')²) + l·Σ_k s_k z_k z_k', divided by its
    mean at x = x', with z the columns of x, standardised, perhaps after power transforms. Scales s, g and l maximise
    the evidence of a Gaussian process for the labels ±1 times a prior that draws all scales to a common one, on at
    most 300 rows. Then rows are dealt to three folds; for each, fits to the others, with scales from the others, are
    compared, for these s or equal ones (without the linear part) and λ from 0.03 to 1e-4, on at most 1 000 rows, by
    the sum of two losses, each over its mean: the cost of errors, and the logarithmic loss of a logistic regression of
    the labels on the decision values, at each cost. λn is that of the best.

    The decision values of held-out rows also say where to cut. Fits know the cost only through their own errors, which
    are few where classes hardly overlap; so the logistic regression (Platt's scaling, at each cost) of the best says
    at which decision value P(positive) is 1 − θ, and this threshold t(θ), times e/(e + 2), e the mean number of errors
    over the costs, is taken off b(θ). With ``fit_intercept=False`` and with a ``noncrossing`` that acts while fitting
    there are no thresholds. ``objective_`` and the gap are those of h and ``optimal_intercept_``. Inputs more
    than half a standard deviation from the training range are moved there. With λ of yours, fewer than five rows of a
    class, ``noncrossing="guarantee"`` or arrays that are not NumPy's, k_X is ``Gaussian("standardized")``: lengths are
    the columns' standard deviations times the median distance.

    With such a kernel or yours, ``alpha="auto"`` minimises the leave-one-out error of the square loss with the same
    kernels and both classes of equal weight, in closed form, over λ from 1e-6 to 10, and multiplies by (4p(1 − p))², p
    the share of the positives. It is a sound start; tune ``alpha`` by cross-validation where a fit matters.

    The cost is that of the numerical ranks r and q of the two Gram matrices: for smooth kernels in few dimensions
    r and q are small (tens), the n × n matrix is never formed, and a step takes O(n·m·(r + q)).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import CostSensitiveClassifier
    >>> X, y = make_moons(200, noise=0.4, random_state=0)
    >>> model = CostSensitiveClassifier().fit(X, y)
    >>> cautious, eager = model.predict(X, cost=0.1), model.predict(X, cost=0.9)
    >>> bool(cautious.sum() < y.sum() < eager.sum())
    True
    >>> model.predict_proba(X).shape
    (200, 2)
    >>> curve = model.operating_curve(X, y, costs=[0.1, 0.5, 0.9])
    >>> bool(curve.sensitivity[-1] > 0.9 and curve.specificity[0] > 0.9 and model.relative_gap_ <= 1e-3)
    True
    """

    inputs_: LabelInputs | None

    _theta = "cost"
    _losses = "'hinge', 'moreau_hinge', 'weighted_moreau_hinge'"
    _ends = "At the costs 0 and 1, which Trapezoid includes, one of the classes does not count at all;"

    def __init__(
        self,
        kernel=None,
        *,
        output_kernel=None,
        alpha="auto",
        approximation="auto",
        measure=None,
        loss="hinge",
        fit_intercept=True,
        noncrossing=None,
        crossing_penalty=1.0,
        crossing_anchors=None,
        cost=0.5,
        pos_label=None,
        solver="auto",
        tol=1e-3,
        max_iter=None,
        random_state=None,
        warm_start=False,
        verbose=0,
    ):
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.alpha = alpha
        self.approximation = approximation
        self.measure = measure
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.noncrossing = noncrossing
        self.crossing_penalty = crossing_penalty
        self.crossing_anchors = crossing_anchors
        self.cost = cost
        self.pos_label = pos_label
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, costs=None):
        """Fit the classifiers of all costs.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Inputs; columns of a data frame may hold text, categories, dates and missing cells. A Gram matrix with
            ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans, of two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight 2 counts as the row twice. (With ``kernel="precomputed"`` and
            ``alpha="auto"``, λ is chosen as if copies were different rows.)
        costs : array-like of shape (n_samples,) or (n_samples, m), optional
            Costs in (0, 1) of each row's own, in place of ``measure``: what this applicant, or that patient, is worth,
            NaN where a row has fewer than m, or numbers drawn at random, which take the place of the integral over all
            costs. The problem has a row for each of the N costs in all, (1/n) Σ_i s_i (1/m_i) Σ_j c_i(θ_ij)
            (1 − y_i(h(x_i)(θ_ij) + b))₊ + (λ/2)‖h‖²; b is a number, and a function of the cost that varies a hundred
            times as freely as the rest of h comes with h. k_X is not learned: it is ``Gaussian("standardized")``
            by default. ``dual_coef_`` has the shape (N, 1), and ``measure_`` is the distribution of all costs.

        Returns
        -------
        self : CostSensitiveClassifier
        """
        self._check_settings()
        labels = validate_labels(self, y)
        classes = two_classes(self, labels)
        positive = positive_class(self, classes)
        signs = np.where(labels == classes[positive], 1.0, -1.0)
        rows = validate_training(self, X, signs, sample_weight)
        check_both(self, to_numpy(rows.y), classes[[1 - positive, positive]])
        if costs is None:
            X = self._fit_costs(rows)
        else:
            X = self._fit_own_costs(rows, OwnLevels.read(self, costs, rows.X, len(signs), sample_weight))
        numeric = classes.dtype.kind in "biuf"  # which every array library has; text stays with NumPy
        self.classes_ = namespace(X).asarray(classes, device=device(X)) if numeric else classes
        self.pos_label_ = classes.tolist()[positive]
        return self

    def _fit_costs(self, rows: TrainingRows) -> Any:
        """Fit costs that all rows share; return the rows as the kernel takes them."""
        X, signs, weight = self._merge(rows.X, rows.y, rows.weight)
        measure, loss, d = self._measure(X), self._loss(), int(X.shape[1])
        Y = namespace(signs).broadcast_to(signs[:, None], (signs.shape[0], len(measure)))
        choose = self._choose_learned if self._learns(X, signs) else self._choose_given
        self.inputs_, X, bound, taken, alpha, thresholds = choose(X, Y, weight, measure, loss)
        self._fit_function(X, Y, weight, bound, taken, loss, alpha, columns=rows.columns)
        self._calibrate(thresholds)
        self.relevance_ = None if self.inputs_ is None else self.inputs_.share(d)
        return X

    def _fit_own_costs(self, rows: TrainingRows, own: OwnLevels) -> Any:
        """Fit rows with costs of their own, likewise."""
        self.inputs_ = self.relevance_ = None
        X, table, weight = self._merge(rows.X, np.column_stack([rows.y, own.table]), rows.weight)
        signs, table = table[:, 0], table[:, 1:]

        def choose(bound, loss) -> float:
            return self._choose_alpha(bound, loss.growth, X, signs, weight, MOST_ROWS)

        self._fit_own(X, signs, weight, table, choose, 0.0, rows.columns)
        self._calibrate(None)
        return X

    @available_if(can_stream)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from one more batch of rows, which need not be kept.

        The first batch is fitted as by :meth:`fit` and so chooses kernel, λ and features, which stay: ``approximation``
        is features of :mod:`mercer.features`, or "auto" for 300 random frequencies (landmarks, where the kernel has
        none).
        Later rows are learned by averaged stochastic gradients (:class:`~mercer.solvers.StochasticGradient`), from that
        fit on: they refine it, and one fit of all rows is more exact where these can be kept.

        ``status_`` is "stream", gaps are not known (NaN), and ``n_samples_seen_`` counts rows. A batch that is refused
        changes nothing; after :meth:`fit` the stream begins anew.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, with the columns of the first batch.
        y : array-like of shape (n_samples,)
            Labels; the first batch must have rows of both classes.
        classes : array-like of shape (2,), optional
            Both labels, for scikit-learn's sake: those of the first batch are the classes.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, comparable between batches.

        Returns
        -------
        self : CostSensitiveClassifier
        """
        if classes is not None:
            labels = validate_labels(self, classes)
            known = to_numpy(self.classes_) if hasattr(self, "stream_") else np.unique(validate_labels(self, y))
            if not np.array_equal(np.unique(labels), known):
                raise DataError(
                    f"{type(self).__name__}.partial_fit: classes are {np.unique(labels).tolist()}, and the first batch "
                    f"has {known.tolist()}. It must have rows of both classes."
                )
        return self._partial_fit(X, y, sample_weight)

    def _stream_targets(self, y, n_rows):
        return np.where(whether_positive(self, y, n_rows), 1.0, -1.0)[:, None]

    @property
    def _stream_intercept(self):
        return self.optimal_intercept_

    def _take_intercept(self, b):
        thresholds = self.optimal_intercept_ - self.intercept_
        super()._take_intercept(b - thresholds)
        self.optimal_intercept_: Any = b

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number(self, "cost", self.cost, low=0, high=1, hint=COST_HINT)

    def _learns(self, X, signs) -> bool:
        """Whether the kernel is learned: where neither it nor λ was given and there are rows to learn from."""
        left = self.kernel is None and isinstance(self.alpha, str) and self.alpha == "auto"
        if not left or self.noncrossing == "guarantee" or not is_numpy(X):
            return False
        return min(np.sum(signs > 0), np.sum(signs < 0)) >= FEWEST_OF_A_CLASS

    def _choose_learned(self, X, Y, weight, measure, loss) -> tuple[LabelInputs, Any, BoundKernel, StandIn, float, Any]:
        """Return inputs, the rows as the kernel takes them, the kernel, learned from the labels, λ and thresholds."""

        def bind(kernel: Kernel) -> BoundKernel:
            return self._operator_valued_kernel(X, measure, kernel)

        def check(rows: LabelledRows) -> None:
            rough = rows.choose(self, bind, loss, ROUGH_ROWS)
            self._afford(rough.inputs(X), Y, weight, bind(rough.inputs.kernel), loss, lambda rows: rough.alpha)

        with progress(self.verbose, LEARNING):
            rows = LabelledRows.learn(X, Y[:, 0], weight)
            rows = rows if eigh_fits(len(X)) or self.approximation is not None else rows.affordable(check)
            found = rows.choose(self, bind, loss)
        inputs = found.inputs(X)
        bound, taken = self._with_features(bind(found.inputs.kernel), inputs)
        return found.inputs, inputs, bound, taken, found.alpha, found.thresholds

    def _choose_given(self, X, Y, weight, measure, loss) -> tuple[None, Any, BoundKernel, StandIn, float, None]:
        """Return what :meth:`_choose_learned` does for the kernel that was given: no inputs, the rows as they are."""
        bound, taken = self._with_features(self._operator_valued_kernel(X, measure), X)
        signs = to_numpy(Y[:, 0])

        def choose(rows: int = MOST_ROWS) -> float:
            return self._choose_alpha(bound, loss.growth, X, signs, weight, rows)

        self._afford(X, Y, weight, bound, loss, choose)
        with progress(self.verbose and isinstance(self.alpha, str), CHOOSING):
            return None, X, bound, taken, choose(), None

    def _calibrate(self, thresholds: np.ndarray | None) -> None:
        """Let decisions exceed the thresholds, where there are such, instead of 0: the intercept takes them off.

        Not without an intercept, and not where the fit saw to it that h + b does not fall.
        """
        self.optimal_intercept_ = self.intercept_
        if thresholds is not None and self.fit_intercept and self.noncrossing not in DURING_FIT:
            self.intercept_ = self.optimal_intercept_ - thresholds
            self.intercept_function_ = InterceptFunction(self.intercept_, self.measure_)

    def _choose_alpha(self, bound, growth, X, signs, weight, rows) -> float:
        """Return λ, for "auto" that of balanced classes times (4p(1 − p))², p the share of the positives.

        At the cost 1 − p, where both classes count the same, the loss is 4p(1 − p) times that of balanced classes; and
        the costs at which the classes compete, where h has to vary, are about that share of all costs.
        """
        weight = np.ones(len(signs)) if weight is None else to_numpy(weight)
        p, q = (float(weight[of_class].sum() / weight.sum()) for of_class in (signs > 0, signs < 0))
        balanced = weight * np.where(signs > 0, 0.5 / p, 0.5 / q)
        alpha = choose_alpha(self, self.alpha, bound, growth, X, signs, balanced, self.fit_intercept, rows)
        return alpha * (4 * p * q) ** 2 if isinstance(self.alpha, str) else alpha

    def _valid_inputs(self, X, method="predict"):
        X = super()._valid_inputs(X, method)
        return X if self.inputs_ is None else self.inputs_(X)

    def _valid_anchors(self, X):
        anchors = super()._valid_anchors(X)
        return anchors if self.inputs_ is None else self.inputs_(anchors)

    # -- prediction --------------------------------------------------------------------------------------------

    def predict_at(self, X, costs):
        """Return h(x)(θ) + b(θ) at any costs in (0, 1), shape (n_samples, n_costs): positive for ``pos_label_``.

        They are nondecreasing in the cost with ``noncrossing="rearrange"`` and "guarantee".

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        costs : float or array-like of shape (n_costs,)
            Also costs that were not trained on.
        """
        check_is_fitted(self)
        costs = check_levels(self, costs, "costs", COST_HINT)
        return self._decide(self._valid_inputs(X, "predict_at"), costs)

    predict_function = renamed(predict_at, "predict_function")

    def _decide(self, X, costs):
        """Return the decision values of all rows at all costs."""
        if not self.rearranged_:
            return self._evaluate(X, costs)
        grid = to_numpy(self.grid_)  # increasing functions of θ are quantile functions
        return QuantileFunction(grid, self._evaluate(X, grid)).rearranged()(costs)

    def _decide_each(self, X, cost, method):
        """Return the decision value of each row at the cost, or at its own, shape (n_samples,)."""
        X = self._valid_inputs(X, method)
        costs = self._costs(self.cost if cost is None else cost, X.shape[0])
        if len(costs) == 1:
            return self._decide(X, costs)[:, 0]
        order, xp = np.argsort(costs, kind="stable"), namespace(X)
        blocks = [order[i : i + ROWS_AT_ONCE] for i in range(0, len(order), ROWS_AT_ONCE)]
        values = [xp.linalg.diagonal(self._decide(take_rows(X, rows), costs[rows])) for rows in blocks]
        return take_rows(xp.concat(values), np.argsort(order))

    def _costs(self, cost: Any, n: int) -> np.ndarray:
        """Return a cost, shape (1,), or those of n rows."""
        if isinstance(cost, (numbers.Real, np.bool_)):
            check_number(self, "cost", cost, low=0, high=1, hint=COST_HINT)
            return np.array([float(cost)])
        allowed = f"a finite number in (0, 1) or {n} of them, one for each row"
        try:
            array = np.asarray(to_numpy(cost))
        except ValueError as error:  # rows of different lengths
            raise parameter_error(self, "cost", cost, allowed, COST_HINT) from error
        if array.shape != (n,) or array.dtype.kind not in "iuf" or not np.all((array > 0) & (array < 1)):
            raise parameter_error(self, "cost", cost, allowed, COST_HINT)
        return array.astype(float)

    @property
    def _second_is_positive(self) -> bool:
        """Whether the positive class is ``classes_[1]``."""
        return bool(to_numpy(self.classes_)[1] == self.pos_label_)

    def decision_function(self, X, cost=None):
        """Return the decision values at a cost, shape (n_samples,): positive for ``classes_[1]``.

        So scikit-learn has it. They are h(x)(θ) + b(θ), and minus that where ``pos_label_`` is ``classes_[0]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        cost : float or array-like of shape (n_samples,), optional
            Weight θ in (0, 1) of the positive class, 1 − θ being that of the negative one: for all rows or one for
            each. The parameter ``cost`` by default.
        """
        check_is_fitted(self)
        values = self._decide_each(X, cost, "decision_function")
        return values if self._second_is_positive else -values

    def predict(self, X, cost=None):
        """Return the labels that the cost asks for, shape (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        cost : float or array-like of shape (n_samples,), optional
            Weight θ in (0, 1) of the positive class, for all rows or one for each: near 1 few positives are missed,
            near 0 there are few false alarms. If missing a positive costs a and a false alarm costs b, it is
            a/(a + b). The parameter ``cost`` by default.
        """
        check_is_fitted(self)
        positive = self._decide_each(X, cost, "predict") > 0
        second = positive if self._second_is_positive else ~positive
        if is_numpy(self.classes_):
            return self.classes_[to_numpy(second).astype(int)]
        xp = namespace(second)
        return xp.take(self.classes_, xp.astype(second, xp.int64), axis=0)

    def predict_proba(self, X):
        """Return the probabilities of the classes, shape (n_samples, 2), in the order of ``classes_``.

        The decision of least expected cost at θ is "positive" where P(positive | x) > 1 − θ. Read backwards, the share
        of all costs at which x is called positive estimates this probability (Wang, Shen and Liu, 2008):

            p(x) = |{θ ∈ (0, 1): h(x)(θ) + b(θ) > 0}|.

        It is 1 − θ* where the decision changes its sign once, at θ*; one that changes more often is rearranged, so that
        the positive costs come last. Decisions are read on ``grid_``, θ_1 < … < θ_g, and are straight lines in
        between. Beyond its ends nothing was learned: whoever is called positive at all costs has p > 1 − θ_1, and gets
        the middle of that, 1 − θ_1/2; whoever is called negative at all costs gets (1 − θ_g)/2.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Notes
        -----
        With ``noncrossing="rearrange"``, ``predict(X, cost)`` is positive where p > 1 − cost and nowhere else, for
        costs from θ_1 to θ_g and but for rounding. Otherwise this is so at the costs of ``grid_`` for rows whose
        decisions change once; between these costs h is curved, and p is off by no more than their spacing. The order of
        rows by p is that of the costs at which they change sides, and not that of their decision values at one cost.

        Probabilities are those of the decisions. With a kernel or λ of yours a large λ draws them towards the share of
        the positives; learned kernels come with thresholds from held-out rows, which undo that. Where their scale
        matters beyond decisions, calibrate them: ``sklearn.calibration.CalibratedClassifierCV(model)``.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from sklearn.metrics import log_loss
        >>> from mercer import CostSensitiveClassifier
        >>> X, y = make_moons(400, noise=0.4, random_state=0)
        >>> model = CostSensitiveClassifier().fit(X[:200], y[:200])
        >>> bool(log_loss(y[200:], model.predict_proba(X[200:])) < 0.4)  # 0.69 for the shares of the classes
        True
        """
        check_is_fitted(self)
        grid = to_numpy(self.grid_)
        decisions = QuantileFunction(grid, self._decide(self._valid_inputs(X, "predict_proba"), grid))
        positive = clip(1 - decisions.cdf(0.0), float(1 - grid[-1]) / 2, 1 - float(grid[0]) / 2)
        both = [1 - positive, positive] if self._second_is_positive else [positive, 1 - positive]
        return namespace(positive).stack(both, axis=1)

    def operating_curve(self, X, y, costs=None, sample_weight=None):
        """Return sensitivity and specificity on (X, y) at each cost, as an :class:`OperatingCurve`.

        Both are monotone in the cost with ``noncrossing="rearrange"`` and "guarantee".

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels; both classes must be there.
        costs : float or array-like of shape (n_costs,), optional
            Costs in (0, 1); ``grid_`` by default.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights.
        """
        check_is_fitted(self)
        costs = check_levels(self, self.grid_ if costs is None else costs, "costs", COST_HINT)
        positive = to_numpy(self._decide(self._valid_inputs(X, "operating_curve"), costs)) > 0
        truth = whether_positive(self, y, len(positive))
        weight = validate_weight(sample_weight, positive)
        signs, classes = np.where(truth, 1, -1), to_numpy(self.classes_)
        check_both(self, signs[weight > 0], classes if self._second_is_positive else classes[::-1])
        right = np.where(truth[:, None], positive, ~positive) * weight[:, None]
        # sums down the columns, all in one order: rounding cannot make a monotone curve wiggle
        shares = [right[signs == sign].sum(axis=0) / weight[signs == sign].sum() for sign in (1, -1)]
        return OperatingCurve(costs, *shares)
