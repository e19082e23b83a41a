"""The documents at the root and in docs/: links, code and length."""

import pathlib
import re

import pytest

import keras_bert_impl as kb

ROOT = pathlib.Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
MOST_README_LINES = 150
# Wider code runs out of GitHub's page.
MOST_CODE_COLUMNS = 100

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.S)


def page_name(path):
  return str(path.relative_to(ROOT))


def without_blocks(text):
  return _BLOCK.sub("", text)


def anchors(path):
  """Returns what GitHub calls the headings of a page in links."""
  headings = re.findall(
    r"^#+ (.*)$", without_blocks(path.read_text("utf-8")), re.M
  )
  return {
    re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    for heading in headings
  }


def links(page):
  """Returns the links of a page to files: (path, anchor, as written)."""
  for link in _LINK.findall(without_blocks(page.read_text("utf-8"))):
    if not link.startswith(("http://", "https://")):
      name, _, anchor = link.partition("#")
      yield (page.parent / name).resolve() if name else page, anchor, link


def blocks(path, language):
  return [
    code
    for name, code in _BLOCK.findall(path.read_text("utf-8"))
    if name == language
  ]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_to_files_and_headings_that_are_there(page):
  for target, anchor, link in links(page):
    assert target.exists(), link
    assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_files_that_commands_run_are_there(page):
  for language in ("sh", "bash"):
    for code in blocks(page, language):
      for file in re.findall(r"python (\S+/\S+\.py)", code):
        assert (ROOT / file).is_file(), file


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_block_says_what_it_holds(page):
  fences = re.findall(r"^ *```(.*)$", page.read_text("utf-8"), re.M)
  assert all(fences[::2]) and not any(fences[1::2])


@pytest.mark.parametrize("page", ROOT.glob("docs/*.md"), ids=page_name)
def test_code_fits_the_width_of_the_page(page):
  for language in ("sh", "bash", "python", "yaml", "proto"):
    for line in "\n".join(blocks(page, language)).splitlines():
      assert len(line) <= MOST_CODE_COLUMNS, line


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
def test_the_readme_stays_short(name):
  lines = (ROOT / name).read_text("utf-8").splitlines()
  assert len(lines) <= MOST_README_LINES


def test_both_readmes_have_the_same_parts():
  english, korean = (
    re.findall(r"^## ", without_blocks((ROOT / name).read_text("utf-8")), re.M)
    for name in ("README.md", "README.ko.md")
  )
  assert len(english) == len(korean)


def test_every_document_is_reached_from_the_readme():
  reached, found = set(), [ROOT / "README.md"]
  while found:
    page = found.pop()
    if page.suffix == ".md" and page not in reached:
      reached.add(page)
      found += [path for path, _, _ in links(page)]
  assert {*ROOT.glob("docs/*.md")} <= reached


def test_the_site_has_every_guide():
  index = (ROOT / "docs/index.rst").read_text("utf-8").split()
  assert {page.stem for page in ROOT.glob("docs/*.md")} <= {*index}


def test_the_site_describes_every_public_name():
  pages = [page.read_text("utf-8") for page in ROOT.glob("docs/api/*.rst")]
  described = {*re.findall(r":: (\S+)", "\n".join(pages))}
  assert {"keras_bert_impl.layers", "keras_bert_impl.models"} <= described
  described |= {*kb.layers.__all__, *kb.models.__all__}
  assert {*kb._NAMES} <= described
  parts = kb.EncoderConfig.__mro__[1:-2]
  described |= {name.rpartition(".")[2] for name in described}
  assert {part.__name__ for part in parts} <= described
