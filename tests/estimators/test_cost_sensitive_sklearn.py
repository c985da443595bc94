"""What scikit-learn asks of every classifier."""

from array_api_checks import run_array_api_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import CostSensitiveClassifier
from mercer.measures import GaussLegendre

UNAVOIDABLE = {
    "check_decision_proba_consistency": "probabilities order rows by the cost at which their decision changes, "
    "decision_function by its value at one cost"
}


@parametrize_with_checks(
    [CostSensitiveClassifier(measure=GaussLegendre(5))], expected_failed_checks=lambda estimator: UNAVOIDABLE
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_scikit_learn_array_api_checks():
    run_array_api_checks("CostSensitiveClassifier(alpha=1.0, tol=1e-4, measure=Points([0.2, 0.5, 0.8]))")
