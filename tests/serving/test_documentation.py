"""The Python code of serving in the documents runs."""

import pathlib
import re

import pytest

pytest.importorskip(
  "tensorflow_serving.apis", reason="needs tensorflow-serving-api"
)

import grpc  # noqa: E402
from google.protobuf import json_format, text_format  # noqa: E402
from tensorflow_serving.apis import (  # noqa: E402
  get_model_metadata_pb2,
  prediction_service_pb2_grpc,
)
from tensorflow_serving.config import model_server_config_pb2  # noqa: E402

from keras_bert_impl.serving.local import loading  # noqa: E402
from tests.serving.loaders import prediction_service  # noqa: E402

pytestmark = pytest.mark.integration

ROOT = pathlib.Path(__file__).parents[2]
SNIPPETS = [
  snippet
  for page in ("README.md", "docs/serving.md")
  for snippet in re.findall(
    r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.S
  )
  if "served/qnli/1" in snippet or "localhost:8500" in snippet
]


@pytest.fixture(scope="module")
def places(exports):
  """{what the page says: what is there in this test}."""
  version_dir = exports["classification_of_pairs"].version_dir
  models = {"qnli": version_dir, "stsb": exports["regression"].version_dir}
  with prediction_service.serve(models) as address:
    yield {"localhost:8500": address, "served/qnli/1": str(version_dir)}


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_the_code_of_the_page_runs(places, number, capsys):
  code = SNIPPETS[number]
  for written, meant in places.items():
    code = code.replace(written, meant)
  assert code != SNIPPETS[number], "The code asks no model."
  exec(code, {})
  assert capsys.readouterr().out


def test_metadata_over_grpc_are_those_of_the_local_server(places, exports):
  request = get_model_metadata_pb2.GetModelMetadataRequest()
  request.model_spec.name = "qnli"
  request.metadata_field.append("signature_def")
  with grpc.insecure_channel(places["localhost:8500"]) as channel:
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    response = stub.GetModelMetadata(request, timeout=60)
  found = get_model_metadata_pb2.SignatureDefMap()
  response.metadata["signature_def"].Unpack(found)
  del found.signature_def["__saved_model_init_op"]
  version_dir = exports["classification_of_pairs"].version_dir
  local = loading.load(version_dir, 1).signature_defs
  expected = get_model_metadata_pb2.SignatureDefMap()
  json_format.ParseDict({"signature_def": local}, expected)
  assert found == expected
  assert len(found.signature_def) == 4


def blocks(language):
  page = (ROOT / "docs/deployment.md").read_text("utf-8")
  return re.findall(rf"```{language}\n(.*?)```", page, re.S)


def test_the_configuration_of_versions_is_one_of_tf_serving():
  [text] = [block for block in blocks("proto") if "model_config_list" in block]
  config = model_server_config_pb2.ModelServerConfig()
  [model] = text_format.Parse(text, config).model_config_list.config
  served = set(model.model_version_policy.specific.versions)
  assert set(model.version_labels.values()) == served == {1, 2}


def test_the_yaml_of_the_page_is_yaml():
  yaml = pytest.importorskip("yaml")
  kinds = [
    document.get("kind") or next(iter(document))
    for block in blocks("yaml")
    for document in yaml.safe_load_all(block)
  ]
  assert kinds == ["services", "Deployment", "Service", "scrape_configs"]
