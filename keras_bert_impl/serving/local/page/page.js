// The page for trying a model out. What it shows follows from the names of the
// outputs of the model's signature `serving_default`.
//
// Whatever a person or a model says goes into the page as text nodes only.
"use strict";

const DEFAULT_SIGNATURE = "serving_default";
const byId = (id) => document.getElementById(id);

// --- Building the page -----------------------------------------------------

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function heading(text) {
  return element("h2", {}, text);
}

function note(text) {
  return element("p", { class: "note" }, text);
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

// Rows of [name, share from 0 to 1]; `best` is the index of the bold one.
function bars(rows, best = 0) {
  const list = element("ol", { class: "bars" });
  rows.forEach(([name, share], index) => {
    const bar = element("span", { class: "bar" });
    bar.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
    list.append(
      element(
        "li",
        index === best ? { class: "best" } : {},
        bar,
        element("span", { class: "name" }, name),
        element("span", { class: "share" }, percent(share)),
      ),
    );
  });
  return list;
}

// A text with some of its parts marked. Offsets of models count Unicode code
// points; strings here count UTF-16 units, two for most emoji.
//
// `spans`: [{start, end, mark: function that makes the node of its text}],
// in any order; one that overlaps an earlier one is left out.
function passage(text, spans) {
  const characters = Array.from(text);
  const slice = (start, end) => characters.slice(start, end).join("");
  const node = element("p", { class: "passage" });
  let place = 0;
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    if (span.start < place) continue;
    node.append(
      slice(place, span.start),
      span.mark(slice(span.start, span.end)),
    );
    place = span.end;
  }
  node.append(slice(place));
  return node;
}

// A colour for each of a few labels, far apart.
function hues(labels) {
  const names = [...new Set(labels)].sort();
  return new Map(names.map((name, i) => [name, (i * 137.5 + 200) % 360]));
}

function tint(node, hue) {
  node.style.background = `hsl(${hue} 70% var(--lightness))`;
  return node;
}

// --- What each head asks for and shows -------------------------------------

const SENTENCE = { text: { label: "Text", example: "I really like this." } };

