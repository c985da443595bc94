"""Kernels on objects that are no vectors: fingerprints, sets, labels, rankings, strings, graphs."""

from mercer.kernels.objects.adapters import ObjectFunction, OnVectors, PairFunction, as_vectors
from mercer.kernels.objects.base import ObjectKernel, as_objects, take_objects
from mercer.kernels.objects.counts import CountKernel, Intersection, Jaccard, Spectrum
from mercer.kernels.objects.edit import EditSimilarity
from mercer.kernels.objects.fingerprints import Tanimoto, TanimotoGaussian
from mercer.kernels.objects.graphs import Graph, WeisfeilerLehman
from mercer.kernels.objects.labels import Agreement, Kendall
from mercer.kernels.objects.registry import as_object_kernel
from mercer.kernels.objects.sums import ObjectSum
from mercer.kernels.objects.wrappers import Centred, EmpiricalMap, FeatureGaussian, Normalised

__all__ = [
    "Agreement",
    "Centred",
    "CountKernel",
    "EditSimilarity",
    "EmpiricalMap",
    "FeatureGaussian",
    "Graph",
    "Intersection",
    "Jaccard",
    "Kendall",
    "Normalised",
    "ObjectFunction",
    "ObjectKernel",
    "ObjectSum",
    "OnVectors",
    "PairFunction",
    "Spectrum",
    "Tanimoto",
    "TanimotoGaussian",
    "WeisfeilerLehman",
    "as_object_kernel",
    "as_objects",
    "as_vectors",
    "take_objects",
]
