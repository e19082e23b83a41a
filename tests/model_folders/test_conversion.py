"""Conversions between all formats, as a user runs them."""

import dataclasses
import json
import pathlib
import resource
import shutil
import unicodedata

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from keras_bert_impl import file_errors, models, tokenizers
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.model_folders import conversion
from keras_bert_impl.tokenizers.formats import tokenizer_json_writing
from keras_bert_impl.tokenizers.formats import vocabularies as vocabulary
from tests import architectures
from tests.official_tasks import scripts
from tests.tokenizers import vocabularies

pytestmark = pytest.mark.integration

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"
# {format: models that go there}: encoders of all kinds, all names of Google's.
MODELS = {
  "safetensors": ["bert_pretraining"],
  "keras": ["deberta_v2_conv_encoder", "roberta_classifier", "xlnet_encoder"],
  "google": ["albert_pretraining", "bert_pretraining", "electra_discriminator"],
}
PAIRS = [(form, name) for form, names in MODELS.items() for name in names]


def convert(**options):
  """Converts as the script does with these flags."""
  flags = {
    name: str(value) if isinstance(value, pathlib.Path) else value
    for name, value in options.items()
  }
  conversion.convert(conversion.ConversionConfig(**flags))


def refusal(**flags):
  """Returns the message with which a conversion is refused, str."""
  with pytest.raises((ValueError, OSError)) as error:
    convert(**flags)
  return str(error.value)


@pytest.fixture(scope="module", name="out")
def fixture_out(tmp_path_factory):
  """Parity models in all formats, and from there in safetensors again."""
  out = tmp_path_factory.mktemp("out")
  for form, name in PAIRS:
    convert(input=PARITY / name, output=out / form / name, format=form)
    convert(input=out / form / name, output=out / "back" / form / name)
  return out


def read_arrays(folder):
  return safetensors.numpy.load_file(folder / "model.safetensors")


def assert_same_arrays(folder, expected):
  arrays, expected = read_arrays(folder), read_arrays(expected)
  assert set(arrays) == set(expected)
  for name, array in expected.items():
    np.testing.assert_array_equal(arrays[name], array)
    assert arrays[name].dtype == array.dtype


def read_config(folder):
  return json.loads((folder / "config.json").read_text())


@pytest.mark.parametrize(("form", "name"), PAIRS)
def test_there_and_back_changes_nothing(form, name, out):
  folder = out / "back" / form / name
  assert_same_arrays(folder, PARITY / name)
  written, expected = read_config(folder), read_config(PARITY / name)
  # Whatever the other format has no place for gets what the releases have.
  for key in (
    "architectures",
    "model_type",
    "hidden_act",
    "layer_norm_eps",
    "num_attention_heads",
    "id2label",
    "label2id",
    "vocab_size",
    # Our small models of XLNet have another one than the releases.
    *["pad_token_id"] * (not name.startswith("xlnet")),
  ):
    assert written.get(key) == expected.get(key), key


@pytest.mark.parametrize("name", MODELS["keras"])
def test_a_keras_file_needs_keras_only(name, out):
  loaded = tf.keras.models.load_model(out / "keras" / name / "model.keras")
  has_head = not name.endswith("encoder")
  expected = models.from_checkpoint(PARITY / name, heads=has_head)
  assert type(loaded) is type(expected)
  for weight, other in zip(loaded.weights, expected.weights, strict=True):
    np.testing.assert_array_equal(weight, other)


def test_the_files_are_those_of_googles_releases(out):
  def files_of(name):
    folder = out / "google" / name
    return {path.name for path in folder.iterdir()} - {"results.json"}

  def checkpoint(prefix):
    return {f"{prefix}.index", f"{prefix}.data-00000-of-00001"}

  assert files_of("bert_pretraining") == {
    *checkpoint("bert_model.ckpt"),
    "bert_config.json",
  }
  assert files_of("albert_pretraining") == {
    *checkpoint("model.ckpt-best"),
    "albert_config.json",
  }
  assert files_of("electra_discriminator") == {
    *checkpoint("electra_model.ckpt"),
    "checkpoint",
    "bert_config.json",
  }


