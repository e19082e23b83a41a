"""Compiles programs for TPUs on a machine without TPUs, with JAX and libtpu.

The extra `tpu-check` pins both, because a list of devices is a private name of
JAX.
"""

import logging
import math
import os
import re
import time

# No TPU is opened here, so two processes can compile at the same time.
os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "true")
# Without these, libtpu asks the metadata server of Google Cloud.
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "true")
os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

logging.getLogger("jax").setLevel(logging.WARNING)

GIB = 2**30

# Memory of a chip in GiB, by JAX's name of its kind.
_MEMORY = {
  "TPU v2": 16,
  "TPU v3": 32,
  "TPU v4": 32,
  "TPU v5 lite": 16,
  "TPU v5": 95,
  "TPU v5p": 95,
  "TPU v6 lite": 32,
}
# GiB that the compiler reserves: it allows 15.75 of a v5e's 16 GiB.
_RESERVED = 0.25

# TensorFlow draws random numbers with Philox on a CPU, and on a TPU with XLA's
# default generator, an instruction of the chip with a shorter state.
_PHILOX = re.compile(
  r"(%\w+), (%\w+) = stablehlo\.rng_bit_generator (%\w+), algorithm =\s+PHILOX"
  r" : \(tensor<3xui64>\) -> \(tensor<3xui64>, (tensor<[^>]*>)\)"
)
_DEFAULT = r"""\2_a = stablehlo.slice \3 [0:2] : (tensor<3xui64>) -> tensor<2xui64>
\2_b, \2 = stablehlo.rng_bit_generator \2_a, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, \4)
\2_c = stablehlo.slice \3 [2:3] : (tensor<3xui64>) -> tensor<1xui64>
\1 = stablehlo.concatenate \2_b, \2_c, dim = 0 : (tensor<2xui64>, tensor<1xui64>) -> tensor<3xui64>"""  # noqa: E501
# The compiler's two messages.
_OUT_OF_MEMORY = (
  r"Used ([\d.]+[KMGT]?) of ([\d.]+[KMGT]?) hbm",
  r"temporaries \(([\d.]+[KMGT]?)\) exceeds available HBM \(([\d.]+[KMGT]?)\)",
)
# An identity op of another dialect.
_COPY = re.compile(r"mhlo\.copy (%\w+) : (tensor<[^>]*>)")


class OutOfMemoryError(ValueError):
  """A program does not fit into the chips' memory.

  Attributes:
    used: float, bytes that it needs per chip.
    limit: float, bytes available per chip.
  """

  def __init__(self, used, limit):
    super().__init__(
      f"does not fit: {used / GIB:.2f} of {limit / GIB:.2f} GiB."
    )
    self.used = used
    self.limit = limit


