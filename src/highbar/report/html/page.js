// Opens, filters and searches the failed scenarios. Texts are only ever set as text, and data is only ever an array.
const dataOf = (id) => {
  const holder = find(id);
  return holder && typeof DecompressionStream !== "undefined" ? JSON.parse(holder.textContent) : null;
};

(async () => {
  const data = dataOf("everything");
  if (!data) return;
  const rows = await unpack(data.rows);
  const body = document.querySelector("table.all tbody");
  let first = 0;
  const row = ([id, ...cells]) => {
    const made = make("tr");
    const head = make("th");
    head.scope = "row";
    head.append(make("code", id));
    made.append(head, ...cells.map((cell) => make("td", cell)));
    return made;
  };
  const turn = (pages) => {
    first = Math.max(0, first + pages * data.page);
    const last = Math.min(first + data.page, rows.length);
    body.replaceChildren(...rows.slice(first, last).map(row));
    find("all-place").textContent = `${first + 1} to ${last} of ${rows.length}`;
    find("all-previous").disabled = first === 0;
    find("all-next").disabled = last >= rows.length;
  };
  find("all-previous").addEventListener("click", () => turn(-1));
  find("all-next").addEventListener("click", () => turn(1));
  find("all-pager").hidden = rows.length <= data.page;
  turn(0);
})();

