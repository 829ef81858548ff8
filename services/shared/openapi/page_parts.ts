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
 * The script: a filter over what is listed, and links that open what they lead
 * to.
 */
export const SCRIPT = `
const box = document.getElementById("find");
const found = document.getElementById("found");
const items = [...document.querySelectorAll("main details")];
box.parentElement.hidden = false;
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let count = 0;
  for (const item of items) {
    const text = item.firstElementChild.textContent.toLowerCase();
    item.hidden = !words.every((word) => text.includes(word));
    if (!item.hidden) count++;
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
