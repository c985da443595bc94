"""The primal problem in feature coordinates, for smooth losses that may know no conjugate."""

from __future__ import annotations

from typing import Any

from mercer.backend import as_like, namespace
from mercer.linalg import Spectral
from mercer.problems.certificate import Certificate
from mercer.problems.dual import DualProblem

__all__ = ["PrimalProblem"]


class PrimalProblem:
    """min over coordinates B and b (m,) of (1/n) Σ_i s_i L_i((Σ_k B_k √d_k u_k + b)_i) + (λ/2)‖B‖².

    u_k and d_k are the eigenpairs of the Gram operator, so that ‖B‖ = ‖h‖: the preconditioned form of the
    representer expansion, without the squared condition number of the coefficients c.

    Parameters
    ----------
    dual : DualProblem
        The problem whose data, loss and weights are used.
    spectral : Spectral
        The eigenpairs.
    """

    def __init__(self, dual: DualProblem, spectral: Spectral) -> None:
        self.dual, self.spectral = dual, spectral
        self.root = namespace(spectral.spectrum).sqrt(spectral.spectrum)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the coordinates."""
        return tuple(self.spectral.spectrum.shape)

    def coordinates(self, A: Any) -> Any:
        """Return B of the model h_A of a dual array."""
        return self.dual.scale * self.root * self.spectral.analyse(A)

    def predict(self, B: Any) -> Any:
        """Return H = Σ_k B_k √d_k u_k."""
        return self.spectral.synthesise(self.root * B)

    def value_and_gradient(self, B: Any, b: Any) -> tuple[float, Any, Any]:
        """Return the objective and its gradients in B and b."""
        dual = self.dual
        H = self.predict(B) + b[None, :]
        xp = namespace(H)
        value = dual.share * float(dual.sample_weight @ dual.loss.value(dual.Y, H, dual.measure))
        value += dual.alpha / 2 * float(xp.sum(B * B))
        slope = dual.cut(dual.loss.gradient(dual.Y, H, dual.measure))
        gradient = dual.share * self.root * self.spectral.analyse(slope) + dual.alpha * B
        return value, gradient, dual.share * (dual.sample_weight @ slope) * as_like(dual.measure.weights, H)

    def certificate(self, B: Any) -> tuple[Certificate, Any]:
        """Return the dual array A = −∇L at B and the gap of the model h_A, without using a conjugate.

        Fenchel's equality gives L*(−A) = −⟨A, h⟩ − L(h) there. With an intercept, b is first made the best one for B,
        so that Σ_i s_i a_i = 0 up to rounding; what is missing is charged to the gap times the largest residual of
        the node.
        """
        dual = self.dual
        kernel_part = self.predict(B)
        b = dual.best_intercept(kernel_part)
        H = kernel_part + b[None, :]
        xp = namespace(H)
        risk = dual.share * float(dual.sample_weight @ dual.loss.value(dual.Y, H, dual.measure))
        A = -dual.cut(dual.loss.gradient(dual.Y, H, dual.measure))
        H_dual = dual.predict(A)
        half_norm = dual.share / 2 * dual.inner(A, H_dual)
        dual_value = risk + dual.share * dual.inner(A, kernel_part) - half_norm  # Σ_i s_i a_i = 0 takes b out
        if dual.fit_intercept:
            off = dual.share * xp.abs(dual.sample_weight @ A) * as_like(dual.measure.weights, H)
            dual_value -= float(xp.sum(off * xp.max(xp.abs(dual.cut(dual.Y - H)), axis=0)))
        b = dual.best_intercept(H_dual)
        primal = dual.risk(H_dual, b) + half_norm
        bounds = dual.rounding.bounds(A, H_dual + b[None, :])
        return Certificate(primal, dual_value, dual.null_model[0], b, *bounds, H_dual), A
