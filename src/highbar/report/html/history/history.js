// Filters, searches and moves the focus. Texts are only ever set as text, and data is only ever an array.
const draw = (name, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const counted = (some, all, noun) => `${some === all ? "" : `${some} of `}${all} ${noun}${all === 1 ? "" : "s"}`;

(async () => {
  if (typeof DecompressionStream === "undefined") return;
  const data = JSON.parse(find("data").textContent);
  const [DAY, VERDICT, BRANCH, VERSION, LABEL, FACTS] = [0, 1, 2, 3, 4, 5];
  const runs = await unpack(data.runs);
  const rows = await unpack(data.rows);
  const [left, right, bottom] = data.chart;
  const [cell, height, pageLength] = data.cell;
  const step = (right - left) / runs.length;
  const buttons = [...document.querySelectorAll("#strip button")];
  const charts = [...document.querySelectorAll("svg.trend")];
  const [branch, version, verdict, from, to] = ["branch", "version", "verdict", "from", "to"].map(find);
  let visible = runs.map(() => true);
  let chosen = runs.length - 1;

  // --- one run -------------------------------------------------------------------------------
  const choose = (place, focus) => {
    buttons[chosen].tabIndex = -1;
    buttons[chosen].removeAttribute("aria-current");
    chosen = place;
    buttons[place].tabIndex = 0;
    buttons[place].setAttribute("aria-current", "true");
    if (focus) buttons[place].focus();
    const list = make("dl");
    for (const [term, text] of runs[place][FACTS]) list.append(make("dt", term), make("dd", text));
    find("run").replaceChildren(list);
    for (const line of document.querySelectorAll("line.chosen")) {
      line.setAttribute("transform", `translate(${left + (place + 0.5) * step} 0)`);
      line.classList.add("on");
    }
    point();
  };
  const move = (key, places, at) => {
    const here = places.indexOf(at);
    const next = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: places.length - 1 }[key];
    return next === undefined ? undefined : places[Math.min(Math.max(next, 0), places.length - 1)];
  };
  const shownRuns = () => runs.map((_, place) => place).filter((place) => visible[place]);
  find("strip").addEventListener("keydown", (event) => {
    const next = move(event.key, shownRuns(), chosen);
    if (next === undefined) return;
    event.preventDefault();
    choose(next, true);
  });
  find("strip").addEventListener("click", (event) => {
    const place = buttons.indexOf(event.target);
    if (place >= 0) choose(place, true);
  });
  for (const chart of charts) {
    chart.addEventListener("click", (event) => {
      const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse()).x;
      const distance = (place) => Math.abs(left + (place + 0.5) * step - x);
      const places = shownRuns();
      if (places.length) choose(places.reduce((best, place) => distance(place) < distance(best) ? place : best), false);
    });
    chart.parentElement.scrollLeft = chart.parentElement.scrollWidth;
  }

  // --- scenarios -----------------------------------------------------------------------------
  const [ID, CATEGORY, EARLIER, UNSTABLE, FAILED, STATES, COUNTS] = [0, 1, 2, 3, 4, 5, 6];
  const body = find("rows");
  let found = rows.map((_, place) => place);
  let first = 0;
  let columns = data.columns.map((_, place) => place);
  const bars = (states) => {
    const paths = {};
    for (let start = 0; start < columns.length;) {
      const letter = states[columns[start]];
      let end = start;
      while (end < columns.length && states[columns[end]] === letter) end += 1;
      if (letter !== ".") {
        const [y, high] = data.bars[letter];
        const width = cell * (end - start);
        paths[letter] = `${paths[letter] ?? ""}M${cell * start} ${y}h${width}v${high}h-${width}z`;
      }
      start = end;
    }
    return Object.entries(paths).map(([letter, d]) => draw("path", { d, class: letter }));
  };
  const row = (place) => {
    const scenario = rows[place];
    const head = make("th");
    head.scope = "row";
    head.append(make("code", scenario[ID]));
    if (scenario[CATEGORY]) head.append(make("span", scenario[CATEGORY], "chip"));
    if (scenario[EARLIER]) head.append(make("span", "earlier text", "chip"));
    const drawing = draw("svg", {
      viewBox: `0 0 ${cell * Math.max(columns.length, 1)} ${height}`, preserveAspectRatio: "none", role: "img", tabindex: -1,
    });
    drawing.setAttribute("aria-label", `${scenario[ID]}: failed in ${scenario[FAILED]}`);
    drawing.append(...bars(scenario[STATES]));
    const last = make("td");
    last.append(drawing);
    const made = make("tr");
    made.append(head, make("td", scenario[UNSTABLE]), make("td", scenario[FAILED]), last);
    return made;
  };
  const show = () => {
    if (!body) return;
    body.replaceChildren(...found.slice(first, first + pageLength).map(row));
    body.querySelector("svg")?.setAttribute("tabindex", 0);
    const last = Math.min(first + pageLength, found.length);
    find("status").textContent = counted(found.length, rows.length, "scenario");
    find("place").textContent = found.length ? `${first + 1} to ${last} of ${found.length}` : "none";
    find("previous").disabled = first === 0;
    find("next").disabled = last >= found.length;
    find("pager").hidden = found.length <= pageLength;
    point();
  };
  const column = () => columns.findIndex((place) => data.columns[place] === chosen);
  const point = () => {
    if (!body) return;
    const at = column();
    for (const old of body.querySelectorAll(".cursor")) old.remove();
    if (at < 0) return;
    for (const drawing of body.querySelectorAll("svg")) drawing.append(draw("rect", { x: cell * at, y: 0, width: cell, height, class: "cursor" }));
  };
  const tell = (drawing) => {
    const scenario = rows[found[first + [...body.rows].indexOf(drawing.closest("tr"))]];
    const at = column();
    if (at < 0) {
      find("cell").textContent = `${scenario[ID]}: the chosen run is not drawn here`;
      return;
    }
    const states = scenario[STATES];
    const place = columns[at];
    let said = "not in this run";
    if (states[place] !== ".") {
      const before = [...states.slice(0, place)].filter((letter) => letter !== ".").length;
      const [passed, failed, open] = scenario[COUNTS][before];
      said = `${passed} of ${passed + failed + open} trials passed${open ? `, ${open} undecided` : ""}`;
    }
    find("cell").textContent = `${scenario[ID]}: ${said}. Run: ${runs[chosen][LABEL]}`;
  };
  if (body) {
    body.addEventListener("focusin", (event) => {
      if (event.target.matches("svg")) tell(event.target);
    });
    body.addEventListener("click", (event) => {
      const drawing = event.target.closest("svg");
      if (!drawing || !columns.length) return;
      const box = drawing.getBoundingClientRect();
      const at = Math.floor((event.clientX - box.left) / box.width * columns.length);
      choose(data.columns[columns[Math.min(Math.max(at, 0), columns.length - 1)]], false);
      enter(drawing);
      tell(drawing);
    });
    const enter = (drawing) => {
      for (const each of body.querySelectorAll("svg")) each.setAttribute("tabindex", -1);
      drawing.setAttribute("tabindex", 0);
      drawing.focus();
    };
    body.addEventListener("keydown", (event) => {
      const drawing = event.target.closest("svg");
      if (!drawing) return;
      const line = drawing.closest("tr");
      const other = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling }[event.key];
      const places = columns.map((place) => data.columns[place]);
      const next = other === undefined ? move(event.key, places, places.includes(chosen) ? chosen : places.at(-1)) : undefined;
      if (other === undefined && next === undefined) return;
      event.preventDefault();
      if (other) enter(other.querySelector("svg"));
      if (next !== undefined) {
        choose(next, false);
        tell(drawing);
      }
    });
    const search = find("search");
    const seek = () => {
      const wanted = search.value.trim().toLowerCase();
      found = rows.map((_, place) => place).filter((place) => `${rows[place][ID]}\n${rows[place][CATEGORY]}`.toLowerCase().includes(wanted));
      first = 0;
      show();
    };
    search.addEventListener("input", seek);
    const turn = (pages) => {
      first = Math.max(0, first + pages * pageLength);
      show();
      find("scenarios").scrollIntoView();
    };
    find("previous").addEventListener("click", () => turn(-1));
    find("next").addEventListener("click", () => turn(1));
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/" && !/^(INPUT|SELECT)$/.test(event.target.tagName)) {
        event.preventDefault();
        search.focus();
      } else if (event.key === "Escape" && event.target === search) {
        search.value = "";
        seek();
      }
    });
    find("heat-tools").hidden = false;
    if (find("quiet")) find("quiet").hidden = true;
  }

  // --- filters -------------------------------------------------------------------------------
  const filter = () => {
    const rest = runs.map((run) => (!version.value || run[VERSION] === Number(version.value))
      && (!verdict.value || run[VERDICT] === verdict.value) && (!from.value || run[DAY] >= from.value) && (!to.value || run[DAY] <= to.value));
    visible = runs.map((run, place) => rest[place] && (!branch.value || run[BRANCH] === Number(branch.value)));
    buttons.forEach((button, place) => { button.parentElement.hidden = !visible[place]; });
    const places = shownRuns();
    find("shown").textContent = counted(places.length, runs.length, "run");
    // Columns of runs that are left out are cut out of the charts; a line never bridges them.
    const clip = find("shown-columns");
    const cut = rest.includes(false);
    clip.replaceChildren(...places.map((place) => draw("rect", { x: left + place * step, y: 0, width: step, height: bottom + 10 })));
    const clipped = (group, on) => on ? group.setAttribute("clip-path", "url(#shown-columns)") : group.removeAttribute("clip-path");
    for (const group of document.querySelectorAll("g.track")) {
      group.toggleAttribute("hidden", Boolean(branch.value) && group.dataset.branch !== branch.value);
      clipped(group, cut);
    }
    for (const group of document.querySelectorAll("g.others")) clipped(group, cut || Boolean(branch.value));
    columns = data.columns.map((_, place) => place).filter((place) => visible[data.columns[place]]);
    if (places.length && !visible[chosen]) choose(places.at(-1), false);
    if (!places.length) find("run").replaceChildren(make("p", "No run is left."));
    else if (!find("run").querySelector("dl")) choose(chosen, false);
    show();
  };
  for (const each of [branch, version, verdict, from, to]) each.addEventListener("change", filter);
  find("filters").addEventListener("submit", (event) => event.preventDefault());
  find("filters").addEventListener("reset", () => setTimeout(filter));
  find("filters").hidden = false;
  find("strip").dataset.ready = "true";
  filter();
})();
