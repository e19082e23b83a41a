"""How much each head of attention matters for labelled examples."""

import numpy as np
import pytest

import keras_bert_impl as kb
from keras_bert_impl import models
from keras_bert_impl.kinds import head_importance
from tests.kinds import test_comparison

TEXTS = ["the cat", "sat", "a b c d"]
LABELS = ["x", "y", "x"]
EPS = 0.05


@pytest.fixture(scope="module")
def classifier(checkpoint, tmp_path_factory):
  """A trained classifier, and a file of labelled texts."""
  folder = tmp_path_factory.mktemp("classifier")
  trained = kb.TextClassifier.from_checkpoint(checkpoint, max_seq_length=8)
  trained.fit(
    TEXTS,
    LABELS,
    output_dir=folder / "run",
    epochs=4,
    batch_size=3,
    learning_rate=5e-3,
  )
  path = folder / "dev.tsv"
  rows = zip(TEXTS, LABELS, strict=True)
  path.write_text("words\tclass\n" + "".join(f"{a}\t{b}\n" for a, b in rows))
  return trained, path


def losses(model, trained):
  """Returns the cross-entropy of each text, by NumPy."""
  tokenizer = kb.load_tokenizer(trained.checkpoint)
  values = []
  for text, label in zip(TEXTS, LABELS, strict=True):
    row = tokenizer([text], max_seq_length=8)
    logits = np.array(model({n: row[n] for n in model.input})["logits"])[0]
    logits = logits.astype("float64")
    wrong = logits - logits[["x", "y"].index(label)]
    values.append(np.log(np.exp(wrong).sum()))
  return np.array(values)


@pytest.mark.integration
def test_it_is_the_slope_of_the_loss_by_what_a_head_gives(classifier):
  trained, path = classifier
  found = head_importance.measure(
    trained.checkpoint, 1, str(path), ["words", "class"]
  )
  model = models.from_checkpoint(trained.checkpoint, heads=True)
  layers, heads = found.shape
  assert (layers, heads) == (
    model.config.num_hidden_layers,
    model.config.num_attention_heads,
  )
  assert found.min() > 0
  weights = {weight.path: weight for weight in model.weights}
  for layer, head in ((0, 0), (layers - 1, heads - 1)):
    kernel = weights[
      f"bert/encoder/layer_{layer}/attention/output/dense/kernel"
    ]
    whole, both = np.array(kernel), []
    for factor in (1 + EPS, 1 - EPS):
      changed = whole.reshape(heads, -1, whole.shape[1]).copy()
      changed[head] *= factor
      kernel.assign(changed.reshape(whole.shape))
      both.append(losses(model, trained))
    kernel.assign(whole)
    slopes = (both[0] - both[1]) / (2 * EPS)
    expected = np.abs(slopes).mean()
    np.testing.assert_allclose(found[layer, head], expected, rtol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["answers", "tags", "choices"])
def test_all_heads_with_labels_tell(kind, checkpoint, tmp_path):
  make, data, path = test_comparison.make(kind, tmp_path)
  trained = make.from_checkpoint(checkpoint, max_seq_length=16)
  known = {"max_query_length": 4} if kind == "answers" else {}
  trained.fit(*data, **test_comparison.SHORT, **known)
  found = head_importance.measure(trained.checkpoint, 1, str(path))
  assert found.min() > 0


@pytest.mark.integration
def test_wrong_inputs_are_refused_in_one_line(classifier, checkpoint):
  trained, path = classifier
  for model, columns, message in (
    (checkpoint, [], "--head_data .* needs a head that is scored on labelled"),
    (trained.checkpoint, ["class"], r"--head_columns \(class\) must be one or"),
    (trained.checkpoint, ["words", "no"], "--head_data, --head_columns: "),
  ):
    with pytest.raises(ValueError, match=message) as error:
      head_importance.measure(model, 1, str(path), columns)
    assert "\n" not in str(error.value)