const HEADS = [
  {
    title: "Question answering",
    outputs: ["answer", "start", "end"],
    fields: {
      text: {
        label: "Question",
        isLine: true,
        example: "Where was she born?",
      },
      text_pair: {
        label: "Context",
        example: "She was born in Warsaw 🏠 and later moved to Paris.",
      },
    },
    show(row, values) {
      if (row.start < 0) {
        return [
          heading("No answer"),
          note("The model says that the context does not answer this."),
          scores(row),
          passage(values.text_pair, []),
        ];
      }
      const mark = (text) => element("mark", {}, text);
      return [
        heading("Answer"),
        element("p", { class: "number" }, row.answer),
        scores(row),
        passage(values.text_pair, [{ start: row.start, end: row.end, mark }]),
      ];
    },
  },
  {
    title: "Named entities",
    outputs: ["num_entities", "labels", "starts", "ends"],
    fields: {
      text: {
        label: "Text",
        example: "Marie Curie was born in Warsaw and worked in Paris.",
      },
    },
    show(row, values) {
      const entities = firstOf(row.num_entities, (i) => ({
        start: row.starts[i],
        end: row.ends[i],
        label: row.labels[i],
        score: row.scores[i],
        text: row.texts[i],
      }));
      const colours = hues(entities.map((entity) => entity.label));
      const tag = (text) => element("span", { class: "tag" }, text);
      for (const entity of entities) {
        entity.mark = (text) =>
          tint(
            element("mark", {}, text, tag(entity.label)),
            colours.get(entity.label),
          );
      }
      const legend = element("ul", { class: "legend", "aria-label": "Legend" });
      for (const [label, hue] of colours) {
        const count = entities.filter((e) => e.label === label).length;
        legend.append(
          element("li", {}, tint(element("mark", {}, label), hue), ` ${count}`),
        );
      }
      return [
        heading(`Entities: ${entities.length}`),
        legend,
        passage(values.text, entities),
        bars(
          entities.map((e) => [`${e.text} (${e.label})`, e.score]),
          -1,
        ),
        ...cutNote(row),
      ];
    },
  },
  {
    title: "Masked words",
    outputs: ["num_masks", "tokens", "scores"],
    fields: {
      text: {
        label: "Text with masks",
        example: "Paris is the [MASK] of France.",
      },
    },
    show(row) {
      if (row.num_masks === 0) {
        return [
          note("No mask was found: write [MASK], or <mask> for some models."),
        ];
      }
      return firstOf(row.num_masks, (mask) => [
        heading(`Mask ${mask + 1}`),
        bars(row.tokens[mask].map((token, i) => [token, row.scores[mask][i]])),
      ]).flat();
    },
  },
  {
    title: "Multiple choice",
    outputs: ["choice", "probabilities"],
    fields: {
      text: {
        label: "Beginning or question",
        example: "She picked up the guitar and",
      },
      choices: {
        label: "Choices, one a line",
        isList: true,
        example: "began to play.\nate it.\nflew away.",
      },
    },
    show(row, values) {
      return [
        heading("Choices"),
        bars(
          values.choices.map((choice, i) => [choice, row.probabilities[i]]),
          row.choice,
        ),
      ];
    },
  },
  {
    title: "Classification",
    outputs: ["label", "labels", "probabilities"],
    fields: {
      ...SENTENCE,
      text_pair: { label: "Second text", example: "It pleases me." },
    },
    show(row) {
      const rows = row.labels.map((label, i) => [label, row.probabilities[i]]);
      rows.sort((a, b) => b[1] - a[1]);
      return [heading(row.label), bars(rows)];
    },
  },
  {
    title: "Replaced tokens",
    outputs: ["num_tokens", "starts", "ends", "probabilities"],
    fields: {
      text: { label: "Text", example: "The chef ate the meal he had cooked." },
    },
    show(row, values) {
      const tokens = firstOf(row.num_tokens, (i) => ({
        start: row.starts[i],
        end: row.ends[i],
        share: row.probabilities[i],
        token: row.tokens[i],
        mark(text) {
          const node = element("mark", { title: percent(this.share) }, text);
          // At most 0.45, so that the text on it stays readable.
          node.style.background = `rgba(var(--heat), ${0.45 * this.share})`;
          return node;
        },
      }));
      const suspects = [...tokens].sort((a, b) => b.share - a.share);
      return [
        heading("How likely each token was replaced"),
        passage(values.text, tokens),
        bars(suspects.slice(0, 10).map((t) => [t.token, t.share]), -1),
      ];
    },
  },
  {
    title: "Similarity of two texts",
    outputs: ["embeddings"],
    fields: {
      text: { label: "First text", example: "A man is playing a guitar." },
      other: { label: "Second text", example: "Someone makes music." },
    },
    // Two rows of the one input.
    inputs: (values) => ({ text: [values.text, values.other] }),
    show(row, values, rows) {
      const [first, second] = rows.map((r) => r.embeddings);
      const similarity = cosine(first, second);
      return [
        heading("Cosine similarity"),
        element("p", { class: "number" }, similarity.toFixed(3)),
        bars([["similarity", similarity]]),
        note(`Vectors of ${first.length} numbers.`),
      ];
    },
  },
  {
    title: "Regression",
    outputs: ["scores"],
    fields: {
      ...SENTENCE,
      text_pair: { label: "Second text", example: "It pleases me." },
    },
    show(row) {
      return [
        heading("Value"),
        element("p", { class: "number" }, String(row.scores)),
      ];
    },
  },
  // Any other model: what it answers, as it is.
  {
    title: "Model",
    outputs: [],
    fields: SENTENCE,
    show(row) {
      const shown = JSON.stringify(row);
      return [heading("Answer"), element("pre", {}, shown.slice(0, 5000))];
    },
  },
];

function firstOf(count, make) {
  return Array.from({ length: count }, (_, index) => make(index));
}

function scores(row) {
  const of = (value) => value.toFixed(2);
  return note(
    `Score ${of(row.score)}, without an answer ${of(row.null_score)}.` +
      (row.is_cut ? " The end of the context was not read." : ""),
  );
}

function cutNote(row) {
  return row.is_cut ? [note("The end of the text was not read.")] : [];
}

function cosine(a, b) {
  const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  return dot(a, b) / (Math.sqrt(dot(a, a) * dot(b, b)) || 1);
}

// --- Talking to the server -------------------------------------------------

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  let content;
  try {
    content = await response.json();
  } catch {
    throw new Error("The server's answer cannot be read.");
  }
  if (!response.ok) throw new Error(content.error ?? response.statusText);
  return content;
}

