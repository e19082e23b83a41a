"""A server on this machine that answers as the Hugging Face hub does."""

import contextlib
import hashlib
import http.server
import json
import pathlib
import threading
import urllib.parse

COMMIT = "1" * 40
OLD_COMMIT = "2" * 40


class Hub:
  """The models of a hub, and what it was asked for.

  Attributes:
    url: str.
    models: {"organisation/name": {revision: folder of the files}}.
    gated: set of names.
    fetched: list of (name, file) that were sent whole.
    broken: set of files that are cut off on the way.
  """

  def __init__(self):
    self.url = None
    self.models = {}
    self.gated = set()
    self.fetched = []
    self.broken = set()

  def environment(self, home):
    """Returns the variables of a process that asks this hub."""
    return {
      "HF_ENDPOINT": self.url,
      "HF_HOME": str(home),
      "HF_HUB_DISABLE_TELEMETRY": "1",
      "HF_HUB_DISABLE_XET": "1",
      "NO_PROXY": "127.0.0.1",
    }


@contextlib.contextmanager
def serving():
  """Context of a `Hub`."""
  hub = Hub()
  handler = type("Handler", (_Handler,), {"hub": hub})
  with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield hub
    server.shutdown()


class _Handler(http.server.BaseHTTPRequestHandler):
  protocol_version = "HTTP/1.1"
  hub = None

  def do_HEAD(self):
    self.do_GET()

  def do_GET(self):
    path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
    parts = path.strip("/").split("/")
    is_api = parts[:2] == ["api", "models"]
    name = "/".join(parts[2:4] if is_api else parts[:2])
    if name in self.hub.gated and not is_api:
      return self._refuse(403, "GatedRepo")
    if name not in self.hub.models:
      return self._refuse(401, "RepoNotFound")
    action, revision, *rest = parts[4 if is_api else 2 :] or [
      "revision",
      "main",
    ]
    revisions = self.hub.models[name]
    found = [r for r in revisions if revision in (r, _commit(r))]
    if not found:
      return self._refuse(404, "RevisionNotFound")
    folder = pathlib.Path(revisions[found[0]])
    commit = _commit(found[0])
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    if action == "revision":
      names = [str(p.relative_to(folder)) for p in files]
      siblings = [{"rfilename": file} for file in names]
      return self._send_json({"id": name, "sha": commit, "siblings": siblings})
    if action == "tree":
      return self._send_json([_entry(p, folder) for p in files])
    return self._send_file(name, folder, "/".join(rest), commit)

  def _send_file(self, name, folder, file, commit):
    if not (folder / file).is_file():
      return self._refuse(404, "EntryNotFound")
    content = (folder / file).read_bytes()
    if self.command == "GET":
      self.hub.fetched.append((name, file))
    self.send_response(200)
    self.send_header("ETag", f'"{_digest(content)}"')
    self.send_header("X-Repo-Commit", commit)
    self.send_header("Content-Length", str(len(content)))
    self.end_headers()
    if self.command == "GET":
      if file in self.hub.broken:
        content = content[: len(content) // 2]
        self.close_connection = True
      self.wfile.write(content)

  def _send_json(self, value):
    content = json.dumps(value).encode()
    self.send_response(200)
    self.send_header("Content-Type", "application/json")
    self.send_header("Content-Length", str(len(content)))
    self.end_headers()
    self.wfile.write(content)

  def _refuse(self, status, code):
    self.send_response(status)
    self.send_header("X-Error-Code", code)
    self.send_header("X-Error-Message", code)
    self.send_header("Content-Length", "0")
    self.end_headers()

  def log_message(self, *unused):
    pass


def _commit(revision):
  return COMMIT if revision == "main" else OLD_COMMIT


def _entry(path, folder):
  content = path.read_bytes()
  return {
    "type": "file",
    "oid": _digest(content),
    "size": len(content),
    "path": str(path.relative_to(folder)),
  }


def _digest(content):
  return hashlib.sha1(content).hexdigest()
