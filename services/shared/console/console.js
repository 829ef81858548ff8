// Makes the pages of a console pleasant; each page reads and each form posts
// without it.

// A page is fetched a second or two after a change, since services may show
// what is up to a second old. While changes go on, each wait is twice as long
// as the one before, so that many open pages stay a small part of what the
// service does. By chance a wait is up to twice as long again, so that pages
// that hear of one change do not all come at once.
const LIVE_MS = 1_000;
const MOST_MS = 30_000;
// Without events, as no event tells that there is nothing to fetch.
const POLL_MS = 15_000;
const PREVIEW_MS = 400;

/** Shows times in the reader's zone; the title keeps the time of the service. */
function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    if (time.dataset.shown) continue;
    time.dataset.shown = "1";
    const at = new Date(time.dateTime);
    const local = at.toLocaleString(undefined, {
      dateStyle: "medium",
      timeStyle: "medium",
    });
    const zone = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" })
      .formatToParts(at).find(({ type }) => type === "timeZoneName")?.value;
    if (time.dataset.kind === "short") time.title = `${local} ${zone}`;
    else {
      time.title = time.textContent;
      time.textContent = `${local} ${zone}`;
    }
  }
}

async function copy(button) {
  const from = document.getElementById(button.dataset.copy);
  const text = from ? from.textContent : button.dataset.text ?? "";
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // Browsers refuse the clipboard to pages without TLS.
    getSelection().selectAllChildren(from ?? button);
    button.textContent = "Selected";
  }
  setTimeout(() => button.textContent = before, 1_500);
}

/** Asks before a form is sent that says so. */
function confirmForm(form, submitter) {
  const text = submitter?.dataset.confirm ?? form.dataset.confirm;
  if (!text || form.dataset.confirmed) return true;
  const dialog = document.createElement("dialog");
  const question = document.createElement("p");
  question.textContent = text;
  question.id = "question";
  dialog.setAttribute("aria-labelledby", "question");
  const row = document.createElement("div");
  row.className = "row";
  const add = (label, kind, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.className = kind;
    button.addEventListener("click", act);
    row.append(button);
  };
  add(submitter?.textContent ?? "Go on", "primary", () => {
    form.dataset.confirmed = "1";
    dialog.close();
    form.requestSubmit(submitter);
  });
  add("Cancel", "", () => dialog.close());
  dialog.append(question, row);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return false;
}

/** The rows of the first list that keys walk through. */
function rows() {
  return [...document.querySelectorAll("[data-rows] tbody tr")];
}

function walk(step) {
  const all = rows();
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const next = all[at === -1 ? (step > 0 ? 0 : all.length - 1) : at + step];
  next?.querySelector("a")?.focus();
}

function onKey(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.closest("input:not([type=checkbox]), select, textarea, dialog")) {
    if (key === "Escape") target.blur();
    return;
  }
  if (key === "/") document.querySelector("[data-search]")?.focus();
  else if (key === "j") walk(1);
  else if (key === "k") walk(-1);
  else if (key === "x") {
    rows().find((row) => row.contains(document.activeElement))
      ?.querySelector("input[type=checkbox]")?.click();
  } else return;
  event.preventDefault();
}

/** Fetches the page again and replaces the regions that are live. */
async function refresh() {
  const regions = [...document.querySelectorAll("[data-live]")]
    .filter((region) => !isInUse(region));
  if (regions.length === 0 || document.hidden) return;
  const response = await fetch(location.href, {
    headers: { accept: "text/html" },
    redirect: "error",
  });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(
    await response.text(),
    "text/html",
  );
  for (const region of regions) {
    const next = page.getElementById(region.id);
    if (next === null || isInUse(region)) continue;
    const before = [...region.querySelectorAll("details")];
    next.querySelectorAll("details").forEach((one, index) => {
      const same = one.id === ""
        ? before[index]
        : before.find(({ id }) => id === one.id);
      one.open = same?.open ?? one.open;
    });
    showTimes(next);
    if (next.innerHTML === region.innerHTML) continue;
    const link = region.contains(document.activeElement)
      ? document.activeElement.getAttribute("href")
      : null;
    region.replaceWith(next);
    [...next.querySelectorAll("a")]
      .find((one) => one.getAttribute("href") === link)?.focus();
  }
}

