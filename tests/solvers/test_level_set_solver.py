"""The algorithms for level sets against cvxpy, scikit-learn, the printed oracle and each other."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import OneClassSVM

from mercer.exceptions import MercerError
from mercer.kernels import Constant, FunctionKernel, Gaussian, Linear, Periodic
from mercer.linalg import Dense, Kronecker
from mercer.losses import Pinball
from mercer.measures import Points
from mercer.problems import DualProblem, level_set_problem
from mercer.solvers import (
    ADMM,
    InteriorPoint,
    ProximalGradient,
    SemismoothNewton,
    level_sets,
    level_sets_newton,
    plan,
    select,
)
from mercer.solvers.level_sets import LevelPath, independent_levels
from mercer.solvers.level_sets_newton import OffsetNewton

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 2))
K = Gaussian(0.5)(X)
WEIGHT = RNG.uniform(0.5, 2.0, size=25)
MEASURE = Points([0.35, 0.1, 0.5, 0.93], [0.3, 0.1, 0.4, 0.2]).build()
OFFSET_GRAM = Gaussian(5.0)(MEASURE.points)


def make(alpha=0.0, coupling=0.0, kernel=None, weight=WEIGHT):
    output_gram = None if kernel is None else kernel(MEASURE.points)
    return level_set_problem(
        Dense(K), MEASURE, weight, alpha=alpha, offset_gram=OFFSET_GRAM, coupling=coupling, output_gram=output_gram
    )


def shares(case, result):
    """δ_ij = s_i a_ij/n, whose columns sum to 1 where offsets are free."""
    return case.sample_weight[:, None] * result.coef / len(result.coef)


def offsets(case, result):
    return -case.effect(result.intercept)


def features(matrix):
    """Rows φ_i with φ_i·φ_k the entries of a positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    keep = values > 1e-13 * values.max()
    return vectors[:, keep] * np.sqrt(values[keep])


def reference(alpha, coupling, kernel):
    """The primal in feature space: h(x)(θ_j) = φ(x)ᵀ Z ψ(θ_j), from the definition; value, scores and offsets."""
    levels, eta, s = MEASURE.locations, MEASURE.weights, WEIGHT / WEIGHT.mean()
    F = features(K)
    T = np.eye(len(eta)) if coupling == 0 else features(kernel(MEASURE.points))
    Z = cp.Variable((F.shape[1], T.shape[1]))
    functions, scores = Z @ T.T, F @ Z @ T.T
    value = 0.5 * coupling * cp.sum_squares(Z)
    t = cp.Variable(len(eta))
    if alpha > 0:
        basis = features(OFFSET_GRAM)
        u = cp.Variable(basis.shape[1])
        t = basis @ u
        value += 0.5 * alpha * cp.sum_squares(u)
    for j in range(len(eta)):
        loss = (s / len(s) / levels[j]) @ cp.pos(t[j] - scores[:, j]) - t[j]
        value += eta[j] * (loss + 0.5 * cp.sum_squares(functions[:, j]))
    exact = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    found = cp.Problem(cp.Minimize(value)).solve(solver="CLARABEL", **exact)
    return found, scores.value, t.value


CASES = [
    (LevelPath, 0.0, 0.0, None),
    (ADMM, 0.0, 0.0, None),
    (ADMM, 0.05, 0.0, None),
    (ADMM, 5.0, 0.0, None),
    (OffsetNewton, 0.001, 0.0, None),
    (OffsetNewton, 0.05, 0.0, None),
    (OffsetNewton, 5.0, 0.0, None),
    (ADMM, 0.0, 0.3, Gaussian(3.0)),
    (ADMM, 0.0, 0.3, Constant()),
    (ADMM, 0.0, 1e-3, Gaussian(0.01)),
    (ADMM, 0.05, 0.3, Gaussian(3.0)),
    (ADMM, 0.05, 0.3, Constant()),
]


