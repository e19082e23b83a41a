// The page of a text's attention. `content` is what viewer.py writes, and
// `weights` the attention, of which `weight` reads one number.
//
// Whatever a person or a model says goes into the page as text nodes only.
"use strict";

const UNIT = 2 ** 19; // of the stored probabilities; see page.py
const MOST_SHOWN = 5;
const MOST_SHADE = 0.5; // so that the text on it stays readable
const IN_FIGURE = 6; // tokens of a picture of masks
const byId = (id) => document.getElementById(id);

let content;
let weights; // float [groups, heads, tokens, tokens]
let length;
const chosen = { group: 0, head: 0, token: 0, way: "from" };

// --- The numbers -------------------------------------------------------------

async function inflate(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (c) =>
    c.charCodeAt(0),
  );
  const stream = new Blob([bytes])
    .stream()
    .pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// Joins the low, middle and high bytes, which stand one after the other.
function joinPlanes(buffer) {
  const bytes = new Uint8Array(buffer);
  const size = bytes.length / 3;
  return Float32Array.from(
    { length: size },
    (_, i) =>
      (bytes[i] + 256 * bytes[size + i] + 65536 * bytes[2 * size + i]) / UNIT,
  );
}

// The probability with which a head looks from one token at another.
function weight(group, head, from, to) {
  return weights[((group * content.heads + head) * length + from) * length + to];
}

// The weights of the chosen head from a token, or to it.
function row(token, way = chosen.way) {
  const { group, head } = chosen;
  return places().map((other) =>
    way === "from"
      ? weight(group, head, token, other)
      : weight(group, head, other, token),
  );
}

function places() {
  return Array.from({ length }, (_, place) => place);
}

// In bits, of what one token looks at.
function entropy(group, head, from) {
  return places().reduce((sum, to) => {
    const p = weight(group, head, from, to);
    return p > 0 ? sum - p * Math.log2(p) : sum;
  }, 0);
}

// Of the tokens that look at some: those of another text may not.
function meanEntropy(group, head) {
  const looking = places().filter((from) =>
    places().some((to) => weight(group, head, from, to) > 0),
  );
  const sum = looking.reduce((s, from) => s + entropy(group, head, from), 0);
  return sum / Math.max(1, looking.length);
}

// --- Building the page ---------------------------------------------------------

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function drawing(svg, name, attributes, text = "") {
  const node = document.createElementNS(svg.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) {
    node.setAttribute(key, value);
  }
  node.textContent = text;
  svg.append(node);
  return node;
}

function nameOf(token) {
  return content.tokens[token][0];
}

function short(text, most) {
  const characters = Array.from(text);
  return characters.length > most
    ? `${characters.slice(0, most - 1).join("")}…`
    : text;
}

function shade(node, colour, share) {
  const alpha = MOST_SHADE * Math.sqrt(Math.min(1, share));
  node.style.background = `rgba(var(--${colour}), ${alpha})`;
}

// A token as a box; `small` is what stands under it.
function box(kind, token, small) {
  const node = element(kind, {}, nameOf(token), element("small", {}, small));
  if (content.tokens[token][2] === 2) node.classList.add("second");
  return node;
}

// One stop of the Tab key for all buttons; arrows move among them.
function rove(group, columns) {
  const buttons = [...group.querySelectorAll("button")];
  const steps = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -columns,
    ArrowDown: columns,
    Home: -buttons.length,
    End: buttons.length,
  };
  group.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const next = buttons.indexOf(event.target) + step;
    const isJump = Math.abs(step) === buttons.length;
    const last = buttons.length - 1;
    if (!isJump && (next < 0 || next > last)) return;
    buttons[Math.max(0, Math.min(last, next))].focus();
  });
  group.addEventListener("focusin", (event) => {
    for (const button of buttons) {
      button.tabIndex = button === event.target ? 0 : -1;
    }
  });
}

function press(buttons, index) {
  [...buttons].forEach((button, place) => {
    button.setAttribute("aria-pressed", place === index);
    button.tabIndex = place === index ? 0 : -1;
  });
}

// --- All heads -----------------------------------------------------------------

