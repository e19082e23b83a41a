"""What the local server answers at TF Serving's REST paths."""

import base64
import contextlib
import functools
import json
import re

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.serving.local import calls, saved_models, tensor_json
from tests.serving.local import local_server, stand_ins

PREDICT = "/v1/models/toy:predict"


@pytest.fixture(scope="module")
def client_of():
  """Returns a function from a head to a client of its stand-in."""
  with contextlib.ExitStack() as stack:

    @functools.cache
    def connect(head):
      client = local_server.client(stand_ins.Served(head))
      return stack.enter_context(client)

    yield connect


def content_of(response, status=200):
  """Returns the JSON of a reply."""
  assert response.status_code == status, response.text
  assert response.headers["content-type"] == "application/json"
  # Nobody guesses that it is something else.
  assert response.headers["x-content-type-options"] == "nosniff"
  return response.json()


def post(client, body, path=PREDICT):
  return content_of(client.post(path, json=body))


def error_of(response, status=400):
  """Returns the one line of an error reply."""
  content = content_of(response, status)
  assert list(content) == ["error"]
  assert "\n" not in content["error"]
  return content["error"]


BROKEN = base64.b64encode(b"\xff\xfe").decode()
QUESTION = {"text": "어디?", "text_pair": "여기는 서울"}
FOUND = {
  "answer": "서울",
  "start": 4,
  "end": 6,
  "score": 7.5,
  "null_score": -2.5,
  "is_cut": False,
}
NOT_FOUND = {
  "answer": "",
  "start": -1,
  "end": -1,
  "score": -1.0,
  "null_score": 3.0,
  "is_cut": False,
}
NUMBERS = {"numbers": [0.1, -3e-9], "ids": [1, -2, 3], "flags": True}


@pytest.mark.parametrize(
  ("head", "body", "reply"),
  [
    # One input needs no name, and one output has none.
    (
      "regression",
      {"instances": ["four", "고양이", ""]},
      {"predictions": [4.0, 3.0, 0.0]},
    ),
    (
      "regression",
      {"instances": [{"text": "four"}]},
      {"predictions": [4.0]},
    ),
    ("regression", {"inputs": ["four"]}, {"outputs": [4.0]}),
    ("regression", {"inputs": {"text": ["four"]}}, {"outputs": [4.0]}),
    ("regression", {"inputs": []}, {"outputs": []}),
    (
      "plain",
      {"signature_name": "echo", "instances": [NUMBERS]},
      {"predictions": [{f"{k}_out": v for k, v in NUMBERS.items()}]},
    ),
    (
      "plain",
      {
        "signature_name": "strings",
        "instances": ["plain", {"b64": BROKEN}, {"b64": "6rCA"}],
      },
      {
        "predictions": [
          {"same": "plain", "same_bytes": {"b64": "cGxhaW4="}},
          # No UTF-8, of which JSON could not be made.
          {"same": {"b64": BROKEN}, "same_bytes": {"b64": BROKEN}},
          {"same": "가", "same_bytes": {"b64": "6rCA"}},
        ]
      },
    ),
    (
      "plain",
      {"signature_name": "strings", "inputs": [{"b64": "6rCA"}]},
      {"outputs": {"same": ["가"], "same_bytes": [{"b64": "6rCA"}]}},
    ),
    # Several inputs and outputs are objects, or columns.
    (
      "question_answering",
      {"instances": [QUESTION, {"text": "어디?", "text_pair": "몰라"}]},
      {"predictions": [FOUND, NOT_FOUND]},
    ),
    (
      "question_answering",
      {"inputs": {"text": ["a", "b"], "text_pair": ["여기는 서울", "no"]}},
      {"outputs": {name: [FOUND[name], NOT_FOUND[name]] for name in FOUND}},
    ),
  ],
)
def test_a_request_gets_its_reply(client_of, head, body, reply):
  assert post(client_of(head), body) == reply


def test_a_batch_of_zero_is_answered_in_column_form(client_of):
  outputs = post(client_of("classification"), {"inputs": []})["outputs"]
  assert outputs["label"] == outputs["probabilities"] == []
  # In row form there is no such request, as in TF Serving.
  response = client_of("regression").post(PREDICT, json={"instances": []})
  assert "not empty" in error_of(response)


