"""How near fits of bounded waves come to the best function of their class."""

from __future__ import annotations

import math

from mercer._params import check_number
from mercer.guarantees.bound import Bound
from mercer.guarantees.stability import OF_EVERY_RISK, check_risk

__all__ = ["consistency_bound"]


def consistency_bound(
    bound: float,
    n_frequencies: int,
    n: int,
    *,
    lipschitz: float,
    largest_loss: float,
    trace: float = 1.0,
    size: float = 1.0,
    delta: float = 0.05,
    gap: float = 0.0,
) -> Bound:
    """Return a bound of the excess risk of a fit of :class:`~mercer.solvers.BoundedWaves`.

    With probability 1 − δ, over rows and frequencies, R(h) exceeds the least risk of functions with a spectral density
    of at most M times that of the kernel by no more than

        2√(2/n)(LM√T + ξ√ln(6/δ)) + ξ√(ln(3/δ)/(2n)) + (uLM/√D)(1 + √(2 ln(3/δ))) + gap.

    The first term is what the empirical risk of any function within the bound may miss (Brault, 2017, proposition 7.6),
    the second what that of the best one within it misses (Hoeffding's inequality), the third what its D frequencies
    miss (propositions 7.4 and 7.5, after Rahimi and Recht, 2009), each with the probability δ/3. Proposition 7.3 has
    4√(2/n)(LM√T + ξ√ln(2/δ)) for the first two with 1 − 2δ in all, and takes the first for both.

    Parameters
    ----------
    bound : float
        M.
    n_frequencies, n : int
        D, drawn independently, and the number of rows.
    lipschitz : float
        L, the Lipschitz constant of the loss in h(x): ½ of the pinball loss at the median.
    largest_loss : float
        ξ, the largest loss of functions within the bound, whose values are at most uM.
    trace, size : float, default=1.0
        T and u, the largest trace and the root of the largest norm of A(ω); k(x, x) and its root for scalar kernels,
        times the trace and norm of Γ where there is one.
    delta : float, default=0.05
        δ.
    gap : float, default=0.0
        The duality gap of the fit.

    Examples
    --------
    >>> found = consistency_bound(2.0, 1000, 10_000, lipschitz=0.5, largest_loss=1.5)
    >>> round(found.value, 3), round(found.constants["approximation"], 3)
    (0.265, 0.122)
    """
    check_risk(n, delta)
    check_number("consistency_bound", "n_frequencies", n_frequencies, low=1, strict=False, integer=True)
    for name, value in (("bound", bound), ("lipschitz", lipschitz), ("trace", trace), ("size", size)):
        check_number("consistency_bound", name, value, low=0)
    check_number("consistency_bound", "largest_loss", largest_loss, low=0)
    complexity = 2 * math.sqrt(2 / n) * lipschitz * bound * math.sqrt(trace)
    deviation = largest_loss * (2 * math.sqrt(2 * math.log(6 / delta) / n) + math.sqrt(math.log(3 / delta) / (2 * n)))
    root = 1 + math.sqrt(2 * math.log(3 / delta))
    approximation = size * lipschitz * bound * root / math.sqrt(n_frequencies)
    used = {"complexity": complexity, "deviation": deviation, "approximation": approximation, "gap": float(gap)}
    used |= {"bound": bound, "lipschitz": lipschitz, "largest_loss": largest_loss, "trace": trace, "size": size}
    used |= {"n_frequencies": n_frequencies, "n": n, "delta": delta}
    value = complexity + deviation + approximation + float(gap)
    assumptions = (*OF_EVERY_RISK, "frequencies are independent draws of the law of the kernel")
    return Bound(value, "Brault (2017), propositions 7.3 to 7.6", used, assumptions)
