// The page for trying a model out. What it shows follows from the names of the
// outputs of the model's signature for strings.
//
// Whatever a person or a model says goes into the page as text nodes only.
"use strict";

const DEFAULT_SIGNATURE = "serving_default";
// That of strings where the default takes ids, as in transformers.
const TEXT_SIGNATURE = "text";
// Vectors make long replies; more than this nobody reads.
const MOST_JSON = 20000;
// A search shows so many texts, and encodes so many in a request, of which so
// many are on their way.
const MOST_FOUND = 20;
const ROWS_AT_ONCE = 32;
const REQUESTS_AT_ONCE = 4;
// Of a file a field shows so many lines: browsers take seconds for more.
const MOST_LINES = 1000;
const MASK = "[MASK]";
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

// A text that is marked the stronger, the higher a share from 0 to 1 is.
function heated(text, share) {
  const node = element("mark", { title: percent(share) }, text);
  // At most 0.45, so that the text on it stays readable.
  node.style.background = `rgba(var(--heat), ${0.45 * Math.max(0, share)})`;
  return node;
}

function tint(node, hue) {
  node.style.background = `hsl(${hue} 70% var(--lightness))`;
  return node;
}

// {text: its vector of length 1}, of the model of this page. 100,000 vectors of
// 384 numbers take 150 MB so, where plain arrays take twice as much.
const vectorOf = new Map();

// The numbers of a vector of length 1, as Float32Array. Bytes of bits, as exports with --precision=binary
// have them, become 1 and -1, whose cosine counts the bits that are the same.
function numbersOf({ embeddings }, { precision }) {
  const isBinary = precision === "binary";
  const bits = (byte) =>
    firstOf(8, (bit) => ((byte >> (7 - bit)) & 1 ? 1 : -1));
  const vector = Float32Array.from(
    isBinary ? embeddings.flatMap(bits) : embeddings,
  );
  const length = Math.sqrt(dot(vector, vector)) || 1;
  return vector.map((x) => x / length);
}

// --- What each head asks for and shows -------------------------------------

// `examples` are what the fields may be filled with, the first at the start.

const TEXT_OR_PAIR = {
  fields: {
    text: { label: "Text" },
    text_pair: { label: "Second text" },
  },
  examples: [
    { text: "I really like this.", text_pair: "It pleases me." },
    {
      text: "The plot is thin and the jokes are old.",
      text_pair: "It was a funny film.",
    },
    {
      text: "A man is playing a guitar on stage.",
      text_pair: "Someone makes music.",
    },
    { text: "정말 재미있게 봤어요.", text_pair: "영화가 좋았다." },
  ],
};

const SEARCH = {
  fields: {
    text: { label: "Query", isLine: true },
    lines: { label: "Texts to search, one a line", isList: true, isFile: true },
  },
  examples: [
    {
      text: "How do I reset my password?",
      lines:
        "I forgot my login.\nThe bank raised its rates.\n" +
        "A man is playing a guitar.\nOpening hours are on the door.",
    },
    {
      text: "Someone makes music.",
      lines:
        "A man is playing a guitar.\nWe sat on the river bank.\n" +
        "Bread is sold until noon.",
    },
    {
      text: "비밀번호를 잊어버렸어요",
      lines:
        "로그인 정보를 다시 받는 방법\n오늘은 하늘이 맑다.\n" +
        "은행이 금리를 올렸다.",
    },
  ],
};

