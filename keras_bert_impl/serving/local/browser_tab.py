"""The page's tab that runs an ONNX file in the browser of its reader."""

import pathlib

from starlette import exceptions, responses, routing, staticfiles

_CLIENT_DIR = pathlib.Path(__file__).parent / "client"
_PACKAGES = ("onnxruntime-web", "@huggingface/tokenizers")
_HEADERS = {
  "Cache-Control": "no-cache",
  "X-Content-Type-Options": "nosniff",
  # Its own scripts and WebAssembly, and what this server has: the text that a
  # reader writes can go nowhere.
  "Content-Security-Policy": (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; "
    "style-src 'unsafe-inline'; connect-src 'self'; worker-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  ),
  "Referrer-Policy": "no-referrer",
}


class BrowserTab:
  """The files of the tab: its page, the model's, and those of npm.

  Args:
    served: `versions.Versions`, of ONNX files.
    npm_dir: str, folder in which npm has installed what the page needs.

  Raises:
    ValueError: the model is no ONNX file, or a package is missing.
  """

  def __init__(self, served, npm_dir):
    self._served = served
    self._modules = pathlib.Path(npm_dir) / "node_modules"
    if served.current.information.get("format") != "onnx":
      raise ValueError(
        f"npm_dir ({npm_dir}) is for ONNX files, which browsers can run: export"
        " the model with --format=onnx."
      )
    for package in _PACKAGES:
      if not (self._modules / package).is_dir():
        raise ValueError(
          f"npm_dir ({npm_dir}) has no node_modules/{package}: run npm install"
          f" {' '.join(_PACKAGES)} in it."
        )

  def routes(self):
    """Returns the routes, all below /browser/."""
    modules = staticfiles.StaticFiles(directory=self._modules)
    return [
      routing.Route("/browser/", self._show),
      routing.Route("/browser/client.mjs", self._client),
      routing.Route("/browser/model/{name}", self._file),
      routing.Mount("/browser/node_modules", modules),
    ]

  async def _show(self, unused_request):
    return responses.FileResponse(
      _CLIENT_DIR / "client.html", media_type="text/html", headers=_HEADERS
    )

  async def _client(self, unused_request):
    return responses.FileResponse(
      _CLIENT_DIR / "client.mjs", media_type="text/javascript", headers=_HEADERS
    )

  async def _file(self, request):
    """Answers a file of the version that is served; no other."""
    folder = self._served.folder
    path = folder / request.path_params["name"]
    if path not in folder.iterdir() or not path.is_file():
      raise exceptions.HTTPException(404)
    return responses.FileResponse(path, headers=_HEADERS)
