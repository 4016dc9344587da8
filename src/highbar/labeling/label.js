// Asks about one trial at a time. Texts are only ever set as text, never as markup. What the judge said is in `samples`.
// That is packed, and opened only to save: people who label do not see it, but anyone who looks for it can find it.

(async () => {
  const LONGEST = 20000;
  const [ID, TRIAL, SHOWN, STATEMENTS, MESSAGES] = [0, 1, 2, 3, 4];
  const data = JSON.parse(find("data").textContent);
  const asked = await unpack(data.asked);
  const trials = asked.trials;
  const steps = trials.flatMap((trial, place) => trial[STATEMENTS].map((statement, number) => [place, number]));
  const placeOf = new Map(trials.map((trial, place) => [JSON.stringify([String(trial[ID]), trial[TRIAL]]), place]));
  const people = new Map();
  const others = new Map();
  const days = new Map();
  const history = [];
  let by = "";
  let at = 0;
  let shown = -1;
  let unsaved = 0;
  let given = [];

  // --- what was answered ---------------------------------------------------------------------
  const answersOf = (name) => {
    if (!people.has(name)) people.set(name, new Map());
    return people.get(name);
  };
  const key = ([place, number]) => `${place} ${number}`;
  // The day on which a person answered, in UTC: a policy does not count old labels of another run.
  const dayKey = (who, step) => JSON.stringify([who, step]);
  const setDay = (who, step, day) => (day ? days.set(dayKey(who, step), day) : days.delete(dayKey(who, step)));
  const answered = () => steps.filter((step) => answersOf(by).has(key(step))).length;
  const nextOpen = (from) => {
    for (let step = 0; step < steps.length; step += 1) {
      const next = (from + step) % steps.length;
      if (!answersOf(by).has(key(steps[next]))) return next;
    }
    return -1;
  };

  // --- what the browser stores ---------------------------------------------------------------
  const name = `highbar labels ${data.key}`;
  const listed = () => [...people].map(([who, answers]) => [who, [...answers]]);
  const store = () => {
    const kept = { by, unsaved, given, others: [...others.values()], people: listed(), days: [...days] };
    try {
      localStorage.setItem(name, JSON.stringify(kept));
    } catch {
      note("This browser stores no answers of this page: save before you close it.");
    }
  };
  const restore = () => {
    try {
      const kept = JSON.parse(localStorage.getItem(name) ?? "null");
      if (!kept) return "";
      for (const line of kept.others) keep(line, JSON.parse(line));
      const stored = new Map(kept.days ?? []);
      const before = new Map((kept.given ?? []).map(([who, answers]) => [who, new Map(answers)]));
      let replaced = 0;
      for (const [who, answers] of kept.people) {
        for (const [step, observed] of answers) {
          const found = answersOf(who).get(step);
          // If the file has another answer than when this browser stored its own, somebody changed it later.
          if (found === undefined || found === before.get(who)?.get(step)) {
            answersOf(who).set(step, observed);
            setDay(who, step, stored.get(dayKey(who, step)));
          } else if (found !== observed) replaced += 1;
        }
      }
      if (replaced) note(`Newer answers of the file replaced answers of this browser: ${replaced}.`);
      unsaved = kept.unsaved;
      return kept.by;
    } catch {
      return "";
    }
  };

  // --- labels of a file ----------------------------------------------------------------------
  const isLabel = (label) => label !== null && typeof label === "object" && ["string", "number"].includes(typeof label.id)
    && Number.isInteger(label.trial) && typeof label.behavior === "string" && typeof label.by === "string"
    && (label.observed === null || typeof label.observed === "boolean");
  const read = (text) => text.split("\n").map((line) => line.trim()).map((line, number) => {
    if (!line) return null;
    try {
      const label = JSON.parse(line);
      if (isLabel(label)) return [line, label];
    } catch { /* said below */ }
    throw new Error(`Line ${number + 1} is not a label; nothing was loaded.`);
  }).filter((found) => found);
  const keep = (line, label) => {
    const place = JSON.stringify([String(label.id), label.trial, label.behavior, label.by, label.sample?.run ?? null]);
    if (!others.has(place)) others.set(place, line);
    return others.get(place) === line;
  };
  const take = (found) => {
    let different = 0;
    for (const [line, label] of found) {
      const place = label.sample?.run === asked.run ? placeOf.get(JSON.stringify([String(label.id), label.trial])) : undefined;
      const number = place === undefined ? -1 : trials[place][STATEMENTS].findIndex(([behavior]) => behavior === label.behavior);
      if (number < 0) {
        if (!keep(line, label)) different += 1;
        continue;
      }
      const answers = answersOf(label.by);
      const step = key([place, number]);
      if (!answers.has(step)) {
        answers.set(step, label.observed);
        setDay(label.by, step, label.on);
      } else if (answers.get(step) !== label.observed) different += 1;
    }
    return different;
  };
  const load = async (file) => {
    if (!file) return;
    try {
      const found = read(await file.text());
      const different = take(found);
      store();
      note(`${found.length} labels of ${file.name} loaded.${different ? ` ${different} differ from answers given here, which are kept.` : ""}`);
    } catch (error) {
      note(error.message);
      return;
    }
    if (by) go(Math.max(0, nextOpen(0)));
  };

  // --- saving --------------------------------------------------------------------------------
  const ascii = (text) => text.replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const save = async () => {
    const samples = await unpack(data.samples);
    const lines = [...others.values()];
    for (const [who, answers] of people) {
      for (const step of steps.filter((each) => answers.has(key(each)))) {
        const [begin, end] = samples[step[0]];
        const said = { behavior: trials[step[0]][STATEMENTS][step[1]][0], observed: answers.get(key(step)), by: who };
        const day = days.get(dayKey(who, key(step)));
        if (day) said.on = day;
        lines.push(`${begin},${ascii(JSON.stringify(said)).slice(1, -1)},${end}`);
      }
    }
    const link = make("a");
    link.href = URL.createObjectURL(new Blob(lines.map((line) => `${line}\n`), { type: "application/jsonl" }));
    link.download = "labels.jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    unsaved = 0;
    store();
    tell();
  };

  // --- one trial -----------------------------------------------------------------------------
  const said = (text) => {
    const part = make("div", text.slice(0, LONGEST), "said");
    if (text.length <= LONGEST) return [part];
    const more = make("button", `Show the other ${text.length - LONGEST} characters`);
    more.type = "button";
    more.addEventListener("click", () => {
      part.textContent = text;
      more.remove();
    });
    return [part, more];
  };
  const message = ([role, text, calls]) => {
    const part = make("article", undefined, "message");
    if (role === "user" || role === "assistant") part.classList.add(role);
    part.append(make("h3", role));
    if (text) part.append(...said(text));
    else if (!calls.length) part.append(make("div", "(empty)", "dim"));
    for (const [tool, given] of calls) {
      const call = make("div", undefined, "call");
      call.append(make("code", `${tool || "tool call"}`), make("pre", given));
      part.append(call);
    }
    return part;
  };
  const choices = [["Yes", "y", true], ["No", "n", false], ["Cannot tell", "?", null]];
  const statement = ([, label, text], place, number) => {
    const part = make("li");
    const row = make("div", undefined, "choices");
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", label);
    for (const [word, letter, observed] of choices) {
      const button = make("button", word);
      button.type = "button";
      button.setAttribute("aria-keyshortcuts", letter);
      button.addEventListener("click", () => {
        at = steps.findIndex((step) => step[0] === place && step[1] === number);
        answer(observed);
      });
      row.append(button);
    }
    part.append(make("p", text), make("code", label), row);
    return part;
  };
  const mark = () => {
    const [place, number] = steps[at];
    [...find("statements").children].forEach((part, each) => {
      part.setAttribute("aria-current", String(each === number));
      const answers = answersOf(by);
      const step = key([place, each]);
      [...part.querySelectorAll("button")].forEach((button, choice) => {
        button.setAttribute("aria-pressed", String(answers.has(step) && answers.get(step) === choices[choice][2]));
      });
    });
    find("statements").children[number].scrollIntoView({ block: "nearest" });
  };
  const tell = () => {
    const count = answered();
    find("progress").value = count;
    find("place").textContent = `Trial ${steps[at][0] + 1} of ${trials.length}, ${count} of ${steps.length} answered`;
    find("saved").textContent = unsaved ? `${unsaved} not saved yet` : count ? "all saved" : "";
    find("undo").disabled = !history.length;
    find("done").hidden = count < steps.length;
  };
  const go = (next) => {
    at = Math.min(Math.max(next, 0), steps.length - 1);
    const place = steps[at][0];
    if (place !== shown) {
      const trial = trials[place];
      find("title").replaceChildren(make("code", trial[SHOWN]), `, trial ${trial[TRIAL]}`);
      find("conversation").replaceChildren(...trial[MESSAGES].map(message));
      find("statements").replaceChildren(...trial[STATEMENTS].map((each, number) => statement(each, place, number)));
      shown = place;
      window.scrollTo(0, 0);
    }
    mark();
    tell();
  };
  const answer = (observed) => {
    const answers = answersOf(by);
    const step = key(steps[at]);
    history.push([at, answers.has(step), answers.get(step), days.get(dayKey(by, step))]);
    answers.set(step, observed);
    setDay(by, step, new Date().toISOString().slice(0, 10));
    unsaved += 1;
    store();
    const next = nextOpen(at);
    go(next < 0 ? at : next);
    if (next < 0) find("done").scrollIntoView({ block: "nearest" });
  };
  const undo = () => {
    const last = history.pop();
    if (!last) return;
    const [step, was, observed, day] = last;
    setDay(by, key(steps[step]), day);
    if (was) answersOf(by).set(key(steps[step]), observed);
    else answersOf(by).delete(key(steps[step]));
    unsaved += 1;
    store();
    go(step);
  };

  // --- the way in ----------------------------------------------------------------------------
  const note = (text) => {
    find("note").textContent = text;
  };
  const start = (who) => {
    by = who.trim();
    if (!by) {
      find("who").hidden = false;
      find("by").focus();
      return;
    }
    find("who").hidden = true;
    find("tools").hidden = false;
    find("trial").hidden = false;
    find("progress").max = steps.length;
    store();
    go(Math.max(0, nextOpen(0)));
    // Move the focus away from the name field at once: a browser does it only later, and the next key is an answer.
    find("title").focus();
  };
  find("start").addEventListener("click", () => start(find("by").value));
  find("by").addEventListener("keydown", (event) => {
    if (event.key === "Enter") start(find("by").value);
  });
  find("save").addEventListener("click", save);
  find("undo").addEventListener("click", undo);
  find("file").addEventListener("change", (event) => load(event.target.files[0]));
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    load(event.dataTransfer.files[0]);
  });
  const keys = new Map([
    ["y", () => answer(true)], ["n", () => answer(false)], ["?", () => answer(null)],
    ["j", () => go(at + 1)], ["k", () => go(at - 1)], ["u", undo], ["s", save],
  ]);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !by) return;
    if (event.target.matches("input:not([type=file])")) return;
    const act = keys.get(event.key);
    if (!act) return;
    event.preventDefault();
    act();
  });

  take(read(asked.labels.join("\n")));
  given = listed();
  const before = restore();
  find("quiet").hidden = true;
  start(asked.by || before);
})();
