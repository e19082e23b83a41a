"""Wrong calls that a type checker finds: one in each line of `wrong`."""

import keras_bert_impl as kb

classifier = kb.TextClassifier.from_checkpoint("klue/bert-base")
tagger = kb.TokenTagger.from_checkpoint("klue/bert-base")
answerer = kb.QuestionAnswerer.from_checkpoint("klue/bert-base")
chooser = kb.ChoiceAnswerer.from_checkpoint("klue/bert-base")
fill_mask = kb.FillMask.from_checkpoint("klue/bert-base")
parser = kb.DependencyParser.from_checkpoint("klue/bert-base")
reranker = kb.Reranker.from_checkpoint("klue/bert-base")
encoder = kb.SentenceEncoder.from_checkpoint("klue/bert-base")
sparse = kb.SparseEncoder.from_checkpoint("klue/bert-base")
late = kb.MultiVectorEncoder.from_checkpoint("klue/bert-base")


def wrong():
  """Is never called."""
  kb.TextClasifier.from_checkpoint("a")
  kb.TextClassifier.from_checkpoint(3)
  kb.TextClassifier.from_checkpoint("a", lables=["n", "p"])
  kb.TextClassifier.from_checkpoint("a", max_seq_length="128")
  kb.TextClassifier.from_checkpoint("a", multi_label="yes")
  kb.TextClassifier.from_pretrained("a")
  classifier.fit(["a"], ["n"], epoch=3)
  classifier.fit(["a"], ["n"], epochs="3")
  classifier.fit(["a"], ["n"], learning_rate="1e-5")
  classifier.fit(["a"], ["n"], lr=1e-5)
  classifier.fit(["a"], ["n"], batch_size=1.5)
  classifier.fit(["a"], ["n"], restore_best="yes")
  classifier.fit(["a"], ["n"], callbacks=[print])
  classifier.fit(["a"], ["n"], metrics=3)
  classifier.fit(["a"], ["n"], token_unit="word")
  classifier.fit(3)
  print(classifier.fit(["a"], ["n"]).histroy)
  classifier.predict(["a"])["label"]
  classifier.predict("a")[0]
  classifier.predict("a")["lable"]
  classifier.predict(["a"], batch_size="8")
  classifier.predict(3)
  print(classifier.evaluate(["a"], ["n"]).accuracy)
  classifier.save(3)
  classifier.export()
  classifier.export("a", model_name=3)
  print(classifier.modle_name)
  tagger.fit([["a"]], [["O"]], use_crf="yes")
  tagger.predict(["a"])[0]["label"]
  answerer.predict([{"question": "a", "context": "b"}])[0]["text"]
  answerer.fit("a.json", doc_stride="128")
  chooser.predict([{"text": "a", "choices": ["b", "c"]}])[0]["label"]
  parser.fit("a.conllu", arc_width="500")
  parser.predict(["a"])[0]["head"]
  fill_mask.fit(["a"])
  reranker.rank("a", ["b"], top_k="3")
  reranker.rank("a", ["b"])[0]["text"]
  encoder.encode(3)
  encoder.fit([("a", "b")], loss=3)
  encoder.similarity(encoder.encode("a"))
  sparse.encode(["a"], max_tokens="3")
  late.encode_query(3)
  late.rank("a", ["b"], top="3")
  kb.load_tokenizer(3)
  kb.export(encoder, export_dir=3)
  kb.SelfAttention("2")
  kb.SelfAttention(2, heads=3)
  kb.SelfAttention(2).num_heads.upper()
  kb.TransformerBlock(2, 8, dropout_rate="0.1")
  print(kb.TransformerBlock(2, 8).options.norm_frist)
  kb.TwoStreamBlock(2)
  kb.Pooling(3)