def test_results_say_what_became_of_each_tensor(out):
  results = scripts.results(out / "safetensors/bert_pretraining")
  assert results["model"]["head"] == "pretraining"
  assert len(results["tensors"]["loaded"]) == 62
  assert not results["tensors"]["new"] and not results["tensors"]["left_out"]
  arrays = read_arrays(PARITY / "bert_pretraining")
  assert results["model"]["num_parameters"] == sum(
    array.size for array in arrays.values()
  )


def electra_run(folder, **changed):
  """Writes the output folder of an ELECTRA pre-training.

  Args:
    folder: path.
    **changed: {name of a weight: number that fills it}.

  Returns:
    (path, number of weights).
  """
  config = models.from_checkpoint(PARITY / "electra_discriminator").config
  model = models.ElectraPretrainingModel(
    config, models.electra_generator_config(config, 0.5)
  )
  weights = {weight.path: weight for weight in model.weights}
  for name, value in changed.items():
    weights[name] = np.full(weights[name].shape, value, "float32")
  weights["global_step"] = np.int64(7)
  tf_format.write(folder / "run/model.ckpt-7", weights)
  config.to_json_file(folder / "run/bert_config.json")
  return folder / "run", len(model.weights)


def test_an_electra_run_is_written_whole_for_google_else_without_generator(
  tmp_path,
):
  folder, num_weights = electra_run(tmp_path)
  convert(input=folder, output=tmp_path / "google", format="google")
  convert(input=folder, output=tmp_path / "st", format="safetensors")
  written = dict(tf.train.list_variables(str(tmp_path / "google")))
  assert len(written) == num_weights
  assert {name.partition("/")[0] for name in written} == {
    "electra",
    "generator",
    "generator_predictions",
    "discriminator_predictions",
  }
  assert read_config(tmp_path / "st")["architectures"] == [
    "ElectraForPreTraining"
  ]
  left_out = scripts.results(tmp_path / "st")["tensors"]["left_out"]
  assert left_out and all(
    name.startswith(("generator/", "cls/predictions/")) for name in left_out
  )
  assert set(read_arrays(tmp_path / "st")) == set(
    read_arrays(PARITY / "electra_discriminator")
  )


def test_tokenizer_files_go_along_under_the_names_of_the_format(tmp_path):
  source = shutil.copytree(PARITY / "albert_pretraining", tmp_path / "source")
  vocabularies.write_sentencepiece(source)
  model = (source / "spiece.model").read_bytes()
  (source / "tokenizer_config.json").write_text("{}")
  (source / "README.md").write_text("not copied")
  convert(input=source, output=tmp_path / "google", format="google")
  convert(input=tmp_path / "google", output=tmp_path / "st")
  assert (tmp_path / "google/30k-clean.model").read_bytes() == model
  assert (tmp_path / "st/spiece.model").read_bytes() == model
  assert (tmp_path / "st/tokenizer_config.json").exists()
  assert not (tmp_path / "google/README.md").exists()


def test_shards_are_read_as_one(tmp_path, monkeypatch):
  arrays = read_arrays(PARITY / "bert_classifier")
  table = np.zeros((20_000, 32), "float32")
  source = shutil.copytree(PARITY / "bert_classifier", tmp_path / "source")
  arrays["bert.embeddings.word_embeddings.weight"] = table  # 2.6 MB
  safetensors.numpy.save_file(arrays, source / "model.safetensors")
  config = read_config(source) | {"vocab_size": len(table)}
  (source / "config.json").write_text(json.dumps(config))
  convert(input=source, output=tmp_path / "shards", max_shard_size=1)
  convert(input=tmp_path / "shards", output=tmp_path / "whole")
  assert (tmp_path / "shards/model.safetensors.index.json").exists()
  assert_same_arrays(tmp_path / "whole", source)


TOKENS = [
  *vocabulary.SPECIAL_TOKENS,
  "[unused0]",
  "heart",
  "##beat",
  "[unused1]",
  "card",
  "##io",
  "##logy",
]


