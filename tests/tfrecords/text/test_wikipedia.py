"""Dumps of Wikipedia as Wikimedia publishes them, in small."""

import bz2
import sys

import pytest

from tfrecords.text import sources, wikipedia

ARTICLE = """{{Infobox|name = Moon|text=Not {{nested|this}}.}}
[[파일:달.jpg|thumb|A [[picture]] of it.]]
'''The Moon''' is Earth's [[natural satellite|satellite]].<ref>A book.</ref> It
shines.<!-- Nothing. -->
== History ==
달은 [[지구]]의 {{lang|en|only}} 위성이다. 밝다.
* An item of a list.
** Another item.
# A third one.
; A term.
: Its meaning.
{| class="wikitable"
! Head. !! Second.
|-
| Cell.
{|
| Inner cell.
|}
|}
The text goes on.
<gallery>
File:a.jpg|Caption.
</gallery>
=== See also. ===
[[Category:Moons]][[분류:달]]
"""
DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">
<siteinfo><namespaces><namespace key="0" /><namespace key="6">파일</namespace>
<namespace key="14">분류</namespace></namespaces></siteinfo>
<page><title>Moon</title><ns>0</ns><revision><text>{article}</text></revision></page>
<page><title>Luna</title><ns>0</ns><redirect title="Moon" />
<revision><text>#REDIRECT [[Moon]]. It is.</text></revision></page>
<page><title>Talk:Moon</title><ns>1</ns>
<revision><text>I say.</text></revision></page>
<page><title>Sun</title><ns>0</ns>
<revision><text>The Sun is hot.</text></revision></page>
</mediawiki>"""


@pytest.fixture(name="dump")
def fixture_dump(tmp_path):
  path = tmp_path / "kowiki-20260101-pages-articles.xml.bz2"
  article = ARTICLE.replace("&", "&amp;").replace("<", "&lt;")
  content = DUMP.replace("{article}", article).encode()
  path.write_bytes(bz2.compress(content))
  return path


def test_articles_are_running_text(dump):
  pytest.importorskip("mwparserfromhell")
  moon, sun = sources.iter_documents([str(dump)])
  assert (
    " ".join(moon).split()
    == (
      "The Moon is Earth's satellite. It shines."
      " 달은 지구의 위성이다. 밝다. The text goes on."
    ).split()
  )
  assert sun == ["The Sun is hot."]


def test_dumps_in_parts_are_found_by_a_pattern(dump, tmp_path):
  pytest.importorskip("mwparserfromhell")
  folder = tmp_path / "parts"
  folder.mkdir()
  for part in ("1.xml-p1p9", "2.xml-p10p99"):
    (folder / f"x-pages-articles{part}.bz2").write_bytes(dump.read_bytes())
  for name in (folder, folder / "*.bz2"):
    assert len(list(sources.iter_documents([str(name)]))) == 4


def test_a_newer_dump_of_the_same_name_is_read_again(dump, tmp_path):
  pytest.importorskip("mwparserfromhell")
  beside = str(tmp_path / "out" / "data")
  [first] = sources.replace_by_text([str(dump)], beside)
  assert sources.replace_by_text([str(dump)], beside) == [first]
  newer = bz2.decompress(dump.read_bytes()).replace(b"hot.", b"quite hot.")
  dump.write_bytes(bz2.compress(newer))
  [second] = sources.replace_by_text([str(dump)], beside)
  assert "quite hot." in open(second, encoding="utf-8").read()


def test_running_text_ends_with_the_stop_of_its_script():
  lines = [
    "यह चाँद है।",
    "「月だ。」",
    "يدور القمر؟",
    "«Луна.»",
    "Lists of moons",
  ]
  assert wikipedia.split_passages("\n".join(lines)) == lines[:-1]


def test_a_damaged_dump_is_named(tmp_path):
  pytest.importorskip("mwparserfromhell")
  path = tmp_path / "x-pages-articles.xml.bz2"
  whole = bz2.compress(DUMP.encode() * 50)
  for content in (whole[: len(whole) // 2], b"no dump", bz2.compress(b"text")):
    path.write_bytes(content)
    with pytest.raises(
      ValueError, match="x-pages-articles.* is damaged, or no"
    ):
      list(wikipedia.iter_documents(str(path)))


def test_the_extra_is_named(dump, monkeypatch):
  monkeypatch.setitem(sys.modules, "mwparserfromhell", None)
  with pytest.raises(ValueError, match=r"keras-bert-impl\[wikipedia\]"):
    list(wikipedia.iter_documents(str(dump)))