// Of classifiers whose labels, or what these mean, match `labels`.
const EXAMPLES_BY_LABELS = [
  {
    labels: /positive|negative|긍정|부정/i,
    examples: [
      { text: "I really like this." },
      { text: "The plot is thin and the jokes are old." },
      { text: "정말 재미있게 봤어요." },
      { text: "배송이 늦고 품질도 별로예요." },
    ],
  },
  {
    labels: /entail|contradict/i,
    examples: [
      {
        text: "A man is playing a guitar on stage.",
        text_pair: "Someone makes music.",
      },
      {
        text: "All shops are closed on Sunday.",
        text_pair: "You can buy bread on Sunday.",
      },
      {
        text: "한 남자가 무대에서 기타를 치고 있다.",
        text_pair: "누군가 음악을 연주한다.",
      },
      {
        text: "일요일에는 모든 가게가 문을 닫는다.",
        text_pair: "일요일에 빵을 살 수 있다.",
      },
    ],
  },
  {
    labels: /equivalent|paraphrase|duplicate/i,
    examples: [
      {
        text: "How do I reset my password?",
        text_pair: "What can I do if I forgot my password?",
      },
      {
        text: "The company sold its mill in May.",
        text_pair: "In May the company bought a mill.",
      },
      {
        text: "비밀번호를 어떻게 바꾸나요?",
        text_pair: "비밀번호를 변경하는 방법을 알려 주세요.",
      },
    ],
  },
  {
    labels: /acceptable/i,
    examples: [
      { text: "The cat sat on the mat." },
      { text: "The cat sat the mat on." },
    ],
  },
];

