"""Data of other libraries: modules that know them, but import them only when one of their objects arrives."""

from mercer.interop import skfda
from mercer.preprocessing.providers import register

register("skfda", skfda)
