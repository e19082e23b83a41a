"""The objectives by name: quick to list, and each makes its task."""

import dataclasses
import subprocess
import sys

import pytest

from keras_bert_impl import choices, configs
from keras_bert_impl.tasks import objectives
from keras_bert_impl.tasks.basics import pretraining
from tests import architectures

CONFIG = configs.EncoderConfig(**architectures.SMALL)
NAMES = pytest.mark.parametrize("name", objectives.OBJECTIVES)


def test_listing_them_imports_neither_keras_nor_tensorflow():
  program = (
    "import sys; from keras_bert_impl.tasks import objectives;"
    "print({'keras', 'numpy', 'tensorflow'} & sys.modules.keys())"
  )
  output = subprocess.run(
    [sys.executable, "-c", program], capture_output=True, text=True, check=True
  )
  assert output.stdout == "set()\n"


@NAMES
def test_an_objective_makes_a_task_whose_losses_have_names(name):
  objective = objectives.OBJECTIVES[name]
  assert objective.packing in choices.PACKINGS
  policies = (None, *choices.MASKING_POLICIES, *choices.NOISES)
  assert objective.masking_policy in policies
  kinds = {"xlnet": "transformer_xl", "deberta": "none", "elmo": "recurrent"}
  config = dataclasses.replace(
    CONFIG,
    use_causal_mask=objective.masking_policy is None
    and not objective.task.has_target,
    num_decoder_layers=int(objective.task.has_target),
    causal_direction=getattr(objective.task, "direction", "left_to_right"),
    position_embedding_type=kinds.get(name, "learned"),
  )
  data = pretraining.PretrainingData(16, None, objective.sentence_loss)
  task = objective.task(config, data)
  assert {task.token_loss, objective.sentence_loss} <= {None, *task.short_names}
  evaluation = {
    f"{task.token_loss}_baseline_accuracy": 0.25,
    "replaced_token_share": 0.1,
  }
  guesses = task.guesses(evaluation)
  if task.token_loss:
    assert guesses[task.token_loss] == "25.0% (commonest token)"
  assert guesses.keys() <= task.short_names.keys()


def test_options_reach_the_task():
  electra = objectives.OBJECTIVES["electra"]
  options = electra.options(generator_size=0.5, detection_weight=7.0)
  task = electra.task(CONFIG, options=options)
  assert task.loss_weights == {"replaced_token": 7.0}
  assert task.generator_config.hidden_size == 8
  assert task.embedding_sharing == "shared"


def test_two_objectives_with_the_same_options_have_their_own_defaults():
  config = dataclasses.replace(CONFIG, num_hidden_layers=4)
  deberta = objectives.OBJECTIVES["deberta_v3"]
  assert deberta.options is objectives.OBJECTIVES["electra"].options
  task = deberta.task(config)
  assert task.embedding_sharing == "gdes"
  generator = task.generator_config
  assert (generator.hidden_size, generator.num_hidden_layers) == (16, 2)
  options = deberta.options(embedding_sharing="none", generator_depth=1.0)
  task = deberta.task(config, options=options)
  assert task.embedding_sharing == "none"
  assert task.generator_config.num_hidden_layers == 4
