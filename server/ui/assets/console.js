// What is nicer with a script: times in the reader's zone, and search by keyboard. Every page works without.
"use strict";
(() => {
  document.documentElement.classList.add("has-script");

  const written = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });

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

  // Hits that are put in anew keep the place somebody had reached among them.
  let reached = null;
  document.addEventListener("htmx:afterSettle", () => {
    localise(document);
    if (reached) [...document.querySelectorAll("a.hit")].find((each) => each.href === reached)?.focus();
    reached = null;
  });

  // An address that is passed on names what was asked, and not what was left empty.
  document.addEventListener("htmx:configRequest", (event) => {
    const asked = event.detail.formData;
    for (const [name, value] of [...asked.entries()]) {
      if (value === "" || (name === "mode" && value === "hybrid")) asked.delete(name);
    }
  });

  // Signed out, or the server says no: the page itself tells why, not a part of it.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const request = event.detail.xhr;
    reached = document.activeElement.matches("a.hit") ? document.activeElement.href : null;
    const isHere = new URL(request.responseURL || location.href).pathname === location.pathname;
    if (!isHere) {
      event.detail.shouldSwap = false;
      location.reload();
    } else if ((request.getResponseHeader("content-type") || "").startsWith("text/html")) {
      event.detail.shouldSwap = true;
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = document.querySelector("#q");
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    const hits = [...document.querySelectorAll("a.hit")];
    const at = hits.indexOf(document.activeElement);
    const go = (link) => { link.focus(); event.preventDefault(); };
    if (event.key === "/" && !isTyping && field) { field.focus(); field.select(); event.preventDefault(); }
    else if (event.key === "ArrowDown" && (at >= 0 || event.target === field) && hits[at + 1]) go(hits[at + 1]);
    else if (event.key === "ArrowUp" && at >= 0) go(hits[at - 1] || field);
    else if (event.key === "Escape" && at >= 0 && field) go(field);
  });
})();
