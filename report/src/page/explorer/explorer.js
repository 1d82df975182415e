// Shows the chosen phase of the chosen run, values at the pointer and at the keyboard's focus, and
// sorts tables. All that it writes is text: names are never markup.
"use strict";
(async () => {
  const svgOf = "http://www.w3.org/2000/svg";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const significant = (value) => String(Number(value.toPrecision(3)));
  const scaled = (value, unit) => {
    const multiples = ["", "k", "M", "G", "T", "P", "E"];
    let at = 0;
    for (; Math.abs(value) >= 999.5 && at < multiples.length - 1; at += 1) value /= 1000;
    return `${significant(value)} ${multiples[at]}${unit}`;
  };
  const seconds = (value) => {
    const [factor, unit] = value >= 1 || value === 0 ? [1, "s"] : value >= 1e-3 ? [1e3, "ms"] : value >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
    return `${significant(value * factor)} ${unit}`;
  };

  // Tables: a heading sorts by its column, once more the other way round.
  for (const table of all("table.sortable")) {
    all("thead th", table).forEach((heading, column) => {
      const button = document.createElement("button");
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [key(row), row]);
        rows.sort(([a], [b]) => {
          // Empty cells come last either way.
          if (a === "" || b === "") return (a === "") - (b === "");
          const order = a - b;
          return (Number.isNaN(order) ? a.localeCompare(b) : order) * (down ? -1 : 1);
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  // Drawings with items: the pointer's item, or the one that arrow keys reach, is told below.
  const readable = (svg, items, about) => {
    const readout = svg.parentElement.querySelector(".readout") ?? svg.parentElement.insertAdjacentElement("afterend", Object.assign(document.createElement("p"), { className: "readout" }));
    readout.setAttribute("aria-live", "polite");
    let at = -1;
    const tell = (item) => {
      all(".chosen", svg).forEach((other) => other.classList.remove("chosen"));
      item?.classList.add("chosen");
      readout.textContent = item ? about(item) : "";
    };
    svg.tabIndex = 0;
    svg.addEventListener("pointerover", (event) => { if (items().includes(event.target)) tell(event.target); });
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const list = items();
      if (!step || list.length === 0) return;
      event.preventDefault();
      at = (at + step + list.length) % list.length;
      tell(list[at]);
    });
    svg.addEventListener("blur", () => { at = -1; tell(null); });
    return () => { at = -1; tell(null); };
  };
  for (const svg of all("svg.items")) {
    const { left, second } = svg.dataset;
    const about = (item) => {
      const name = item.parentElement.dataset.about;
      if (second === undefined) return name;
      const [from, length] = [item.x.baseVal.value - left, item.width.baseVal.value];
      const part = item.getAttribute("opacity");
      const filled = part && part < 1 ? `, up to ${Math.round(part * 100)} % of it` : "";
      return `${name}: ${seconds(Math.max(0, from / second))} to ${seconds((from + length) / second)}${filled}`;
    };
    readable(svg, () => all("g[data-about] rect", svg), about);
  }

  const block = document.getElementById("data");
  if (!block || typeof DecompressionStream === "undefined") return;
  const bytes = Uint8Array.from(atob(block.textContent), (c) => c.charCodeAt(0));
  const data = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  const [runs, phases] = [document.getElementById("run"), document.getElementById("phase")];
  let spot = null;

  // Maps: the values of the chosen phase on the lines, which are told the most used first.
  const valueText = (value) => (spot.shares ? `${significant(value * 100)} %` : scaled(value, "B"));
  const most = (line) => Math.max(spot.map[2 * line], spot.map[2 * line + 1]);
  const forget = [];
  for (const figure of all("[data-map]")) {
    const svg = figure.querySelector("svg");
    const lines = all(".links path", svg);
    const names = data.maps[figure.dataset.map];
    const about = (item) => {
      const line = lines.indexOf(item);
      const [a, b] = [names[2 * line], names[2 * line + 1]];
      if (!spot?.map) return `${a} – ${b}`;
      return `${a} → ${b}: ${valueText(spot.map[2 * line])}; ${b} → ${a}: ${valueText(spot.map[2 * line + 1])}`;
    };
    const order = () => (spot?.map ? lines.map((item, line) => [most(line), item]).sort((x, y) => y[0] - x[0]).map(([, item]) => item) : lines);
    forget.push(readable(svg, order, about));
  }
  const drawMap = (figure) => {
    all(".links path", figure).forEach((path, line) => {
      const share = spot?.map && data.most > 0 ? Math.min(1, most(line) / data.most) : 0;
      path.classList.toggle("hot", share > 0);
      if (share > 0) {
        path.setAttribute("stroke-width", (1 + 5 * share).toFixed(1));
        path.setAttribute("opacity", (0.15 + 0.85 * share).toFixed(2));
      } else {
        path.removeAttribute("stroke-width");
        path.removeAttribute("opacity");
      }
    });
  };

  // Matrices: the colour of a pixel tells its value.
  const colours = new Map();
  for (let at = 0; at < data.palette.length; at += 3) colours.set(data.palette.slice(at, at + 3).join(), at / 3);
  for (const figure of all("[data-matrix]")) {
    const about = data.matrices[figure.dataset.matrix];
    const [svg, image, readout] = ["svg", "image", ".readout"].map((selector) => figure.querySelector(selector));
    if (!about || !image) continue;
    const cursor = document.createElementNS(svgOf, "rect");
    const cell = 240 / about.side;
    cursor.setAttribute("class", "cursor");
    svg.append(cursor);
    let [pixels, row, column] = [null, 0, 0];
    const load = async () => {
      const picture = new Image();
      picture.src = image.getAttribute("href");
      await picture.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: about.side, height: about.side });
      const context = canvas.getContext("2d");
      context.drawImage(picture, 0, 0);
      pixels = context.getImageData(0, 0, about.side, about.side).data;
    };
    const ranks = (at) => {
      const [from, to] = [Math.ceil((at * about.ranks) / about.side), Math.ceil(((at + 1) * about.ranks) / about.side) - 1];
      return from === to ? `rank ${from}` : `ranks ${from}–${to}`;
    };
    const value = (amount) => (about.unit === "B" ? scaled(amount, "B") : `${amount} ${about.unit}`);
    const tell = async () => {
      if (!pixels) await load();
      const at = 4 * (row * about.side + column);
      const colour = colours.get([pixels[at], pixels[at + 1], pixels[at + 2]].join());
      const range = colour > 0 ? about.values[colour - 1] : null;
      const text = range ? (range[0] === range[1] ? value(range[0]) : `${value(range[0])} to ${value(range[1])}`) : "nothing";
      for (const [name, amount] of [["x", 46 + column * cell], ["y", 8 + row * cell], ["width", cell], ["height", cell]]) cursor.setAttribute(name, amount);
      readout.textContent = `${ranks(row)} → ${ranks(column)}: ${text}`;
    };
    svg.tabIndex = 0;
    readout.setAttribute("aria-live", "polite");
    svg.addEventListener("pointermove", (event) => {
      const box = image.getBoundingClientRect();
      const place = (from, length, at) => Math.floor(((at - from) / length) * about.side);
      const [x, y] = [place(box.left, box.width, event.clientX), place(box.top, box.height, event.clientY)];
      if (x < 0 || y < 0 || x >= about.side || y >= about.side) return;
      [row, column] = [y, x];
      tell();
    });
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      if (!step) return;
      event.preventDefault();
      row = Math.min(about.side - 1, Math.max(0, row + step[0]));
      column = Math.min(about.side - 1, Math.max(0, column + step[1]));
      tell();
    });
    svg.addEventListener("focus", tell);
  }

  // The loads of the chosen run over those of the others.
  const drawLoads = (figure) => {
    const svg = figure.querySelector("svg");
    svg.querySelector(".picked")?.remove();
    if (!spot?.curve?.length) return;
    const [left, bottom, wide, high] = svg.dataset.frame.split(" ").map(Number);
    let path = "";
    for (let at = 0; at < spot.curve.length; at += 2) {
      const [x, y] = [(left + spot.curve[at] * wide).toFixed(1), (bottom - spot.curve[at + 1] * high).toFixed(1)];
      path += at === 0 ? `M${x} ${y}` : `H${x}V${y}`;
    }
    const line = document.createElementNS(svgOf, "path");
    line.setAttribute("class", "line picked");
    line.setAttribute("d", path);
    svg.append(line);
  };

  const show = () => {
    const run = data.runs[runs.value];
    spot = data.spots[run.spots[phases.value]] ?? null;
    document.getElementById("facts").textContent = spot ? spot.facts : "This run does not have this phase.";
    forget.forEach((done) => done());
    let drawn = false;
    for (const figure of all("[data-matrix]")) {
      figure.hidden = figure.dataset.matrix !== phases.value;
      drawn ||= !figure.hidden;
    }
    document.querySelector("#explore .missing").hidden = drawn;
    for (const figure of all("[data-loads]")) {
      figure.hidden = figure.dataset.loads !== phases.value;
      if (!figure.hidden) drawLoads(figure);
    }
    for (const figure of all("[data-map]")) {
      figure.hidden = Number(figure.dataset.map) !== run.map;
      if (!figure.hidden) drawMap(figure);
    }
    const rows = (spot?.links ?? []).map((cells) => {
      const row = document.createElement("tr");
      cells.forEach((text, column) => { Object.assign(row.insertCell(), { textContent: text, className: column ? "n" : "" }); });
      return row;
    });
    document.querySelector("#links tbody").replaceChildren(...rows);
  };
  // A link to a phase of a run: #run=1&workload=0&phase=3.
  const follow = () => {
    const wanted = new URLSearchParams(location.hash.slice(1));
    if (!wanted.has("run")) return;
    const run = all("option", runs).find((option) => option.dataset.run === wanted.get("run"));
    const phase = all("option", phases).find((option) =>
      (option.dataset.workload ?? "") === wanted.get("workload") && decodeURIComponent(option.dataset.phase ?? "") === wanted.get("phase"));
    if (!run || !phase) return;
    [runs.value, phases.value] = [run.value, phase.value];
    show();
    document.getElementById("explore").scrollIntoView();
  };
  const chosen = () => {
    const [run, phase] = [runs.selectedOptions[0].dataset, phases.selectedOptions[0].dataset];
    history.replaceState(null, "", `#run=${run.run}&workload=${phase.workload ?? ""}&phase=${phase.phase ?? ""}`);
    show();
  };
  runs.addEventListener("change", chosen);
  phases.addEventListener("change", chosen);
  window.addEventListener("hashchange", follow);
  document.querySelector("#explore .choice").hidden = false;
  show();
  follow();
})();