def test_numbers_without_a_value_are_tokens_of_their_own(client_of):
  response = client_of("plain").post(
    PREDICT, content='{"instances": [[NaN, Infinity], [-Infinity, 1]]}'
  )
  assert response.text == (
    '{"predictions": [[NaN, Infinity], [-Infinity, 0.5]]}'
  )


def test_floats_are_written_with_as_few_digits_as_tell_them():
  numbers = np.array([0.2, 1 / 3, 1, 0, 3.4e38, -7e-5], np.float32)
  values = tensor_json.to_json("x", numbers)
  assert values == [0.2, 0.333333343, 1.0, 0.0, 3.4e38, -7e-5]
  random = np.random.default_rng(0).normal(size=1000).astype(np.float32)
  again = json.loads(json.dumps(tensor_json.to_json("x", random)))
  np.testing.assert_array_equal(np.array(again, np.float32), random)
  assert all(len(repr(abs(value))) <= 13 for value in again)


def test_classify_gives_labels_with_scores(client_of):
  body = {
    "signature_name": "classify",
    "examples": [{"text": "a good one"}, {"text": {"b64": "6rCA"}}],
  }
  answer = post(client_of("classification"), body, "/v1/models/toy:classify")
  assert answer == {
    "results": [
      [["negative", 0.25], ["positive", 0.75]],
      [["negative", 0.75], ["positive", 0.25]],
    ]
  }


def test_a_context_is_part_of_every_example(client_of):
  body = {
    "signature_name": "regress",
    "context": {"text": ["four"]},
    "examples": [{}, {"other": 1}, {"text": "고양이"}],
  }
  answer = post(client_of("regression"), body, "/v1/models/toy:regress")
  assert answer == {"results": [4.0, 4.0, 3.0]}


def test_json_values_become_features_of_their_kind():
  spec = tf.TensorSpec([None], tf.string)
  signature = saved_models.Signature({"inputs": spec}, {"outputs": spec}, None)
  body = {"examples": [{"i": 1, "b": True, "f": [1.5], "s": ["x", "y"]}]}
  call = calls.read(
    "regress", json.dumps(body).encode(), {"serving_default": signature}, 100
  )
  example = tf.train.Example.FromString(call.inputs["inputs"][0])
  features = example.features.feature
  assert list(features["i"].int64_list.value) == [1]
  assert list(features["b"].int64_list.value) == [1]
  assert list(features["f"].float_list.value) == [1.5]
  assert list(features["s"].bytes_list.value) == [b"x", b"y"]


NO_EXAMPLES = (b"half", b"\xff\xfe", b"\xc3(" * 10, b"\n\x12\n\x10\n\x04text")
ECHO = b'{"signature_name": "echo", "inputs": {"flags": [true], "numbers": '
# {head: [(body, what the error says)]}.
BAD_REQUESTS = {
  "regression": [
    (b"", "JSON Parse error"),
    (b'{"instances": ["a"]', "JSON Parse error"),
    (b'["a"]', "must be a JSON object"),
    (b'{"instances": ["\xff"]}', "not UTF-8.*byte 16"),
    (b'{"instances": ' + b"[" * 9999, "nested too deeply|shape"),
    (b"{}", '"instances" or "inputs"'),
    (b'{"inputs": ["a"], "instances": ["a"]}', "one of them"),
    (b'{"instances": "a"}', "must be a list"),
    (b'{"instances": [1]}', '"text": 1 is not a string'),
    (b'{"instances": [null]}', "null is not a string"),
    (rb'{"instances": ["\ud800"]}', "surrogate"),
    (b'{"instances": ["a", ["b"]]}', "one length and depth"),
    (b'{"instances": [["a"]]}', r"\[-1\].*not \[1, 1\]"),
    (b'{"inputs": "a"}', r"\[-1\].*not \[\]"),
    (b'{"inputs": {"txt": ["a"]}}', 'keys text, not .*"txt"'),
    (b'{"instances": [{"txt": "a"}]}', "keys text"),
    (b'{"instances": ["a", {"text": "a"}]}', "mixes"),
    (b'{"instances": [{"b64": "?"}]}', "not valid base64"),
  ],
  "pair_regression": [
    (b'{"instances": ["a"]}', "several inputs"),
    (b'{"inputs": {"text": ["a"]}}', "text_pair"),
    (b'{"inputs": {"text": ["a", "b"], "text_pair": []}}', "failed: .*shapes"),
  ],
  "plain": [
    (b'{"instances": [[1, true]]}', "true is no float32"),
    (b'{"instances": [[1, 1e39]]}', r"1e\+39 is no float32"),
    (b'{"instances": [[1, 1%s]]}' % (b"0" * 400), "no float32"),
    (b'{"instances": [[1, 2, 3]]}', r"\[-1, 2\].*\[1, 3\]"),
    (
      b'{"signature_name": "refuse_bad", "instances": ["a bad one"]}',
      "The model failed: .*bad text",
    ),
    (
      b'{"signature_name": "tags", "instances": [[1, 2]]}',
      '"tags" not found in signature def; the model has echo, refuse_bad',
    ),
    (b'{"signature_name": 5, "instances": [[1, 2]]}', "a string"),
    # An integer is neither rounded nor cut.
    *[
      (
        ECHO + f'[[1, 2]], "ids": [[{value}]]}}}}'.encode(),
        f'^Input "ids": {re.escape(value)} is no int32.$',
      )
      for value in ("1.5", "true", '"1"', "2147483648")
    ],
  ],
  "classification": [
    (
      b'{"signature_name": "classify", "inputs": [{"b64": "%s"}]}'
      % base64.b64encode(content),
      "is not a serialized tf.Example",
    )
    for content in NO_EXAMPLES
  ],
}


