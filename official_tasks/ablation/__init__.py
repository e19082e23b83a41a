"""The papers' experiments behind run_ablation.py.

- `tables.py`: rows, columns and scores of the paper's tables.
- `scales.py`: sizes, steps and rates from tiny to the paper's.
- `tasks.py`: labelled data to fine-tune on, by name and path.
- `default_tasks.py`: two small tasks made of the corpus, without any file.
- `plan.py`: the commands that a table needs, and where their scores stand.
- `commands.py`: runs scripts one after the other; finished ones stay.
- `report.py`: the table as text, picture and results.json.
"""
