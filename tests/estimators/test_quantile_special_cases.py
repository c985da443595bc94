"""Methods of other papers that are special cases of KernelQuantileRegressor, against their own definitions in cvxpy."""

import numpy as np
import pytest

from mercer import KernelQuantileRegressor
from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian
from mercer.losses import WeightedHuber
from mercer.measures import Points

cp = pytest.importorskip("cvxpy")

RNG = np.random.default_rng(0)
N = 13  # n·θ is no integer for the levels below, so that intercepts are unique
X, NEW = RNG.uniform(size=(N, 2)), RNG.uniform(size=(7, 2))
Y = np.sin(4 * X[:, 0]) + X[:, 1] + (0.3 + X[:, 0]) * RNG.normal(size=N)
LEVELS = np.array([0.1, 0.4, 0.6, 0.85])
ALPHA = 0.02
KERNEL = Gaussian(5.0)
K, K_NEW = KERNEL(X), KERNEL(NEW, X)


def same(x, z):
    """The kernel of levels that have nothing to do with each other."""
    return (x[:, :1] == z[:, :1].T).astype(float)


def regressor(**settings):
    defaults = {"kernel": KERNEL, "alpha": ALPHA, "noncrossing": None, "tol": 1e-8, "max_iter": 100_000}
    return KernelQuantileRegressor(**(defaults | settings))


def minimise(objective):
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return float(problem.value)


def check(r, level):
    """Koenker and Bassett's check function ρ_τ(r) = r(τ − 1{r < 0}), summed."""
    return cp.sum(level * cp.pos(r) + (1 - level) * cp.neg(r))


def asymmetric_squares(r, level):
    """Newey and Powell's |τ − 1{r < 0}| r²/2, summed."""
    return cp.sum(level * cp.square(cp.pos(r)) + (1 - level) * cp.square(cp.neg(r))) / 2


def breckling_chambers(kappa):
    """|τ − 1{r < 0}| times Huber's function of slope 1, quadratic up to κ (M-quantiles)."""

    def risk(r, level):
        up, down = (cp.sum(cp.huber(part(r), kappa)) / (2 * kappa) for part in (cp.pos, cp.neg))
        return level * up + (1 - level) * down

    return risk


def kernel_machine(level, risk, ridge):
    """min (1/n) Σ risk(y − Kc − b) + (ridge/2) cᵀKc: one level, its value, and its predictions at NEW."""
    root = np.linalg.cholesky(K + 1e-11 * np.eye(N))
    v, b = cp.Variable(N), cp.Variable()
    value = minimise(risk(Y - root @ v - b, level) / N + ridge / 2 * cp.sum_squares(v))
    return value, K_NEW @ np.linalg.solve(root.T, v.value) + b.value


def test_joint_quantile_regression():
    """Sangnier, Fercoq and d'Alché-Buc (2016): it sums over levels, so that its λ is m times ours."""
    m, gamma = len(LEVELS), 6.0
    B = np.exp(-gamma * (LEVELS[:, None] - LEVELS) ** 2)
    left, right = np.linalg.cholesky(K + 1e-11 * np.eye(N)), np.linalg.cholesky(B + 1e-11 * np.eye(m))
    V, b = cp.Variable((N, m)), cp.Variable(m)
    h = left @ V @ right.T
    risk = sum(check(Y - h[:, j] - b[j], LEVELS[j]) for j in range(m)) / N
    value = minimise(risk + m * ALPHA / 2 * cp.sum_squares(V))
    expected = K_NEW @ np.linalg.solve(left.T, V.value) @ right.T + b.value
    model = regressor(measure=Points(LEVELS), output_kernel=Gaussian(gamma)).fit(X, Y)
    assert m * model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.predict_quantile(NEW, LEVELS), expected, atol=1e-3)
    wrong = regressor(measure=Points(LEVELS), output_kernel=Gaussian(gamma), alpha=ALPHA * m).fit(X, Y)
    assert np.abs(wrong.predict_quantile(NEW, LEVELS) - expected).max() > 0.05


@pytest.mark.parametrize("output_kernel", [same, Gaussian(1e4)], ids=["identity", "narrow"])
@pytest.mark.parametrize("weights", [None, [0.1, 0.2, 0.3, 0.4]])
def test_independent_quantiles(output_kernel, weights):
    """Levels that share nothing are fitted one by one, each with λ over its weight (Takeuchi et al., 2006)."""
    w = np.full(4, 0.25) if weights is None else np.array(weights)
    model = regressor(measure=Points(LEVELS, weights), output_kernel=output_kernel).fit(X, Y)
    alone = [kernel_machine(level, check, ALPHA / weight) for level, weight in zip(LEVELS, w, strict=True)]
    assert model.objective_ == pytest.approx(sum(v * each[0] for v, each in zip(w, alone, strict=True)), rel=1e-6)
    expected = np.column_stack([each[1] for each in alone])
    np.testing.assert_allclose(model.predict_quantile(NEW, LEVELS), expected, atol=2e-3)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.85])
def test_one_level_is_a_kernel_quantile_machine(level):
    value, expected = kernel_machine(level, check, ALPHA)
    model = regressor(measure=Points([level])).fit(X, Y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.predict_quantile(NEW, level)[:, 0], expected, atol=1e-3)
    # at any level asked for, since nothing is extrapolated
    np.testing.assert_allclose(model.predict(NEW), expected, atol=1e-3)


