"""The page's second tab: attention, drawn by what the server was given."""

import html
import pathlib
import string
import urllib.parse

from starlette import concurrency, responses

from keras_bert_impl.serving.local import errors

_FORM = pathlib.Path(__file__).parent / "page/attention_form.html"
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
    self._form = string.Template(_FORM.read_text(encoding="utf-8"))

  async def show(self, unused_request):
    """Answers with the form and an example."""
    return await self._answer(_EXAMPLE, "")

  async def submit(self, request):
    """Answers with the form as it was sent, and its text drawn.

    Raises:
      RequestError: the request is no such form, or a text is too long.
    """
    fields = _parse(await self._read_body(request))
    texts = [fields.get(name, "") for name in ("text", "text_pair")]
    for text in texts:
      size = len(text.encode("utf-8"))
      if size > self._max_text_bytes:
        raise errors.RequestError(
          f"The text has {size} bytes; this server takes at most"
          f" {self._max_text_bytes} (--max_text_bytes)."
        )
    return await self._answer(*texts)

  async def _answer(self, text, text_pair):
    form = self._form.substitute(
      text=html.escape(text), text_pair=html.escape(text_pair)
    )
    try:
      page = await concurrency.run_in_threadpool(
        self._draw, text, text_pair or None, form
      )
    except ValueError as error:
      raise errors.RequestError(str(error)) from error
    return responses.HTMLResponse(page, headers=self._headers)


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
