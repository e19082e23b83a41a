"""The page report.html that every training and every table ends with.

- `report_page.py`: sections to one HTML file that needs nothing else.
- `sections.py`: what all pages have: curves, data, configuration, environment.

Scores and examples come from those who know them: the packages of the runs.
"""