// Returns the rows of a reply in column form as [{output: value}].
function rowsOf(outputs, names) {
  // A signature with one output gives its bare values.
  const columns = names.length === 1 ? { [names[0]]: outputs } : outputs;
  const [first] = Object.values(columns);
  return firstOf(first.length, (i) =>
    Object.fromEntries(names.map((name) => [name, columns[name][i]])),
  );
}

// --- The page of one model -------------------------------------------------

function start(model, signature) {
  const outputNames = Object.keys(signature.outputs);
  const head = HEADS.find((one) =>
    one.outputs.every((name) => outputNames.includes(name)),
  );
  const inputNames = Object.keys(signature.inputs);
  const path = `/v1/models/${encodeURIComponent(model.name)}:predict`;
  document.title = `${model.name}: ${head.title}`;
  byId("title").textContent = head.title;
  byId("subtitle").textContent = `${model.name}, version ${model.version}`;

  const fields = fieldsOf(head, inputNames);
  if (Object.keys(fields).length === 0) {
    throw new Error(
      `This page has no form for the inputs ${inputNames.join(", ")}.`,
    );
  }
  for (const [name, field] of Object.entries(fields)) {
    byId("fields").append(
      element("label", { for: `field-${name}` }, field.label),
      field.input,
    );
  }

  const values = () =>
    Object.fromEntries(
      Object.entries(fields).map(([name, { isList, input }]) => [
        name,
        isList ? input.value.split("\n").filter((x) => x.trim()) : input.value,
      ]),
    );

  const body = (current) => {
    const inputs = head.inputs
      ? head.inputs(current)
      : Object.fromEntries(
          Object.entries(current).map(([name, value]) => [name, [value]]),
        );
    return JSON.stringify({ inputs });
  };

  const showCurl = () => {
    // In single quotes a shell takes everything as it is but a single quote.
    const quoted = body(values()).replaceAll("'", "'\\''");
    byId("curl").textContent = `curl -d '${quoted}' ${location.origin}${path}`;
  };

  let latest = 0;
  const run = async () => {
    const number = ++latest;
    const current = values();
    byId("progress").textContent = "Running…";
    byId("form").setAttribute("aria-busy", "true");
    let nodes = [];
    let message = "";
    try {
      const reply = await ask(path, { method: "POST", body: body(current) });
      const rows = rowsOf(reply.outputs, outputNames);
      nodes = head.show(rows[0], current, rows);
    } catch (error) {
      message = error.message;
    }
    // The answer to an earlier request may come after a later one's.
    if (number !== latest) return;
    byId("progress").textContent = "";
    byId("form").removeAttribute("aria-busy");
    byId("result").replaceChildren(...nodes);
    showError(message);
  };

  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  byId("form").addEventListener("input", showCurl);
  byId("form").addEventListener("keydown", onKey);
  showCurl();
}

function fieldsOf(head, inputNames) {
  const fields = {};
  for (const [name, field] of Object.entries(head.fields)) {
    // A second text only if the model takes one.
    if (!head.inputs && !inputNames.includes(name)) continue;
    const input = element(field.isLine ? "input" : "textarea", {
      id: `field-${name}`,
      name,
      autocomplete: "off",
      spellcheck: "false",
    });
    input.value = field.example;
    fields[name] = { ...field, input };
  }
  return fields;
}

function onKey(event) {
  if (event.key !== "Enter") return;
  // While Korean, Chinese or Japanese is being composed, Enter belongs to the
  // input method; 229 is how some browsers say so.
  if (event.isComposing || event.keyCode === 229) {
    event.stopPropagation();
    if (event.target.matches("input")) event.preventDefault();
  } else if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    event.currentTarget.requestSubmit();
  }
}

function showError(message) {
  byId("error").textContent = message;
  byId("error").hidden = !message;
}

async function main() {
  try {
    const model = await ask("/model.json");
    const { metadata } = await ask(
      `/v1/models/${encodeURIComponent(model.name)}/metadata`,
    );
    const signature = metadata.signature_def.signature_def[DEFAULT_SIGNATURE];
    if (!signature) {
      throw new Error(`The model has no signature ${DEFAULT_SIGNATURE}.`);
    }
    start(model, signature);
  } catch (error) {
    showError(error.message);
    byId("form").hidden = true;
  }
}

main();
