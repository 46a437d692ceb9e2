// The graph of a vault to move about in: search, colours, selection and ways. What is on the page without it says the same.
"use strict";
(() => {
  const map = document.querySelector("#map");
  if (!map) return;
  const $ = (name) => map.querySelector(name);
  const canvas = $("canvas"), state = $(".map-state"), picked = $(".map-picked"), legend = $(".map-legend"), list = $(".map-found"), field = $("#find"), by = $("#by");
  const say = map.dataset, RINGS = 6, STEPS = [4, 1, 2, 0, RINGS];
  let data = null, picture = null, groups = [], only = -1, chosen = -1, start = -1, colours = [];

  const make = (tag, text = "", attributes = {}) => {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const address = (i) => say.notes + data.paths[i].split("/").map(encodeURIComponent).join("/");
  const link = (i) => { const made = make("a", "", { href: address(i) }); made.append(make("bdi", data.titles[i])); return made; };

  // Colours: each way to group gives the number of a colour for each note, and names for the legend.
  const ages = [7, 31, 92, 366, Infinity], sizes = [100, 20, 5, 1, 0];
  const ways = {
    folder: () => [data.folder.map((k) => Math.min(k, RINGS)), data.folders],
    type: () => [data.type.map((k) => (data.types[k] ? Math.min(k, RINGS) : RINGS)), data.types],
    age: () => {
      const today = Date.now() / 864e5;
      return [data.days.map((day) => STEPS[ages.findIndex((age) => today - day <= age)]), say.ages.split("|"), STEPS];
    },
    hub: () => {
      const names = sizes.map((least, k) => (k === 0 ? `${least}+` : least === 0 ? "0" : `${least}–${sizes[k - 1] - 1}`));
      return [picture.degree.map((many) => STEPS[sizes.findIndex((least) => many >= least)]), names, STEPS];
    },
  };
  const look = {
    colour: (i) => (only < 0 || groups[i] === only ? colours[groups[i]] : look.faint),
    isShown: (i) => only < 0 || groups[i] === only,
  };
  const readLook = () => {
    const css = getComputedStyle(map), read = (name) => css.getPropertyValue(name).trim();
    colours = Array.from({ length: RINGS + 1 }, (_, k) => read(`--group-${k}`));
    Object.assign(look, { ink: read("--ink"), paper: read("--paper"), line: read("--line"), act: read("--act"), faint: read("--rule") });
  };
  const colour = () => {
    const [found, names, order] = ways[by.value]();
    [groups, only] = [found, -1];
    const many = Array(RINGS + 1).fill(0);
    for (const k of groups) many[k]++;
    const own = order || [...many.keys()];
    legend.replaceChildren(...own.map((k, place) => {
      if (!many[k]) return "";
      const name = !order && (k === RINGS || !names[k]) ? say.rest : names[place];
      const button = make("button", "", { class: "plain small", type: "button", "aria-pressed": "false" });
      const shown = many[k].toLocaleString(document.documentElement.lang);
      button.append(make("span", "", { class: `swatch group-${k}`, "aria-hidden": "true" }), make("bdi", name), make("span", shown, { class: "hint" }));
      button.addEventListener("click", () => {
        only = only === k ? -1 : k;
        for (const each of legend.querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === button && only === k));
        picture.repaint();
      });
      const item = make("li");
      item.append(button);
      return item;
    }).filter(Boolean));
    picture.repaint();
  };

  // Selection, and the shortest way between two notes by links either way.
  const find = (from, to) => {
    const came = new Map([[from, -1]]);
    for (let ring = [from]; ring.length && !came.has(to);) {
      const next = [];
      for (const i of ring) for (const other of picture.near[i]) if (!came.has(other)) { came.set(other, i); next.push(other); }
      ring = next;
    }
    const way = [];
    if (came.has(to)) for (let i = to; i >= 0; i = came.get(i)) way.unshift(i);
    return way;
  };
  const tell = (...parts) => picked.replaceChildren(...parts);
  const showWay = (way, ends) => {
    if (!way.length) { tell(make("p", say.noWay)); picture.show({ way: [], picked: ends }); return; }
    const steps = make("ol");
    for (const i of way) { const item = make("li"); item.append(link(i)); steps.append(item); }
    tell(make("p", say.way), steps);
    picture.show({ way, picked: -1, found: [] });
    picture.centre(way);
  };
  const select = (i, isFar = false) => {
    if (start >= 0 && i >= 0 && i !== start) { const from = start; start = -1; chosen = i; showWay(find(from, i), i); return; }
    [chosen, start] = [i, -1];
    picture.show({ picked: i, way: [], ...(i < 0 ? { found: [] } : {}) });
    history.replaceState(null, "", i < 0 ? location.pathname + location.search : `#${encodeURIComponent(data.paths[i])}`);
    if (i < 0) { tell(); return; }
    if (isFar) picture.centre([i]);
    const line = make("p", "", { class: "map-title" }), more = make("p", "", { class: "meta" });
    line.append(link(i));
    const way = make("button", say.wayFrom, { class: "plain small", type: "button" });
    way.addEventListener("click", () => { start = i; state.textContent = say.wayTo; canvas.focus(); });
    const around = make("a", say.around, { href: `${location.pathname}?${new URLSearchParams({ note: data.paths[i] })}` });
    more.append(make("bdi", data.paths[i]), make("span", `${say.into}: ${data.into[i]}`), make("span", `${say.out}: ${data.out[i]}`), around, way);
    tell(line, more);
  };
  const clear = () => { state.textContent = ""; field.value = ""; list.replaceChildren(); select(-1); };

  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const search = () => {
    const wanted = plain(field.value.trim());
    const hits = [];
    if (wanted) for (let i = 0; i < data.titles.length; i++) if (data.plain[i].includes(wanted)) hits.push(i);
    list.replaceChildren(...hits.slice(0, 8).map((i) => {
      const item = make("li"), button = make("button", "", { class: "plain small", type: "button" });
      button.append(make("bdi", data.titles[i]));
      button.addEventListener("click", () => { select(i, true); canvas.focus(); });
      item.append(button);
      return item;
    }));
    state.textContent = wanted ? `${say.found}: ${hits.length}` : "";
    picture.show({ found: hits.slice(0, 500), picked: -1, way: [] });
    return hits;
  };

  const listen = () => {
    const fingers = new Map();
    let moved = 0;
    const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); fingers.set(event.pointerId, place(event)); moved = 0; });
    canvas.addEventListener("pointermove", (event) => {
      const now = place(event), before = fingers.get(event.pointerId);
      if (!before) { const hovered = picture.pick(...now); canvas.classList.toggle("over", hovered >= 0); picture.show({ hovered }); return; }
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
      if (other) picture.zoom(Math.hypot(now[0] - other[0], now[1] - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1])), ...other);
      else picture.pan(before[0] - now[0], before[1] - now[1]);
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      fingers.set(event.pointerId, now);
    });
    const lift = (event) => {
      if (!fingers.delete(event.pointerId) || event.type !== "pointerup" || moved >= 5) return;
      const i = picture.pick(...place(event));
      if (i >= 0) select(i); else clear();
    };
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, lift);
    canvas.addEventListener("pointerleave", () => picture.show({ hovered: -1 }));
    canvas.addEventListener("dblclick", (event) => picture.zoom(2, ...place(event)));
    // The wheel scrolls the page until the picture has the focus.
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      picture.zoom(Math.exp(-event.deltaY / (event.deltaMode ? 20 : 400)), ...place(event));
    }, { passive: false });
    const keys = {
      ArrowLeft: () => picture.pan(-60, 0), ArrowRight: () => picture.pan(60, 0), ArrowUp: () => picture.pan(0, -60), ArrowDown: () => picture.pan(0, 60),
      "+": () => picture.zoom(1.4), "=": () => picture.zoom(1.4), "-": () => picture.zoom(1 / 1.4), 0: () => picture.fit(), Escape: clear,
      Enter: () => { const i = picture.pick(canvas.clientWidth / 2, canvas.clientHeight / 2); if (i >= 0) select(i); },
    };
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      keys[event.key]();
      event.preventDefault();
    });
    field.addEventListener("input", search);
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { const [first] = search(); if (first !== undefined) select(first, true); event.preventDefault(); }
      if (event.key === "Escape") clear();
    });
    by.addEventListener("change", colour);
    $(".map-in").addEventListener("click", () => picture.zoom(1.6));
    $(".map-out").addEventListener("click", () => picture.zoom(1 / 1.6));
    $(".map-fit").addEventListener("click", () => picture.fit());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readLook(); picture.repaint(); });
    new ResizeObserver(() => picture.resize()).observe(canvas);
  };

  const read = (written) => { try { return decodeURIComponent(written); } catch { return ""; } };
  const open = async () => {
    map.hidden = false;
    const answer = await fetch(say.from, { headers: { accept: "application/json" } });
    if (!(answer.headers.get("content-type") || "").startsWith("application/json")) throw new Error(answer.statusText);
    data = await answer.json();
    if (!data.paths.length) { map.hidden = true; return; }
    data.plain = data.titles.map((title, i) => plain(`${title} ${data.paths[i]}`));
    if (!data.types.some(Boolean)) by.querySelector('[value="type"]').remove();
    readLook();
    picture = makeGraphPicture(canvas, data, look);
    picture.resize();
    colour();
    listen();
    state.textContent = "";
    const places = new Map(data.paths.map((path, i) => [path, i])), asked = JSON.parse(say.asked).map((path) => places.get(path));
    const named = places.get(read(location.hash.slice(1)));
    if (asked.length > 1 && !asked.includes(undefined)) showWay(asked, -1);
    else if (named !== undefined) select(named, true);
  };
  open().catch(() => { map.classList.add("failed"); state.textContent = say.failed; });
})();