/** A region in which the reader types, picks or selects text stays as it is. */
function isInUse(region) {
  const { activeElement: focused } = document;
  const selection = getSelection();
  return region.contains(focused) && !focused.matches("a") ||
    region.querySelector("input:checked") !== null ||
    document.querySelector("dialog") !== null ||
    !selection.isCollapsed && region.contains(selection.anchorNode);
}

/** So many milliseconds or more, so that pages do not all come at once. */
function spread(ms) {
  return ms * (1 + Math.random());
}

function goLive() {
  if (document.querySelector("[data-live]") === null) return;
  let source;
  let timer;
  let dueMs = Infinity;
  let waitMs = LIVE_MS / 2;
  let changedMs = -Infinity;
  let isChanged = false;
  // The earliest fetch that was asked for is made, and the later ones with it.
  const soon = (ms) => {
    const atMs = performance.now() + ms;
    if (timer !== undefined && dueMs <= atMs) return;
    clearTimeout(timer);
    dueMs = atMs;
    timer = setTimeout(async () => {
      timer = undefined;
      isChanged = false;
      const isFresh = performance.now() - changedMs >= LIVE_MS;
      // The next try comes soon enough.
      await refresh().catch(() => {});
      if (!isFresh) soonAgain();
      if (source?.readyState !== EventSource.OPEN) soon(POLL_MS);
    }, ms);
  };
  const { events } = document.documentElement.dataset;
  const soonAgain = () => {
    if (isChanged) return;
    isChanged = true;
    waitMs = Math.min(2 * waitMs, MOST_MS);
    soon(spread(waitMs));
  };
  const onChange = () => {
    const nowMs = performance.now();
    if (nowMs - changedMs > MOST_MS) waitMs = LIVE_MS / 2;
    changedMs = nowMs;
    soonAgain();
  };
  // A hidden page holds no connection: browsers have six for a host.
  const listen = () => {
    source?.close();
    source = undefined;
    if (!events || document.hidden) return;
    source = new EventSource(events);
    // No event tells of changes between the page and the connection.
    source.addEventListener("open", () => soon(spread(LIVE_MS)));
    for (const type of ["digest", "reset"]) {
      source.addEventListener(type, onChange);
    }
  };
  document.addEventListener("visibilitychange", () => {
    listen();
    clearTimeout(timer);
    timer = undefined;
    soon(0);
  });
  listen();
  soon(POLL_MS);
}

let previewing;

/** Shows what a form stands for while it is filled in. */
function previewSoon({ target }) {
  const form = target.closest("[data-preview]");
  if (!form) return;
  clearTimeout(previewing);
  previewing = setTimeout(() => preview(form).catch(() => {}), PREVIEW_MS);
}

async function preview(form) {
  const body = new URLSearchParams(new FormData(form));
  body.set("do", "preview");
  const response = await fetch(form.action, { method: "POST", body });
  const page = new DOMParser().parseFromString(
    await response.text(),
    "text/html",
  );
  const next = page.querySelector("#preview [aria-live]");
  const now = document.querySelector("#preview [aria-live]");
  if (next === null || now === null) return;
  showTimes(next);
  now.replaceChildren(...next.childNodes);
}

document.addEventListener("input", previewSoon);
document.addEventListener("keydown", onKey);
document.addEventListener("submit", (event) => {
  if (!confirmForm(event.target, event.submitter)) event.preventDefault();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-text]");
  if (button) copy(button);
});
document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-all]")) {
    for (const row of rows()) {
      const box = row.querySelector("input[type=checkbox]");
      if (box) box.checked = target.checked;
    }
  }
});
// On a phone the pages are one long row.
document.querySelector(".pages [aria-current]")
  ?.scrollIntoView({ block: "nearest", inline: "center" });
showTimes(document);
goLive();
