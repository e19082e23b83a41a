"""`pytest --share=K/N`."""

from tests import conftest


def test_ten_runs_in_a_row_run_every_test_once():
  names = [f"tests/test_a.py::test_b[{k}]" for k in range(200)]
  shares = [
    [name for name in names if conftest.is_in_share(name, f"{run}/10")]
    for run in range(97, 107)
  ]
  assert sorted(sum(shares, [])) == sorted(names)
  assert all(5 < len(share) < 40 for share in shares)
