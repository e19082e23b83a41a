"""Estimators: strings in, `fit`, `evaluate`, `predict`, `save`, `export`.

    classifier = kb.TextClassifier.from_checkpoint("klue/bert-base")
    classifier.fit(texts, labels)
    classifier.predict(["정말 재미있어요"])

Each is a checkpoint and the options of its task. They call the same code as the
scripts: the same data, seed and settings give the same weights.
"""
