/**
 * The style and the script of the page of an API. The page works without the
 * script, which adds a filter and puts the real address into the examples.
 *
 * @module
 */

import { BASE_STYLE } from "../http/html_page.ts";

/** The style: what all pages have, and the layout of this one. */
export const STYLE = `${BASE_STYLE}
html { scroll-padding-top: 1rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; background: var(--bg);
  padding: .5rem; z-index: 1; }
nav ul { list-style: none; margin: 1rem 0 0; padding: 0; display: flex;
  flex-wrap: wrap; gap: 0 1rem; }
nav li a { display: inline-block; padding: .35rem 0; }
label { display: block; margin-top: 1rem; font-weight: 600; }
input { width: 100%; }
pre { max-height: 28rem; }
details { border: 1px solid var(--line); border-radius: .4rem;
  margin: .4rem 0; }
summary { padding: .55rem .75rem; cursor: pointer; }
summary > code { font-weight: 600; }
summary > span { color: var(--dim); }
details[open] > summary { border-bottom: 1px solid var(--line); }
.in { padding: .5rem .75rem 1rem; }
.m { display: inline-block; min-width: 4.2em; font: 600 .8rem/1.6
  ui-monospace, monospace; }
dd { margin: 0 0 0 1rem; }
dd p { margin: .1rem 0; }
dd dl, .alt { border-left: 2px solid var(--line); padding-left: .75rem;
  margin-top: .35rem; }
.t, .facts { color: var(--dim); font-size: .92rem; }
.req { color: var(--bad); font-size: .85rem; font-weight: 600; }
.ok, .m-get { color: var(--good); }
.no, .m-delete { color: var(--bad); }
.m-post, .m-put, .m-patch { color: var(--link); }
.where { margin: -.2rem 0 .6rem .75rem; color: var(--dim); font-size: .92rem; }
.where button { font: inherit; color: var(--link); background: none; border: 0;
  padding: .3rem .35rem; text-decoration: underline; cursor: pointer; }
dt.hit { background: var(--box); box-shadow: -.5rem 0 var(--box),
  inset 3px 0 var(--link); padding-left: .5rem; }
[hidden] { display: none; }
@media (max-width: 40rem) { summary > span { display: block; } }
@media (min-width: 64rem) {
  .all { display: grid; grid-template-columns: 14rem minmax(0, 1fr);
    gap: 0 2.5rem; }
  header { grid-column: 1 / -1; }
  nav { position: sticky; top: 1rem; align-self: start; max-height:
    calc(100vh - 2rem); overflow-y: auto; padding: .25rem; }
  nav ul { display: block; }
  main > section:first-child h2 { margin-top: 1rem; }
}
@media print { nav { display: none; } }
`;

/**
 * The script: a filter over what is listed and over the fields within, which
 * says where it found the words, and links that open what they lead to. Fields
 * are looked through only once the filter is used.
 */
export const SCRIPT = `
const box = document.getElementById("find");
const found = document.getElementById("found");
const items = [...document.querySelectorAll("main details")];
const most = 6;
const nameOf = (row) => {
  const outer = row.parentElement.closest("dd")?.previousElementSibling;
  const own = row.firstElementChild.textContent;
  return outer?.tagName === "DT" ? nameOf(outer) + "." + own : own;
};
let fields;
const fieldsOf = (item) => {
  fields ??= new Map(items.map((one) => [
    one,
    [...one.querySelectorAll(".in dt")].map((row) => ({
      row,
      text: [row, ...row.nextElementSibling?.querySelectorAll(
        ":scope > p, :scope > .alt > p",
      ) ?? []].map((part) => part.textContent.toLowerCase()).join(" "),
    })),
  ]));
  return fields.get(item);
};
const show = (item, row) => {
  item.open = true;
  row.tabIndex = -1;
  row.focus();
  row.scrollIntoView({ block: "center" });
};
const where = (item, rows) => {
  item.querySelectorAll(".hit").forEach((one) => one.classList.remove("hit"));
  if (item.nextElementSibling?.className === "where") item.nextElementSibling.remove();
  if (item.hidden || rows.length === 0) return;
  const line = document.createElement("p");
  line.className = "where";
  line.append("in ");
  rows.forEach((row, at) => {
    row.classList.add("hit");
    if (at >= most) return;
    const button = document.createElement("button");
    button.textContent = nameOf(row);
    button.addEventListener("click", () => show(item, row));
    line.append(button, " ");
  });
  if (rows.length > most) line.append("and " + (rows.length - most) + " more");
  item.after(line);
};
box.parentElement.hidden = false;
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let count = 0;
  for (const item of items) {
    const title = item.firstElementChild.textContent.toLowerCase();
    const left = words.filter((word) => !title.includes(word));
    const rows = words.length === 0 ? [] : fieldsOf(item).filter(({ text }) =>
      (left.length > 0 ? left : words).every((word) => text.includes(word))
    ).map(({ row }) => row);
    item.hidden = left.length > 0 && rows.length === 0;
    if (!item.hidden) count++;
    where(item, rows);
  }
  for (const part of document.querySelectorAll("main > section")) {
    part.hidden = words.length > 0 && !part.querySelector("details:not([hidden])");
  }
  found.textContent = words.length > 0 ? count + " found" : "";
});
const open = () => {
  const there = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (there === null || there.tagName !== "DETAILS") return;
  there.hidden = false;
  there.parentElement.hidden = false;
  there.open = true;
  there.scrollIntoView();
};
addEventListener("hashchange", open);
open();
document.getElementById("address")?.remove();
for (const one of document.querySelectorAll(".url")) {
  one.textContent = location.origin;
}
`;