@pytest.mark.parametrize(
  ("head", "body", "message"),
  [(head, *row) for head, rows in BAD_REQUESTS.items() for row in rows],
)
def test_a_bad_request_gets_one_line_and_the_server_stays(
  client_of, head, body, message
):
  error = error_of(client_of(head).post(PREDICT, content=body))
  assert re.search(message, error), error
  assert client_of(head).get("/health").json()["status"] == "ok"


@pytest.mark.parametrize(
  ("head", "signature", "method", "examples", "message"),
  [
    ("classification", "classify", "classify", examples, message)
    for examples, message in (
      (None, '"examples" must be a list'),
      ([], "not empty"),
      (["a"], "a JSON object"),
      ([{"text": ["a", 1]}], "1 is not a string"),
      ([{"text": 2**63}], 'Feature "text"'),
      ([{"\ud800": 1}], "surrogate"),
    )
  ]
  + [
    ("classification", "classify", "regress", [{}], "does not regress"),
    ("regression", "regress", "classify", [{}], "does not classify"),
    ("regression", "regress", "regress", [{"a": 1001 * "x"}], "max_text_bytes"),
    ("fill_mask", "", "classify", [{"text": "a"}], "takes no tf.Examples"),
  ],
)
def test_bad_examples_are_refused(
  client_of, head, signature, method, examples, message
):
  body = {"signature_name": signature, "examples": examples}
  response = client_of(head).post(
    f"/v1/models/toy:{method}", content=json.dumps(body)
  )
  assert message in error_of(response)


def test_a_long_string_or_request_is_refused_in_words(client_of):
  client = client_of("regression")
  longest = "x" * local_server.LIMITS.text_bytes
  assert post(client, {"instances": [longest]})["predictions"] == [1000.0]
  error = error_of(client.post(PREDICT, json={"instances": ["x" * 2**20]}))
  assert "1048576 bytes" in error and "--max_text_bytes" in error
  content = b" " * (local_server.LIMITS.request_bytes + 1)
  error = error_of(client.post(PREDICT, content=content), 413)
  assert "2097153 bytes" in error and "--max_request_bytes" in error


def test_the_status_tells_the_version(client_of):
  status = {
    "version": "1",
    "state": "AVAILABLE",
    "status": {"error_code": "OK", "error_message": ""},
  }
  for path in ("/v1/models/toy", "/v1/models/toy/versions/1", "/v1/Models/toy"):
    content = content_of(client_of("regression").get(path))
    assert content == {"model_version_status": [status]}


