// For hands that stay on the keyboard, and for eyes that want local time: the filter, the keys, the clock's zone.
// The page is complete without it. It changes what is shown in this browser alone, and sends nothing.
"use strict";

(() => {
  const filter = document.getElementById("filter"), zone = document.getElementById("zone");
  const help = document.getElementById("keys"), keysOn = document.getElementById("keys-on");
  const kept = (name) => { try { return localStorage.getItem(`sickbay-${name}`); } catch { return null; } };
  const keep = (name, value) => { try { localStorage.setItem(`sickbay-${name}`, value); } catch { /* shown until the page is left */ } };
  const rows = () => [...document.querySelectorAll("main article.row, main .rows > .told")];
  const shown = () => rows().filter((row) => !row.hidden);
  let local = kept("zone") === "local";

  function sift() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows()) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    const url = new URL(location.href);
    if (filter.value) url.searchParams.set("q", filter.value); else url.searchParams.delete("q");
    if (url.href !== location.href) history.replaceState(null, "", url); // so that a filtered page can be sent to somebody
    document.getElementById("sifted").textContent = words.length ? `${shown().length} of ${rows().length} shown` : "";
  }

  function clocks() {
    zone.textContent = local ? "local time" : "UTC";
    const two = (number) => String(number).padStart(2, "0");
    for (const time of document.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      const [day, utcDay] = [`${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`, time.dateTime.slice(0, 10)];
      const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
      time.title = local ? `${day} ${clock} local time` : `${utcDay} ${time.dateTime.slice(11, 19)} UTC`;
      if (time.classList.contains("rel")) continue;
      time.textContent = local ? (day === utcDay ? "" : `${day.slice(5)} `) + clock : time.dateTime.slice(11, 19);
    }
  }

  function move(by) {
    const links = shown().map((row) => row.querySelector("a.node, a")).filter(Boolean);
    const at = links.findIndex((link) => link.closest(".row, .told") === document.activeElement?.closest?.(".row, .told"));
    links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
  }

  const KEYS = {
    "/": () => { if (!filter.closest("[hidden]")) { filter.focus(); filter.select(); } },
    j: () => move(1),
    k: () => move(-1),
    o: () => location.assign(document.querySelector("a.brand").href),
    c: () => document.querySelector("button.copy")?.click(),
    u: () => zone.click(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.target === filter && event.key === "Escape") { filter.value = ""; sift(); filter.blur(); return; }
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (event.key === "?") { event.preventDefault(); help.showModal(); return; } // always: else nobody could turn the others on
    if (!keysOn.checked || !Object.hasOwn(KEYS, event.key)) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  zone.addEventListener("click", () => { local = !local; keep("zone", local ? "local" : "utc"); clocks(); });
  document.getElementById("help").addEventListener("click", () => help.showModal());
  keysOn.checked = kept("keys") !== "off";
  keysOn.addEventListener("change", () => keep("keys", keysOn.checked ? "on" : "off"));
  filter.value = new URL(location.href).searchParams.get("q") ?? "";
  filter.addEventListener("input", sift);
  document.querySelector(".tools").hidden = false;
  const settle = () => { filter.parentElement.hidden = rows().length === 0; sift(); clocks(); };
  document.addEventListener("sickbay:swapped", settle);
  settle();
})();