function buildHeads() {
  const node = byId("heads");
  const { heads, groups } = content;
  const columns = `max-content repeat(${heads}, minmax(0, 1fr))`;
  node.style.gridTemplateColumns = columns;
  const name = (text) => element("span", { class: "name" }, text);
  node.append(name(""));
  for (let head = 0; head < heads; ++head) node.append(name(head + 1));
  groups.forEach((groupName, group) => {
    node.append(name(groupName));
    for (let head = 0; head < heads; ++head) {
      node.append(headButton(group, head));
    }
  });
  rove(node, heads);
}

function headButton(group, head) {
  const bits = meanEntropy(group, head);
  const text = `Layer ${content.groups[group]}, head ${head + 1}`;
  const canvas = element("canvas", { width: length, height: length });
  const label = element("span", { class: "bits" }, bits.toFixed(1));
  shade(label, "for", bits / Math.log2(length));
  const button = element(
    "button",
    {
      type: "button",
      title: `${text}: ${bits.toFixed(2)} bits`,
      "aria-label": `${text}: ${bits.toFixed(2)} bits`,
    },
    canvas,
    label,
  );
  button.addEventListener("click", () => choose({ group, head }));
  paint(canvas, group, head);
  return button;
}

// The colour is readable on white and on black: dark mode needs no other.
function paint(canvas, group, head) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(length, length);
  for (let i = 0; i < length * length; ++i) {
    const value = weight(group, head, Math.floor(i / length), i % length);
    image.data.set([47, 129, 214, 255 * Math.sqrt(value)], 4 * i);
  }
  context.putImageData(image, 0, 0);
}

// --- The chosen head -----------------------------------------------------------

function buildTokens() {
  const node = byId("tokens");
  places().forEach((token) => {
    const button = box("button", token, "");
    button.type = "button";
    const tell = () => showStatus(chosen.token, token);
    button.addEventListener("click", () => choose({ token }));
    button.addEventListener("pointerenter", tell);
    button.addEventListener("focus", tell);
    node.append(button);
  });
  node.addEventListener("pointerleave", () => showStatus());
  rove(node, 1);
  for (const input of document.getElementsByName("way")) {
    input.addEventListener("change", () => choose({ way: input.value }));
  }
}

// `other` is looked at by `token`, or the other way round.
function showStatus(token, other) {
  if (other === undefined) {
    byId("status").textContent = "";
    return;
  }
  const [from, to] = chosen.way === "from" ? [token, other] : [other, token];
  const value = weight(chosen.group, chosen.head, from, to).toFixed(6);
  const piece = content.tokens[other][1];
  const isWhole = piece === nameOf(other);
  byId("status").textContent =
    `${nameOf(from)} → ${nameOf(to)}: ${value}` +
    (isWhole ? "" : ` (token ${piece})`);
}

function showHead() {
  const { group, head, token } = chosen;
  const bits = meanEntropy(group, head).toFixed(2);
  const own = entropy(group, head, token).toFixed(2);
  byId("head-title").textContent =
    `Layer ${content.groups[group]}, head ${head + 1}: entropy ${bits} bits, ` +
    `of “${nameOf(token)}” ${own}`;
  press(byId("heads").querySelectorAll("button"), group * content.heads + head);
}

function showTokens() {
  const values = row(chosen.token);
  const buttons = [...byId("tokens").children];
  buttons.forEach((button, token) => {
    shade(button, "for", values[token]);
    button.lastChild.textContent = `${(100 * values[token]).toFixed(0)} %`;
  });
  press(buttons, chosen.token);
  const name = nameOf(chosen.token);
  byId("most-title").textContent =
    chosen.way === "from"
      ? `What “${name}” looks at most`
      : `What looks at “${name}” most`;
  const best = places().sort((a, b) => values[b] - values[a]);
  byId("most").replaceChildren(
    ...best.slice(0, MOST_SHOWN).map((token) => {
      const bar = element("span", { class: "bar" });
      bar.style.width = `${100 * values[token]}%`;
      const share = element("span", { class: "share" });
      share.textContent = values[token].toFixed(6);
      return element("li", {}, bar, element("span", {}, nameOf(token)), share);
    }),
  );
}

// --- The head as a matrix --------------------------------------------------------

const CELL = 16;
const MARGIN = 90; // of the names

