"""The documentation site: ``make docs``. It is built without a network, warnings are errors."""

import importlib.resources
import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]
os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib  # noqa: E402
from gallery import example_order  # noqa: E402

import sarlearn  # noqa: E402

matplotlib.use("Agg")
warnings.filterwarnings("ignore", message=".*is non-interactive.*")

project = "sarlearn"
author = "The sarlearn developers"
copyright = author
version = release = sarlearn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # of this folder
    "inventories",
    "texts",
    "members",
    "llms",
]
exclude_patterns = ["_build", "_ext", "**/GALLERY_HEADER.rst", "tutorials/*.py"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
nitpicky = False
suppress_warnings = ["config.cache"]

# -- Markdown
myst_enable_extensions = ["deflist", "dollarmath", "colon_fence", "attrs_inline", "attrs_block"]
myst_heading_anchors = 3

# -- API
autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# -- Gallery
sphinx_gallery_conf = {
    "examples_dirs": ["../examples", "tutorials"],
    "gallery_dirs": ["generated/gallery", "generated/tutorials"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": example_order,
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("sarlearn",),
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
    "matplotlib_animations": False,
    "ignore_repr_types": r"matplotlib\.|Display",  # they are drawn
    "min_reported_time": 1,
    "parallel": 2,
    "reset_modules": ("matplotlib", "gallery.quiet"),
    "copyfile_regex": r".*\.(rst|csv)$",
}

# -- Pages
html_theme = "pydata_sphinx_theme"
html_title = f"sarlearn {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "text": "sarlearn",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "start": [], "which_learner": []}

# One file of MathJax, from an installed package: no other file, no font, no network.
_mathjax = importlib.resources.files("sphinx-mathjax-offline") / "static" / "mathjax" / "tex-svg.js"
html_static_path.append(str(_mathjax))
mathjax_path = "tex-svg.js"

copybutton_exclude = ".linenos, .gp, .go"
