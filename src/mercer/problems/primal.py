"""The primal problem in feature coordinates, for smooth losses that may know no conjugate."""

from __future__ import annotations

from typing import Any

from mercer.backend import as_like, namespace
from mercer.problems.certificate import Certificate
from mercer.problems.dual import DualProblem

__all__ = ["PrimalProblem"]


class PrimalProblem:
    """min over B (r, q) and b (m,) of (1/n) Σ_i s_i L_i((ΦBΨᵀ + b)_i) + (λ/2)‖B‖².

    Φ (n, r) and Ψ (m, q) are factors of the two Gram matrices, so that ‖B‖ = ‖h‖: the preconditioned form of the double
    representer expansion, without the squared condition number of the coefficients c.

    Parameters
    ----------
    dual : DualProblem
        The problem whose data, loss and weights are used.
    features : array of shape (n, r)
        Φ with ΦΦᵀ = K_X.
    output_features : array of shape (m, q)
        Ψ with ΨΨᵀ = K_Θ.
    """

    def __init__(self, dual: DualProblem, features: Any, output_features: Any) -> None:
        self.dual = dual
        self.features = features
        self.output_features = output_features

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (r, q) of the coordinates."""
        return (self.features.shape[1], self.output_features.shape[1])

    def predict(self, B: Any) -> Any:
        """Return H = ΦBΨᵀ."""
        return self.features @ (B @ self.output_features.T)

    def value_and_gradient(self, B: Any, b: Any) -> tuple[float, Any, Any]:
        """Return the objective and its gradients in B and b."""
        dual = self.dual
        H = self.predict(B) + b[None, :]
        xp = namespace(H)
        value = dual.share * float(dual.sample_weight @ dual.loss.value(dual.Y, H, dual.measure))
        value += dual.alpha / 2 * float(xp.sum(B * B))
        slope = dual.cut(dual.loss.gradient(dual.Y, H, dual.measure))
        weights = as_like(dual.measure.weights, H)
        slope = dual.share * slope * dual.sample_weight[:, None] * weights[None, :]
        gradient = self.features.T @ (slope @ self.output_features) + dual.alpha * B
        return value, gradient, xp.sum(slope, axis=0)

    def certificate(self, B: Any) -> tuple[Certificate, Any]:
        """Return the dual array A = −∇L at B and the gap of the model h_A, without using a conjugate.

        Fenchel's equality gives L*(−A) = −⟨A, h⟩ − L(h) there. With an intercept, b is first made the best one for B,
        so that Σ_i s_i a_i = 0 up to rounding; what is missing is charged to the gap times the largest residual of
        the node.
        """
        dual = self.dual
        kernel_part = self.predict(B)
        b = dual.intercept(kernel_part)
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
        b = dual.intercept(H_dual)
        primal = dual.risk(H_dual, b) + half_norm
        return Certificate(primal, dual_value, dual.null_model[0], b), A