@pytest.mark.parametrize(("solver", "alpha", "coupling", "kernel"), CASES)
def test_against_cvxpy(solver, alpha, coupling, kernel):
    value, scores, t = reference(alpha, coupling, kernel)
    case = make(alpha, coupling, kernel)
    result = solver(tol=1e-8).solve(case)
    assert result.converged
    assert result.objective == pytest.approx(value, rel=1e-7)
    assert result.objective - result.gap <= value * (1 - 1e-9) + 1e-9
    assert np.allclose(case.predict(result.coef), scores, atol=3e-5)
    assert offsets(case, result) == pytest.approx(t, abs=3e-5)
    assert np.all((result.coef >= 0) & (result.coef <= (1 + 1e-12) / MEASURE.locations))


def oracle_problem():
    """The printed example (function-valued learning, oracle 9): four points, three levels."""
    x = np.array([[0.0], [0.3], [0.7], [1.0]])
    measure = Points([0.25, 0.5, 0.75]).build()
    return level_set_problem(Dense(Gaussian(2.0)(x)), measure, alpha=0.1, offset_gram=Gaussian(3.0)(measure.points))


@pytest.mark.parametrize("solver", [ADMM, OffsetNewton])
def test_the_printed_oracle(solver):
    case = oracle_problem()
    result = solver(tol=1e-9).solve(case)
    assert result.objective == pytest.approx(-0.26831637, abs=6e-9)
    assert offsets(case, result) == pytest.approx([0.512648, 0.611549, 0.576322], abs=6e-7)
    assert shares(case, result).sum(axis=0) == pytest.approx([0.903078, 1.007251, 0.866875], abs=6e-7)
    assert shares(case, result)[:, 0] == pytest.approx([0.451539, 0, 0, 0.451539], abs=6e-7)
    assert case.predict(result.coef)[:, 0] == pytest.approx([0.512648, 0.546625, 0.546625, 0.512648], abs=6e-7)


@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_the_biased_fraction_of_outliers(alpha):
    """#{H < t}/n ≤ θ Σδ ≤ #{H ≤ t}/n: the bias comes from α only."""
    case = make(alpha, weight=None)
    result = OffsetNewton(tol=1e-11).solve(case)
    below = case.predict(result.coef) - offsets(case, result)
    carried = MEASURE.locations * shares(case, result).sum(axis=0)
    assert np.all(np.mean(below < -1e-5, axis=0) <= carried + 1e-6)
    assert np.all(carried <= np.mean(below <= 1e-5, axis=0) + 1e-6)


@pytest.mark.parametrize("nu", [0.02, 0.1, 0.5, 0.97])
def test_one_level_is_the_one_class_svm(nu):
    data = RNG.normal(size=(60, 3))
    theirs = OneClassSVM(nu=nu, gamma=0.3, tol=1e-10).fit(data)
    case = level_set_problem(Dense(Gaussian(0.3)(data)), Points([nu]).build())
    result = LevelPath(tol=1e-10).solve(case)
    alphas = np.zeros(60)
    alphas[theirs.support_] = theirs.dual_coef_[0]
    assert result.coef[:, 0] * nu == pytest.approx(alphas, abs=1e-4)


def test_the_path_is_independent_of_the_other_levels():
    case = make()
    together = LevelPath(tol=1e-9).solve(case)
    for j, level in enumerate(MEASURE.locations):
        one = level_set_problem(Dense(K), Points([level]).build(), WEIGHT)
        alone = LevelPath(tol=1e-9).solve(one)
        assert case.predict(together.coef)[:, j] == pytest.approx(one.predict(alone.coef)[:, 0], abs=1e-4)


def test_a_constant_output_kernel_is_the_q_ocsvm():
    """Glazer et al. (2013): one h for all levels, an offset each, ½‖h‖² once; the coupling scales the solution."""
    levels, n = np.array([0.2, 0.5, 0.8]), len(K)
    F = features(K)
    w, rho = cp.Variable(F.shape[1]), cp.Variable(3)
    losses = [cp.sum(cp.pos(rho[j] - F @ w)) / (n * levels[j]) - rho[j] for j in range(3)]
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + sum(losses) / 3)).solve(solver="CLARABEL", tol_gap_rel=1e-11)
    for coupling in (1e-3, 1.0):
        measure = Points(levels).build()
        case = level_set_problem(Dense(K), measure, coupling=coupling, output_gram=Constant()(measure.points))
        result = ADMM(tol=1e-8).solve(case)
        H = case.predict(result.coef) * (1 + coupling)
        assert np.allclose(H, (F @ w.value)[:, None], atol=1e-4)
        assert offsets(case, result) * (1 + coupling) == pytest.approx(rho.value, abs=1e-4)