class Topology:
  """A topology of chips to compile programs for.

  Args:
    name: str, such as "v5e:2x2" or "v4:2x2x1".

  Attributes:
    name: as given.
    kind: str, JAX's name for the kind of the chip.
    num_devices: int, number of chips, or of cores if a core is a device.
    cores_per_chip: int, devices per chip.
    limit: float, bytes available to a program per device.

  Raises:
    ValueError: JAX or libtpu is missing, or libtpu does not know the topology.
  """

  def __init__(self, name):
    try:
      import libtpu  # noqa: F401
      from jax.experimental import topologies
    except ImportError as error:
      raise ValueError(
        f"checking for a TPU needs jax and libtpu ({error}): pip install"
        " 'keras-bert-impl[tpu-check]'."
      ) from error
    try:
      description = topologies.get_topology_desc(name, platform="tpu")
    except Exception as error:  # JAX raises several kinds.
      raise ValueError(
        f"topology ({name!r}) must be one that libtpu knows, such as v5e:2x2 or"
        f" v4:2x2x1: {str(error).splitlines()[0]}"
      ) from error
    self.name = name
    self._devices = tuple(description.devices)
    self.kind = self._devices[0].device_kind
    self.num_devices = len(self._devices)
    # Cores that are devices share the memory of their chip.
    self.cores_per_chip = 1 + max(d.core_on_chip for d in self._devices)
    memory = _MEMORY.get(self.kind, float("inf")) / self.cores_per_chip
    self.limit = (memory - _RESERVED) * GIB

  def compile(self, program):
    """Compiles a program for all chips.

    Args:
      program: `replica_program.ReplicaProgram`.

    Returns:
      dict, what the program needs on one chip: "memory", JAX's statistics of
      it; "flops" and "bytes accessed", counted by XLA, which counts the body
      of a loop once; "reductions", the bytes of each all-reduce; "seconds",
      the time of the compilation.

    Raises:
      OutOfMemoryError: the program does not fit.
      ValueError: the compiler refuses the program for another reason.
    """
    import jax
    from jax.extend import backend
    from jax.extend.mlir import ir
    from jax.interpreters import mlir
    from jaxlib import _jax  # The only one that has lists of devices.

    text = _COPY.sub(r"stablehlo.reshape \1 : (\2) -> \2", program.stablehlo)
    text = _PHILOX.sub(_DEFAULT, text)
    options = backend.get_compile_options(
      self.num_devices, 1, [[device.id] for device in self._devices]
    )
    options.executable_build_options.use_shardy_partitioner = False
    started = time.monotonic()
    with mlir.make_ir_context():
      module = ir.Module.parse(text)
      _update_in_place(ir, module, program.num_inputs)
      try:
        executable = self._devices[0].client.compile(
          module,
          executable_devices=_jax.DeviceList(self._devices),
          compile_options=options,
        )
      except jax.errors.JaxRuntimeError as error:
        raise self._explained(str(error), program) from error
    return {
      **executable.cost_analysis(),
      "seconds": time.monotonic() - started,
      "memory": executable.get_compiled_memory_stats(),
      "reductions": _all_reduces(executable.hlo_modules()[0].to_string()),
    }

  def _explained(self, message, program):
    """Returns the exception for an error message of the compiler."""
    for pattern in _OUT_OF_MEMORY:
      found = re.search(pattern, message)
      if found:
        used, limit = map(_bytes, found.groups())
        if "temporaries" in pattern:  # without weights and moments
          used += 12 * program.num_parameters
        return OutOfMemoryError(used, limit)
    return ValueError(
      f"the compiler for {self.kind} refuses the step: "
      + " ".join(message.split())[:500]
    )


def _bytes(text):
  """Parses a number such as "22.60G" in the compiler's messages."""
  number, unit = re.fullmatch(r"([\d.]+)([KMGT]?)", text).groups()
  return float(number) * 1024 ** " KMGT".index(unit or " ")


def _update_in_place(ir, module, num_inputs):
  """Lets new values of variables reuse the memory of the old ones."""
  [main] = [
    function
    for function in module.body.operations
    if ir.StringAttr(function.attributes["sym_name"]).value == "main"
  ]
  arguments = [str(x) for x in main.type.inputs]
  results = [str(x) for x in main.type.results]
  attributes = [{} for _ in arguments]
  argument = num_inputs
  int32 = ir.IntegerType.get_signless(32)
  for index, result in enumerate(results[1:], start=1):
    # Results come in the order of the arguments; unchanged ones have none.
    while arguments[argument] != result:
      argument += 1
    attributes[argument]["tf.aliasing_output"] = ir.IntegerAttr.get(
      int32, index
    )
    argument += 1
  main.attributes["arg_attrs"] = ir.ArrayAttr.get(
    [ir.DictAttr.get(attribute) for attribute in attributes]
  )


_REDUCED = re.compile(r"= (.*?) all-reduce(?:-start)?\(")
_SHAPE = re.compile(r"\b(pred|[a-z]+(\d+))\[([\d,]*)\]")


def _all_reduces(hlo):
  """Returns the bytes of each all-reduce of an HLO module."""
  sizes = []
  for shapes in _REDUCED.findall(hlo):
    size = 0
    for _, bits, dimensions in _SHAPE.findall(shapes):
      number = math.prod(map(int, filter(None, dimensions.split(","))))
      size += number * int(bits or 8) // 8
    sizes.append(size)
  return sizes
