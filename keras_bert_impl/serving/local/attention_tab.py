"""The page's second tab: attention, drawn by what the server was given."""

import asyncio
import html
import http
import pathlib
import string
import urllib.parse

from absl import logging
from starlette import concurrency, responses, routing

from keras_bert_impl.serving.local import errors

_PAGE_DIR = pathlib.Path(__file__).parent / "page"
_EXAMPLE = "The animal did not cross the street because it was too tired."


class AttentionTab:
  """Answers a form with a text with the page of its attention.

  Args:
    draw: function of text, text pair and HTML to be put before all else; it
      returns the HTML of a page that says itself what it may run.
    read_body: async function of a request to its bytes.
    max_text_bytes: int, the longest text.
    headers: dict, of the answers.
  """

  def __init__(self, draw, read_body, max_text_bytes, headers):
    self._draw = draw
    self._read_body = read_body
    self._max_text_bytes = max_text_bytes
    self._headers = headers
    self._form, self._start = (
      string.Template((_PAGE_DIR / name).read_text(encoding="utf-8"))
      for name in ("attention_form.html", "attention_start.html")
    )
    # Clients who wait take no thread from the pool that all requests share.
    self._turn = asyncio.Lock()

  def routes(self):
    """Returns the routes, both of /attention."""
    return [
      routing.Route("/attention", self.show, methods=["GET"]),
      routing.Route("/attention", self.submit, methods=["POST"]),
    ]

  async def show(self, unused_request):
    """Answers with the form and an example, which nobody asked to draw yet."""
    return self._undrawn((_EXAMPLE, ""))

  async def submit(self, request):
    """Answers with the form as it was sent, and its text drawn or an error.

    One text is drawn at a time.

    Raises:
      RequestError: the request is no such form.
    """
    fields = _parse(await self._read_body(request))
    texts = [fields.get(name, "") for name in ("text", "text_pair")]
    size = max(len(text.encode("utf-8")) for text in texts)
    if size > self._max_text_bytes:
      return self._undrawn(
        texts,
        f"The text has {size} bytes; this server takes at most"
        f" {self._max_text_bytes} (--max_text_bytes).",
      )
    try:
      async with self._turn:
        page = await concurrency.run_in_threadpool(
          self._draw, texts[0], texts[1] or None, self._filled(texts)
        )
    except ValueError as error:
      logging.warning("The attention tab drew nothing.", exc_info=True)
      return self._undrawn(texts, str(error))
    return responses.HTMLResponse(page, headers=self._headers)

  def _undrawn(self, texts, message=None):
    """Answers with the form, nothing drawn, and the message of an error."""
    error, status = "", http.HTTPStatus.OK
    if message is not None:
      error = f'<p id="error" role="alert">{html.escape(message)}</p>'
      status = http.HTTPStatus.BAD_REQUEST
    page = self._start.substitute(form=self._filled(texts), error=error)
    return responses.HTMLResponse(page, status, self._headers)

  def _filled(self, texts):
    """Returns the form with texts in it."""
    text, text_pair = map(html.escape, texts)
    return self._form.substitute(text=text, text_pair=text_pair)


def _parse(body):
  """Returns {name: text} of the body of a form."""
  try:
    pairs = urllib.parse.parse_qsl(
      body.decode("ascii"), keep_blank_values=True, errors="strict"
    )
  except ValueError as error:
    raise errors.RequestError(f"The request is no form: {error}.") from error
  # Forms end lines as mail does.
  return {name: text.replace("\r\n", "\n") for name, text in pairs}
