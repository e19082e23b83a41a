"""The page of the local server, in a real browser, with every head.

`test_attention_tab` opens it in every run.
"""

import contextlib
import json
import re
import shlex
import urllib.request

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from keras_bert_impl.serving.local import versions
from tests import browser
from tests.serving import all_heads
from tests.serving.local import local_server, stand_ins

pytestmark = [browser.needed, pytest.mark.slow]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
  with browser.running(tmp_path_factory.mktemp("profile")) as started:
    yield started


@pytest.fixture(scope="module")
def urls():
  """{head: address of its server}, each started when it is asked for."""
  with contextlib.ExitStack() as stack:

    class Urls(dict):
      def __missing__(self, head):
        running = local_server.running(stand_ins.Served(head))
        self[head] = stack.enter_context(running)
        return self[head]

    yield Urls()


@pytest.fixture
def page(driver, urls):
  """Opens pages; at the end the browser must have complained of nothing."""
  made = Page(driver, urls)
  yield made
  complaints = [entry["message"] for entry in driver.get_log("browser")]
  assert complaints == []


class Page(browser.Page):
  """What a person does with the page and sees of it."""

  def __init__(self, driver, urls):
    super().__init__(driver)
    self.urls = urls

  def open(self, head):
    self.driver.get(self.urls[head])
    self.wait(lambda: self.find("#subtitle").text)

  def fill(self, **values):
    for name, value in values.items():
      # Typing an emoji is more than chromedriver can.
      self.driver.execute_script(
        "arguments[0].value = arguments[1];"
        "arguments[0].dispatchEvent(new Event('input', {bubbles: true}))",
        self.find(f"#field-{name}"),
        value,
      )

  def run(self, **values):
    self.fill(**values)
    self.find("button").click()
    self.wait_for_answer()

  def wait_for_answer(self):
    self.wait(lambda: not self.find("#progress").text)
    self.wait(lambda: self.find("#result").text or self.error())

  def error(self):
    return self.find("#error").text

  def bars(self):
    names, shares = self.texts(".bars .name"), self.texts(".bars .share")
    return dict(zip(names, shares))

  def styles(self, css, name):
    return self.evaluate(
      "[...document.querySelectorAll(arguments[0])].map("
      "  (node) => getComputedStyle(node)[arguments[1]])",
      css,
      name,
    )

  def num_requests(self):
    return self.evaluate(
      "performance.getEntriesByType('resource')"
      ".filter((entry) => entry.name.endsWith(':predict')).length"
    )


def test_masks_are_filled_with_bars_of_candidates(page):
  page.open("fill_mask")
  assert page.find("h1").text == "Masked words"
  assert page.find("#subtitle").text == "toy, version 1"
  assert "Production is TensorFlow Serving" in page.find(".notice").text
  page.run(text="Seoul [MASK] of [MASK].")
  assert page.texts("#result h2") == ["Mask 1", "Mask 2"]
  assert page.texts(".bars .name")[::2] == ["Seoul ", "of "]
  assert page.texts(".bars .share") == ["75.0 %", "12.5 %"] * 2
  widths = page.evaluate(
    "[...document.querySelectorAll('.bar')].map("
    "(bar) => bar.offsetWidth / bar.parentNode.offsetWidth)"
  )
  assert widths == pytest.approx([0.75, 0.125] * 2, abs=0.01)
  page.run(text="no mask")
  assert "write [MASK]" in page.find("#result").text


def test_what_models_and_people_write_is_text_and_no_html(page):
  page.open("fill_mask")
  page.run(text="[MASK]")
  assert page.texts(".bars .name")[1] == "<b>x</b>"
  assert page.texts("#result b") == []
  page.open("question_answering")
  context = "<img src=x onerror='window.isBroken = 1'> </p><b>서울</b>"
  page.run(text="<script>window.isBroken = 1</script>", text_pair=context)
  assert page.texts(".passage") == [context]
  assert page.texts("#result img, #result b, #curl script") == []
  assert page.evaluate("window.isBroken") is None


def test_classes_are_shown_the_likeliest_first(page):
  page.open("classification")
  page.run(text="a good film")
  assert page.find("#result h2").text == "positive"
  assert list(page.bars().items()) == [
    ("positive", "75.0 %"),
    ("negative", "25.0 %"),
  ]
  page.run(text="a film")
  assert page.find("#result h2").text == "negative"
  # One text is what this model takes.
  assert page.all("#field-text_pair") == []


