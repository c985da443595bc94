"""From constants of a problem to the risk of its minimiser: uniform stability and Rademacher averages.

Of λ-strongly convex problems min_h (1/n) Σ_i L_i(h(x_i)) + (λ/2)‖h‖².
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mercer._params import check_number
from mercer.guarantees.bound import Bound

__all__ = ["StabilityConstants", "rademacher_bound", "sharp_stability_bound", "stability_bound"]

#: what every bound on the risk of a fit takes for granted
OF_EVERY_RISK = (
    "rows are independent draws of one distribution, all with the same weight",
    "kernels, λ and thresholds were chosen without these rows",
)


@dataclass(frozen=True)
class StabilityConstants:
    """What is known of the minimiser ĥ before any data are seen.

    Parameters
    ----------
    norm : float
        M ≥ ‖ĥ‖, as the objective at h = 0 is not less than (λ/2)‖ĥ‖².
    lipschitz : float
        C, the Lipschitz constant of the loss in h(x), where ĥ may be.
    size : float
        γ, γ² = sup ‖K(x, x)‖, so that ‖h(x)‖ ≤ γ‖h‖.
    largest_loss : float
        ξ, the largest loss of ĥ at any (x, y).
    """

    norm: float
    lipschitz: float
    size: float
    largest_loss: float

    def stability(self, alpha: float, n: int) -> float:
        """Return β = C²γ²/(λn): how much any loss of ĥ changes at most when a row is left out."""
        return (self.lipschitz * self.size) ** 2 / (alpha * n)

    def optimisation_error(self, alpha: float, gap: float) -> float:
        """Return how much any loss of a model with this duality gap differs from that of ĥ at most.

        ‖h − ĥ‖ ≤ √(2·gap/λ), hence ‖h(x) − ĥ(x)‖ ≤ Δ = γ√(2·gap/λ), and the loss is (C + Δ)-Lipschitz there: it is
        C-Lipschitz everywhere, or its gradient is 1-Lipschitz.
        """
        step = self.size * math.sqrt(2 * max(gap, 0.0) / alpha)
        return (self.lipschitz + step) * step


def check_risk(n: int, delta: float) -> None:
    """Refuse numbers of rows and probabilities that are none."""
    check_number("guarantees", "n", n, low=1, strict=False, integer=True)
    check_number("guarantees", "delta", delta, low=0, high=1, hint="It is the probability to be wrong, such as 0.05.")


def stability_bound(
    empirical: float, constants: StabilityConstants, alpha: float, n: int, delta: float = 0.05, gap: float = 0.0
) -> Bound:
    """Return a bound on the risk of the minimiser from that on its n rows, by uniform stability.

    With probability 1 − δ, R(ĥ) ≤ R_n(ĥ) + 2β + (4nβ + ξ)√(ln(1/δ)/(2n)) (Bousquet and Elisseeff, 2002), β = C²γ²/(λn).
    The model has a duality gap: twice what that may change of a loss is added.

    Parameters
    ----------
    empirical : float
        R_n, the mean loss of the model on the rows of the fit.
    constants : StabilityConstants
        M, C, γ and ξ.
    alpha : float
        λ.
    n : int
        Number of rows.
    delta : float, default=0.05
        δ.
    gap : float, default=0.0
        The duality gap of the model.

    Examples
    --------
    >>> from mercer.guarantees import robust_constants
    >>> from mercer.losses import Huber
    >>> bound = stability_bound(0.1, robust_constants(Huber(0.5), 0.1, 1.0, 1.0), 0.1, 1000)
    >>> bound.constants["stability"], round(bound.value, 3)
    (0.0025, 0.56)
    """
    check_risk(n, delta)
    beta = constants.stability(alpha, n)
    rounding = 2 * constants.optimisation_error(alpha, gap)
    deviation = (4 * n * beta + constants.largest_loss) * math.sqrt(math.log(1 / delta) / (2 * n))
    value = float(empirical) + 2 * beta + deviation + rounding
    used = {"empirical": float(empirical), "stability": beta, "deviation": deviation, "optimisation": rounding}
    used |= {"norm": constants.norm, "lipschitz": constants.lipschitz, "size": constants.size}
    used |= {"largest_loss": constants.largest_loss, "alpha": alpha, "n": n, "delta": delta}
    return Bound(
        value, "Bousquet and Elisseeff (2002), uniform stability; Laforgue et al. (2020), 8-9", used, OF_EVERY_RISK
    )


def sharp_stability_bound(
    empirical: float, constants: StabilityConstants, alpha: float, n: int, delta: float = 0.05, gap: float = 0.0
) -> Bound:
    """Return the bound on the risk of the minimiser that is best for n → ∞ where λ falls with n.

    With probability 1 − δ, |R(ĥ) − R_n(ĥ)| ≤ 12√2·e·β·log₂(n)·ln(e/δ) + 4e·ξ√(ln(e/δ)/n) (Bousquet, Klochkov and
    Zhivotovskiy, 2020; Lambert, 2021, proposition 5.7). β log n takes the place of β√n in :func:`stability_bound`. By
    its constants it is the larger one for as many rows as one meets: up to a million for Huber's loss and λ ~ n^(−1/2).

    Parameters
    ----------
    empirical, constants, alpha, n, delta, gap
        As those of :func:`stability_bound`; n is 2 at least.

    Examples
    --------
    >>> from mercer.guarantees import robust_constants
    >>> from mercer.losses import Huber
    >>> constants = robust_constants(Huber(0.5), 0.1, 1.0, 1.0)
    >>> [round(bound(0.1, constants, 0.1, 1000).value, 2) for bound in (stability_bound, sharp_stability_bound)]
    [0.56, 5.89]
    """
    check_risk(n, delta)
    check_number("sharp_stability_bound", "n", n, low=2, strict=False, integer=True)
    beta, doubt = constants.stability(alpha, n), math.log(math.e / delta)
    stable = 12 * math.sqrt(2) * math.e * beta * math.log2(n) * doubt
    deviation = stable + 4 * math.e * constants.largest_loss * math.sqrt(doubt / n)
    rounding = 2 * constants.optimisation_error(alpha, gap)
    used = {"empirical": float(empirical), "stability": beta, "deviation": deviation, "optimisation": rounding}
    used |= {"norm": constants.norm, "lipschitz": constants.lipschitz, "size": constants.size}
    used |= {"largest_loss": constants.largest_loss, "alpha": alpha, "n": n, "delta": delta}
    value = float(empirical) + deviation + rounding
    return Bound(value, "Bousquet, Klochkov and Zhivotovskiy (2020), uniform stability", used, OF_EVERY_RISK)


def rademacher_bound(
    empirical: float,
    constants: StabilityConstants,
    trace: float,
    alpha: float,
    n: int,
    delta: float = 0.05,
    gap: float = 0.0,
) -> Bound:
    """Return a bound on the risk of the minimiser from that on its n rows, by Rademacher averages.

    With probability 1 − δ, R(ĥ) ≤ R_n(ĥ) + 2√(2/n)(C·M·√T + ξ√ln(2/δ)) (Brault, 2017, proposition 7.1), where T is the
    largest trace of K(x, x). For outputs of infinite dimension there is none; where there is, this is better in λ.

    Examples
    --------
    >>> from mercer.guarantees import robust_constants
    >>> from mercer.losses import Square
    >>> round(rademacher_bound(0.1, robust_constants(Square(), 1.0, 1.0, 1.0), 1.0, 1.0, 1000).value, 3)
    0.622
    """
    check_risk(n, delta)
    rounding = 2 * constants.optimisation_error(alpha, gap)
    complexity = 2 * math.sqrt(2 / n) * constants.lipschitz * constants.norm * math.sqrt(trace)
    deviation = 2 * math.sqrt(2 / n) * constants.largest_loss * math.sqrt(math.log(2 / delta))
    used = {"empirical": float(empirical), "complexity": complexity, "deviation": deviation, "optimisation": rounding}
    used |= {"norm": constants.norm, "lipschitz": constants.lipschitz, "trace": trace}
    used |= {"largest_loss": constants.largest_loss, "alpha": alpha, "n": n, "delta": delta}
    value = float(empirical) + complexity + deviation + rounding
    return Bound(value, "Brault (2017), proposition 7.1, Rademacher averages", used, OF_EVERY_RISK)
