import numpy as np
import pytest

from tests.tfrecords import corpus
from tfrecords.text import sources, tfds_documents
from tfrecords.writing import writer, writing_config

TEXTS = [
  f"Article {i} begins. It has a\u00e9rated lines.\nLine two of {i}! More."
  for i in range(6)
]


@pytest.fixture(name="data_dir", scope="module")
def fixture_data_dir(tmp_path_factory):
  """A data set of TensorFlow Datasets, prepared on this machine."""
  tfds = pytest.importorskip("tensorflow_datasets")

  class TinyArticles(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
      return self.dataset_info_from_configs(
        features=tfds.features.FeaturesDict(
          {"text": tfds.features.Text(), "number": np.int32}
        )
      )

    def _split_generators(self, dl_manager):
      return {"train": self._generate(TEXTS), "test": self._generate([" "])}

    def _generate(self, texts):
      for i, text in enumerate(texts):
        yield i, {"text": text, "number": i}

    def _generate_examples(self):
      raise NotImplementedError

  folder = tmp_path_factory.mktemp("tfds")
  TinyArticles(data_dir=folder).download_and_prepare()
  return folder


def source(data_dir, options=""):
  return f"tfds:tiny_articles?data_dir={data_dir}{options}"


def test_every_example_of_a_split_is_a_document_unless_it_is_empty(data_dir):
  def read(options):
    return list(sources.iter_documents([source(data_dir, options)]))

  article = (
    "Article {0} begins.|It has a\u00e9rated lines.|Line two of {0}!|More."
  )
  assert sorted(read("&split=train+test&feature=text")) == [
    article.format(i).split("|") for i in range(6)
  ]
  assert len(read("&split=train[:50%]")) == 3


def test_the_structure_of_wiki40b_becomes_paragraphs():
  text = (
    "\n_START_ARTICLE_\nMoon is here.\n_START_PARAGRAPH_\n"
    "It shines._NEWLINE_It is far. It is old."
    "\n_START_SECTION_\nNotes.\n_START_PARAGRAPH_\n달은 밝다.\nItem one"
  )
  assert tfds_documents.split_text(text, "wiki40b/ko:1.3.0") == [
    "It shines.",
    "It is far.",
    "It is old.",
    "달은 밝다.",
  ]


def test_only_running_text_of_wikipedia_is_kept():
  text = "The moon shines.\n\nSee also\nList of moons\n달은 밝다. 둥글다."
  running = ["The moon shines.", "달은 밝다.", "둥글다."]
  assert tfds_documents.split_text(text, "wikipedia/20230601.ko") == running
  assert "See also" in tfds_documents.split_text(text, "tiny_articles")


def test_shards_are_written_and_continued_from_a_data_set(data_dir, tmp_path):
  vocab_file = corpus.write_vocabulary(tmp_path)
  config = writing_config.PretrainingDataConfig(vocab_file, max_seq_length=32)
  out = [str(tmp_path / "data.tfrecord")]
  first = writer.write_shards(config, [source(data_dir)], out)
  assert first.num_documents == 6
  assert first.num_sentences == 24
  again = writer.write_shards(config, [source(data_dir)], out)
  assert again.num_written_shards == 0


def test_the_text_is_kept_beside_the_output_wherever_that_is(
  data_dir, tmp_path
):
  # Addressed as an object store is.
  beside = f"file://{tmp_path}/out/data.tfrecord"
  source_of = source(data_dir)
  text = corpus.write_vocabulary(tmp_path)
  [path, other] = sources.replace_by_text([source_of, text], beside)
  assert path.startswith(f"file://{tmp_path}/out/source_text/tiny_articles_")
  assert other == text
  assert sorted(sources.iter_documents([path])) == sorted(
    sources.iter_documents([source_of])
  )


@pytest.mark.parametrize(
  ("name", "named"),
  [
    ("tfds:", "no data set"),
    ("tfds:a?splitt=b", "unknown option 'splitt'"),
    ("tfds:no_such_data_set", "'no_such_data_set' of .* is not known"),
  ],
)
def test_wrong_sources_are_named(name, named):
  with pytest.raises(ValueError, match=named):
    list(tfds_documents.iter_documents(name))


def test_a_feature_that_is_no_text_is_named(data_dir):
  with pytest.raises(ValueError, match="'number' of .* text features .*: text"):
    list(tfds_documents.iter_documents(source(data_dir, "&feature=number")))
  with pytest.raises(ValueError, match="nosplit"):
    list(tfds_documents.iter_documents(source(data_dir, "&split=nosplit")))