(async () => {
  const data = dataOf("data");
  if (!data) return;
  const blocks = new Map();
  const block = (number) => {
    if (!blocks.has(number)) blocks.set(number, unpack(data.blocks[number]));
    return blocks.get(number);
  };
  const trialsOf = async (place) => (await block(Math.floor(place / data.block)))[place % data.block];

  const [ID, CATEGORY, REASON, TRIALS, SUCCEEDED, KINDS] = [0, 1, 2, 3, 4, 5];
  const index = await unpack(data.index);
  const list = document.querySelector("ul.scenarios");
  const [tools, pager, search, category, kind] = ["tools", "pager", "search", "category", "kind"].map(find);
  let found = index.map((row, place) => place);
  let first = 0;
  let texts = null;
  let only = null;

  // --- one scenario --------------------------------------------------------------------------
  const row = (place) => {
    const scenario = index[place];
    const summary = make("summary");
    summary.append(make("code", scenario[ID]));
    if (scenario[KINDS].includes("r")) summary.append(make("span", "required", "chip strong"));
    if (scenario[KINDS].includes("q")) summary.append(make("span", "quarantined", "chip strong"));
    if (scenario[CATEGORY]) summary.append(make("span", scenario[CATEGORY], "chip"));
    if (scenario[TRIALS] > 1) {
      summary.append(make("span", `${scenario[SUCCEEDED]} of ${scenario[TRIALS]} trials passed`, "chip"));
    }
    summary.append(make("span", scenario[REASON], "reason"));
    const details = make("details");
    details.append(summary);
    details.addEventListener("toggle", async () => {
      if (!details.open || details.childElementCount > 1) return;
      const trials = await trialsOf(place);
      if (details.childElementCount > 1) return;
      details.append(...trials.map((trial) => opened(trial, scenario[TRIALS])));
      if (trials.length < scenario[TRIALS]) details.append(make("p", `… and ${scenario[TRIALS] - trials.length} more trials`, "dim"));
    });
    const item = make("li");
    item.append(details);
    return item;
  };

  const opened = (trial, count) => {
    const [number, passed, reason, input, output, expected, other, happened, mustNot, wanted, got, error, took, evidence] = trial;
    const said = new Map(evidence);
    const why = (name) => said.has(name) ? `: ${said.get(name)}` : "";
    const part = make("div", undefined, passed ? "trial passed" : "trial failed");
    const named = count > 1 ? `Trial ${number}: ${passed ? "passed" : "did not pass"}` : passed ? "Passed" : "Did not pass";
    part.append(make("h3", took ? `${named}, ${took}` : named));
    if (reason && count > 1) part.append(make("p", reason));
    excerpt(part, "Input", input);
    excerpt(part, "Output", output);
    if (error) excerpt(part, "Error", [error, 0]);
    entries(part, "Expected behaviors", expected.map(([name, seen]) => seen ? [`✓ ${name}${why(name)}`, "seen"] : [`✕ ${name} (not observed)${why(name)}`, "absent"]));
    entries(part, "Observed besides", other.map((name) => [name, ""]));
    entries(part, "Violations", happened.map((name) => [`✕ ${name}${why(name)}`, "happened"]));
    entries(part, "Avoided, as demanded", mustNot.map((name) => [name, ""]));
    if (wanted || got) entries(part, "Answer", [[answered(wanted, got), ""]]);
    else if (said.has("answer")) entries(part, "Answer", [[said.get("answer"), ""]]);
    return part;
  };
  const answered = (wanted, got) => {
    if (wanted && wanted === got) return `the agent answered ${got}, which is right`;
    return `the right answer is ${wanted || "not recorded"}; the agent answered ${got || "nothing"}`;
  };
  const excerpt = (part, title, text) => {
    if (!text) return;
    const shown = make("pre", text[0] || "(empty)");
    shown.tabIndex = 0;
    shown.setAttribute("role", "group");
    shown.setAttribute("aria-label", title);
    part.append(make("h4", title), shown);
    if (text[1]) part.append(make("p", `… and ${text[1]} more characters`, "dim"));
  };
  const entries = (part, title, names) => {
    if (!names.length) return;
    const listed = make("ul");
    listed.append(...names.map(([name, look]) => make("li", name, look)));
    part.append(make("h4", title), listed);
  };

  // --- the list ------------------------------------------------------------------------------
  const show = () => {
    let before = null;
    list.replaceChildren(...found.slice(first, first + data.page).flatMap((place) => {
      const group = data.groups[index[place][KINDS][0]];
      const headed = group === before ? [] : [make("li", group, "group")];
      before = group;
      return [...headed, row(place)];
    }));
    const last = Math.min(first + data.page, found.length);
    find("status").textContent = found.length === index.length ? `${index.length} scenarios` : `${found.length} of ${index.length} scenarios`;
    find("place").textContent = found.length ? `${first + 1} to ${last} of ${found.length}` : "none";
    find("previous").disabled = first === 0;
    find("next").disabled = last >= found.length;
    pager.hidden = found.length <= data.page;
  };
  const turn = (pages) => {
    first = Math.max(0, first + pages * data.page);
    show();
    list.querySelector("summary")?.focus();
    find("failed").scrollIntoView();
  };
  const haystack = async () => {
    if (texts) return texts;
    const all = await Promise.all(data.blocks.map((_, number) => block(number)));
    const words = (value) => Array.isArray(value) ? value.map(words).join("\n") : String(value ?? "");
    texts = all.flat().map((trials, place) => (words(index[place].slice(ID, TRIALS)) + "\n" + words(trials)).toLowerCase());
    return texts;
  };
  let asked = 0;
  const filter = async () => {
    const now = ++asked;
    const wanted = search.value.trim().toLowerCase();
    const hay = wanted ? await haystack() : null;
    if (now !== asked) return;
    const chosen = category.selectedIndex > 0 ? categories[category.selectedIndex - 1] : null;
    found = [];
    index.forEach((scenario, place) => {
      if (chosen !== null && scenario[CATEGORY] !== chosen) return;
      if (kind.value && !scenario[KINDS].includes(kind.value)) return;
      if (hay && !hay[place].includes(wanted)) return;
      if (only && !only.has(scenario[ID])) return;
      found.push(place);
    });
    first = 0;
    show();
    find("status").dataset.search = wanted;
  };

  const counted = new Map();
  for (const scenario of index) counted.set(scenario[CATEGORY], (counted.get(scenario[CATEGORY]) ?? 0) + 1);
  const categories = [...counted.keys()].sort();
  category.append(...categories.map((name) => make("option", `${name || "(none)"} (${counted.get(name)})`)));
  category.closest("label").hidden = categories.length < 2;

  const chosen = () => {
    only = null;
    filter();
  };
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(chosen, 120);
  });
  category.addEventListener("change", chosen);
  kind.addEventListener("change", chosen);
  find("previous").addEventListener("click", () => turn(-1));
  find("next").addEventListener("click", () => turn(1));

  // --- from a demand to the scenarios behind it ----------------------------------------------
  for (const link of document.querySelectorAll("a.broken")) {
    link.addEventListener("click", () => {
      kind.value = link.dataset.kind ?? "";
      search.value = "";
      only = link.dataset.ids === undefined ? null : new Set(JSON.parse(link.dataset.ids));
      category.selectedIndex = link.dataset.category === undefined ? 0 : categories.indexOf(link.dataset.category) + 1;
      filter();
    });
  }

  // --- keys ----------------------------------------------------------------------------------
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !typing) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape" && event.target === search) {
      search.value = "";
      filter();
    } else if (event.key === "Escape") {
      const details = event.target.closest("ul.scenarios details[open]");
      if (details) {
        details.open = false;
        details.querySelector("summary").focus();
      }
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target.matches("ul.scenarios summary")) {
      event.preventDefault();
      const item = event.target.closest("li");
      const step = (from) => event.key === "ArrowDown" ? from.nextElementSibling : from.previousElementSibling;
      let next = step(item);
      while (next?.matches(".group")) next = step(next);
      next?.querySelector("summary").focus();
    }
  });

  tools.hidden = false;
  find("quiet").hidden = true;
  show();
})();
