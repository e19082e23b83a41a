"""Settings of Sphinx, which makes the site of docs/; see CONTRIBUTING.md."""

import inspect

project = "keras_bert_impl"
extensions = [
  "myst_nb",
  "sphinx.ext.autodoc",
  "sphinx.ext.napoleon",
  "sphinx.ext.viewcode",
]
html_theme = "furo"
html_title = "keras_bert_impl"

# Links to headings are those of GitHub.
myst_heading_anchors = 4

# Notebooks run anew, each in an empty folder.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # seconds for a cell
nb_output_stderr = "remove"

# In docstrings single backticks mark code.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {
  "members": True,
  # They have the meaning that Keras gives them.
  "exclude-members": "build, compute_mask, compute_output_shape, "
  "compute_output_spec, from_config, get_config",
}


def mark_examples(app, kind, name, value, options, lines):
  """Makes indented blocks of a docstring literal, where no section begins."""
  examples = [
    place
    for place in range(1, len(lines) - 1)
    if not lines[place]
    and lines[place - 1][:1].strip()
    and lines[place + 1].startswith("  ")
  ]
  for place in reversed(examples):
    lines[place:place] = ["", "::"]


def show_arguments(app, kind, name, value, options, signature, returned):
  """Returns the arguments of `__init__`, which Keras hides."""
  if kind != "class":
    return None
  own = inspect.signature(value.__init__)
  parameters = list(own.parameters.values())[1:]
  return str(own.replace(parameters=parameters)), None


def setup(app):
  """Connects the functions above."""
  app.connect("autodoc-process-docstring", mark_examples, priority=1)
  app.connect("autodoc-process-signature", show_arguments)
