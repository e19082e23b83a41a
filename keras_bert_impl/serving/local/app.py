"""The ASGI application: TF Serving's REST paths, a health check, the page.

Source of paths, replies and status codes: tensorflow/serving,
model_servers/http_rest_api_handler.cc, http_rest_api_util.cc and
get_model_status_impl.cc.
"""

import asyncio
import http
import ipaddress
import json
import pathlib
import re
import urllib.parse
from typing import NamedTuple

from starlette import (
  applications,
  concurrency,
  exceptions,
  middleware,
  requests,
  responses,
  routing,
)

from keras_bert_impl.serving.local import attention_tab, calls, errors

_VERSION = r"(?:/versions/([0-9]{1,19})|/labels/([^/:]+))?"
_CALL_PATH = re.compile(
  rf"/v1/models/([^/:]+){_VERSION}:(classify|regress|predict)", re.IGNORECASE
)
_STATUS_PATH = re.compile(
  rf"/v1/models(?:/([^/:]+))?{_VERSION}(?:/(metadata))?", re.IGNORECASE
)
_PAGE_DIR = pathlib.Path(__file__).parent / "page"
_PAGE_FILES = {
  "/": ("index.html", "text/html"),
  "/page.css": ("page.css", "text/css"),
  "/page.js": ("page.js", "text/javascript"),
}
# Bytes of requests and numbers of replies that take less than a millisecond.
_SHORT = 2000
# A browser takes an answer for nothing else than what it says it is.
_HEADERS = {"X-Content-Type-Options": "nosniff"}
_PAGE_HEADERS = _HEADERS | {
  "Cache-Control": "no-cache",
  # The page runs its own script and asks its own server, and nothing else,
  # whatever a model or a user may write into it.
  "Content-Security-Policy": (
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
  ),
  "Referrer-Policy": "no-referrer",
}
_ATTENTION_HEADERS = _PAGE_HEADERS | {
  # The page itself says what it may run.
  "Content-Security-Policy": "frame-ancestors 'none'",
  # Without a referrer its form would come from nowhere, and be refused.
  "Referrer-Policy": "same-origin",
}


class Limits(NamedTuple):
  """Limits of a request's size.

  Attributes:
    request_bytes: int, the longest body.
    text_bytes: int, the longest string in it.
  """

  request_bytes: int
  text_bytes: int


def create(
  served,
  batcher,
  model_name,
  limits,
  host_names=(),
  draw_attention=None,
  in_browser=None,
):
  """Returns the ASGI application.

  Args:
    served: `versions.Versions`.
    batcher: `batching.Batcher`.
    model_name: str, the model's in the paths.
    limits: `Limits`.
    host_names: names, besides localhost, that the server may be called by.
    draw_attention: function, as of `attention_tab.AttentionTab`, of the page's
      tab of attention; None: there is no such tab.
    in_browser: `browser_tab.BrowserTab`, or None: there is no such tab.

  Returns:
    `starlette.applications.Starlette`.
  """
  tabs = {
    "has_attention": bool(draw_attention),
    "has_browser": bool(in_browser),
  }
  api = _Api(served, batcher, model_name, limits, tabs)
  routes = in_browser.routes() if in_browser else []
  if draw_attention:
    routes += attention_tab.AttentionTab(
      draw_attention, api.read_body, limits.text_bytes, _ATTENTION_HEADERS
    ).routes()
  return applications.Starlette(
    routes=[
      routing.Route("/v1/{rest:path}", api.post, methods=["POST"]),
      routing.Route("/v1/{rest:path}", api.get, methods=["GET"]),
      routing.Route("/health", api.health),
      routing.Route("/healthz", api.health),
      routing.Route("/model.json", api.describe),
      *(routing.Route(path, _show_page) for path in _PAGE_FILES),
      *routes,
    ],
    middleware=[middleware.Middleware(_OriginCheck, host_names=host_names)],
    exception_handlers=dict.fromkeys(
      (
        errors.RequestError,
        exceptions.HTTPException,
        requests.ClientDisconnect,
        Exception,
      ),
      _show_error,
    ),
  )