@pytest.fixture(name="domain")
def fixture_domain(tmp_path):
  """A masked-LM checkpoint with a WordPiece vocabulary, and words to add."""
  source = shutil.copytree(PARITY / "bert_pretraining", tmp_path / "source")
  arrays = read_arrays(source)
  for name in (
    "bert.embeddings.word_embeddings.weight",
    "cls.predictions.bias",
  ):
    arrays[name] = (
      np.random.default_rng(0)
      .normal(size=(len(TOKENS), *arrays[name].shape[1:]))
      .astype("float32")
    )
  safetensors.numpy.save_file(arrays, source / "model.safetensors")
  config = read_config(source) | {"vocab_size": len(TOKENS)}
  (source / "config.json").write_text(json.dumps(config))
  (source / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
  words = tmp_path / "words.txt"
  words.write_text("heartbeat\n\nheart\ncardiology\ncardio\nheartbeat\n")
  return source, words


@pytest.mark.parametrize("form", ["safetensors", "google", "keras"])
def test_words_take_unused_slots_then_new_rows_and_mean_their_pieces(
  form, domain, tmp_path
):
  source, words = domain
  convert(
    input=source, output=tmp_path / "out", format=form, extend_vocab=words
  )
  extended = vocabulary.Vocabulary.load(tmp_path / "out/vocab.txt")
  assert extended.tokens == (
    *TOKENS[:5],
    "heartbeat",
    *TOKENS[6:8],
    "cardiology",
    *TOKENS[9:],
    "cardio",
  )
  before = reading.open_checkpoint(source).tensors
  after = reading.open_checkpoint(tmp_path / "out")
  assert after.described().config.vocab_size == len(TOKENS) + 1
  for name in (
    "bert/embeddings/word_embeddings",
    "cls/predictions/output_bias",
  ):
    old, new = before[name], after.tensors[name]
    for word, pieces in (
      ("heartbeat", ["heart", "##beat"]),
      ("cardiology", ["card", "##io", "##logy"]),
      ("cardio", ["card", "##io"]),
    ):
      expected = np.mean([old[TOKENS.index(p)] for p in pieces], axis=0)
      np.testing.assert_allclose(new[extended.ids[word]], expected, rtol=1e-6)
    kept = [i for i, t in enumerate(TOKENS) if not t.startswith("[unused")]
    np.testing.assert_array_equal(new[kept], old[kept])
  written = json.loads((tmp_path / "out/tokenizer.json").read_text("utf-8"))
  assert written["model"]["vocab"] == extended.ids


def test_words_are_added_to_a_tokenizer_json(domain, tmp_path):
  source, words = domain
  tokenizer_json_writing.add(str(source), "bert")
  (source / "vocab.txt").unlink()
  convert(input=source, output=tmp_path / "out", extend_vocab=words)
  assert not (tmp_path / "out/vocab.txt").exists()
  tokenizer = tokenizers.load(tmp_path / "out")
  assert tokenizer.tokenize("a Heartbeat").shape[0] == 2


def test_words_are_added_as_the_tokenizer_normalises_them(domain, tmp_path):
  source, words = domain
  words.write_text("Heartbeat\nheartbeat\n한국어\n", encoding="utf-8")
  convert(input=source, output=tmp_path / "out", extend_vocab=words)
  extended = vocabulary.Vocabulary.load(tmp_path / "out/vocab.txt")
  # Lower case takes syllables of Hangul apart.
  hangul = unicodedata.normalize("NFD", "한국어")
  assert [t for t in extended.tokens if t not in TOKENS] == [
    "heartbeat",
    hangul,
  ]
  tokenizer = tokenizers.load(str(tmp_path / "out"))
  assert tokenizer.tokenize(["HEARTBEAT 한국어"]).to_list() == [
    [extended.ids["heartbeat"], extended.ids[hangul]]
  ]


def test_rows_to_spare_are_used_before_the_table_grows(domain, tmp_path):
  source, words = domain
  shorter = [token for token in TOKENS if not token.startswith("[unused")]
  (source / "vocab.txt").write_text("\n".join(shorter) + "\n")
  convert(input=source, output=tmp_path / "out", extend_vocab=words)
  found = reading.open_checkpoint(tmp_path / "out").described()
  assert found.config.vocab_size == len(shorter) + 3 == len(TOKENS) + 1


def damaged(name, file, change):
  """Returns a maker of a damaged copy of a parity model."""

  def make(folder):
    source = shutil.copytree(PARITY / name, folder / "source")
    change(source / file)
    return dict(input=source)

  return make


def truncate(path):
  path.write_bytes(path.read_bytes()[:1000])


def set_values(**values):
  def change(path):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))

  return change


def truncated_tensorflow(folder):
  model = models.from_checkpoint(PARITY / "bert_classifier")
  tf_format.write(folder / "tf/c", {w.path: w for w in model.weights})
  model.config.to_json_file(folder / "tf/bert_config.json")
  truncate(folder / "tf/c.data-00000-of-00001")
  return dict(input=folder / "tf")