@pytest.fixture
def open_described(page):
  """Opens the page of a stand-in that has a description."""
  with contextlib.ExitStack() as stack:

    def open_page(head, information, **options):
      served = stand_ins.Served(head, information, **options)
      running = local_server.running(served)
      page.urls["described"] = stack.enter_context(running)
      page.open("described")

    yield open_page


def test_a_class_that_is_a_number_is_shown_with_its_name(open_described, page):
  names = {"label_names": {"0": "bad", "1": "good"}}
  open_described("classification", names, labels=("0", "1"))
  page.run(text="a good film")
  assert page.find("#result h2").text == "good (1)"
  assert page.bars() == {"good (1)": "75.0 %", "bad (0)": "25.0 %"}


def test_examples_have_the_mask_of_the_model(open_described, page):
  open_described("fill_mask", {"mask_token": "<mask>"})
  text = page.find("#field-text").get_property("value")
  assert "<mask>" in text and "[MASK]" not in text
  page.run(text="no mask")
  assert "write <mask>." in page.find("#result").text


@pytest.mark.parametrize(
  ("labels", "information", "beginning"),
  [
    (("negative", "positive"), {}, "I really"),
    (("0", "1"), {"label_names": {"0": "부정", "1": "긍정"}}, "I really"),
    (("0", "1"), {"label_names": {"0": "부정"}, "main_script": "Hangul"}, "정"),
    (("entailment", "neutral"), {"main_script": "Latin"}, "A man"),
    (("duplicate", "not_duplicate"), {}, "How do"),
    (("sport", "science"), {"main_script": "Hangul"}, "정말"),
  ],
)
def test_examples_are_of_the_task_and_the_language(
  open_described, page, labels, information, beginning
):
  information = {"labels": labels} | information
  open_described("classification", information, labels=labels)
  assert page.find("#field-text").get_property("value").startswith(beginning)


def test_an_export_that_does_not_tell_what_is_cut_says_so(open_described, page):
  open_described("classification", {"max_seq_length": 16})
  page.run(text="a good film that is longer than 16 tokens may be")
  assert "does not tell whether it read all" in page.find("#result").text
  assert "The model reads 16 tokens." in page.find("#result").text
  page.run(text="a good film")
  assert "tell" not in page.find("#result").text


def test_an_example_is_run_and_its_time_and_reply_are_shown(page):
  page.open("question_answering")
  buttons = page.all("#examples button")
  assert len(buttons) >= 3
  assert not page.find("#reply").is_displayed()
  buttons[-1].click()
  page.wait_for_answer()
  question = page.find("#field-text").get_property("value")
  assert question == buttons[-1].text
  assert page.find("#result .number").text == "서울"
  assert re.fullmatch(r"Answered in [\d.]+ ms\.", page.find("#latency").text)
  assert not page.find("#json").is_displayed()
  page.find("summary").click()
  reply = json.loads(page.find("#json").text)
  assert reply["outputs"]["answer"] == ["서울"]
  # It stays open for the next one.
  page.run(text="어디?", text_pair="부산")
  assert json.loads(page.find("#json").text)["outputs"]["answer"] == [""]


def test_the_request_is_copied(page):
  page.open("classification")
  page.fill(text='it\'s\n"good"')
  command = page.find("#curl").get_property("textContent")
  page.find("#copy").click()
  page.wait(lambda: page.find("#copied").text == "Copied.")
  page.find("#field-text").send_keys(Keys.CONTROL, "av")
  assert page.find("#field-text").get_property("value") == command


def test_the_answer_is_marked_in_its_context_even_after_an_emoji(page):
  page.open("question_answering")
  context = "👩‍👩‍👧 살던 곳은 🏠\n서울이다. 서울!"
  page.run(text="어디?", text_pair=context)
  assert page.find("#result .number").text == "서울"
  assert page.texts(".passage mark") == ["서울"]
  assert page.texts(".passage") == [context]
  # The first one, by the text before the mark.
  before = page.evaluate(
    "document.querySelector('mark').previousSibling.textContent"
  )
  assert before == "👩‍👩‍👧 살던 곳은 🏠\n"
  assert "Score 7.50, without an answer -2.50" in page.find("#result").text
  assert "read" not in page.find("#result").text
  page.run(text="어디?", text_pair="부산 " + "a" * 600)
  assert page.find("#result h2").text == "No answer"
  assert page.texts(".passage mark") == []
  assert "The end of the text was not read." in page.find("#result").text