def test_a_delta_kernel_on_offsets_leaves_levels_independent():
    delta = FunctionKernel(lambda left, right: (left == right.T).astype(float))
    case = level_set_problem(Dense(K), MEASURE, alpha=0.1, offset_gram=delta(MEASURE.points))
    result = ADMM(tol=1e-8).solve(case)
    for j in range(4):
        eta = MEASURE.weights[j]
        one = Points([MEASURE.locations[j]], [eta]).build()
        single = level_set_problem(Dense(K), one, alpha=0.1, offset_gram=np.eye(1))
        alone = ADMM(tol=1e-8).solve(single)
        assert offsets(case, result)[j] == pytest.approx(offsets(single, alone)[0], abs=1e-4)


def test_strong_coupling_brings_the_levels_together():
    def spread(coupling):
        case = make(coupling=coupling, kernel=Gaussian(1.0))
        B = np.linalg.solve(K, case.predict(ADMM(tol=1e-5).solve(case).coef))
        return np.linalg.norm(B - B.mean(axis=1, keepdims=True)) / np.linalg.norm(B)

    assert spread(100.0) < 0.8 * spread(1.0) < spread(1e-2)


def test_a_thin_factor_gives_the_same_levels(monkeypatch):
    data = RNG.normal(size=(300, 1))
    case = level_set_problem(Gaussian(0.5).gram(data), MEASURE)
    dense = LevelPath(tol=1e-5).solve(case)
    monkeypatch.setattr(level_sets, "STORED_ROWS", 8 * 300 * 100)
    thin = LevelPath(tol=1e-5).solve(level_set_problem(Gaussian(0.5).gram(data), MEASURE))
    assert thin.converged
    assert thin.objective == pytest.approx(dense.objective, rel=2e-5)


def test_rows_that_are_evaluated_one_by_one_give_the_same_levels(monkeypatch):
    data = RNG.normal(size=(300, 5))
    dense = LevelPath(tol=1e-5).solve(level_set_problem(Gaussian(0.5).gram(data), MEASURE))
    monkeypatch.setattr(level_sets, "STORED_ROWS", 8 * 300 * 20)  # of which few are kept
    monkeypatch.setattr(level_sets, "FACTOR_RANK", 20)
    monkeypatch.setattr(level_sets, "ONE_BY_ONE", 10 / 300)
    alone = LevelPath(tol=1e-5).solve(level_set_problem(Gaussian(0.5).gram(data), MEASURE))
    assert alone.converged
    assert alone.objective == pytest.approx(dense.objective, rel=2e-5)


def test_a_factor_that_is_too_thin_is_refined(monkeypatch):
    exact, accuracies = level_sets.pivoted_cholesky, []

    def rough(gram, tolerance, max_rank):
        accuracies.append(tolerance)
        return exact(gram, 300 * tolerance, max_rank=max_rank)

    monkeypatch.setattr(level_sets, "STORED_ROWS", 8 * 300 * 100)
    monkeypatch.setattr(level_sets, "pivoted_cholesky", rough)
    case = level_set_problem(Gaussian(0.5).gram(RNG.normal(size=(300, 1))), MEASURE)
    assert LevelPath(tol=1e-4).solve(case).converged
    assert len(accuracies) > 1


def test_the_eigenbasis_is_refined_until_the_exact_gap_is_small():
    data = RNG.normal(size=(150, 1))
    case = level_set_problem(Gaussian(0.5).gram(data), MEASURE, alpha=0.1, offset_gram=OFFSET_GRAM)
    result = ADMM(tol=1e-4).solve(case)
    assert result.converged
    assert case.certificate(result.coef).relative_gap <= 1e-4


