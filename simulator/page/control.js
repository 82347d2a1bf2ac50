// Draws the simulated cluster from /simulator/state, twice a second, and posts what the buttons say. All text that
// comes from the cluster is set as text, never as markup.
"use strict";

const POLL = 500, ACTS = 12;
const SICKBAY = "system:serviceaccount:sickbay:sickbay";
const byId = (id) => document.getElementById(id);
let chosen = { node: "gpu-a03", gpu: 6 }, state = null, acts = [], lastAct = 0;

/** An element: `of("b.mono", "text", child)`, or with attributes and listeners in an object. */
function of(what, ...inner) {
  const [tag, ...classes] = what.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const one of inner.flat(Infinity)) {
    if (one === null || one === undefined || one === false) continue;
    if (one instanceof Node || typeof one !== "object") made.append(one);
    else for (const [name, value] of Object.entries(one)) {
      if (name === "click") made.addEventListener("click", value);
      else if (value !== false) made.setAttribute(name, value === true ? "" : value);
    }
  }
  return made;
}

/** Puts the children there unless they look just like those that are there; keeps the keyboard's place. */
function show(id, children) {
  const there = byId(id), next = of(there.tagName, children);
  if (there.innerHTML === next.innerHTML) return;
  const focus = there.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  there.replaceChildren(...next.childNodes);
  if (focus) there.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
}

const button = (key, text, click, more = {}) => of("button", text, { type: "button", "data-key": key, click, ...more });

async function post(what, body, told) {
  try {
    const answer = await fetch(what, { method: "POST", body: JSON.stringify(body) });
    const said = await answer.json();
    say(answer.ok ? told(said) : said.message, !answer.ok);
  } catch {
    say("The simulator did not answer.", true);
  }
  look();
}

function say(text, wrong = false) {
  const said = byId("said");
  said.firstElementChild.textContent = text;
  said.className = wrong ? "wrong" : "";
  said.hidden = !text;
}

byId("said").lastElementChild.addEventListener("click", () => { byId("said").hidden = true; });

const target = () => `GPU ${chosen.gpu} of ${chosen.node}`;

function gpu(node, card, owner) {
  const [look, sign, told] =
    !card.on_bus ? ["gone", "—", "not on the bus"]
    : card.fault ? ["ill", "✗", `the fault of Xid ${card.fault} is there`]
    : !card.healthy ? ["out", "◌", "held back by the device plugin"]
    : owner ? ["used", card.index, `used by ${owner}`] : ["free", card.index, "free"];
  const title = `GPU ${card.index}: ${told}. Serial ${card.serial}` + (card.xid ? `, last Xid ${card.xid}` : "")
    + (card.recovery_action !== "None" ? `, asks for: ${card.recovery_action}` : "");
  return of(`button.gpu.${look}`, sign, {
    type: "button", title, "aria-label": title, "data-key": `gpu-${node.name}-${card.index}`,
    "aria-pressed": String(node.name === chosen.node && card.index === chosen.gpu),
    click: () => { chosen = { node: node.name, gpu: card.index }; draw(); },
  });
}

function pod(one) {
  const word = one.terminating ? "leaving" : one.phase === "Running" ? (one.ready ? "runs" : "not ready") : one.phase.toLowerCase();
  const gpus = one.gpus.length ? `GPU ${one.gpus.join(" ")}` : "";
  return of("li",
    of("b", `${one.namespace}/${one.name}`),
    of("span.muted", [gpus, word].filter(Boolean).join(" · ")),
    one.says && of("small", one.says, { title: one.says }));
}

function node(one) {
  const pods = state.pods.filter((each) => each.node === one.name && (each.phase === "Running" || each.phase === "Pending"));
  const operands = state.operands.filter((each) => each.node === one.name);
  const waiting = operands.filter((each) => !each.ready).length;
  const owner = (card) => pods.find((each) => each.gpus.includes(card.index))?.name;
  const ready = !one.registered ? ["bad", "✗ no such node"] : one.power === "off" ? ["bad", "✗ power off"] : one.ready ? ["good", "✓ Ready"] : ["bad", one.up ? "✗ NotReady" : "✗ down"];
  return of(`article.panel.node${one.up ? "" : ".down"}`,
    of("div",
      of("h3", one.name), of(`span.chip.${ready[0]}`, ready[1]),
      one.unschedulable && of("span.chip.warn", "⊘ cordoned"),
      of("span.boots.muted", [one.rack, `boot ${one.boots}`].filter(Boolean).join(" · "))),
    of("div.gpus", one.gpus.map((card) => gpu(one, card, owner(card)))),
    Object.keys(one.labels).length > 0 && of("div.labels",
      Object.entries(one.labels).map(([key, value]) => of("span", `${key.replace("nvidia.com/gpu.deploy.", "deploy.")}=${value}`))),
    of("ul.pods",
      pods.map(pod),
      !one.registered && of("li.muted", "The machine was taken away, or its node deleted; a node that comes under this name is another one."),
      one.registered && pods.length === 0 && of("li.muted", "no pods of people here"),
      one.registered && of("li.muted", of("span", `${operands.length} operands of the GPU Operator`), of("span", waiting ? `${waiting} not ready` : "ready"))),
    one.registered && of("div.small",
      button(`cordon-${one.name}`, one.unschedulable ? "uncordon as alice" : "cordon as alice", () =>
        post("cordon", { node: one.name, unschedulable: !one.unschedulable }, () => `alice has ${one.unschedulable ? "un" : ""}cordoned ${one.name}.`)),
      button(`replace-${one.name}`, "replace the machine", () =>
        post("replace", { node: one.name }, () => `${one.name} is taken away, and another machine comes under its name. An operation that did not ask for it ends: that node is gone.`)),
      button(`heal-${one.name}`, "make well", () =>
        post("heal", { node: one.name }, () => `Nothing is wrong with the hardware of ${one.name} any more. Sickbay cannot know.`))));
}