@pytest.mark.parametrize("level", [0.2, 0.85])
@pytest.mark.parametrize(
    ("loss", "risk"),
    [
        ("expectile", asymmetric_squares),
        ("m-quantile", breckling_chambers(1.0)),
        (WeightedHuber(0.2), breckling_chambers(0.2)),
        (WeightedHuber(5.0), breckling_chambers(5.0)),
    ],
    ids=["expectiles", "M-quantiles", "nearly quantiles", "nearly expectiles"],
)
def test_one_level_of_other_losses(level, loss, risk):
    value, expected = kernel_machine(level, risk, ALPHA)
    model = regressor(measure=Points([level]), loss=loss).fit(X, Y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.predict_quantile(NEW, level)[:, 0], expected, atol=1e-3)


@pytest.mark.parametrize(
    ("loss", "risk"),
    [("expectile", asymmetric_squares), (WeightedHuber(0.4), breckling_chambers(0.4))],
    ids=["expectiles", "M-quantiles"],
)
def test_joint_levels_of_other_losses(loss, risk):
    m, gamma, w = 3, 6.0, np.array([0.5, 0.3, 0.4])
    levels = LEVELS[1:]
    B = np.exp(-gamma * (levels[:, None] - levels) ** 2)
    left, right = np.linalg.cholesky(K + 1e-11 * np.eye(N)), np.linalg.cholesky(B + 1e-11 * np.eye(m))
    V, b = cp.Variable((N, m)), cp.Variable(m)
    h = left @ V @ right.T
    objective = sum(w[j] * risk(Y - h[:, j] - b[j], levels[j]) for j in range(m)) / N
    value = minimise(objective + ALPHA / 2 * cp.sum_squares(V))
    expected = K_NEW @ np.linalg.solve(left.T, V.value) @ right.T + b.value
    model = regressor(measure=Points(levels, w), output_kernel=Gaussian(gamma), loss=loss).fit(X, Y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.predict_quantile(NEW, levels), expected, atol=1e-3)


def test_m_quantiles_tend_to_expectiles():
    """κ times the loss tends to the asymmetric square, so that λ/κ goes with κ; equal once κ exceeds all residuals."""
    settings = {"measure": Points(LEVELS), "output_kernel": Gaussian(6.0)}
    limit = regressor(loss="expectile", **settings).fit(X, Y)
    expected = limit.predict_quantile(NEW, LEVELS)
    distance = []
    for kappa in (0.3, 1.0, 100.0):
        model = regressor(loss=WeightedHuber(kappa), **(settings | {"alpha": ALPHA / kappa})).fit(X, Y)
        distance.append(np.abs(model.predict_quantile(NEW, LEVELS) - expected).max())
    assert distance[0] > 2 * distance[1] > 1e-3
    assert distance[2] < 1e-4
    assert kappa * model.objective_ == pytest.approx(limit.objective_, rel=1e-6)


def test_m_quantiles_tend_to_quantiles():
    settings = {"measure": Points(LEVELS), "output_kernel": Gaussian(6.0)}
    expected = regressor(**settings).fit(X, Y).predict_quantile(NEW, LEVELS)
    distance = [
        np.abs(regressor(loss=WeightedHuber(k), **settings).fit(X, Y).predict_quantile(NEW, LEVELS) - expected).max()
        for k in (1.0, 0.1, 1e-3)
    ]
    assert distance[0] > distance[1] > distance[2]
    assert distance[2] < 0.02 * np.ptp(Y)


@pytest.mark.parametrize(
    ("loss", "level", "expected"),
    [
        ("expectile", 0.8, 6.571429),
        ("expectile", 0.5, 4.0),
        ("m-quantile", 0.8, 9.25),
        (WeightedHuber(1.0), 0.8, 9.25),
        ("pinball", 0.5, 2.5),
        ("pinball", 0.8, 10.0),
    ],
    ids=str,
)
def test_numbers_of_a_sample(loss, level, expected):
    """With an infinite λ nothing but the intercept is left: the statistic of the sample [1, 2, 3, 10]."""
    model = regressor(alpha=1e7, loss=loss, measure=Points([level])).fit(X[:4], [1.0, 2.0, 3.0, 10.0])
    np.testing.assert_allclose(model.predict_quantile(NEW, level), expected, atol=1e-5)


# -- levels that the output kernel does not link ----------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [30.0, 100.0, 1e9])
def test_rearrangement_sorts_the_trained_levels_where_the_output_kernel_does_not_link_them(gamma):
    levels = [0.1, 0.5, 0.9]
    settings = {"kernel": Gaussian(2.0), "alpha": 1e-2, "measure": Points(levels), "output_kernel": Gaussian(gamma)}
    free = KernelQuantileRegressor(noncrossing=None, **settings).fit(X, Y).predict_quantile(NEW, levels)
    expected = np.sort(free, axis=1)
    model = KernelQuantileRegressor(**settings).fit(X, Y)
    np.testing.assert_allclose(model.predict_quantile(NEW, levels), expected, atol=1e-8)
    between = model.predict_quantile(NEW, 0.3)[:, 0]  # a straight line
    np.testing.assert_allclose(between, expected[:, :2].mean(axis=1), atol=1e-8)


@pytest.mark.parametrize("loss", ["expectile", "m-quantile"])
@pytest.mark.parametrize("method", ["predict_interval", "predict_mean", "predict_cdf", "sample"])
def test_what_is_no_quantile_has_no_distribution(loss, method):
    model = regressor(loss=loss).fit(X, Y)
    arguments = (NEW, 0.0) if method == "predict_cdf" else (NEW,)
    with pytest.raises(UnsupportedError, match=f"{method} reads predictions as quantiles.*predict_quantile"):
        getattr(model, method)(*arguments)