def test_entities_are_coloured_and_named_with_a_legend(page):
  page.open("token_classification")
  page.run(text="🙂 철수 went to Paris.")
  assert page.texts(".passage mark") == ["철수PER", "ParisLOC"]
  assert page.texts(".legend li") == ["LOC 1", "PER 1"]
  in_text = page.styles(".passage mark", "backgroundColor")
  in_legend = page.styles(".legend mark", "backgroundColor")
  assert in_text == in_legend[::-1]
  assert len(set(in_text)) == 2
  assert page.bars() == {"철수 (PER)": "90.0 %", "Paris (LOC)": "90.0 %"}
  page.run(text="nobody")
  assert page.find("#result h2").text == "Entities: 0"


def test_mentions_of_the_same_have_one_colour_and_number(page):
  page.open("coreference")
  assert page.find("h1").text == "Coreference"
  page.run(text="🙂 Ada sold her house. She built it.")
  # What stands within another mention is in the list alone.
  assert page.texts(".passage mark") == ["Ada1", "her house2", "it2"]
  first, *others = page.styles(".passage mark", "backgroundColor")
  assert others[0] == others[1] != first
  assert page.texts("#result ol li") == ["Ada = her", "her house = it"]
  page.run(text="nobody")
  assert page.find("#result h2").text == "Clusters: 0"


def test_replaced_tokens_are_the_hotter_the_likelier(page):
  page.open("replaced_tokens")
  page.run(text="the fox 🦊 ran")
  assert page.texts(".passage mark") == ["the", "fox", "🦊", "ran"]
  heats = [
    float(re.search(r"([\d.]+)\)$", colour).group(1))
    for colour in page.styles(".passage mark", "backgroundColor")
  ]
  assert heats[1] > 3 * max(heats[0], heats[2], heats[3]) > 0
  assert list(page.bars())[0] == "fox"


@pytest.mark.parametrize(
  ("head", "values", "number"),
  [
    ("regression", {"text": "고양이"}, "3"),
    ("pair_regression", {"text": "고양이", "text_pair": "집"}, "2"),
  ],
)
def test_a_number_is_shown(page, head, values, number):
  page.open(head)
  page.run(**values)
  assert page.find("#result .number").text == number


def test_the_nearest_lines_are_found_and_encoded_once(page, tmp_path):
  page.open("encoder")
  page.run(text="집", lines="a long text\nshort\n\n고양이가 앉았다")
  assert list(page.bars().items()) == [
    ("short", "100.0 %"),
    ("a long text", "0.0 %"),
    ("고양이가 앉았다", "0.0 %"),
  ]
  assert page.num_requests() == 2  # the lines, and the query
  page.run(text="another query")
  assert list(page.bars())[-1] == "short"
  assert page.num_requests() == 3
  path = tmp_path / "lines.txt"
  path.write_text("".join(f"line {i}\n" for i in range(70)), encoding="utf-8")
  page.find("input[type=file]").send_keys(str(path))
  page.wait(
    lambda: "line 69" in page.find("#field-lines").get_property("value")
  )
  page.run(text="a query")
  assert len(page.bars()) == 20
  assert "Texts searched: 70." in page.find("#result").text
  assert page.num_requests() == 3 + 3 + 1


def test_a_long_file_is_searched_whole_until_it_is_edited(page, tmp_path):
  page.open("encoder")
  path = tmp_path / "lines.txt"
  lines = ["a long text"] * 2500
  path.write_text("\n".join([*lines, "집"]), encoding="utf-8")
  page.find("input[type=file]").send_keys(str(path))
  page.wait(lambda: "Of 2501 lines the first 1000" in page.find("form").text)
  shown = page.find("#field-lines").get_property("value")
  assert len(shown.splitlines()) == 1000
  page.run(text="둘")
  assert "Texts searched: 2501." in page.find("#result").text
  assert next(iter(page.bars())) == "집"  # The last line of all.
  page.run(text="둘", lines="one")
  assert "Texts searched: 1." in page.find("#result").text
  assert "2501" not in page.find("form").text


