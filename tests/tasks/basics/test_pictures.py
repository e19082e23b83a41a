"""Pictures for pages: what they are made of, and in which colours."""

import re
import xml.etree.ElementTree

import numpy as np
import pytest

from keras_bert_impl.tasks.basics import pictures

# Of report.html: ink and paper.
SCHEMES = {
  "light": ((0x1B, 0x1F, 0x24), (255, 255, 255)),
  "dark": ((0xE8, 0xEC, 0xF1), (0x14, 0x18, 0x1D)),
}


COLORS = {"#000000": "currentColor", "#1f77b4": "var(--first)"}


def draw():
  canvas = pictures.new_figure(3, 2)
  axes = canvas.add_subplot()
  axes.plot([0, 1], [1, 2], "o-", label="긍정 <b>")
  axes.imshow(pictures.shaded([[0.0, 1.0]]))
  axes.set_title("$5 & $x_")
  axes.legend(frameon=False)
  return canvas


def test_text_stays_text_and_colours_are_the_pages():
  svg = pictures.to_svg(draw(), 'a "title"', COLORS)
  xml.etree.ElementTree.fromstring(
    svg.replace("<svg", '<svg xmlns:xlink="x"', 1)
  )
  assert ">긍정 &lt;b&gt;</text>" in svg
  assert ">$5 &amp; $x_</text>" in svg
  assert 'aria-label="a &quot;title&quot;"' in svg
  assert "currentColor" in svg and "var(--first)" in svg
  assert not re.search("#0{6}|#1f77b4|#f{6}|http|font-family|metadata", svg)


def test_the_same_figure_gives_the_same_picture():
  first, second = (pictures.to_svg(draw(), "a", COLORS) for _ in range(2))
  assert first == second


def test_letters_come_from_a_font_that_has_them(tmp_path, monkeypatch, caplog):
  path = tmp_path / "picture.png"
  canvas = pictures.new_figure(3, 2)
  # Circled letters, which are in STIXGeneral alone of matplotlib's fonts.
  canvas.add_subplot().set_yticks([0, 1], ["ⓑ", "Ⓐ"])
  monkeypatch.setattr(pictures, "_FONTS", ("not installed", "STIXGeneral"))
  pictures.save(canvas, path)
  drawn = path.read_bytes()
  assert not caplog.records
  monkeypatch.setattr(pictures, "_FONTS", ("not installed",))
  canvas.axes[0].set_yticks([0, 1], ["ⓑ", "Ⓐ"])
  for label in canvas.axes[0].get_yticklabels():
    label.set_fontfamily("sans-serif")
  pictures.save(canvas, path)
  assert path.read_bytes() != drawn
  [warning] = caplog.messages
  assert f"{path} shows letters as boxes: install a font" in warning


@pytest.mark.parametrize("scheme", SCHEMES)
def test_numbers_can_be_read_on_every_shade(scheme):
  def luminance(color):
    color = np.asarray(color) / 255
    linear = np.where(
      color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4
    )
    return linear @ [0.2126, 0.7152, 0.0722]

  ink, paper = SCHEMES[scheme]
  for share in np.linspace(0, 1, 11):
    *hue, alpha = pictures.shaded(share)
    cell = alpha * 255 * np.array(hue) + (1 - alpha) * np.array(paper)
    low, high = sorted((luminance(ink), luminance(cell)))
    assert (high + 0.05) / (low + 0.05) >= 4.5
