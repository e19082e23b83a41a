"""Official scorers: what a task is judged by, without its model."""
