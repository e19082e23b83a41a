r"""Asks a model that writes texts questions, with examples in the prompt.

    python official_tasks/run_few_shot.py --task_name=CODAH --data_dir=codah \
      --num_fewshot=0,4 --init_checkpoint=gpt2 --output_dir=few_shot

    ... --dev_file=reviews.tsv --train_file=more.tsv --num_fewshot=8 \
      --template='{text}\nIs that good?' --label_words=0=no,1=yes

    ... --text_file=wiki.test.raw            perplexity of texts

Nothing is trained. A prompt is examples of the training file with their answers
and the question; the answer is the choice that is likeliest after it, as
lm-evaluation-harness has it (acc, acc_norm, acc_bytes). Choices are columns
(SWAG, CODAH, --choice_columns) or words for classes (--label_words). Models are
those of kb.TextGenerator: from left to right, such as GPT-2 or a run of
--objective=gpt, and encoder-decoders, which read the prompt and write the
answer. Writes results.json, report.html and the answers into --output_dir.

Source: Brown et al. 2020; EleutherAI/lm-evaluation-harness.
"""

from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.few_shot import prompt_files
from keras_bert_impl.runs.labelled_data import labelled_splits

with epy.lazy_imports():
  from keras_bert_impl.kinds.few_shot import few_shot_run

# All questions are of the dev files.
_LEFT_OUT = {"test_file": None}

program.define_flags(prompt_files.FewShotConfig, leave_out=_LEFT_OUT)
labelled_splits.list_data_sets(prompt_files.DATA_SETS)


def main():
  """Evaluates the model that the flags name."""
  few_shot_run.run(program.from_flags(prompt_files.FewShotConfig, **_LEFT_OUT))


if __name__ == "__main__":
  program.run(main)
