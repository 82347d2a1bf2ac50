// Keeps the page true without a reload: asks for its own URL with the ETag it has, and swaps in what changed.
// Without JavaScript the page works as it is; this adds liveness, copy buttons and running times, nothing else.
"use strict";

const FAST = 2000, SLOW = 10000, HIDDEN = 60000; // milliseconds between two looks
const BUSY = 60000; // how long after a change, or after coming back to the tab, looks are fast
const live = document.getElementById("live");
const spoken = document.getElementById("spoken");
const still = document.querySelector("main[data-still]") !== null; // a form is being filled: nothing is swapped
let etag = null, changed = Date.now(), seen = Date.now(), timer = 0;
let skew = 0; // milliseconds by which the server's clock is ahead of this one

function ago(then) {
  const seconds = (Date.now() + skew - then) / 1000, size = Math.abs(seconds);
  const [limit, unit, name] = [[60, 1, "s"], [3600, 60, "min"], [172800, 3600, "h"], [Infinity, 86400, "d"]]
    .find(([limit]) => size < limit);
  const told = `${Math.floor(size / unit)} ${name}`;
  return seconds < 0 ? `in ${told}` : `${told} ago`;
}

function tick() {
  for (const time of document.querySelectorAll("time.rel")) {
    const told = ago(Date.parse(time.dateTime));
    if (time.textContent !== told) time.textContent = told;
  }
}

function say() {
  const told = document.querySelector("[data-spoken]")?.textContent ?? "";
  if (spoken.textContent !== told) spoken.textContent = told; // only a change is read aloud
}

function swap(html) {
  const next = new DOMParser().parseFromString(html, "text/html");
  const focused = document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.getAttribute("href");
  for (const part of ["header.top", "main"]) {
    const now = document.querySelector(part), then = next.querySelector(part);
    if (now && then && now.innerHTML !== then.innerHTML) now.replaceChildren(...then.childNodes);
  }
  document.title = next.title;
  document.dispatchEvent(new Event("sickbay:swapped"));
  if (focused) {
    const same = [...document.querySelectorAll("a, button")]
      .find((one) => (one.getAttribute("aria-label") ?? one.getAttribute("href")) === focused);
    same?.focus({ preventScroll: true });
  }
}

async function look() {
  clearTimeout(timer);
  const selecting = !getSelection().isCollapsed; // somebody is about to copy: do not pull the text away
  if (!selecting) {
    try {
      const headers = etag ? { "If-None-Match": etag } : {};
      const answer = await fetch(location.href, { headers, cache: "no-store", signal: AbortSignal.timeout(8000) });
      const at = Date.parse(answer.headers.get("Date"));
      if (at) skew = Math.abs(at - Date.now()) < 2000 ? 0 : at - Date.now(); // the header has whole seconds only
      if (answer.status === 200 || answer.status === 404) {
        const first = etag === null;
        etag = answer.headers.get("ETag");
        swap(await answer.text());
        if (!first) changed = Date.now();
        say();
      } else if (answer.status !== 304) {
        throw new Error(`answer ${answer.status}`);
      }
      seen = Date.now();
      live.textContent = "Live.";
      live.classList.remove("lost");
    } catch (error) {
      live.textContent = `Not live for ${ago(seen + skew).replace(" ago", "")}: Sickbay does not answer. It asks again.`;
      live.classList.add("lost");
    }
    tick();
  }
  const pace = document.hidden ? HIDDEN : Date.now() - changed < BUSY ? FAST : SLOW;
  timer = setTimeout(look, pace);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "copied";
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling); // no clipboard without HTTPS: ready for Ctrl-C
    button.textContent = "selected";
  }
  setTimeout(() => { button.textContent = "copy"; }, 1500);
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && !still) { changed = Date.now(); look(); } });
document.documentElement.classList.add("scripted");
setInterval(tick, 1000);
if (still) live.textContent = "This page stands still."; else look();
