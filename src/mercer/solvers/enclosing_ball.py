"""The smallest ball around curves, some of them seen in part."""

from __future__ import annotations

import numpy as np

__all__ = ["enclosing_ball"]

#: relative difference of the squared radii from outside and from inside at which to stop
RADIUS_ACCURACY = 1e-9
#: mass that holds b_j at the mean of y where no curve with mass has been seen
ANCHOR = 1e-8


def enclosing_ball(Y: np.ndarray, weights: np.ndarray, max_iter: int = 20_000) -> tuple[float, np.ndarray]:
    """Return min_b max_i (Σ_j w_ij (y_ij − b_j)²)^½, or slightly more, and the b that has this radius.

    The dual maximises min_b Σ_i u_i d_i(b), d_i the squared distances, over probabilities u; its gradient is d at the
    best b, the mean of the y_i under u. Pairwise steps move mass from the nearest point that has some to the
    farthest one, by the length that makes their distances equal (Lacoste-Julien and Jaggi, 2015). The largest
    distance bounds the radius from above, the mean one from below. NumPy only.

    Parameters
    ----------
    Y : ndarray of shape (n, m)
        Curves.
    weights : ndarray of shape (n, m)
        Weights w_ij ≥ 0, zero where a curve has not been seen.
    max_iter : int, default=20000
        Limit on the number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> radius, b = enclosing_ball(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]]), np.ones((3, 2)))
    >>> round(radius, 6), b.round(6)
    (1.0, array([1., 0.]))
    """
    seen = np.sum(weights, axis=0)
    origin = np.sum(weights * Y, axis=0) / np.where(seen > 0, seen, 1.0)
    centred = np.where(weights > 0, Y - origin, 0.0)
    anchor = ANCHOR * np.where(seen > 0, seen, 1.0) / len(Y)
    mass = np.zeros(len(Y))
    mass[int(np.argmax(np.sum(weights * centred**2, axis=1)))] = 1.0
    best, centre = np.inf, origin
    for _ in range(max_iter):
        total, moment = mass @ weights + anchor, mass @ (weights * centred)
        mean = moment / total
        distances = np.sum(weights * (centred - mean) ** 2, axis=1)
        farthest = int(np.argmax(distances))
        nearest = int(np.argmin(np.where(mass > 0, distances, np.inf)))
        if distances[farthest] < best:
            best, centre = float(distances[farthest]), mean
        if distances[farthest] - mass @ distances <= RADIUS_ACCURACY * distances[farthest]:
            break
        pair = np.array([farthest, nearest])
        moved = _step(centred[pair], weights[pair], total, moment, float(mass[nearest]))
        mass[farthest] += moved
        mass[nearest] = 0.0 if moved == mass[nearest] else mass[nearest] - moved
    return float(np.sqrt(best)), origin + centre


def _step(pair: np.ndarray, weights: np.ndarray, total: np.ndarray, moment: np.ndarray, available: float) -> float:
    """The mass to move from the second of two points to the first: until they are as far, or all of it."""
    change, moment_change = weights[0] - weights[1], weights[0] * pair[0] - weights[1] * pair[1]

    def excess(moved: float) -> float:
        mean = (moment + moved * moment_change) / (total + moved * change)
        first, second = np.sum(weights * (pair - mean) ** 2, axis=1)
        return float(first - second)

    low, high = 0.0, available
    if excess(high) >= 0:
        return available
    at_low, at_high = excess(low), excess(high)
    for k in range(60):  # the excess falls; it is linear where both are seen wholly, and one guess is enough
        guess = low - at_low * (high - low) / (at_high - at_low) if k % 3 != 2 else (low + high) / 2
        value = excess(guess)
        if abs(value) <= 1e-14 * abs(at_low) or high - low <= 1e-15 * available:
            return guess
        if value > 0:
            low, at_low = guess, value
        else:
            high, at_high = guess, value
    return low
