"""The file of a page, without a browser."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

from keras_bert_impl import heads
from keras_bert_impl.visualization import page
from tests.visualization import toy


def stored(html, name):
  [text] = re.findall(f'id="{name}">([^<]*)<', html)
  return zlib.decompress(base64.b64decode(text))


def attention_of(html, shape):
  """Reads the numbers as the page says that they are stored."""
  low, middle, high = np.frombuffer(
    stored(html, "attention"), np.uint8
  ).reshape(3, -1)
  numbers = low + 256.0 * middle + 65536.0 * high
  return (numbers / 2**19).reshape(shape)


def random_attention(groups, num_heads, length, sharpness=2.0):
  rng = np.random.default_rng(0)
  logits = sharpness * rng.normal(size=(groups, num_heads, length, length))
  shares = np.exp(logits)
  return (shares / shares.sum(-1, keepdims=True)).astype(np.float32)


def test_numbers_are_exact_to_a_millionth():
  attention = random_attention(2, 3, 10)
  attention[0, 0] = np.eye(10)
  html = page.render({"name": "a"}, attention)
  found = attention_of(html, attention.shape)
  np.testing.assert_allclose(found, attention, rtol=0, atol=1e-6)
  assert found[0, 0, 0, 0] == 1 and found[0, 0, 0, 1] == 0


def test_twelve_layers_of_twelve_heads_have_room_for_30_tokens():
  html = page.render({"name": "a"}, random_attention(12, 12, 30))
  assert len(html) <= page.MOST_BYTES - 20_000  # For what else is to be said.


def test_the_file_asks_for_nothing_and_may_not():
  html = toy.viewer(toy.masked_language_model(), heads.FILL_MASK).view("a").html
  assert not re.search(r"https?://|//[a-z]+\.", html)
  assert not re.search(r"\ssrc=|@import|url\(|fetch\(", html)
  assert re.findall(r'href="(.*?)"', html) == ["data:,"]
  [policy] = re.findall(r'Content-Security-Policy" content="(.*?)"', html)
  assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_names_and_texts_are_no_html():
  viewer = toy.viewer(
    toy.masked_language_model(), heads.FILL_MASK, name="<b>&</b>"
  )
  html = viewer.view("</script><img src=x>").html
  assert "<b>" not in html and "<img" not in html
  assert json.loads(stored(html, "content"))["name"] == "<b>&</b>"


def test_a_text_is_cut_to_what_a_page_has_room_for(monkeypatch):
  viewer = toy.viewer(toy.masked_language_model(), heads.FILL_MASK)
  text = "the old cat sees 고양이 and a dog ."
  whole = viewer.view(text)
  assert (whole.num_tokens, whole.num_cut) == (11, 0)
  monkeypatch.setattr(page, "MOST_BYTES", len(whole.html.encode()) - 600)
  view = viewer.view(text)
  assert 8 <= view.num_tokens < 11
  assert view.num_tokens + view.num_cut == 11
  assert len(view.html.encode()) <= page.MOST_BYTES
  content = json.loads(stored(view.html, "content"))
  assert len(content["tokens"]) == view.num_tokens
  assert content["numCut"] == view.num_cut
  monkeypatch.setattr(page, "MOST_BYTES", 20_000)
  with pytest.raises(ValueError, match="give fewer layers"):
    viewer.view(text)


def test_a_head_that_there_is_not_is_told():
  with pytest.raises(ValueError, match="head .'tail'. must be one of"):
    toy.viewer(toy.masked_language_model(), "tail")
