"""Settings of the documentation site; `make docs` builds it."""

import sys
from pathlib import Path

import homeward

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Homeward"
author = "the Homeward contributors"
copyright = "2026, the Homeward contributors"
release = version = homeward.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "commands",
    "included_files",
    "public_names",
]
exclude_patterns = ["_extensions", "jupyter_execute", "**.ipynb_checkpoints"]
nitpicky = True
# Types of other packages, and internal types that only appear in signatures.
nitpick_ignore_regex = [("py:.*", r"(?!homeward\.).*"), ("py:.*", r"homeward\.[a-z_]+\..*")]

# Nothing is loaded from another server, so the site can be read offline.
html_theme = "furo"
html_title = f"Homeward {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
# A word such as "state" in the type of an attribute fits several names.
suppress_warnings = ["ref.python"]

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True}
autodoc_type_aliases = {
    name: name for name in ("FloatArray", "IntArray", "BoolArray", "Model", "Bonus")
}
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
