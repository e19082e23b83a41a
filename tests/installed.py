"""Python packages that are installed, but for their code."""


def write(site, name, files=()):
  """Writes what pip leaves of a package.

  Args:
    site: path, a folder of packages.
    name: str.
    files: names of its files in `site`; those that are not there are made
      empty.
  """
  info = site / f"{name}-1.0.dist-info"
  info.mkdir(parents=True)
  (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
  (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
  for file in files:
    (site / file).parent.mkdir(parents=True, exist_ok=True)
    (site / file).touch()
