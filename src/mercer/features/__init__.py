"""Kernels replaced by kernels of few known features: random Fourier features, Nyström's, and features of one's own."""

from mercer.features.accuracy import FeatureCounts, KernelError, kernel_error, suggest_n_features
from mercer.features.directed_waves import DirectedWaves
from mercer.features.feature_map import DifferentiableFeatures, Explicit, FeatureMap, LinearFeatures
from mercer.features.fourier_kernel import FourierKernel
from mercer.features.laws import Columnwise, Mapped, OneColumn, Radius, ScaleMixture, SpectralLaw
from mercer.features.nystroem import Nystroem, NystroemKernel, NystroemMatrixKernel
from mercer.features.random_fourier import RandomFourier
from mercer.features.seeded import SeededFeatures, SeededFourier
from mercer.features.spectra import Spectrum, Wave, spectrum

__all__ = [
    "FeatureMap",
    "RandomFourier",
    "Nystroem",
    "Explicit",
    "suggest_n_features",
    "kernel_error",
    "SeededFourier",
    "SeededFeatures",
    "FeatureCounts",
    "KernelError",
    "FourierKernel",
    "NystroemKernel",
    "DirectedWaves",
    "NystroemMatrixKernel",
    "LinearFeatures",
    "DifferentiableFeatures",
    "SpectralLaw",
    "ScaleMixture",
    "Radius",
    "Columnwise",
    "OneColumn",
    "Mapped",
    "Spectrum",
    "Wave",
    "spectrum",
]