def diverge(name):
  """Returns a function that puts a NaN into the tensor `name` of a file."""

  def change(path):
    arrays = safetensors.numpy.load_file(path)
    arrays[name].flat[-1] = np.nan
    safetensors.numpy.save_file(arrays, path)

  return change


def diverged_generator(folder):
  """A checkpoint of ELECTRA whose generator, which is only copied, is NaN."""
  bias = {"cls/predictions/output_bias": np.inf}
  return dict(input=electra_run(folder, **bias)[0], format="google")


def words(content, **flags):
  def make(folder):
    source = shutil.copytree(PARITY / "bert_classifier", folder / "source")
    (source / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    (folder / "words.txt").write_bytes(content)
    return dict(input=source, extend_vocab=folder / "words.txt") | flags

  return make


def existing_output(folder):
  (folder / "out").mkdir()
  (folder / "out/precious").write_text("kept")
  return dict(input=PARITY / "bert_classifier")


def merges(folder):
  """Words for a vocabulary of byte-level BPE, in which a word alone is none."""
  flags = words(b"heartbeat\n")(folder)
  (flags["input"] / "vocab.txt").unlink()
  (flags["input"] / "vocab.json").write_text('{"a": 0}')
  (flags["input"] / "merges.txt").write_text("#version: 0.2\n")
  return flags


BAD_INPUTS = {
  "words for merges": (merges, "merges"),
  "NaN in a weight": (
    damaged(
      "bert_classifier", "model.safetensors", diverge("classifier.weight")
    ),
    "classifier/output_weights of checkpoint",
  ),
  "infinity in what no model takes": (
    diverged_generator,
    "cls/predictions/output_bias of checkpoint",
  ),
  "output that exists": (existing_output, "out exists already"),
  "two words on a line": (
    words(b"heartbeat\nheart rate\n"),
    "words.txt, line 2: 'heart rate' is several words",
  ),
  "words that the tokenizer splits": (
    words(b"heartbeat\nheart-card\n"),
    "words.txt, line 2: 'heart - card' would never be found",
  ),
  "words with NULs": (
    words(b"heartbeat\n\0\0\0\n"),
    "words.txt, line 2: nothing is left of '\\x00\\x00\\x00'",
  ),
  "no new words": (words(b"heart\n"), "words.txt must have a word that is not"),
  "words that are no text": (words(b"\xff\xfe"), "words.txt:1 is not UTF-8"),
  "no file of words": (
    words(b"", extend_vocab="/no/words.txt"),
    "/no/words.txt",
  ),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_input_is_refused_by_name_and_nothing_is_written(case, tmp_path):
  make, message = BAD_INPUTS[case]
  flags = {"output": tmp_path / "out"} | make(tmp_path)
  before = sorted(tmp_path.rglob("*"))
  assert message in refusal(**flags)
  assert before == sorted(tmp_path.rglob("*"))


def test_the_script_converts_or_says_in_one_line_why_not(tmp_path):
  outcomes = scripts.run_each(
    "convert_checkpoint",
    [
      dict(input=PARITY / "bert_classifier", output=tmp_path / "out"),
      {"output": tmp_path / "no"} | truncated_tensorflow(tmp_path),
    ],
  )
  assert [status for status, _ in outcomes] == [0, 1]
  assert_same_arrays(tmp_path / "out", PARITY / "bert_classifier")
  assert "Cannot read bert/" in scripts.error_line(outcomes[1][1])
  assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("form", ["safetensors", "keras"])
def test_a_full_disk_leaves_nothing(tmp_path, form):
  # A limit on the size of a file fails like a full disk: in the middle.
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
  try:
    with pytest.raises(OSError) as error:
      convert(
        input=PARITY / "bert_classifier",
        output=tmp_path / "new/out",
        format=form,
      )
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
  line = file_errors.explained(error.value)
  assert f"{tmp_path / 'new/out'}/" in line and "cannot be written" in line
  assert not list((tmp_path / "new").iterdir())


@pytest.mark.parametrize("num_layers", [2, 4])
def test_a_part_is_enough_if_told_so(tmp_path, num_layers):
  """Layers of which there are three become fewer, or get new ones."""
  source = shutil.copytree(PARITY / "bert_classifier", tmp_path / "source")
  set_values(num_hidden_layers=num_layers)(source / "config.json")
  convert(input=source, output=tmp_path / "out", allow_partial=True)
  new = scripts.results(tmp_path / "out")["tensors"]["new"]
  assert len(new) == (16 if num_layers == 4 else 0)
  assert all(name.startswith("bert/encoder/layer_3/") for name in new)
  layers = {
    name.split(".")[3]
    for name in read_arrays(tmp_path / "out")
    if name.startswith("bert.encoder.layer.")
  }
  assert layers == {*map(str, range(num_layers))}


def test_two_directions_make_a_pair(tmp_path):
  base = models.from_checkpoint(PARITY / "bert_pretraining").config
  base = dataclasses.replace(base, num_hidden_layers=1)
  both = [
    models.MaskedLanguageModel(dataclasses.replace(base, **changes))
    for changes in ({"use_causal_mask": True}, architectures.RIGHT_TO_LEFT)
  ]
  for model, name in zip(both, ("forward", "backward"), strict=True):
    model.save(tmp_path / f"{name}.keras")
  flags = {
    "input": tmp_path / "forward.keras",
    "right_to_left": tmp_path / "backward.keras",
    "format": "keras",
  }
  convert(**flags, output=tmp_path / "out")
  pair = models.from_checkpoint(tmp_path / "out", heads=True)
  inputs = {"input_ids": np.arange(5, 11, dtype="int32")[None]}
  found = pair(inputs)
  for model, name in zip(
    both, ("token_logits", "backward_token_logits"), strict=True
  ):
    np.testing.assert_allclose(
      found[name], model(inputs)["token_logits"], atol=1e-5
    )
  wrong = [
    ({"format": "safetensors"}, "causal_direction ('both') has no place in"),
    ({"right_to_left": flags["input"]}, "causal_direction 'right_to_left', n"),
    (
      {"right_to_left": PARITY / "bert_pretraining"},
      "causal_direction 'right_to_left', not None",
    ),
  ]
  for changes, words in wrong:
    assert words in refusal(**flags | changes, output=tmp_path / "no")


def test_chosen_layers_make_a_smaller_model(tmp_path):
  source = PARITY / "bert_pretraining"
  convert(input=source, output=tmp_path / "student", layers="0,2")
  teacher = models.from_checkpoint(str(source), heads=True)
  student = models.from_checkpoint(str(tmp_path / "student"), heads=True)
  config = json.loads((tmp_path / "student/config.json").read_text())
  assert config["num_hidden_layers"] == student.config.num_hidden_layers == 2
  ours = {weight.path: np.array(weight) for weight in student.weights}
  for weight in teacher.weights:
    if "layer_1/" not in weight.path:  # Its embeddings and heads, too.
      name = weight.path.replace("layer_2/", "layer_1/")
      np.testing.assert_array_equal(ours.pop(name), weight, err_msg=name)
  assert not ours


@pytest.mark.parametrize(
  ("name", "layers", "message"),
  [
    ("bert_pretraining", "0,9", r"layers \(0,9\) must be below 3, the number"),
    ("bert_pretraining", "1,0", r"layers \(1,0\) must be ascending numbers"),
    ("bert_pretraining", "first", r"layers \(first\) must be numbers"),
    ("albert_pretraining", "0", "have no weights of their own"),
    ("modernbert_encoder", "1,2", r"must have the windows \[None, \d+\]"),
  ],
)
def test_layers_that_make_no_model_are_refused(tmp_path, name, layers, message):
  output = tmp_path / "out"
  with pytest.raises(ValueError, match=message):
    convert(input=PARITY / name, output=output, layers=layers)
  assert not output.exists()


@pytest.mark.parametrize(
  ("file_format", "is_kept"),
  [("safetensors", True), ("keras", True), ("google", False)],
)
def test_what_a_run_says_of_its_task_is_kept(tmp_path, file_format, is_kept):
  source = shutil.copytree(PARITY / "bert_classifier", tmp_path / "source")
  labels = [*reading.open_checkpoint(str(source)).described().labels]
  task = {"head": "classification", "labels": labels, "text_pairs": True}
  (source / "task.json").write_text(json.dumps(task))
  convert(input=source, output=tmp_path / "out", format=file_format)
  written = tmp_path / "out/task.json"
  assert written.exists() == is_kept
  assert not is_kept or json.loads(written.read_text()) == task
