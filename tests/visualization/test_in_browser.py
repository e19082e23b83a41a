"""The file of a page in a real browser, without a server.

tests/serving/local/test_attention_tab.py opens one in every run.
"""

import keras
import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from keras_bert_impl import heads, models
from tests import architectures, browser
from tests.visualization import toy

pytestmark = [browser.needed, pytest.mark.slow]

TEXT = "고양이 본다 the [MASK] 집 <b>cat</b>"
PAIR = "강아지 ."


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
  with browser.running(tmp_path_factory.mktemp("profile")) as started:
    yield started


class Page(browser.Page):
  """What a person does with the page and sees of it."""

  def __init__(self, driver, folder):
    super().__init__(driver)
    self._path = folder / "attention.html"

  def open(self, viewer, *texts):
    self._path.write_text(viewer.view(*texts).html, encoding="utf-8")
    self.driver.get(self._path.as_uri())
    self.wait_for_script()

  def wait_for_script(self):
    self.driver.execute_async_script("ready.then(arguments[0])")

  def status(self):
    """Returns which tokens the line of the pointer names, and the number."""
    names, _, number = self.find("#status").text.rpartition(": ")
    return names, float(number)

  def names(self, css="#tokens button"):
    """Returns what tokens are called, without the numbers under them."""
    return self.evaluate(
      "[...document.querySelectorAll(arguments[0])].map("
      "  (node) => node.firstChild.textContent)",
      css,
    )


def near(value):
  """Returns what equals a number with six digits behind the point."""
  return pytest.approx(float(value), abs=2e-6)


@pytest.fixture(scope="module")
def page(driver, tmp_path_factory):
  """The page of a masked language model; nothing may be complained of."""
  page = Page(driver, tmp_path_factory.mktemp("page"))
  viewer = toy.viewer(toy.masked_language_model(), heads.FILL_MASK, name="toy")
  page.open(viewer, TEXT, PAIR)
  yield page
  assert driver.get_log("browser") == []


@pytest.fixture(scope="module")
def attention():
  """The attention of the page's text, [layers, heads, L, L]."""
  tokenizer, encoder = toy.tokenizer(), toy.masked_language_model().encoder
  sides = (tokenizer.tokenize_around_masks([text]) for text in (TEXT, PAIR))
  inputs = tokenizer.assemble(*sides)
  model = keras.Model(encoder.input, encoder.attention_probs)
  return np.concatenate(model({name: inputs[name] for name in encoder.input}))


def test_its_script_reads_the_attention_to_a_millionth(page, attention):
  shape = attention.shape
  found = page.evaluate(
    "Array.from({length: arguments[0]}, (_, g) =>"
    " Array.from({length: arguments[1]}, (_, h) =>"
    "  places().map((from) => places().map((to) => weight(g, h, from, to)))))",
    *shape[:2],
  )
  np.testing.assert_allclose(found, attention, rtol=0, atol=1e-6)


def test_hangul_and_what_looks_like_html_are_whole(page):
  words = (
    "[CLS] 고양이 본다 the [MASK] 집 < b > cat < / b > [SEP] 강아지 . [SEP]"
  )
  assert page.names() == words.split()
  assert page.names("#tokens .second") == ["강아지", "."]
  assert page.find("#subtitle").text.startswith("toy (fill_mask), 18 tokens")


def test_each_head_has_its_entropy(page, attention):
  logs = np.where(attention > 0, np.log2(np.maximum(attention, 1e-30)), 0)
  bits = -(attention * logs).sum(-1).mean(-1)  # [layers, heads]
  found = [float(text) for text in page.texts("#heads .bits")]
  np.testing.assert_allclose(found, bits.ravel(), atol=0.051)
  assert len(found) == 4


def test_a_click_on_a_head_and_a_token_shows_where_it_looks(page, attention):
  page.all("#heads button")[3].click()
  page.all("#tokens button")[2].click()
  assert page.find("#head-title").text.startswith("Layer 2, head 2: entropy")
  assert page.find("#most-title").text == "What “본다” looks at most"
  row = attention[1, 1, 2]
  best = np.argsort(-row)[:5]
  names = page.names()
  assert page.texts("#most li span:nth-child(2)") == [names[k] for k in best]
  found = [float(text) for text in page.texts("#most .share")]
  np.testing.assert_allclose(found, row[best], atol=2e-6)
  shown = page.texts("#tokens small")
  assert shown == [f"{round(100 * float(p))} %" for p in row]
  # The other way round.
  page.all("[name=way]")[1].click()
  column = attention[1, 1, :, 2]
  assert page.find("#most-title").text == "What looks at “본다” most"
  most = float(page.texts("#most .share")[0])
  assert most == pytest.approx(column.max(), abs=2e-6)
  page.all("[name=way]")[0].click()


