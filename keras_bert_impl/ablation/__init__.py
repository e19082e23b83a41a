"""The papers' experiments behind run_ablation.py.

- `table_rows.py`: what a table is made of.
- `tables.py`: the tables of BERT's and later papers by name, and GLUE.
- `compute.py`: floating-point operations of pre-training.
- `scales.py`: sizes, steps and rates from tiny to the paper's.
- `glue.py`: GLUE's tasks in a folder, and the file for its site.
- `default_tasks.py`: two small tasks made of the corpus, without any file.
- `table_plan.py`: the commands that a table needs, and where their scores are.
- `commands.py`: runs scripts one after the other; finished ones stay.
- `table_report.py`: the table as text, picture and results.json.
"""
