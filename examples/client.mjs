// Asks an ONNX file that export_saved_model.py wrote, in Node.js; a browser
// needs only another way to read the files.
//
//   npm install onnxruntime-web @huggingface/tokenizers
//   node client.mjs served/mrpc/1 "He sleeps." "He is asleep."
//
// Prints the outputs of the model, and for a classifier the labels' shares.

import fs from "node:fs";
import path from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import * as ort from "onnxruntime-web";

const [folder, text, textPair] = process.argv.slice(2);
const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, name)));
const about = read("model.json");
const tokenizer = new Tokenizer(
  read("tokenizer.json"),
  read("tokenizer_config.json"),
);

// Returns {ids, token_type_ids} of a text or pair, cut from the end of the
// longer text, or of the second where both are equally long.
function encode(a, b) {
  const fixed = about.inputs[0].shape.at(-1);
  const longest = Number.isInteger(fixed) ? fixed : about.max_seq_length;
  const special = { add_special_tokens: false };
  const ids = [a, b]
    .filter((side) => side !== undefined)
    .map((side) => tokenizer.encode(side, special).ids);
  const parts = about.texts.framing[ids.length - 1].split(" ");
  const room = longest - parts.filter((p) => p !== "A" && p !== "B").length;
  while (longest && ids.flat().length > room) {
    const cutsFirst = ids.length < 2 || ids[0].length > ids[1].length;
    ids[cutsFirst ? 0 : 1].pop();
  }
  const row = { ids: [], token_type_ids: [] };
  parts.forEach((part, place) => {
    const own = { A: ids[0], B: ids[1] }[part];
    const added = own ?? [about.texts.special_tokens[part].id];
    const segment = about.texts.segments[ids.length - 1][place];
    row.ids.push(...added);
    row.token_type_ids.push(...added.map(() => segment));
  });
  return row;
}

let first = (about.prompt ?? "") + text;
if (about.texts.do_lower_case) first = first.toLowerCase();
const row = encode(first, textPair);
const mask = row.ids.map(() => 1);
const fixed = about.inputs[0].shape.at(-1);
while (row.ids.length < fixed) {
  for (const values of [row.ids, row.token_type_ids, mask]) values.push(0);
}
const place = row.ids.indexOf(about.texts.special_tokens.mask?.id);
const values = {
  input_ids: row.ids,
  input_mask: mask,
  segment_ids: row.token_type_ids,
  masked_lm_positions: [Math.max(place, 0)],
};
const inputs = {};
for (const { name } of about.inputs) {
  const data = Int32Array.from(values[name]);
  inputs[name] = new ort.Tensor("int32", data, [1, data.length]);
}
const session = await ort.InferenceSession.create(
  fs.readFileSync(path.join(folder, about.file)),
);
const outputs = await session.run(inputs);
const answer = {};
for (const [name, tensor] of Object.entries(outputs)) {
  answer[name] = { dims: tensor.dims, data: [...tensor.data] };
}
if (about.head === "classification") {
  const powers = answer.logits.data.map(Math.exp);
  const total = powers.reduce((sum, x) => sum + x);
  answer.shares = about.labels.map((label, k) => [label, powers[k] / total]);
}
console.log(JSON.stringify(answer));