@pytest.mark.parametrize("solver", [LevelPath(), ADMM()])
def test_degenerate_kernels(solver):
    measure = Points([0.2, 0.6, 1.0]).build()
    for matrix in (np.zeros((6, 6)), np.ones((6, 6)), np.eye(6), Linear()(np.array([[1.0], [-1.0]] * 3))):
        result = solver.solve(level_set_problem(Dense(matrix), measure))
        assert result.converged
        assert np.all(np.isfinite(result.intercept))
        assert result.coef.sum(axis=0) == pytest.approx([6, 6, 6])


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_newton_on_degenerate_kernels(alpha):
    measure = Points([0.2, 0.6, 1.0]).build()
    for matrix in (np.zeros((6, 6)), np.ones((6, 6)), np.eye(6), Linear()(np.array([[1.0], [-1.0]] * 3))):
        case = level_set_problem(Dense(matrix), measure, alpha=alpha, offset_gram=Gaussian(3.0)(measure.points))
        result, other = OffsetNewton().solve(case), ADMM().solve(case)
        assert result.converged
        assert other.converged
        assert result.objective == pytest.approx(other.objective, rel=2e-3, abs=1e-8)


def test_newton_takes_few_steps():
    data = RNG.normal(size=(150, 1))
    for alpha in (0.1, 3.0):
        case = level_set_problem(Gaussian(0.5).gram(data), MEASURE, alpha=alpha, offset_gram=OFFSET_GRAM)
        result = OffsetNewton(tol=1e-6).solve(case)
        assert result.converged
        assert result.n_iter <= 8
        assert case.certificate(result.coef).relative_gap <= 1e-6


@pytest.mark.parametrize("seed", [2, 5, 11, 17])
def test_newton_alone_solves_random_problems(seed, monkeypatch):
    """Seed 11 (three rows, eight levels) needs shortened steps."""
    monkeypatch.setattr(level_sets_newton.ADMM, "run", None)  # no help
    rng = np.random.default_rng(seed)
    n, d, m = (int(rng.choice(sizes)) for sizes in ([3, 8, 20, 60], [1, 2, 5], [1, 3, 8]))
    data = rng.normal(size=(n, d))
    measure = Points(np.sort(rng.uniform(0.02, 1, m)), rng.uniform(0.1, 1, m)).build()
    alpha, gamma, offset_gamma = 10 ** rng.uniform([-4, -2, -1], [3, 1, 2])
    offset_gram = Gaussian(offset_gamma)(measure.points)
    case = level_set_problem(Dense(Gaussian(gamma)(data)), measure, alpha=alpha, offset_gram=offset_gram)
    assert OffsetNewton(tol=1e-6).solve(case).converged


def test_admm_takes_over_where_newton_steps_do_not_help(monkeypatch):
    monkeypatch.setattr(level_sets_newton._Masses, "step", lambda masses, tol: False)
    result = OffsetNewton(tol=1e-6, max_iter=2000).solve(make(alpha=0.05))
    assert result.converged
    assert result.n_iter > 1
    assert result.objective == pytest.approx(reference(0.05, 0.0, None)[0], rel=1e-5)


def stalled_problem():
    """Levels with a tiny α, where no Newton step is possible after the first ones."""
    data = np.random.default_rng(1).normal(size=(60, 2))
    measure = Points(np.linspace(0.05, 0.95, 10)).build()
    return level_set_problem(Dense(Gaussian(0.5)(data)), measure, alpha=1e-9, offset_gram=Gaussian(5.0)(measure.points))


def test_the_limit_on_iterations_holds_for_newton_and_admm_together(monkeypatch):
    case, seen = stalled_problem(), []
    step = level_sets_newton._Masses.step
    monkeypatch.setattr(level_sets_newton._Masses, "step", lambda masses, tol: step(masses, tol) and False)
    result = OffsetNewton(tol=1e-12, max_iter=20).solve(case, callback=lambda n_iter, certificate: seen.append(n_iter))
    assert result.status == "max_iter"
    assert result.n_iter == 20 == seen[-1]
    assert seen == sorted(seen)
    assert OffsetNewton(tol=1e-12, max_iter=1).solve(case).n_iter == 1


