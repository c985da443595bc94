"""Settings of the site. ``make docs`` builds it, without network, and takes warnings for errors."""

from __future__ import annotations

import os
import sys
import warnings
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("OMP_NUM_THREADS", "1")
# examples warn where that is what they show
warnings.filterwarnings("ignore", category=UserWarning, module="mercer")

project = "mercer"
author = "The mercer founders"
copyright = "the mercer founders, BSD-3-Clause"
version = release = version_of("mercer")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "capability_tables",
    "outside_links",
]
exclude_patterns = ["_build", "_ext", "_templates", "Thumbs.db", ".DS_Store"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
suppress_warnings = [
    "config.cache",  # the settings of the gallery hold functions
]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "subsection_order": [
        "../examples/quantiles",
        "../examples/decisions",
        "../examples/curves",
        "../examples/vectors",
        "../examples/objects",
        "../examples/scale",
    ],
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("mercer",),
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 2,
    "capture_repr": (),
    "matplotlib_animations": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"start": []}  # the one page of its section