def test_a_token_under_the_pointer_shows_its_number(page, attention):
  page.all("#heads button")[1].click()
  page.all("#tokens button")[1].click()
  pointer = webdriver.ActionChains(page.driver)
  pointer.move_to_element(page.all("#tokens button")[5]).perform()
  assert page.status() == ("고양이 → 집", near(attention[0, 1, 1, 5]))
  # An unknown word is shown, and what the model reads instead.
  pointer.move_to_element(page.all("#tokens button")[7]).perform()
  assert page.find("#status").text.endswith("(token [UNK])")
  # The same in the matrix; a click chooses the row.
  cell = page.all("#matrix .cell")[4 * 18 + 5]
  pointer.move_to_element(cell).perform()
  assert page.status() == ("[MASK] → 집", near(attention[0, 1, 4, 5]))
  pointer.click().perform()
  assert page.find("#alike-title").text == "Nearest to “[MASK]”"


def test_the_prediction_rests_on_tokens_with_signs(page):
  options = page.texts("#prediction option")
  assert len(options) == 1 and options[0].endswith("%)")
  assert page.names("#salient span") == page.names()
  assert (
    page.evaluate(
      "document.querySelector('#salient [aria-current]').firstChild.data"
    )
    == "[MASK]"
  )
  values = page.texts("#salient small")
  assert {text[0] for text in values} == {"+", "−"}
  assert page.find("#reason").text == ""


def test_neighbours_are_told_layer_by_layer(page):
  page.all("#tokens button")[1].click()
  assert page.find("#alike-title").text == "Nearest to “고양이”"
  layers = ["Vocabulary", "Embeddings", "Layer 1", "Layer 2"]
  assert page.texts("#alike dt") == layers
  for state in page.all("#alike dd"):
    cosines = state.find_elements(By.CSS_SELECTOR, ".share")
    values = [float(one.text) for one in cosines]
    assert len(values) == 5 and values == sorted(values, reverse=True)


@pytest.mark.parametrize(
  "changes, caption",
  [
    ({"use_causal_mask": True}, "OpenAI GPT: left to right"),
    (architectures.PAIR, "ELMo: left to right and right to left"),
  ],
  ids=["causal", "pair"],
)
def test_the_mask_of_the_checkpoint_is_marked(page, tmp_path, changes, caption):
  marked = page.texts(".is-this figcaption")
  assert marked == ["BERT: both directions (this checkpoint)"]
  lines = [
    len(svg.find_elements(By.TAG_NAME, "line"))
    for svg in page.all("#masks svg")
  ]
  # Two layers; of 7 tokens, or of 4 in each direction.
  assert lines == [2 * 49, 2 * 28, 2 * 2 * 10]
  other = Page(page.driver, tmp_path)
  encoder = models.make_encoder(toy.config(**changes))
  other.open(toy.viewer(encoder, heads.ENCODER), "the old cat sees a dog")
  marked = other.texts(".is-this figcaption")
  assert marked == [f"{caption} (this checkpoint)"]
  assert "predicts nothing" in other.find("#reason").text
  page.driver.back()
  page.wait_for_script()


def test_the_keyboard_alone_is_enough(page):
  focused = lambda: page.driver.switch_to.active_element  # noqa: E731
  press = lambda *keys: focused().send_keys(*keys)  # noqa: E731
  page.all("#heads button")[0].click()
  press(Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ENTER)
  assert page.find("#head-title").text.startswith("Layer 2, head 2")
  press(Keys.TAB)
  press(Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
  press(Keys.TAB)
  assert page.names().index("고양이") == 1
  press(Keys.END, Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
  # The number of a token with the focus shows as under the pointer.
  assert "→ 본다" in page.find("#status").text
  press(Keys.SPACE)
  assert page.find("#most-title").text == "What “본다” looks at most"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_legible_on_a_phone_in_light_and_dark(page, scheme):
  papers = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}
  with browser.colours(page.driver, scheme), browser.phone(page.driver, 360):
    assert browser.width_of_page(page.driver) == 360
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == papers[scheme]
    page.all("#heads button")[0].click()
    assert browser.least_contrast(page.driver) >= 4.5
    assert min(b.rect["height"] for b in page.all("#tokens button")) >= 44


def test_it_prints_in_light_and_keeps_its_shades(page):
  emulate = page.driver.execute_cdp_cmd
  dark = [{"name": "prefers-color-scheme", "value": "dark"}]
  emulate("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
  style = lambda css, name: page.evaluate(  # noqa: E731
    "getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]",
    css,
    name,
  )
  assert style("body", "backgroundColor") == "rgb(255, 255, 255)"
  assert style("#tokens button", "printColorAdjust") == "exact"
  assert style("#ways", "display") == "none"
  emulate("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_names_that_would_be_too_small_are_left_out(page):
  shown = lambda: [  # noqa: E731
    node.is_displayed() for node in page.all("#matrix text")
  ]
  assert all(shown())
  with browser.phone(page.driver, 220):
    page.driver.execute_async_script(
      "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
    )
    sizes = page.evaluate("byId('matrix').viewBox.baseVal.width")
    assert not any(shown()) and sizes == 18 * 16 + 2