@pytest.mark.parametrize("better", ["Newton", "ADMM"])
def test_the_better_point_is_kept_when_admm_takes_over(better, monkeypatch):
    case = make(alpha=0.05)
    good = ADMM(tol=1e-6).solve(case).coef
    first, second = (good, 0.5 * good) if better == "Newton" else (0.5 * good, good)
    monkeypatch.setattr(level_sets_newton._Masses, "step", lambda masses, tol: False)
    monkeypatch.setattr(level_sets_newton._Masses, "A", first)

    def run(solver, problem, A, monitor, n_iter):
        return monitor.result(second, problem.certificate(second), solver.max_iter)

    monkeypatch.setattr(level_sets_newton.ADMM, "run", run)
    result = OffsetNewton(tol=1e-9, max_iter=50).solve(case)
    assert np.array_equal(result.coef, good)
    assert result.relative_gap == case.certificate(good).relative_gap
    assert (result.status, result.n_iter) == ("max_iter", 50)


def test_an_unconverged_solve_says_so():
    data = RNG.normal(size=(200, 5))
    case = level_set_problem(Gaussian(0.3).gram(data), MEASURE)
    result = LevelPath(tol=1e-6, max_iter=3).solve(case)
    assert result.status == "max_iter"
    assert result.relative_gap > 1e-6
    assert np.all(np.isfinite(result.coef))
    coupled = level_set_problem(Dense(K), MEASURE, alpha=0.1, offset_gram=OFFSET_GRAM)
    assert ADMM(tol=1e-12, max_iter=2).solve(coupled).status == "max_iter"
    assert ADMM(tol=1e-12).solve(coupled, callback=lambda n_iter, certificate: True).status == "stopped"


def test_a_warm_start_is_taken():
    case = make(alpha=0.1)
    first = ADMM(tol=1e-8).solve(case)
    again = ADMM(tol=1e-8).solve(case, init=first.coef)
    assert again.n_iter == 0 < first.n_iter
    assert again.objective == pytest.approx(first.objective, rel=1e-12)
    perturbed = ADMM(tol=1e-8).solve(case, init=first.coef * RNG.uniform(0.5, 1.5, size=(25, 4)))
    assert perturbed.converged


def test_what_the_algorithms_refuse():
    plain = DualProblem(Kronecker(Dense(K), Dense(np.eye(4))), Pinball(), RNG.normal(size=(25, 4)), MEASURE, 0.1)
    coupled = make(coupling=0.3, kernel=Gaussian(3.0))
    for case in (make(alpha=0.1), coupled, plain):
        with pytest.raises(MercerError, match=r"requires level sets with free offsets.* Use ADMM"):
            LevelPath().solve(case)
    for case in (make(), make(0.1, 0.3, Gaussian(3.0)), plain):
        with pytest.raises(MercerError, match=r"requires level sets with penalised offsets.* Use ADMM"):
            OffsetNewton().solve(case)
    for case in (make(), make(alpha=0.1), coupled):
        with pytest.raises(MercerError, match=r"the intercept has a target or a penalty. Use ADMM"):
            InteriorPoint().solve(case)
        with pytest.raises(MercerError, match=r"an intercept with a design or a target. Use ADMM"):
            ProximalGradient().solve(case)