function buildMatrix() {
  const svg = byId("matrix");
  const size = CELL * length;
  for (const place of places()) {
    const middle = (place + 0.7) * CELL;
    const name = short(nameOf(place), 8);
    const text = { "font-size": 13 };
    drawing(svg, "text", { ...text, x: -6, y: middle, "text-anchor": "end" }, name);
    drawing(svg, "text", { ...text, transform: `translate(${middle}, -6) rotate(-90)` }, name);
  }
  for (let i = 0; i < length * length; ++i) {
    const [y, x] = [Math.floor(i / length), i % length];
    const at = { x: CELL * x, y: CELL * y, width: CELL, height: CELL };
    drawing(svg, "rect", { class: "cell", ...at });
  }
  drawing(svg, "rect", { class: "frame", width: size, height: size });
  drawing(svg, "rect", { class: "chosen" });
  svg.addEventListener("pointermove", (event) => {
    const [from, to] = cellAt(svg, event);
    showStatus(...(chosen.way === "from" ? [from, to] : [to, from]));
  });
  svg.addEventListener("pointerleave", () => showStatus());
  svg.addEventListener("click", (event) => {
    const [from, to] = cellAt(svg, event);
    choose({ token: chosen.way === "from" ? from : to });
  });
  new ResizeObserver(() => fitMatrix(svg, size)).observe(svg);
}

// Names smaller than 8 pixels are left out, and the cells get their room.
function fitMatrix(svg, size) {
  const isSmall = (svg.clientWidth * 13) / (size + MARGIN) < 8;
  const margin = isSmall ? 1 : MARGIN;
  const side = size + margin + 1;
  svg.setAttribute("viewBox", `${-margin} ${-margin} ${side} ${side}`);
  for (const text of svg.querySelectorAll("text")) {
    text.style.display = isSmall ? "none" : "";
  }
}

// The row and the column under a pointer.
function cellAt(svg, event) {
  const point = new DOMPoint(event.clientX, event.clientY);
  const { x, y } = point.matrixTransform(svg.getScreenCTM().inverse());
  const cell = (z) => Math.max(0, Math.min(length - 1, Math.floor(z / CELL)));
  return [cell(y), cell(x)];
}

function showMatrix() {
  const svg = byId("matrix");
  const { group, head, token, way } = chosen;
  svg.querySelectorAll(".cell").forEach((cell, i) => {
    const value = weight(group, head, Math.floor(i / length), i % length);
    cell.setAttribute("fill-opacity", Math.sqrt(value).toFixed(3));
  });
  const [size, start] = [CELL * length, CELL * token];
  const frame =
    way === "from"
      ? { x: 0, y: start, width: size, height: CELL }
      : { x: start, y: 0, width: CELL, height: size };
  for (const [key, value] of Object.entries(frame)) {
    svg.querySelector(".chosen").setAttribute(key, value);
  }
}

// --- Saliency --------------------------------------------------------------------

function buildSaliency() {
  byId("reason").textContent = content.reason;
  byId("saliency").hidden = content.predictions.length === 0;
  content.predictions.forEach(([label], index) => {
    byId("prediction").append(element("option", { value: index }, label));
  });
  byId("prediction").addEventListener("change", showSaliency);
}

function showSaliency() {
  const found = content.predictions[byId("prediction").value];
  if (!found) return;
  const [, place, values] = found;
  const most = Math.max(...values.map(Math.abs)) || 1;
  byId("salient").replaceChildren(
    ...values.map((value, token) => {
      const sign = value < 0 ? "−" : "+";
      const node = box("span", token, sign + Math.abs(value).toPrecision(2));
      const share = Math.abs(value) / most;
      shade(node, value < 0 ? "against" : "for", share * share);
      if (token === place) node.setAttribute("aria-current", "true");
      return node;
    }),
  );
}

// --- Neighbours ------------------------------------------------------------------