@pytest.mark.parametrize(
  ("method", "path", "status", "message"),
  [
    ("GET", "/v1/models", 400, "Missing model name"),
    ("GET", "/v1/models/other", 404, "any versions of model other"),
    ("GET", "/v1/models/toy/versions/7", 404, "version 7 of model toy"),
    ("GET", f"/v1/models/toy/versions/{'9' * 5000}", 400, "Malformed"),
    ("GET", "/v1/models/toy/labels/stable", 400, "version label: stable"),
    ("GET", "/v1/models/other/metadata", 404, "Latest(other)"),
    ("GET", "/v1/models/toy/versions/7/metadata", 404, "Specific(toy, 7)"),
    ("GET", "/v1/models/toy:predict", 400, "Malformed request: GET /v1/models"),
    ("POST", "/v1/models/toy", 400, "Malformed request: POST /v1/models"),
    ("POST", "/v1/models/toy:guess", 400, "Malformed request"),
    ("POST", "/v1/models/other:predict", 404, "Latest(other)"),
    ("POST", "/v1/models/toy/versions/7:predict", 404, "Specific(toy, 7)"),
    ("POST", "/v1/models/toy/labels/a:predict", 400, "version label: a"),
    ("PUT", "/v1/models/toy", 405, "PUT /v1/models/toy"),
    ("GET", "/nowhere", 404, "GET /nowhere"),
  ],
)
def test_wrong_paths_are_errors_as_of_tf_serving(
  client_of, method, path, status, message
):
  response = client_of("regression").request(method, path)
  assert message in error_of(response, status)


def test_a_version_may_be_named_and_health_names_it(client_of):
  body = {"instances": ["four"]}
  path = "/v1/models/toy/versions/1:predict"
  assert post(client_of("regression"), body, path) == {"predictions": [4.0]}
  health = {"status": "ok", "model": "toy", "version": 1}
  for path in ("/health", "/healthz"):
    assert client_of("regression").get(path).json() == health


OWN, FOREIGN = "http://127.0.0.1:8501", "http://evil.example"
UNKNOWN, OF_OTHERS = "not known", "pages of other sites"
CROSS = {"Sec-Fetch-Site": "cross-site"}


@pytest.mark.parametrize(
  ("headers", "error"),
  [
    # Another site can point a name here, and no address.
    *[
      ({"Host": host}, None)
      for host in ("LOCALHOST", "localhost:8501", "[::1]:8501", "192.168.0.7:1")
    ],
    *[
      ({"Host": host}, UNKNOWN)
      for host in ("evil.example:8501", "127.0.0.1.evil.example", "", "[")
    ],
    # Its page says where it comes from.
    ({"Origin": OWN}, None),
    ({"Origin": OWN, "Sec-Fetch-Site": "same-origin"}, None),
    # Behind a proxy the address differs; the browser knows better.
    ({"Origin": "https://demo.example", "Sec-Fetch-Site": "same-origin"}, None),
    ({"Sec-Fetch-Site": "none"}, None),
    ({"Origin": FOREIGN}, OF_OTHERS),
    ({"Origin": "http://127.0.0.1:3000"}, OF_OTHERS),
    ({"Origin": "null"}, OF_OTHERS),
    (CROSS, OF_OTHERS),
    ({"Sec-Fetch-Site": "same-site"}, OF_OTHERS),
    (CROSS | {"Sec-Fetch-Mode": "navigate"}, OF_OTHERS),
  ],
)
def test_requests_of_other_sites_are_refused(client_of, headers, error):
  client = client_of("regression")
  response = client.post(PREDICT, json={"inputs": ["a"]}, headers=headers)
  if error:
    assert error in error_of(response, 403)
  else:
    assert response.json() == {"outputs": [1.0]}


def test_a_link_from_another_site_opens_the_page(client_of):
  headers = CROSS | {"Sec-Fetch-Mode": "navigate"}
  assert client_of("regression").get("/", headers=headers).status_code == 200
  # An image or a script of another site is no link.
  headers = CROSS | {"Sec-Fetch-Mode": "no-cors"}
  response = client_of("regression").get("/", headers=headers)
  assert OF_OTHERS in error_of(response, 403)


def test_the_page_may_load_nothing_from_elsewhere(client_of):
  response = client_of("regression").get("/")
  assert response.headers["content-type"].startswith("text/html")
  policy = response.headers["content-security-policy"]
  assert "default-src 'none'" in policy
  assert "unsafe" not in policy
  assert "TensorFlow Serving" in response.text
  for path in ("/", "/page.css", "/page.js"):
    response = client_of("regression").get(path)
    assert response.status_code == 200
    assert response.headers["x-content-type-options"] == "nosniff"