@pytest.mark.parametrize(
    ("alpha", "coupling", "solver"),
    [(0.0, 0.0, LevelPath), (0.1, 0.0, OffsetNewton), (0.0, 0.3, SemismoothNewton), (0.1, 0.3, SemismoothNewton)],
)
def test_each_kind_of_levels_has_its_algorithm(alpha, coupling, solver):
    case = make(alpha, coupling, Gaussian(3.0))
    assert type(select(case)) is solver
    assert plan("auto", case, 1e-4).solve().converged


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_one_level_is_never_coupled(alpha):
    """Its penalties of h are one: the special algorithms take it."""
    one, on_level = Points([0.3]).build(), np.array([[2.0]])
    case = level_set_problem(
        Dense(K), one, WEIGHT, alpha=alpha, offset_gram=on_level, coupling=0.4, output_gram=on_level
    )
    special, general = select(case, 1e-8).solve(case), ADMM(tol=1e-8).solve(case)
    assert type(special.solver) is (OffsetNewton if alpha else LevelPath)
    assert special.objective == pytest.approx(general.objective, rel=1e-7)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_the_weight_of_the_norm_is_respected(alpha):
    case = make(alpha).with_alpha(3.0)
    special, general = select(case, 1e-8).solve(case), ADMM(tol=1e-8).solve(case)
    assert special.converged
    assert special.objective == pytest.approx(general.objective, rel=1e-7)
    assert case.predict(special.coef) == pytest.approx(case.predict(general.coef), abs=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_independent_levels_are_a_good_start_for_coupled_ones(alpha):
    data = np.random.default_rng(5).normal(size=(300, 2))
    on_levels = Gaussian(3.0)(MEASURE.points)
    case = level_set_problem(
        Gaussian(0.5).gram(data), MEASURE, alpha=alpha, offset_gram=on_levels, coupling=0.01, output_gram=on_levels
    )
    start = independent_levels(case)
    assert start.sum(axis=0) == pytest.approx(np.full(4, 300.0))
    near, far = ADMM(tol=1e-3).solve(case, start), ADMM(tol=1e-3).solve(case)
    assert near.converged
    assert far.converged
    assert near.n_iter < far.n_iter


def test_a_tiny_penalty_beside_a_coupling_converges():
    data = np.random.default_rng(1).normal(size=(60, 2))
    measure = Points(np.linspace(0.05, 0.95, 10)).build()
    on_levels = Gaussian(5.0)(measure.points)
    case = level_set_problem(
        Dense(Gaussian(0.5)(data)), measure, alpha=1e-9, offset_gram=on_levels, coupling=0.1, output_gram=on_levels
    )
    result = ADMM(tol=1e-3).solve(case, independent_levels(case))
    free = level_set_problem(Dense(Gaussian(0.5)(data)), measure, coupling=0.1, output_gram=on_levels)
    assert result.converged
    assert result.objective == pytest.approx(ADMM(tol=1e-3).solve(free).objective, rel=3e-3)


# --- how it ends where numbers are at their limits


def test_a_low_level_does_not_wait_for_rounding():
    levels = Points([1e-9, 1e-3, 0.5]).build()
    data = np.random.default_rng(1).integers(-3, 4, size=(36, 3)).astype(float)
    case = level_set_problem(Dense(Linear()(data)), levels)
    result = LevelPath(tol=1e-5).solve(case)
    assert result.converged
    assert result.n_iter < 10_000


def test_pairs_that_crawl_stop():
    data = np.random.default_rng(2).normal(size=(30, 2))
    case = level_set_problem(Dense(Linear()(data + 3.0)), Points([0.2, 0.5, 0.8]).build())
    result = LevelPath(tol=1e-17).solve(case)
    assert result.status == "stalled"
    assert result.relative_gap < 1e-6
    assert result.n_iter < 40_000


def test_newton_steps_take_equal_levels_and_kernels_of_rank_one():
    levels = Points([0.5, 0.1, 0.5, 1.0]).build()
    data = 4e-4 * np.random.default_rng(4).normal(size=(23, 1))
    case = level_set_problem(Dense(Linear()(data)), levels, alpha=0.19, offset_gram=Periodic()(levels.points))
    assert OffsetNewton(tol=1e-3).solve(case).converged


def test_newton_steps_that_crawl_stop():
    data = np.random.default_rng(3).normal(size=(30, 1)) @ np.ones((1, 3))
    levels = Points(np.linspace(0.05, 0.95, 10)).build()
    case = level_set_problem(
        Dense(Linear()(data) + Gaussian(1.0)(data)), levels, alpha=7e-4, offset_gram=Gaussian(5.0)(levels.points)
    )
    result = OffsetNewton(tol=1e-14, max_iter=60).solve(case)
    assert not result.converged
    assert result.relative_gap < 1e-4