function breakages() {
  return state.breakages.map((one) => button(`break-${one.name}`,
    [of("b", one.label), of("small", one.what)],
    () => post("break", { how: one.name, ...chosen }, () => `${target()}: ${one.label}. What Sickbay should do: ${one.then}`)));
}

function more() {
  const blocked = state.budget_blocked_except !== null;
  const budget = state.budgets[0];
  return [
    of("div", of("h3", "The chosen GPU"),
      button("swap", "put in another card", () => post("swap", chosen, (said) => `${target()} is another card now, serial ${said.serial}.`)),
      button("same", "put the same card back", () => post("swap", { ...chosen, same: true }, (said) => `${target()} is the same card, serial ${said.serial}, and nothing is wrong with it.`))),
    of("div", of("h3", "The work of people"),
      button("budget", blocked ? "free the inference budget" : "block the inference budget", () =>
        post("budget", { blocked: !blocked, node: chosen.node }, (said) => said.blocked
          ? `Only the replica on ${said.node} is ready, so its eviction is refused: a drain there waits.`
          : "All replicas may get ready again, so evictions are allowed.")),
      budget && of("p.muted", `${budget.namespace}/${budget.name}: ${budget.currentHealthy} of ${budget.expectedPods} ready, ${budget.disruptionsAllowed} may be evicted`)),
    state.acts.length > 0 && of("div", of("h3", "Sickbay itself"),
      state.acts.map((act) => button(`act-${act}`, act.replaceAll("-", " "), () => post(`acts/${act}`, {}, (said) => String(said.done))))),
    of("div", of("h3", "Alertmanager"),
      button("resolve", "resolve every alert", () => post("alerts/resolve", {}, (said) => `${said.resolved} alerts are over, as far as Alertmanager knows. That proves nothing.`))),
    of("div", of("h3", "Tickets"),
      state.tickets.length === 0 && of("p.muted", "none"),
      state.tickets.map((one) => [
        of("p", of("span.chip." + (one.state === "open" ? "warn" : "good"), one.state), ` ${one.title}`),
        one.state === "open" && button(`ticket-${one.file}`, "close this ticket", () =>
          post("tickets/close", { file: one.file }, (said) => String(said.done)))])),
  ];
}

function alerts() {
  const told = state.alerts.slice().reverse().slice(0, 30);
  if (!told.length) return of("li.none", "none but the Watchdog");
  return told.map(({ labels, status }) => of("li",
    of("span.chip." + (status === "firing" ? "bad" : "good"), status),
    of("span", `${labels.err_code ? `Xid ${labels.err_code}` : labels.alertname} on GPU ${labels.gpu} of `, of("span.mono", labels.Hostname))));
}

/** One act in a sentence: what was sent, not what came of it. */
function sentence(act) {
  const where = [act.namespace, act.name].filter(Boolean).join("/");
  if (act.subresource === "eviction") return `evicts ${where}` + (act.code === 429 ? " (refused by its budget)" : "");
  if (act.resource === "jobs") return `${act.verb}s the node job ${act.name}`;
  if (act.resource === "nodes" && act.sent) {
    const parts = [];
    if (act.sent.spec && "unschedulable" in act.sent.spec) parts.push(act.sent.spec.unschedulable ? "cordon" : "uncordon");
    parts.push(...Object.keys(act.sent.metadata?.labels ?? {}).map((key) => key.replace("nvidia.com/gpu.", "")));
    return `patches ${where}: ${parts.join(", ") || "its annotations"}`;
  }
  return `${act.verb}s ${act.resource} ${where}`;
}

function draw() {
  byId("target").textContent = target();
  byId("clock").textContent = `${state.clock.speed} simulated seconds a second`;
  const link = byId("sickbay");
  link.hidden = !state.sickbay;
  if (state.sickbay) link.href = state.sickbay;
  show("nodes", state.nodes.filter((one) => one.gpus.length).map(node));
  show("breakages", breakages());
  show("more", more());
  show("alerts", alerts());
  show("acts", acts.length ? acts.map((act) => of("li",
    of("time", new Date(act.at * 1000).toTimeString().slice(0, 8)), of("span", sentence(act)))) : of("li.none", "nothing yet"));
}

let timer = 0;
async function look() {
  clearTimeout(timer);
  const live = byId("live");
  let done;
  try {
    const asked = { cache: "no-store", signal: AbortSignal.timeout(5000) };
    [state, done] = await Promise.all([
      fetch("state", asked).then((answer) => answer.json()),
      fetch(`audit?user=${SICKBAY}&after=${lastAct}`, asked).then((answer) => answer.json()),
    ]);
  } catch {
    live.textContent = "the simulator does not answer";
    live.className = "lost";
  }
  if (done) {
    // Events only repeat in words what the other acts do.
    const news = done.acts.filter((act) => act.number > lastAct && act.resource !== "events" && act.verb !== "get");
    lastAct = done.acts.at(-1)?.number ?? lastAct;
    acts = [...news.reverse(), ...acts].slice(0, ACTS);
    live.textContent = "live";
    live.className = "muted";
  }
  timer = setTimeout(look, document.hidden ? 10 * POLL : POLL);
  if (done) draw();
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
look();