def test_bits_are_compared_by_those_that_are_the_same(driver):
  served = stand_ins.Served("encoder", {"precision": "binary"})
  with local_server.running(served) as url:
    page = Page(driver, {"encoder": url})
    page.open("encoder")
    page.run(text="집", lines="a long text\nshort")
    # Bytes 0 and 1 in another order: two bits of 16 differ.
    assert page.bars() == {"short": "100.0 %", "a long text": "75.0 %"}


def test_what_matched_is_marked_in_the_best_texts(page):
  page.open("late")
  page.run(text="🦊 ran", lines="nothing\nthe 🦊 slept\n\na cat")
  passages = ["the 🦊 slept", "nothing", "a cat"]
  assert page.texts(".passage") == passages
  assert page.texts(".passage mark") == ["🦊"]
  assert page.texts(".note")[:3] == ["1.25", "0.75", "0.75"]
  assert page.num_requests() == 1


def test_weights_of_tokens_are_beside_the_largest(page):
  page.open("sparse")
  page.run(text="고양이")
  assert page.bars() == {"cat": "100.0 %", "고양이": "25.0 %"}
  assert "Tokens with a weight: 2." in page.find("#result").text


def test_texts_are_written_and_others_scored(page):
  page.open("generation")
  assert page.find("h1").text == "Text generation"
  page.run(text="옛날에", lines="")
  assert page.texts(".passage") == ["옛날에!", "<b>🦊</b>"]
  assert page.texts("#result .note") == [
    "Score -0.50, tokens: 3.",
    "Score -1.25, tokens: 2.",
  ]
  assert page.num_requests() == 1
  page.run(text="x" * 101, lines="long\n\nab")
  assert page.texts("#result h2") == ["Text", "Texts to score"]
  assert page.bars() == {"ab (-1.00)": "73.1 %", "long (-2.00)": "26.9 %"}
  assert "The end of the text was not read." in page.find("#result").text
  assert page.num_requests() == 3


def test_choices_are_one_a_line(page):
  page.open("multiple_choice")
  page.run(text="She", choices="ab\n\nabcdef\n")
  assert page.bars() == {"ab": "25.0 %", "abcdef": "75.0 %"}
  assert page.texts(".bars .best .name") == ["abcdef"]


def test_labels_that_come_with_the_text_are_one_a_line(page):
  page.open("zero_shot")
  page.run(text="the sport of kings", labels="money\n\nsport\n")
  assert page.bars() == {"sport": "100.0 %", "money": "0.0 %"}
  assert page.find("#result h2").text == "sport"


def test_an_error_is_shown_in_words_and_goes_away(page):
  page.open("regression")
  page.run(text="x" * 1001)
  assert "1001 bytes" in page.error()
  assert page.find("#error").get_attribute("role") == "alert"
  assert page.find("#result").text == ""
  page.run(text="x")
  assert page.error() == ""
  assert page.find("#result .number").text == "1"
  (complaint,) = page.driver.get_log("browser")
  assert "400 (Bad Request)" in complaint["message"]


def test_a_server_that_is_gone_is_told_in_words(page):
  with local_server.running(stand_ins.Served("regression")) as url:
    page.urls["gone"] = url
    page.open("gone")
  page.run(text="x")
  assert page.error() == "The server does not answer. Is it still running?"
  (complaint,) = page.driver.get_log("browser")
  assert "ERR_CONNECTION_REFUSED" in complaint["message"]


def test_a_model_without_a_form_is_told_in_words(page):
  page.driver.get(page.urls["plain"])
  page.wait(page.error)
  assert page.error() == "This page has no form for the inputs numbers."
  assert not page.find("form").is_displayed()


