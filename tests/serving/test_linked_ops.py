"""The ops of exported graphs are in the binary of TF Serving, 2.12 to 2.20."""

import itertools
import pathlib

import pytest
import tensorflow as tf

from keras_bert_impl.serving import export
from tests.serving import all_heads, version_files

# tensorflow_model_server links `@org_tensorflow_text//tensorflow_text:ops_lib`
# (SUPPORTED_TENSORFLOW_OPS in tensorflow_serving/model_servers/BUILD) of
# tensorflow-text 2.12.1 from 2.12 to 2.19, and of 2.20.0 since then
# (org_tensorflow_text in tensorflow_serving/workspace.bzl). These are the ops
# that the libraries of 2.12.1 register; 2.20.0 has them all.
TEXT_OPS = set(
  """
  CaseFoldUTF8 ConstrainedSequence FastBertNormalize
  FastWordpieceTokenizeWithOffsets FindSourceOffsets MaxSpanningTree
  NormalizeUTF8 NormalizeUTF8WithOffsetsMap PhraseTokenize RegexSplitWithOffsets
  RougeL SentenceFragments SentenceFragmentsV2 SentencepieceDetokenizeOp
  SentencepieceIdToStringOp SentencepieceOp SentencepieceStringToIdOp
  SentencepieceTokenizeOp SentencepieceTokenizeWithOffsetsOp
  SentencepieceVocabSizeOp SplitMergeTokenizeWithOffsets
  TFText>BoiseTagsToOffsets TFText>ByteSplitByOffsets
  TFText>ByteSplitWithOffsets TFText>FastSentencepieceDetokenize
  TFText>FastSentencepieceTokenize TFText>FastWordpieceDetokenize
  TFText>NgramsStringJoin TFText>OffsetsToBoiseTags TFText>PhraseDetokenize
  TFText>WhitespaceTokenizeWithOffsetsV2 TokenizerFromLogits
  UnicodeScriptTokenizeWithOffsets WhitespaceTokenizeWithOffsets
  WordpieceTokenizeWithOffsets
""".split()
)
# Ops that TensorFlow has registered since 2.12.1, up to 2.21.0, but for those
# of TPUs, XLA and its own optimizers, which no exported graph holds.
CORE_OPS_SINCE_2_12 = set(
  """
  CheckPinned CollectiveAllToAllV2 Conv ConvertToCooTensor DatasetFingerprint
  DebugIdentityV3 DecodeJxl DecodeWebP FFTND GlobalShuffleDataset IFFTND IRFFTND
  IndexFlatMapDataset IteratorGetModelProto ListSnapshotChunksDataset RFFTND
  RaggedFillEmptyRows RaggedFillEmptyRowsGrad SegmentMaxV2 SegmentMinV2
  SnapshotChunkDataset SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2
  SparseSegmentSumGradV2 TFRecordDatasetV2 WeightedFlatMapDataset
""".split()
)
PYTHON_OPS = {"EagerPyFunc", "PyFunc", "PyFuncStateless"}


def ops_of(version_dir):
  """Returns the names of all ops of a graph and its functions."""
  graph = version_files.meta_graph(version_dir).graph_def
  functions = graph.library.function
  # Nothing needs XLA, which TF Serving lacks.
  assert not [f for f in functions if f.attr["_XlaMustCompile"].b]
  nodes = itertools.chain(graph.node, *(f.node_def for f in functions))
  return {node.op for node in nodes} - {f.signature.name for f in functions}


def check_ops(version_dir):
  """Checks that TF Serving links the ops of an export."""
  ops = ops_of(version_dir)
  # `raw_ops` holds TensorFlow's own, whatever else has been imported.
  of_others = {op for op in ops if not hasattr(tf.raw_ops, op)}
  assert of_others <= TEXT_OPS
  # TF Serving 2.12 knows every op of TensorFlow but those that call Python.
  assert not ops & (CORE_OPS_SINCE_2_12 | PYTHON_OPS)


@pytest.mark.parametrize("name", all_heads.EXPORTED)
def test_tf_serving_links_every_op(exports, name):
  check_ops(exports[name].version_dir)


@pytest.mark.integration
def test_tf_serving_links_the_ops_of_small_weights(tmp_path):
  servable = all_heads.make("regression", tmp_path).servable
  check_ops(
    pathlib.Path(
      export.export(servable, tmp_path / "out", weights_dtype="int8")
    )
  )


@pytest.mark.parametrize(
  ("name", "op"),
  [
    ("regression", "FastWordpieceTokenizeWithOffsets"),
    pytest.param(
      "question_answering_of_sentencepiece",
      "TFText>FastSentencepieceTokenize",
      marks=pytest.mark.slow,
    ),
  ],
)
def test_the_ops_of_a_tokenizer_are_seen(exports, name, op):
  # Or the tests above would prove nothing.
  assert op in ops_of(exports[name].version_dir)
  assert op in TEXT_OPS
  assert not hasattr(tf.raw_ops, op)