class _Api:
  """The paths under /v1/ and those of the page."""

  def __init__(self, served, batcher, model_name, limits, tabs):
    self._served = served
    self._batcher = batcher
    self._name = model_name
    self._limits = limits
    self._tabs = tabs

  async def post(self, request):
    """Answers predict, classify and regress."""
    name, version, method = _parts(_CALL_PATH, request)
    model = self._find(name, version)
    body = await self.read_body(request)
    limit = self._limits.text_bytes
    call = await _converted(
      len(body), calls.read, method.lower(), body, model.signatures, limit
    )
    outputs = await asyncio.wrap_future(
      self._batcher.submit(call.signature, call.inputs)
    )
    size = sum(array.size for array in outputs.values())
    return await _converted(size, lambda: _json(call.answer(outputs)))

  async def get(self, request):
    """Answers status and metadata."""
    name, version, resource = _parts(_STATUS_PATH, request)
    if name is None:
      raise errors.RequestError("Missing model name in request.")
    if resource:
      return _json(self._metadata(self._find(name, version)))
    return _json(self._status(name, version))

  async def health(self, unused_request):
    """Answers 200: the server starts with a model that has been loaded."""
    version = self._served.current.version
    return _json({"status": "ok", "model": self._name, "version": version})

  async def describe(self, unused_request):
    """Answers what the page needs besides the metadata."""
    model = self._served.current
    return _json(
      {
        "name": self._name,
        "version": model.version,
        "information": model.information,
        **self._tabs,
      }
    )

  async def read_body(self, request):
    """Returns the body; one that is too long is read, but not kept.

    Reading it to its end lets the client see the answer instead of a broken
    connection.
    """
    body, num_bytes = bytearray(), 0
    async for chunk in request.stream():
      num_bytes += len(chunk)
      if num_bytes <= self._limits.request_bytes:
        body += chunk
    if num_bytes > self._limits.request_bytes:
      raise errors.RequestError(
        f"The request has {num_bytes} bytes; this server takes at most "
        f"{self._limits.request_bytes} (--max_request_bytes).",
        http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
      )
    return bytes(body)

  def _find(self, name, version):
    """Returns the model that a path names."""
    model = self._served.current
    if name == self._name and version in (None, str(model.version)):
      return model
    wanted = (
      f"Latest({name})" if version is None else f"Specific({name}, {version})"
    )
    raise errors.RequestError(
      f"Servable not found for request: {wanted}", http.HTTPStatus.NOT_FOUND
    )

  def _status(self, name, version):
    states = self._served.states if name == self._name else {}
    if version is not None:
      states = {v: s for v, s in states.items() if v == int(version)}
    if not states:
      what = "any versions" if version is None else f"version {version}"
      raise errors.RequestError(
        f"Could not find {what} of model {name}", http.HTTPStatus.NOT_FOUND
      )
    return {
      "model_version_status": [
        {
          "version": str(number),
          "state": state,
          "status": {
            "error_code": "UNKNOWN" if message else "OK",
            "error_message": message,
          },
        }
        for number, (state, message) in states.items()
      ]
    }

  def _metadata(self, model):
    return {
      "model_spec": {
        "name": self._name,
        "signature_name": "",
        "version": str(model.version),
      },
      "metadata": {"signature_def": {"signature_def": model.signature_defs}},
    }


async def _converted(size, convert, *arguments):
  """Returns what `convert` returns of a request or reply of a size.

  Long ones take a while: off the event loop.
  """
  if size <= _SHORT:
    return convert(*arguments)
  return await concurrency.run_in_threadpool(convert, *arguments)


class _OriginCheck:
  """Refuses requests from pages of other sites.

  A page of another site can send requests here, and with a name of its own
  that it points at 127.0.0.1 (DNS rebinding) it can read the answers too. It
  can hide neither where it comes from nor by which name it calls; and a name
  that is an address nobody can point elsewhere.
  """

  def __init__(self, app, host_names):
    self._app = app
    self._names = {"localhost", *(name.lower() for name in host_names)}

  async def __call__(self, scope, receive, send):
    request = requests.Request(scope)
    host = request.headers.get("host", "")
    answer = self._app
    if not self._is_known(host):
      message = f"This server is not known as {json.dumps(host)}."
      answer = _error(message, http.HTTPStatus.FORBIDDEN)
    elif _is_foreign(request.method, request.headers, host):
      message = "This server answers no pages of other sites."
      answer = _error(message, http.HTTPStatus.FORBIDDEN)
    await answer(scope, receive, send)

  def _is_known(self, host):
    try:
      name = urllib.parse.urlsplit(f"//{host}").hostname or ""
      return name in self._names or bool(ipaddress.ip_address(name))
    except ValueError:
      return False


def _is_foreign(method, headers, host):
  """Returns whether a request comes from another site, and not for a page.

  Browsers say where a request comes from: by Sec-Fetch-Site, and those that do
  not know this or do not trust the connection, by Origin. Programs say neither.
  """
  site = headers.get("sec-fetch-site")
  if site is None:
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != host
  is_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
  return site not in ("same-origin", "none") and not is_link


async def _show_page(request):
  name, media_type = _PAGE_FILES[request.url.path]
  return responses.FileResponse(
    _PAGE_DIR / name, media_type=media_type, headers=_PAGE_HEADERS
  )


def _parts(pattern, request):
  """Returns the parts of a path: model, version and what is asked of them.

  Raises:
    RequestError: it is no such path, or has a label, which no version has here.
  """
  match = pattern.fullmatch(request.url.path)
  if not match:
    raise errors.RequestError(
      f"Malformed request: {request.method} {request.url.path}"
    )
  name, version, label, rest = match.groups()
  if label is not None:
    raise errors.RequestError(f"Unrecognized servable version label: {label}")
  return name, version, rest


def _json(content, status=http.HTTPStatus.OK):
  # NaN and Infinity stand in it as such, which strict parsers refuse, as in TF
  # Serving ("JSON conformance" in api_rest.md).
  return responses.Response(
    json.dumps(content, ensure_ascii=False),
    status_code=status,
    headers=_HEADERS,
    media_type="application/json",
  )


def _error(message, status):
  return _json({"error": message}, status)


async def _show_error(request, error):
  """Answers with the one line that tells a client what is wrong."""
  status = http.HTTPStatus.INTERNAL_SERVER_ERROR
  message = "The server failed; its log tells more."
  if isinstance(error, errors.RequestError):
    status, message = error.status, str(error)
  elif isinstance(error, exceptions.HTTPException):
    status = error.status_code
    message = f"{error.detail}: {request.method} {request.url.path}"
  elif isinstance(error, requests.ClientDisconnect):
    # The client left before its request had arrived: nobody reads this.
    status, message = http.HTTPStatus.BAD_REQUEST, ""
  return _error(message, status)