def test_the_keyboard_alone_is_enough(page):
  page.open("question_answering")
  press = webdriver.ActionChains(page.driver)
  focused = lambda: page.driver.switch_to.active_element  # noqa: E731
  press.send_keys(Keys.TAB).perform()
  assert focused().accessible_name == "Question"
  assert page.styles("#field-text", "outlineStyle") == ["solid"]
  focused().send_keys(Keys.CONTROL, "a")
  # Enter runs from a line ...
  focused().send_keys("Where?", Keys.ENTER)
  page.wait_for_answer()
  assert page.find("#result h2").text == "No answer"
  # ... and is a new line in a text, where it takes Ctrl too.
  press.send_keys(Keys.TAB).perform()
  assert focused().accessible_name == "Context"
  focused().send_keys(Keys.CONTROL, "a")
  focused().send_keys("In", Keys.ENTER, "서울")
  assert page.num_requests() == 1
  focused().send_keys(Keys.CONTROL, Keys.ENTER)
  page.wait(lambda: page.texts(".passage mark") == ["서울"])
  press.send_keys(Keys.TAB).perform()
  assert focused().accessible_name == "Run"
  focused().send_keys(Keys.SPACE)
  page.wait(lambda: page.num_requests() == 3)


def test_enter_while_a_syllable_is_composed_does_not_run(page):
  page.open("question_answering")
  cdp = page.driver.execute_cdp_cmd
  page.fill(text="")
  page.find("#field-text").click()
  composing = {"text": "서", "selectionStart": 1, "selectionEnd": 1}
  cdp("Input.imeSetComposition", composing)
  key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
  for modifiers in (0, 2):  # and with Ctrl
    down = {"type": "rawKeyDown", "modifiers": modifiers, **key}
    cdp("Input.dispatchKeyEvent", down)
  cdp("Input.insertText", {"text": "서울"})
  assert page.find("#field-text").get_property("value") == "서울"
  page.find("#field-text").send_keys(Keys.ENTER)
  page.wait_for_answer()
  assert page.num_requests() == 1


@pytest.mark.parametrize(
  "head", ["fill_mask", "multiple_choice", "token_classification"]
)
def test_a_phone_needs_no_scrolling_sideways(page, head):
  with browser.phone(page.driver, width=360):
    page.open(head)
    page.run(text=f"철수 Paris [MASK] {'long' * 60} 서울")
    assert page.error() == ""
    assert browser.width_of_page(page.driver) == 360
    assert page.find("button").rect["height"] >= 44


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_in_light_and_dark(page, scheme):
  papers = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}
  with browser.colours(page.driver, scheme):
    for head in ("token_classification", "replaced_tokens", "fill_mask"):
      page.open(head)
      page.run(text="철수 Paris [MASK] x")
      assert page.styles("body", "backgroundColor") == [papers[scheme]]
      assert browser.least_contrast(page.driver) >= 4.5, head


def test_the_request_under_the_form_is_the_one_that_is_sent(page):
  page.open("question_answering")
  page.fill(text='Who\'s "it"?\\', text_pair="서울 $HOME `x`")
  command = shlex.split(page.find("#curl").text)
  assert command[:2] == ["curl", "-d"]
  data, url = command[2:]
  reply = urllib.request.urlopen(url, data.encode(), timeout=20)
  assert json.load(reply)["outputs"]["answer"] == ["서울"]
  assert json.loads(data)["inputs"]["text"] == ['Who\'s "it"?\\']


TITLES = {
  "classification_of_pairs": "Classification",
  "multi_label": "Classification",
  "regression": "Regression",
  "multiple_choice": "Multiple choice",
  "question_answering": "Question answering",
  "token_classification": "Named entities",
  "fill_mask": "Masked words",
  "encoder": "Search",
  "replaced_tokens": "Replaced tokens",
  "generation": "Text generation",
}


def test_every_exported_head_has_its_form_with_an_example(page, exports):
  assert set(TITLES) == {*all_heads.NAMES, "generation"}
  for name, title in TITLES.items():
    served = versions.Versions(exports[name].version_dir.parent)
    with local_server.running(served) as page.urls[name]:
      page.open(name)
      assert page.find("h1").text == title
      page.run()
      assert page.error() == ""
      assert page.texts("#result h2"), name
      for example in page.all("#examples button"):
        example.click()
        page.wait_for_answer()
        assert page.error() == ""
      field = "choices" if name == "multiple_choice" else "text"
      if name == "question_answering":
        field = "text_pair"
      page.run(**{field: "cat " * 200})
      assert "The end of the text was not read." in page.find("#result").text