const HEADS = [
  {
    title: "Question answering",
    outputs: ["answer", "start", "end"],
    fields: {
      text: { label: "Question", isLine: true },
      text_pair: { label: "Context" },
    },
    examples: [
      {
        text: "Where was she born?",
        text_pair: "She was born in Warsaw 🏠 and later moved to Paris.",
      },
      {
        text: "How many people work there?",
        text_pair:
          "The mill was built in 1871. It employs forty people today and " +
          "stood still only during the flood of 1954.",
      },
      {
        text: "Who painted it?",
        text_pair: "The bridge was opened in 1932.",
      },
      {
        text: "한국의 수도는 어디인가?",
        text_pair: "서울은 대한민국의 수도이며 가장 큰 도시이다.",
      },
    ],
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
    fields: { text: { label: "Text" } },
    examples: [
      { text: "Marie Curie was born in Warsaw and worked in Paris." },
      { text: "On Monday Siemens opened an office in Nairobi." },
      { text: "Nothing and nobody is named in this sentence." },
      { text: "이순신 장군은 1545년 서울에서 태어났다." },
    ],
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
      ];
    },
  },
  {
    title: "Coreference",
    outputs: ["num_mentions", "clusters", "starts", "ends"],
    fields: { text: { label: "Text" } },
    examples: [
      { text: "Ada lived in London. She liked it there, her friends said." },
      { text: "Tom gave Mary his book, and she read it to him." },
      { text: "수진이 책을 샀다. 그녀는 그것을 읽었다." },
    ],
    show(row, values) {
      const mentions = firstOf(row.num_mentions, (i) => ({
        start: row.starts[i],
        end: row.ends[i],
        cluster: row.clusters[i],
        text: row.texts[i],
      }));
      const colours = hues(mentions.map((mention) => mention.cluster));
      const tag = (text) => element("span", { class: "tag" }, text);
      for (const mention of mentions) {
        const number = String(mention.cluster + 1);
        mention.mark = (text) =>
          tint(
            element("mark", {}, text, tag(number)),
            colours.get(mention.cluster),
          );
      }
      // A mention inside of another is in the list alone.
      const list = element("ol", { "aria-label": "Clusters" });
      for (const cluster of colours.keys()) {
        const texts = mentions.filter((m) => m.cluster === cluster);
        list.append(element("li", {}, texts.map((m) => m.text).join(" = ")));
      }
      return [
        heading(`Clusters: ${colours.size}`),
        passage(values.text, mentions),
        list,
      ];
    },
  },
  {
    title: "Masked words",
    outputs: ["num_masks", "tokens", "scores"],
    fields: { text: { label: "Text with masks" } },
    examples: [
      { text: "Paris is the [MASK] of France." },
      { text: "The [MASK] barked at the [MASK]." },
      { text: "She put the book back on the [MASK]." },
      { text: "서울은 대한민국의 [MASK]이다." },
    ],
    show(row, values, rows, { mask_token: mask = MASK }) {
      if (row.num_masks === 0) {
        return [note(`No mask was found: write ${mask}.`)];
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
      text: { label: "Beginning or question" },
      choices: { label: "Choices, one a line", isList: true },
    },
    examples: [
      {
        text: "She picked up the guitar and",
        choices: "began to play.\nate it.\nflew away.",
      },
      {
        text: "The glass fell off the table and",
        choices: "broke.\nslept.",
      },
      {
        text: "Where do you keep milk?",
        choices: "in the fridge\nin the oven\nunder the car\nin a shoe",
      },
    ],
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
    ...TEXT_OR_PAIR,
    show(row, values, rows, { label_names: names = {} }) {
      const called = (label) =>
        names[label] ? `${names[label]} (${label})` : label;
      const classes = row.labels.map((label, i) => [
        called(label),
        row.probabilities[i],
      ]);
      classes.sort((a, b) => b[1] - a[1]);
      return [heading(called(row.label) || "No label"), bars(classes)];
    },
  },
  {
    title: "Replaced tokens",
    outputs: ["num_tokens", "starts", "ends", "probabilities"],
    fields: { text: { label: "Text" } },
    examples: [
      { text: "The chef ate the meal he had cooked." },
      { text: "The chef drove the meal he had cooked." },
      { text: "Birds build nests in tall bananas every spring." },
      { text: "나는 아침에 신문을 마셨다." },
    ],
    show(row, values) {
      const tokens = firstOf(row.num_tokens, (i) => ({
        start: row.starts[i],
        end: row.ends[i],
        share: row.probabilities[i],
        token: row.tokens[i],
        mark(text) {
          return heated(text, this.share);
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
    title: "Search",
    outputs: ["embeddings"],
    ...SEARCH,
    // Lines keep their vectors, so that the next query is one short request.
    inputs: ({ text }) => ({ text: [text] }),
    async prepare({ lines }, information, encode, tell) {
      const unknown = [...new Set(lines)].filter((x) => !vectorOf.has(x));
      // Texts of like length together are no longer than they have to be.
      unknown.sort((a, b) => a.length - b.length);
      let next = 0;
      const encodeSome = async () => {
        while (next < unknown.length) {
          tell(`Encoding ${next + 1} of ${unknown.length}…`);
          const texts = unknown.slice(next, next + ROWS_AT_ONCE);
          next += ROWS_AT_ONCE;
          const rows = await encode({ text: texts });
          rows.forEach((row, j) =>
            vectorOf.set(texts[j], numbersOf(row, information)),
          );
        }
      };
      await Promise.all(firstOf(REQUESTS_AT_ONCE, encodeSome));
    },
    show(row, { lines }, rows, information) {
      const query = numbersOf(row, information);
      const found = lines.map((x) => [x, dot(query, vectorOf.get(x))]);
      found.sort((a, b) => b[1] - a[1]);
      return [
        heading("Nearest texts"),
        bars(found.slice(0, MOST_FOUND)),
        note(
          `Cosines of vectors of ${query.length} numbers. Texts searched: ` +
            `${lines.length}.`,
        ),
      ];
    },
  },
  {
    title: "Search",
    outputs: ["scores", "starts", "ends", "similarities"],
    ...SEARCH,
    inputs: ({ text, lines }) => ({
      query: lines.map(() => text),
      document: lines,
    }),
    show(row, { lines }, rows) {
      const found = rows.map((one, i) => ({ ...one, text: lines[i] }));
      found.sort((a, b) => b.scores - a.scores);
      const nodes = found.slice(0, MOST_FOUND).flatMap((one) => {
        // Of the tokens of the query that a place matches, the likest.
        const best = new Map();
        one.starts.forEach((start, i) => {
          const span = { start, end: one.ends[i], share: one.similarities[i] };
          const known = best.get(start)?.share ?? -Infinity;
          if (start < span.end && span.share > known) best.set(start, span);
        });
        const spans = [...best.values()].map((span) => ({
          ...span,
          mark: (text) => heated(text, span.share),
        }));
        return [passage(one.text, spans), note(one.scores.toFixed(2))];
      });
      return [
        heading("Best texts"),
        ...nodes,
        note(`Sums of cosines of tokens. Texts searched: ${lines.length}.`),
      ];
    },
  },
  {
    title: "Sparse vector",
    outputs: ["tokens", "weights"],
    fields: { text: { label: "Text" } },
    examples: [
      { text: "How do I reset my password?" },
      { text: "A man is playing a guitar." },
      { text: "오늘 날씨가 좋다." },
    ],
    show(row) {
      const weights = row.weights.filter((weight) => weight > 0);
      const most = weights[0];
      return [
        heading("Weights, as shares of the largest"),
        bars(
          weights
            .slice(0, MOST_FOUND)
            .map((weight, i) => [row.tokens[i], weight / most]),
        ),
        note(`Tokens with a weight: ${weights.length}.`),
      ];
    },
  },
  {
    title: "Text generation",
    outputs: ["texts", "scores", "num_tokens"],
    fields: {
      text: { label: "Prompt" },
      lines: { label: "Texts to score after it, one a line", isList: true },
    },
    examples: [
      { text: "The cat sat on the mat and", lines: " fell asleep.\n flew." },
      { text: "Once upon a time there was", lines: " a king.\n a Tuesday." },
      { text: "translate English to German: The house is wonderful." },
      { text: "옛날 옛적에 호랑이가", lines: " 살았습니다.\n 비쌉니다." },
    ],
    inputs: ({ text }) => ({ text: [text] }),
    async prepare({ text, lines }, information, encode) {
      if (lines.length === 0) return [];
      const texts = lines.map(() => text);
      return encode({ text: texts, candidate: lines }, "score");
    },
    show(row, { lines }, rows, information, scored) {
      const nodes = row.texts.flatMap((text, i) => [
        element("p", { class: "passage" }, text),
        note(`Score ${row.scores[i].toFixed(2)}, tokens: ${row.num_tokens[i]}.`),
      ]);
      if (scored.length === 0) return [heading("Text"), ...nodes];
      const most = Math.max(...scored.map((one) => one.score));
      const shares = scored.map((one) => Math.exp(one.score - most));
      const sum = shares.reduce((a, b) => a + b);
      const named = lines.map((text, i) => [
        `${text} (${scored[i].score.toFixed(2)})`,
        shares[i] / sum,
      ]);
      named.sort((a, b) => b[1] - a[1]);
      return [
        heading("Text"),
        ...nodes,
        heading("Texts to score"),
        bars(named),
        note("Shares, and logarithms of probabilities."),
      ];
    },
  },
  {
    title: "Labels that come with the text",
    outputs: ["label", "labels", "scores"],
    fields: {
      text: { label: "Text" },
      labels: { label: "Labels, one a line", isList: true },
    },
    examples: [
      { text: "The striker scored twice.", labels: "sport\nmoney\nweather" },
      { text: "I want my money back!", labels: "complaint\nquestion\npraise" },
      { text: "정말 재미있게 봤어요.", labels: "영화\n경제\n날씨" },
    ],
    show(row) {
      const classes = row.labels.map((label, i) => [label, row.scores[i]]);
      classes.sort((a, b) => b[1] - a[1]);
      return [heading(row.label || "No label"), bars(classes)];
    },
  },
  {
    title: "Regression",
    outputs: ["scores"],
    ...TEXT_OR_PAIR,
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
    fields: { text: TEXT_OR_PAIR.fields.text },
    examples: TEXT_OR_PAIR.examples.map(({ text }) => ({ text })),
    show(row) {
      const shown = JSON.stringify(row);
      return [heading("Answer"), element("pre", {}, shown.slice(0, 5000))];
    },
  },
];

// The examples of a head that fit what the model tells of itself, those in the
// language of most of its vocabulary first.
function examplesOf(head, { labels, label_names: names, main_script: script }) {
  const words = [...(labels ?? []), ...Object.values(names ?? {})];
  const kind = EXAMPLES_BY_LABELS.find(
    (one) =>
      head.outputs.includes("label") &&
      words.some((word) => one.labels.test(word)),
  );
  const { examples } = kind ?? head;
  const isHangul = (one) => /[가-힣]/.test(Object.values(one).join());
  const hasPlace = (one) => Number(isHangul(one) === (script === "Hangul"));
  return [...examples].sort((a, b) => hasPlace(b) - hasPlace(a));
}

function firstOf(count, make) {
  return Array.from({ length: count }, (_, index) => make(index));
}

function scores(row) {
  const of = (value) => value.toFixed(2);
  return note(
    `Score ${of(row.score)}, without an answer ${of(row.null_score)}.`,
  );
}

// Whether texts were read to their ends. Exports without `is_cut` do not know.
function cutNotes(rows, values, information) {
  const { max_seq_length: length, max_windows: windows } = information;
  const most = length && !windows ? ` The model reads ${length} tokens.` : "";
  if (rows.some((row) => row.is_cut)) {
    return [note(`The end of the text was not read.${most}`)];
  }
  const texts = Object.values(values).flat();
  const isLong = most && texts.some((text) => text.length > length);
  return isLong && rows[0].is_cut === undefined
    ? [note(`This export does not tell whether it read all.${most}`)]
    : [];
}

// A value as JSON, a line for each list of plain values.
function pretty(value, indent = "") {
  const isNested = (x) => x !== null && typeof x === "object";
  const isList = Array.isArray(value);
  if (!isNested(value) || (isList && !value.some(isNested))) {
    return JSON.stringify(value);
  }
  const inner = `${indent}  `;
  const lines = Object.entries(value).map(([key, child]) => {
    const name = isList ? "" : `${JSON.stringify(key)}: `;
    return `${inner}${name}${pretty(child, inner)}`;
  });
  const [open, close] = isList ? "[]" : "{}";
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}

function milliseconds(duration) {
  return `${duration < 10 ? duration.toFixed(1) : Math.round(duration)} ms`;
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
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

function start(model, signature, named) {
  const outputNames = Object.keys(signature.outputs);
  const head = HEADS.find((one) =>
    one.outputs.every((name) => outputNames.includes(name)),
  );
  const inputNames = Object.keys(signature.inputs);
  const path = `/v1/models/${encodeURIComponent(model.name)}:predict`;
  document.title = `${model.name}: ${head.title}`;
  byId("title").textContent = head.title;
  byId("subtitle").textContent = `${model.name}, version ${model.version}`;

  const { mask_token: mask = MASK } = model.information;
  const withMask = (text) => text.replaceAll(MASK, mask);
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
      ...(field.isFile ? [filePicker(field.input)] : []),
    );
  }

  const values = () =>
    Object.fromEntries(
      Object.entries(fields).map(([name, { isList, input }]) => [
        name,
        isList ? linesOf(input).filter((x) => x.trim()) : input.value,
      ]),
    );

  const body = (current) => {
    const inputs = head.inputs
      ? head.inputs(current)
      : Object.fromEntries(
          Object.entries(current).map(([name, value]) => [name, [value]]),
        );
    return JSON.stringify({ ...named, inputs });
  };

  const encode = async (inputs, signature_name) => {
    const other = signature_name ? { signature_name } : named;
    const body = JSON.stringify({ ...other, inputs });
    const { outputs } = await ask(path, { method: "POST", body });
    return rowsOf(outputs, signature_name ? Object.keys(outputs) : outputNames);
  };

  const showCurl = () => {
    // In single quotes a shell takes everything as it is but a single quote.
    const quoted = body(values()).replaceAll("'", "'\\''");
    byId("curl").textContent = `curl -d '${quoted}' ${location.origin}${path}`;
  };

  const fill = (example) => {
    for (const [name, { input }] of Object.entries(fields)) {
      input.value = withMask(example[name] ?? "");
      input.lines = undefined;
    }
    showCurl();
  };

  let latest = 0;
  const run = async () => {
    const number = ++latest;
    const current = values();
    byId("progress").textContent = "Running…";
    byId("form").setAttribute("aria-busy", "true");
    let nodes = [];
    let message = "";
    let reply;
    let duration;
    // An older run stops where a newer one was started.
    const tell = (text) => {
      if (number !== latest) throw new Error("Stopped.");
      byId("progress").textContent = text;
    };
    try {
      const { information } = model;
      const prepared = await head.prepare?.(current, information, encode, tell);
      const began = performance.now();
      reply = await ask(path, { method: "POST", body: body(current) });
      duration = performance.now() - began;
      const rows = rowsOf(reply.outputs, outputNames);
      nodes = [
        ...head.show(rows[0], current, rows, information, prepared),
        ...cutNotes(rows, current, information),
      ];
    } catch (error) {
      message = error.message;
    }
    // The answer to an earlier request may come after a later one's.
    if (number !== latest) return;
    byId("progress").textContent = "";
    byId("form").removeAttribute("aria-busy");
    byId("result").replaceChildren(...nodes);
    showReply(reply, duration);
    showError(message);
  };

  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  byId("form").addEventListener("input", showCurl);
  byId("form").addEventListener("keydown", onKey);
  byId("copy").addEventListener("click", copyCurl);
  const examples = examplesOf(head, model.information);
  for (const example of examples) {
    // What an example begins with tells it from the others.
    const button = element(
      "button",
      { type: "button", class: "quiet" },
      withMask(Object.values(example)[0]),
    );
    button.addEventListener("click", () => {
      fill(example);
      run();
    });
    byId("examples").append(button);
  }
  fill(examples[0]);
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
    fields[name] = { ...field, input };
  }
  return fields;
}

// The lines of a field: those of a file, or what it shows.
function linesOf(field) {
  return field.lines ?? field.value.split("\n");
}

// A button that puts the text of a file into a field. Of a long one the field
// shows the beginning, and holds all until it is edited.
function filePicker(field) {
  const picker = element("input", { type: "file", "aria-label": "Open a file" });
  const told = element("p", { class: "hint" });
  field.addEventListener("input", () => {
    field.lines = undefined;
    told.textContent = "";
  });
  picker.addEventListener("change", async () => {
    if (picker.files.length === 0) return;
    const lines = (await picker.files[0].text()).split("\n");
    field.value = lines.slice(0, MOST_LINES).join("\n");
    field.dispatchEvent(new Event("input", { bubbles: true }));
    if (lines.length <= MOST_LINES) return;
    field.lines = lines;
    told.textContent =
      `Of ${lines.length} lines the first ${MOST_LINES} are shown; all are` +
      " searched, until you edit them.";
  });
  return element("div", {}, picker, told);
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

function showReply(reply, duration) {
  byId("reply").hidden = !reply;
  if (!reply) return;
  byId("latency").textContent = `Answered in ${milliseconds(duration)}.`;
  const text = pretty(reply);
  const isLong = text.length > MOST_JSON;
  byId("json").textContent = isLong ? `${text.slice(0, MOST_JSON)} …` : text;
}

async function copyCurl() {
  try {
    await navigator.clipboard.writeText(byId("curl").textContent);
    byId("copied").textContent = "Copied.";
  } catch {
    // Browsers give the clipboard only to https and to this machine.
    getSelection().selectAllChildren(byId("curl"));
    byId("copied").textContent = "Selected: press Ctrl + C.";
  }
  setTimeout(() => (byId("copied").textContent = ""), 4000);
}

function showError(message) {
  byId("error").textContent = message;
  byId("error").hidden = !message;
}

async function main() {
  try {
    const model = await ask("/model.json");
    byId("attention-link").hidden = !model.has_attention;
    byId("browser-link").hidden = !model.has_browser;
    byId("pages").hidden = !model.has_attention && !model.has_browser;
    const { metadata } = await ask(
      `/v1/models/${encodeURIComponent(model.name)}/metadata`,
    );
    const signatures = metadata.signature_def.signature_def;
    const named =
      TEXT_SIGNATURE in signatures ? { signature_name: TEXT_SIGNATURE } : {};
    const signature = signatures[named.signature_name ?? DEFAULT_SIGNATURE];
    if (!signature) {
      throw new Error(`The model has no signature ${DEFAULT_SIGNATURE}.`);
    }
    start(model, signature, named);
  } catch (error) {
    showError(error.message);
    byId("form").hidden = true;
  }
}

main();
