// Asks an ONNX file that export_saved_model.py wrote, in Node.js or a browser.
//
//   npm install onnxruntime-web @huggingface/tokenizers
//   node client.mjs served/mrpc/1 "He sleeps." "He is asleep."
//
// Prints the outputs of the model, and for a classifier the labels' shares.
// client.html beside it does the same on a page.

import { Tokenizer } from "@huggingface/tokenizers";
import * as ort from "onnxruntime-web";

// Returns a function of a text or pair that resolves to the answer. `read`
// takes the name of a file of the model and resolves to its bytes.
export async function open(read) {
  const json = async (name) =>
    JSON.parse(new TextDecoder().decode(await read(name)));
  const about = await json("model.json");
  const tokenizer = new Tokenizer(
    await json("tokenizer.json"),
    await json("tokenizer_config.json"),
  );
  const session = await ort.InferenceSession.create(await read(about.file));
  return async (text, textPair) => {
    const outputs = await session.run(rows(about, tokenizer, text, textPair));
    const answer = {};
    for (const [name, tensor] of Object.entries(outputs)) {
      answer[name] = { dims: tensor.dims, data: [...tensor.data] };
    }
    if (about.head === "classification") {
      const powers = answer.logits.data.map(Math.exp);
      const total = powers.reduce((sum, x) => sum + x);
      const share = (label, k) => [label, powers[k] / total];
      answer.shares = about.labels.map(share);
    }
    return answer;
  };
}

// Returns the model's inputs for a text or pair, a batch of one row.
function rows(about, tokenizer, text, textPair) {
  const number = textPair === undefined ? 1 : 2;
  if (!about.texts.num_texts.includes(number)) {
    throw new Error(`The model takes ${3 - number} text(s), not ${number}.`);
  }
  let first = (about.prompt ?? "") + text;
  if (about.texts.do_lower_case) first = first.toLowerCase();
  const row = encode(about, tokenizer, first, textPair);
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
  return inputs;
}

// Returns {ids, token_type_ids} of a text or pair, cut from the end of the
// longer text; where both are equally long, of the second, or of the first if
// the odd token is that of the longer text and the second was no shorter.
function encode(about, tokenizer, a, b) {
  const fixed = about.inputs[0].shape.at(-1);
  const longest = Number.isInteger(fixed) ? fixed : about.max_seq_length;
  const special = { add_special_tokens: false };
  const ids = [a, b]
    .filter((side) => side !== undefined)
    .map((side) => tokenizer.encode(side, special).ids);
  const parts = about.texts.framing[ids.length - 1].split(" ");
  const room = longest - parts.filter((p) => p !== "A" && p !== "B").length;
  const [size, other] = ids.map((side) => side.length);
  const tie = about.texts.odd_token === "longer" && size <= other;
  while (longest && ids.flat().length > room) {
    const more = ids[0].length - (ids[1]?.length ?? 0);
    const cutsFirst = ids.length < 2 || more > 0 || (more === 0 && tie);
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

if (globalThis.process?.argv[1]?.endsWith("client.mjs")) {
  const { readFile } = await import("node:fs/promises");
  const [folder, ...texts] = process.argv.slice(2);
  const answer = await open((name) => readFile(`${folder}/${name}`));
  try {
    console.log(JSON.stringify(await answer(...texts)));
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
