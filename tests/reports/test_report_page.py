"""The page report.html, as text and in a real browser."""

import html
import pathlib
import re
import urllib.parse

import pytest

from keras_bert_impl import files
from keras_bert_impl.metrics import intervals
from keras_bert_impl.reports import report_page, sections
from keras_bert_impl.runs.fine_tuning import fine_tuning_report, report_material
from keras_bert_impl.tasks.basics import pictures
from tests import browser
from tests.official_tasks import scripts

EVIL = "<script>alert('1')</script> & \"이 영화는 최고\""
WIDE = "철수" * 60 + "long" * 60


def entry(*texts):
  return {"texts": texts, "gold": "긍정", "found": EVIL, "certainty": 0.75}


def card(**values):
  counts = {"counts": [3, 0, 1], "edges": [0, 4, 8, 12]}
  lengths = {"shortest": 2, "median": 3.0, "mean": 4.0, "longest": 9}
  return {
    "files": [f"{WIDE}.tsv"],
    "counts": {"examples": 4, "rows": 4},
    "lengths": {**lengths, "limit": 12, "share_at_limit": 0.0, **counts},
    "labels": {"긍정": 3, EVIL: 1},
    **values,
  }


def all_sections():
  canvas = pictures.new_figure(4, 3)
  canvas.add_subplot().plot([1, 2], [3, 4], label="훈련")
  log = [{"step": k, "label_loss": 1 / k} for k in range(1, 2000)]
  answers = {
    "dev": {
      "picture": report_page.svg(canvas, EVIL),
      "measure": "probability",
      "num_wrong": 1,
      "num_examples": 4,
      "wrong": [entry(EVIL, WIDE)],
      "right": [entry("서울 " * 900)],
    }
  }
  score = (f"dev {WIDE}", "0.5", intervals.wilson(1, 2), "0.25")
  return [
    report_page.Section("Scores", sections.scores([score])),
    sections.curves(log),
    *fine_tuning_report._answers(answers),
    fine_tuning_report._data({"train": card(), "dev": card(also_trained_on=2)}),
    report_page.Section("Nothing", ""),
    *sections.origin(
      [{"command": WIDE, "configuration": {"train_file": EVIL}}]
    ),
  ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("report")
  report_page.write(str(folder), f"Classification: {EVIL}", all_sections())
  return folder


def test_what_people_wrote_is_text_and_no_markup(folder):
  shown = scripts.report(folder)
  assert shown.count("&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;") > 5
  assert "이 영화는 최고" in shown
  assert "Nothing" not in shown


def test_the_same_sections_give_the_same_bytes(folder, tmp_path):
  report_page.write(str(tmp_path), f"Classification: {EVIL}", all_sections())
  assert scripts.report(tmp_path) == scripts.report(folder)
  assert [path.name for path in tmp_path.iterdir()] == [report_page.NAME]


def test_a_long_log_stays_small(folder):
  assert len(scripts.report(folder)) < 100_000
  log = [{"step": k, "a_loss": k % 7} for k in range(200_000)]
  assert len(sections.curves(log).body) < 30_000


def test_data_shows_shares_and_what_is_trained_on_too(folder):
  shown = scripts.report(folder)
  assert "<td>긍정</td><td>3 (75.0 %)</td><td>3 (75.0 %)</td>" in shown
  assert "<td>texts that are trained on too</td><td></td><td>2</td>" in shown


def test_a_link_is_to_the_file_of_any_name(tmp_path):
  place = "C#=50%/a?b&c/한국어.html"
  (tmp_path / place).parent.mkdir(parents=True)
  (tmp_path / place).touch()
  address = re.search('href="([^"]*)"', report_page.link(place, "a")).group(1)
  base = (tmp_path / report_page.NAME).as_uri()
  url = urllib.parse.urlsplit(
    urllib.parse.urljoin(base, html.unescape(address))
  )
  assert pathlib.Path(urllib.parse.unquote(url.path)) == tmp_path / place


def test_half_a_character_is_written_as_a_sign():
  assert report_page.text("a\ud83d") == "a?"


def test_later_splits_join_those_before(tmp_path):
  class Folder:
    path = str(tmp_path)

    def write_json(self, name, content):
      files.write_json(tmp_path / name, content)

  report_material.keep(
    Folder(), report_material.DATA, {"train": {"a": 1}, "dev": {"b": 2}}
  )
  found = report_material.keep(
    Folder(), report_material.DATA, {"dev": {"a": 3}}
  )
  assert found == report_material.read(str(tmp_path))
  assert found[report_material.DATA] == {
    "train": {"a": 1},
    "dev": {"b": 2, "a": 3},
  }
  (tmp_path / report_material.NAME).write_text('{"data": 3}')
  with pytest.raises(ValueError, match="data in .*report.json must be an obj"):
    report_material.read(str(tmp_path))


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
  with browser.running(tmp_path_factory.mktemp("profile")) as started:
    yield started


@browser.needed
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_in_light_and_dark(folder, driver, scheme):
  papers = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}
  with browser.colours(driver, scheme), browser.phone(driver, width=360):
    driver.get((folder / report_page.NAME).as_uri())
    run = driver.execute_script
    assert browser.width_of_page(driver) == 360
    run("for (const x of document.querySelectorAll('details')) x.open = true")
    assert browser.width_of_page(driver) == 360
    assert browser.least_contrast(driver) >= 4.5
    ink, paper, fills = run(
      "const style = getComputedStyle(document.body);"
      "return [style.color, style.backgroundColor, [...new Set("
      "  [...document.querySelectorAll('svg text')].map("
      "    (node) => getComputedStyle(node).fill))]]"
    )
    assert paper == papers[scheme] and fills == [ink]
    assert run("return performance.getEntriesByType('resource').length") == 0
    assert run("return document.querySelectorAll('section').length") == 7
  assert driver.get_log("browser") == []
