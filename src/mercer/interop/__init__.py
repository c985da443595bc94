"""Data of other libraries: modules that know them, but import them only when one of their objects arrives."""

from mercer.estimators.conversion import register
from mercer.interop import skfda

register("skfda", skfda)
