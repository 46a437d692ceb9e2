// What is nicer with a script: times in the reader's zone, and search by keyboard. Every page works without.
"use strict";
(() => {
  document.documentElement.classList.add("has-script");

  // In the page's language, as the reader's region writes it.
  const page = document.documentElement.lang;
  const region = navigator.languages.find((each) => each.split("-")[0] === page) || page;
  const written = new Intl.DateTimeFormat(region, { dateStyle: "medium", timeStyle: "short" });

  const localise = (root) => {
    for (const each of root.querySelectorAll("time[datetime]:not([title])")) {
      const at = new Date(each.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      each.title = each.textContent;
      each.textContent = written.format(at);
    }
  };
  localise(document);

  // Copy buttons: data-copy names the element whose text they take. Over plain http browsers give no clipboard: then the
  // text is marked for the reader to copy.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.querySelector(button.dataset.copy);
    getSelection().selectAllChildren(source);
    if (!navigator.clipboard) return;
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = button.dataset.copied;
  });

  // Hits that are put in anew keep the place somebody had reached among them, and filters stay open or closed.
  let reached = null, areFiltersOpen = null;
  const isSame = (one) => (other) => other.matches("a.hit") ? other.href === one.href : other.name === one.name && other.value === one.value;
  document.addEventListener("htmx:afterSettle", () => {
    localise(document);
    const filters = document.querySelector("#facets");
    if (filters && areFiltersOpen !== null) filters.open = areFiltersOpen;
    areFiltersOpen = null;
    if (reached) [...document.querySelectorAll("a.hit, #found input")].find(isSame(reached))?.focus();
    reached = null;
  });

  // An address that is passed on names what was asked, and not what was left empty.
  document.addEventListener("htmx:configRequest", (event) => {
    const asked = event.detail.formData;
    for (const name of new Set(asked.keys())) {
      const given = asked.getAll(name).filter((value) => value !== "" && !(name === "mode" && value === "hybrid"));
      asked.delete(name);
      for (const value of given) asked.append(name, value);
    }
  });

  // Of a part of the page that is fetched anew: 286 ends that.
  const isGood = (request) => request.status === 200 || request.status === 286;
  const gone = document.querySelector("#gone"), away = gone?.textContent;
  const lament = (why) => { gone.textContent = why || away; gone.hidden = false; };

  // Signed out, or the server says no: the page itself tells why, not a part of it.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const request = event.detail.xhr;
    if (event.detail.target.id === "found") {
      areFiltersOpen = document.querySelector("#facets")?.open ?? null;
      reached = document.activeElement.matches("a.hit, #found [type=checkbox]") ? document.activeElement : null;
    }
    const wanted = new URL(event.detail.pathInfo.requestPath, location.href).pathname;
    const isHere = new URL(request.responseURL || location.href).pathname === wanted;
    if (!isHere || (event.detail.target.id === "live" && request.status === 404)) {
      event.detail.shouldSwap = false;
      location.reload();
    } else if (event.detail.target.id === "live" && !isGood(request)) {
      event.detail.shouldSwap = false; // what was true a moment ago stays, and why there is nothing newer is said
      const said = new DOMParser().parseFromString(request.responseText, "text/html").querySelector("[role=alert] p");
      lament(said?.textContent);
    } else if ((request.getResponseHeader("content-type") || "").startsWith("text/html")) {
      event.detail.shouldSwap = true;
    }
  });

  // Hits of an earlier question are not taken for those of this one.
  const unanswered = document.querySelector("#unanswered");
  for (const what of ["sendError", "afterOnLoad"]) {
    document.addEventListener(`htmx:${what}`, (event) => {
      if (event.detail.target.id === "found") unanswered.hidden = what !== "sendError";
    });
  }

  // A hit is opened beside the list where there is room; the link itself leads to its page.
  const wide = matchMedia("(min-width: 62.5rem)");
  const beside = document.querySelector("#beside");
  const mark = (link) => {
    for (const each of document.querySelectorAll("a.hit[aria-current]")) each.removeAttribute("aria-current");
    link?.setAttribute("aria-current", "true");
  };
  const close = () => {
    const opened = document.querySelector("a.hit[aria-current]");
    beside.hidden = true;
    mark(null);
    (opened || document.querySelector("#q")).focus();
  };
  document.querySelector("#beside-close")?.addEventListener("click", close);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a.hit");
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!link || !beside || !wide.matches || !isPlain) return;
    event.preventDefault();
    mark(link);
    document.querySelector("#beside-page").href = link.href;
    htmx.ajax("GET", link.href, { source: "#beside-item" });
  });
  for (const what of ["afterSwap", "responseError", "sendError"]) {
    document.querySelector("#beside-item")?.addEventListener(`htmx:${what}`, () => {
      if (what !== "afterSwap") location.assign(document.querySelector("#beside-page").href);
      beside.hidden = false;
      beside.scrollTop = 0;
    });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = document.querySelector("#q");
    const isTyping = event.target.matches("input:not([type=checkbox]), textarea, select");
    const hits = [...document.querySelectorAll("a.hit")];
    const at = hits.indexOf(document.activeElement);
    const go = (link) => { link.focus(); event.preventDefault(); };
    if (event.key === "/" && !isTyping && field) { field.focus(); field.select(); event.preventDefault(); }
    else if (event.key === "ArrowDown" && (at >= 0 || event.target === field) && hits[at + 1]) go(hits[at + 1]);
    else if (event.key === "ArrowUp" && at >= 0) go(hits[at - 1] || field);
    else if (event.key === "Escape" && beside && !beside.hidden) { close(); event.preventDefault(); }
    else if (event.key === "Escape" && at >= 0 && field) go(field);
  });

  // Who is at work, or has called: the server says that something changed, and that part of the page is fetched again.
  const live = document.querySelector("#live"), events = live?.dataset.events;
  const waits = live?.hasAttribute("data-waits"); // for what may have happened before the stream was open
  let stream = null, failures = 0, later = 0, isOver = false;
  const again = () => htmx.trigger("#live", "changed");
  const hush = () => { stream?.close(); stream = null; clearTimeout(later); };
  const listen = (isFirst) => {
    stream = new EventSource(events);
    stream.addEventListener("open", () => { if (!isFirst || waits) again(); isFirst = false; failures = 0; gone.hidden = true; });
    stream.addEventListener("change", again);
    stream.addEventListener("error", () => {
      failures += 1;
      if (failures > 1) lament();
      if (stream.readyState !== EventSource.CLOSED) return; // else the browser tries again by itself
      hush();
      again(); // says whether the server is there, and whether this page still is
      later = setTimeout(listen, 10000, false);
    });
  };
  if (events) {
    document.addEventListener("htmx:sendError", (event) => { if (event.detail.target.id === "live") lament(); });
    document.addEventListener("htmx:afterOnLoad", (event) => {
      if (event.detail.target.id !== "live" || !isGood(event.detail.xhr)) return;
      gone.hidden = true;
      isOver = event.detail.xhr.status === 286;
      if (isOver) hush();
    });
    document.addEventListener("visibilitychange", () => { hush(); if (!document.hidden && !isOver) listen(false); });
    if (!document.hidden) listen(true);
  }
})();
