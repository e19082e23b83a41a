"""From raw text to TFRecords and from TFRecords to batches.

  text/      files, folders, tfds: data sets -> documents, lists of sentences
     |         sources.py opens them by name
  writing/   documents -> instances -> shards of TFRecords with manifests
     |         writer.py plans and runs, shards.py writes one
  reading/   shards -> records -> batches of a training
               scan.py opens files, reader.py makes batches
  labelled/  GLUE, SQuAD, CoNLL, tables -> examples -> rows -> batches
               data_sets.py says what there is, row_files.py keeps them on disk

Between writing and reading: manifest.py, masking_config.py; for records and
rows: examples.py, their bytes, and lengths.py, those of batches.
"""
