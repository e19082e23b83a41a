"""The tab of attention on the local server's page."""

import asyncio
import collections
import re
import time

import pytest

from keras_bert_impl import heads
from keras_bert_impl.serving.local import attention_tab
from tests import browser
from tests.serving.local import local_server, stand_ins
from tests.visualization import toy

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def draw(text, text_pair, above):
  if text == "bad":
    raise ValueError("Not <this> one.")
  return f"{above}<p>{len(text)}, {text_pair and len(text_pair)}</p>"


@pytest.fixture(scope="module")
def client():
  served = stand_ins.Served("fill_mask")
  with local_server.client(served, draw_attention=draw) as client:
    yield client


def test_the_page_is_drawn_of_what_was_sent(client):
  response = client.post(
    "/attention", data={"text": "강아지", "text_pair": "<"}
  )
  assert response.status_code == 200
  assert "<p>3, 1</p>" in response.text
  # The form shows it again, as text.
  assert "강아지</textarea>" in response.text
  assert "&lt;</textarea>" in response.text
  assert response.headers["content-type"] == "text/html; charset=utf-8"
  response = client.post("/attention", data={"text": "a\r\nb", "text_pair": ""})
  assert "<p>3, None</p>" in response.text


def test_it_begins_with_an_example_that_is_not_drawn(client):
  response = client.get("/attention")
  assert re.search(r">\nThe animal .*</textarea>", response.text)
  assert "None</p>" not in response.text and "alert" not in response.text
  assert client.get("/model.json").json()["has_attention"] is True


def test_bad_requests_get_one_line(client):
  for content, error in (
    (b"text=%ff", "no form"),
    ("text=가".encode(), "no form"),
  ):
    response = client.post("/attention", content=content, headers=FORM)
    assert response.status_code == 400
    assert error in response.json()["error"]
  other = {"Origin": "http://example.org", **FORM}
  response = client.post("/attention", content=b"text=a", headers=other)
  assert response.status_code == 403


def test_a_text_that_cannot_be_drawn_stays_in_the_form(client):
  for text, error in (
    (1001 * "x", "1001 bytes"),
    ("bad", "Not &lt;this&gt; one."),
  ):
    response = client.post("/attention", data={"text": text, "text_pair": ""})
    assert response.status_code == 400
    assert f"{text}</textarea>" in response.text
    [found] = re.findall('role="alert">(.*)</p>', response.text)
    assert error in found


def test_texts_are_drawn_one_at_a_time():
  counts = collections.Counter()

  def draw_slowly(*unused_texts):
    counts["now"] += 1
    counts["most"] = max(counts["most"], counts["now"])
    time.sleep(0.02)
    counts["now"] -= 1
    counts["drawn"] += 1
    return ""

  async def read_body(unused_request):
    return b"text=a"

  async def submit_together():
    tab = attention_tab.AttentionTab(draw_slowly, read_body, 10, {})
    await asyncio.gather(*(tab.submit(None) for _ in range(3)))

  asyncio.run(submit_together())
  assert counts["drawn"] == 3 and counts["most"] == 1


def test_without_a_checkpoint_there_is_no_tab():
  with local_server.client(stand_ins.Served("fill_mask")) as client:
    assert client.get("/attention").status_code == 404
    assert client.get("/model.json").json()["has_attention"] is False


@pytest.mark.integration
@browser.needed
def test_a_person_fills_a_mask_and_finds_the_tab_that_draws_a_text(tmp_path):
  viewer = toy.viewer(toy.masked_language_model(), heads.FILL_MASK)
  served = stand_ins.Served("fill_mask")
  with (
    local_server.running(
      served, draw_attention=lambda *texts: viewer.view(*texts).html
    ) as url,
    browser.running(tmp_path) as driver,
  ):
    page = browser.Page(driver)
    driver.get(url)
    page.wait(lambda: page.find("#pages").is_displayed())
    page.find("#field-text").send_keys("!")
    page.find("button").click()
    page.wait(lambda: page.all(".bars .name"))
    assert page.find(".bars .share").text == "75.0 %"
    page.find("#pages a:not([aria-current])").click()
    page.wait(lambda: page.all("#text_pair"))
    with browser.phone(driver, 360):
      assert browser.width_of_page(driver) == 360
    field = page.find("#text")
    field.clear()
    field.send_keys("고양이 [MASK]")
    page.find("form button").click()
    page.wait(lambda: page.find("#main").is_displayed())
    page.wait(lambda: "고양이" in page.find("#head-title").text)
    driver.execute_async_script("ready.then(arguments[0])")
    assert page.find("#text").get_property("value") == "고양이 [MASK]"
    assert page.find("#prediction option").text.endswith("%)")
    with browser.phone(driver, 360):
      assert browser.width_of_page(driver) == 360
    assert driver.get_log("browser") == []
    page.find("nav a:not([aria-current])").click()
    page.wait(lambda: page.find("#form").is_displayed())
