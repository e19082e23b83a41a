"""Names of other libraries, and what they are called here.

Standard library only. Errors about unknown names look here; the document
docs/migrating.md has whole programs in pairs.
"""

import abc
import re
import typing

_ESTIMATOR = "kb.TextClassifier, kb.TokenTagger, kb.QuestionAnswerer, ..."
# Ours, and a pattern of theirs: of attributes of the package, of its classes
# and of their objects, and of arguments. The first that fits counts.
_NAMES = (
  ("from_checkpoint(path)", "from_pretrained|from_preset"),
  ("save(folder)", "save_pretrained|save_model|save_to_preset|save_weights"),
  (
    "save(folder), then huggingface_hub.upload_folder(folder_path=folder,"
    " repo_id=...)",
    "push_to_hub",
  ),
  ("predict(texts)", "predict_proba|classify|transform|__call__"),
  ("fit(data, targets)", "train|compile|train_on_batch|old_fit|prepare_\\w+"),
  (
    f"{_ESTIMATOR}: from_checkpoint(path), and fit(data, targets, epochs=3)",
    "Trainer|\\w*Trainer|\\w*TrainingArguments|create_optimizer|DataCollator\\w*",
  ),
  (f"{_ESTIMATOR}: from_checkpoint(path).predict(texts)", "pipeline"),
  ("kb.load_tokenizer(path)", "\\w*Tokenizer(Fast)?|\\w*Preprocessor"),
  (
    "kb.TextClassifier, or kb.SequenceClassifier as a Keras model",
    "\\w+ForSequenceClassification|\\w+(Text)?Classifier",
  ),
  (
    "kb.TokenTagger, or kb.TokenClassifier as a Keras model",
    "\\w+ForTokenClassification",
  ),
  (
    "kb.QuestionAnswerer, or kb.QuestionAnswering as a Keras model",
    "\\w+ForQuestionAnswering",
  ),
  (
    "kb.ChoiceAnswerer, or kb.MultipleChoice as a Keras model",
    "\\w+ForMultipleChoice",
  ),
  (
    "kb.FillMask, or kb.from_checkpoint(path, heads=True) as a Keras model",
    "\\w+ForMaskedLM|\\w+ForPreTraining|\\w+MaskedLM|\\w+LMHeadModel",
  ),
  ("kb.EncoderConfig", "\\w+Config"),
  ("kb.SentenceEncoder", "SentenceTransformer"),
  ("kb.Reranker", "CrossEncoder"),
  (
    "kb.from_checkpoint(path)",
    "(TF|Flax)?(Auto|Bert|Roberta|Albert|Electra|DistilBert|XLNet|MPNet"
    "|Deberta(V2)?|ModernBert|XLMRoberta|Camembert)(Main)?(Model|Backbone|Layer)",
  ),
  ('tokenizer(texts)["input_ids"]', "encode|(batch_)?encode_plus"),
  ("detokenize(ids)", "decode|batch_decode|convert_tokens_to_string"),
  ("token_texts and vocabulary", "convert_\\w+|get_vocab|\\w+_token(_id)?"),
  (
    "convert_checkpoint.py --extend_vocab",
    "resize_token_embeddings|add_tokens|add_special_tokens",
  ),
  ("data", "x|X|texts|train_data(set)?|training_data|inputs|input"),
  ("targets, of fit and evaluate", "y|labels|label|y_train"),
  ("labels, of predict", "candidate_labels"),
  ("validation_data", "eval_data(set)?|val_data(set)?|validation_dataset"),
  ("validation_data=0.1, a share", "validation_split|eval_split|test_size"),
  ("epochs", "num_train_epochs|n_epochs|num_epochs|nb_epoch|max_steps"),
  ("batch_size", "(per_device_)?train_batch_size"),
  (
    "eval_batch_size",
    "per_device_eval_batch_size|validation_batch_size",
  ),
  ("learning_rate", "lr|init_lr|learning_rates"),
  ("max_seq_length", "max_length|max_len|maxlen|sequence_length"),
  (
    "labels, the list of their names, or num_classes of a Keras model",
    "num_labels|num_classes|n_classes|id2label|label2id|classes",
  ),
  ("random_seed; the rows are always shuffled, by it", "shuffle|seed"),
  ("output_dir, in which a killed run goes on", "resume\\w*|initial_epoch"),
  ("restore_best", "load_best_model_at_end|restore_best_weights"),
  ("warmup_proportion", "warmup_(ratio|steps)|num_warmup_steps"),
  ("weight_decay_rate", "weight_decay"),
  ("clip_norm", "max_grad_norm|clipnorm|global_clipnorm"),
  ('dtype="bfloat16"', "fp16|bf16|torch_dtype|mixed_precision"),
  ("save_checkpoints_steps", "steps_per_epoch|save_steps|eval_steps"),
  ("metrics, their names", "compute_metrics"),
  ("tokenize_with_offsets(texts)", "return_offsets_mapping"),
  (
    "nothing: tensors of TensorFlow come",
    "return_tensors|framework|device\\w*",
  ),
)


def hint(name):
  """Returns a clause on what a name is called here, str; "" if unknown."""
  for ours, theirs in _NAMES:
    if re.fullmatch(theirs, name):
      return f": here it is {ours}"
  return ""


class Meta(abc.ABCMeta):
  """Metaclass of classes whose foreign attributes are explained."""

  if not typing.TYPE_CHECKING:  # It would hide names that there are not.

    def __getattr__(cls, name):
      check(cls.__name__, name)
      return super().__getattribute__(name)  # Raises what it did before.


def check(owner, name):
  """Raises AttributeError if a name is one that is another here."""
  if hint(name):
    raise AttributeError(f"{owner} has no attribute {name!r}{hint(name)}.")