function showAlike() {
  const { token } = chosen;
  const { places: near, cosines } = content.neighbours;
  byId("alike-title").textContent = `Nearest to “${nameOf(token)}”`;
  const line = (name, pairs) => [
    element("dt", {}, name),
    element(
      "dd",
      {},
      ...pairs.map(([text, cosine]) => {
        const share = element("span", { class: "share" }, cosine.toFixed(3));
        return element("span", {}, text, share);
      }),
    ),
  ];
  const names = ["Embeddings", ...content.layers.map((n) => `Layer ${n}`)];
  byId("alike").replaceChildren(
    ...line("Vocabulary", content.alike[token]),
    ...names.flatMap((name, state) =>
      line(
        name,
        near[state][token].map((other, k) => [
          nameOf(other),
          cosines[state][token][k],
        ]),
      ),
    ),
  );
}

// --- What a token may see ----------------------------------------------------------

const MASKS = {
  both: [[() => true, "ahead"]],
  left: [[(from, to) => to <= from, "ahead"]],
  pair: [
    [(from, to) => to <= from, "ahead"],
    [(from, to) => to >= from, "back"],
  ],
};
const MASK_OF = { "": "both", left_to_right: "left", both: "pair" };

function buildMasks() {
  for (const svg of document.querySelectorAll("[data-mask]")) {
    const kind = svg.dataset.mask;
    svg.setAttribute("viewBox", "0 0 300 190");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", svg.nextElementSibling.textContent);
    const stacks = MASKS[kind];
    stacks.forEach(([sees, name], index) => {
      const width = 300 / stacks.length;
      drawStack(svg, index * width, width, sees, name);
    });
    if (kind !== MASK_OF[content.direction]) continue;
    svg.parentNode.classList.add("is-this");
    const mark = element("strong", {}, " (this checkpoint)");
    svg.nextElementSibling.append(mark);
  }
  const notes = [];
  if (content.direction === "right_to_left") {
    notes.push("This checkpoint is the mirror image of the second one.");
  }
  if (content.window) {
    notes.push(
      `In some layers a token sees ${content.window / 2} tokens to either side.`,
    );
  }
  byId("masks-note").textContent = notes.join(" ");
}

// Two layers of nodes over the first tokens, and a line where one sees another.
function drawStack(svg, left, width, sees, name) {
  const count = Math.min(length, Math.round((IN_FIGURE * width) / 300) + 1);
  const shown = places().slice(0, count);
  const x = (place) => left + (width * (place + 0.5)) / count;
  const y = (level) => 145 - 60 * level;
  for (const level of [0, 1]) {
    for (const from of shown) {
      for (const to of shown.filter((other) => sees(from, other))) {
        const line = { x1: x(to), y1: y(level), x2: x(from), y2: y(level + 1) };
        drawing(svg, "line", { class: name, ...line });
      }
    }
  }
  for (const place of shown) {
    for (const level of [0, 1, 2]) {
      drawing(svg, "circle", { cx: x(place), cy: y(level), r: 6 });
    }
    const at = { x: x(place), y: 172, "text-anchor": "middle" };
    const name = short(nameOf(place), 5);
    const text = drawing(svg, "text", { ...at, "font-size": 12 }, name);
    const room = width / count - 3;
    if (text.getComputedTextLength() > room) {
      text.setAttribute("textLength", room);
      text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
  }
}

// --- All together ------------------------------------------------------------------

function choose(change) {
  Object.assign(chosen, change);
  showStatus();
  showHead();
  showTokens();
  showMatrix();
  if ("token" in change) showAlike();
}

function build() {
  byId("subtitle").textContent =
    `${content.name} (${content.head}), ${length} tokens, ` +
    `${content.layers.length} layers of ${content.heads} heads`;
  byId("cut").hidden = content.numCut === 0;
  byId("cut").textContent =
    `The text goes on: ${content.numCut} tokens have been cut off.`;
  byId("main").hidden = false;
  buildHeads();
  buildTokens();
  buildMatrix();
  buildSaliency();
  buildMasks();
  choose({ token: Math.min(1, length - 1) });
  showSaliency();
}

async function main() {
  try {
    content = JSON.parse(new TextDecoder().decode(await inflate("content")));
    weights = joinPlanes(await inflate("attention"));
    length = content.tokens.length;
    build();
  } catch (error) {
    byId("error").textContent =
      "This page needs a browser of 2023 or later: " + error.message;
    byId("error").hidden = false;
  }
}

const ready = main();
