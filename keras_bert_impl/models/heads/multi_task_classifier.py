"""Heads of several tasks on one encoder."""

from keras_bert_impl.layers.attention import global_tokens
from keras_bert_impl.models.encoders import encoder_choice
from keras_bert_impl.models.heads import head_model


class MultiTaskClassifier(head_model.HeadModel):
  """Heads of several tasks on one encoder: `NAME/logits` of each.

  They are [B, C], of the pooler or, of `token_tasks`, [B, L, C].

  Args:
    config: `configs.EncoderConfig`.
    num_classes: {name: int C}, one head for each; 1 for regression.
    token_tasks: names of those that classify each token; None: none does.
    dropout_rate: as `SequenceClassifier`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Source: Liu et al. 2019 (MT-DNN), section 3.
  """

  def __init__(
    self,
    config,
    num_classes,
    token_tasks=None,
    dropout_rate=None,
    dtype=None,
    name="multi_task_classifier",
  ):
    arguments = dict(locals())
    token_tasks = token_tasks or ()
    has_pooler = len(token_tasks) < len(num_classes)
    encoder = encoder_choice.make(
      config,
      dtype,
      global_tokens=global_tokens.FIRST if has_pooler else None,
      use_pooler=has_pooler,
    )
    # The same layers for all heads, as their weights have the same names.
    transform = head_model.transform(encoder)
    drop = head_model.dropout(encoder, dropout_rate)
    tokens = drop(transform(encoder.hidden_states[-1])) if token_tasks else None
    if has_pooler:
      output = encoder.output if token_tasks else encoder.output_at()
      pooled = drop(transform(output["pooled_output"]))
    outputs = {
      f"{task}/logits": head_model.classifier(
        encoder, size, f"{task}_classifier"
      )(tokens if task in token_tasks else pooled)
      for task, size in num_classes.items()
    }
    super().__init__(encoder, encoder.input, outputs, arguments)
