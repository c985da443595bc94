"""Kernels, losses and other records in notebooks: formula, parameters, a picture where one is cheap."""

from __future__ import annotations

import xml.etree.ElementTree as tree
from dataclasses import dataclass

import numpy as np
import pytest

from mercer import kernels, losses
from mercer._html import curve, formula_of
from mercer._params import Params
from mercer.kernels import Categorical, Gaussian, Linear, Matern, Precomputed
from mercer.losses import CostSensitiveHinge, Huber, Pinball, Square
from mercer.measures import GaussLegendre


def picture_of(html: str):
    start, end = html.index("<svg"), html.index("</svg>") + len("</svg>")
    return tree.fromstring(html[start:end])


@pytest.mark.parametrize(
    "kernel", [Gaussian(2.0), Gaussian(1e-6), Matern(1.5, length_scale=1.0), Linear(), 2.0 * Gaussian(1.0) + Linear()]
)
def test_kernels_are_drawn_where_they_fall(kernel):
    html = kernel._repr_html_()
    root = picture_of(html)
    points = next(line for line in root if line.tag.endswith("polyline")).attrib["points"].split()
    heights = -np.array([float(point.split(",")[1]) for point in points])
    assert np.ptp(heights) > 50
    assert "k(x" in html


def test_categories_are_drawn_over_a_range_that_can_be_read():
    assert "for x from −3 to 3" in Categorical()._repr_html_()


def test_the_formula_and_parameters_are_there():
    html = Gaussian(gamma=2.0)._repr_html_()
    assert "exp(−Σ_k γ_k (x_k − z_k)²)" in html
    assert "gamma" in html
    assert "max(θ·r(θ), (θ − 1)·r(θ))" in Pinball()._repr_html_()
    assert "GaussLegendre" in GaussLegendre(5)._repr_html_()


@pytest.mark.parametrize("loss", [Square(), Pinball(), Huber(0.5), CostSensitiveHinge()])
def test_losses_are_drawn(loss):
    html = loss._repr_html_()
    assert picture_of(html) is not None
    assert ("θ = 0.8" in html.split("</svg>")[1]) == (loss.indexed_by is not None)


def test_no_picture_where_there_is_none():
    for kernel in (Gaussian(), Gaussian([1.0, 2.0]), Precomputed(), Gaussian(1.0).restrict([3])):
        assert "<svg" not in kernel._repr_html_()
    assert curve([0.0, 1.0], [1.0, np.inf], "no") == ""
    assert curve([0.0, 1.0], [0.0, 0.0], "no") == ""


def test_all_records_show_themselves():
    for package in (kernels, losses):
        for name in package.__all__:
            kind = getattr(package, name)
            if isinstance(kind, type) and issubclass(kind, Params):
                assert "<p" in formula_of(kind), name
                assert ":class:" not in formula_of(kind)


def test_what_users_wrote_is_escaped():
    @dataclass(eq=False, repr=False)
    class Named(Params):
        """A record <i>of one's own</i>."""

        name: str = ""

    html = Named("<script>")._repr_html_()
    assert "<script>" not in html
    assert "<i>" not in html
