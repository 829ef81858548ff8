import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { renderToString } from "preact-render-to-string";
import { h } from "preact";
import { renderPage } from "./layout.tsx";
import { Code, FactList, formatLength, Time } from "./parts.tsx";
import { Bars, Sparkline } from "./plot.tsx";
import { Table } from "./table.tsx";
import { TextField } from "./form.tsx";
import { Timeline } from "./timeline.tsx";

Deno.test("formatLength() uses the units that people read", () => {
  for (
    const [ms, text] of [
      [0, "0 ms"],
      [999, "999 ms"],
      [1_000, "1 s"],
      [2_550, "2.5 s"],
      [59_999, "59 s"],
      [10_920_000, "3 h 2 min"],
      [90_000_000, "1 d 1 h"],
    ] as const
  ) assertEquals(formatLength(ms), text, String(ms));
});

Deno.test("Time shows the distance from now, with the time in its title", () => {
  const at = "2027-01-15T08:00:00.000Z";
  const shown = (nowMs?: number): string =>
    renderToString(h(Time, { at, nowMs }));
  assertStringIncludes(shown(), ">2027-01-15 08:00:00 UTC<");
  const now = Date.parse(at);
  assertStringIncludes(shown(now + 300_000), ">5 min ago<");
  assertStringIncludes(shown(now - 300_000), ">in 5 min<");
  assertStringIncludes(shown(now + 1), ">now<");
  assertStringIncludes(shown(now), 'title="2027-01-15 08:00:00 UTC"');
});

Deno.test("renderPage() marks its own link, and has no forms before the sign-in", () => {
  const page = {
    service: "sample",
    title: "Things & more",
    base: "/console",
    path: "/console/things/1?a=1",
    links: [
      { href: "/console", text: "Overview" },
      { href: "/console/things", text: "Things" },
      { href: "/console/thing", text: "Thing" },
    ],
    theme: "dark",
    content: "<b>",
  } as const;
  const html = renderPage(page);
  for (
    const part of [
      '<!DOCTYPE html>\n<html lang="en" data-theme="dark"',
      "<title>Things &amp; more · Tercet sample</title>",
      '<a href="/console/things" aria-current="page">',
      "&lt;b>",
    ]
  ) assertStringIncludes(html, part);
  assertEquals(html.split("aria-current").length, 2);
  assertEquals(html.includes("<form"), false);
  assertStringIncludes(renderPage({ ...page, csrf: "v" }), 'value="v"');
});

Deno.test("Table names rows and columns, and tells how it is sorted", () => {
  const html = renderToString(h(Table<number>, {
    label: "Numbers",
    rows: [1, 2],
    pick: (n) => [`id${n}`, `number ${n}`] as const,
    columns: [
      {
        name: "Name",
        cell: (n) => `n${n}`,
        sortHref: "?a",
        sorted: "ascending",
      },
      { name: "Value", cell: (n) => n, isNumber: true },
    ],
  }));
  for (
    const part of [
      '<caption class="hidden">Numbers</caption>',
      'aria-sort="ascending"><a href="?a">Name',
      '<th scope="row" >n1</th>',
      'data-name="Value" class="number">2</td>',
      'name="ids" value="id2" aria-label="Select number 2"',
    ]
  ) assertStringIncludes(html, part);
});

Deno.test("a field tells what is wrong with it by its fault and its hint", () => {
  const html = renderToString(
    h(TextField, { name: "a", label: "A", hint: "h", fault: "f" }),
  );
  assertStringIncludes(html, 'aria-describedby="a-fault a-hint"');
  assertStringIncludes(html, 'aria-invalid="true"');
  assertStringIncludes(html, '<p class="fault" id="a-fault">f</p>');
  const plain = renderToString(h(TextField, { name: "a", label: "A" }));
  assertEquals(plain.includes("aria-"), false);
});

Deno.test("FactList leaves out what has no value, and Code is copied by its id", () => {
  const html = renderToString(
    h(FactList, { facts: [["A", 0], ["B", null], ["C", ""], ["D", []]] }),
  );
  assertEquals(html.match(/<dt>/g)?.length, 1);
  const code = renderToString(h(Code, { id: "x", name: "X", text: "a\n b" }));
  assertStringIncludes(code, 'data-copy="x"');
  assertMatch(code, /<pre id="x"[^>]*>a\n b<\/pre>/);
});

Deno.test("Timeline draws spans to one scale", () => {
  const html = renderToString(h(Timeline, {
    label: "Spans",
    spans: [
      { name: "a", startMs: 0, endMs: 1_000, tone: "wait" },
      { name: "b", startMs: 1_000, endMs: 4_000, tone: "bad", isOpen: true },
    ],
  }));
  assertStringIncludes(html, 'class="wait" x="0%" width="25%"');
  assertStringIncludes(html, 'class="bad" x="25%" width="75%"');
  assertStringIncludes(html, "3 s so far");
});

Deno.test("plots say in words what they draw, also without a value", () => {
  for (const plot of [Bars, Sparkline]) {
    const draw = (values: readonly number[]): string =>
      renderToString(h(plot, { label: "Done", values }));
    assertStringIncludes(
      draw([1, 4, 2]),
      'aria-label="Done: at most 4, now 2"',
    );
    assertStringIncludes(draw([]), 'aria-label="Done: at most 0, now 0"');
    assertEquals(draw([0, 0]).includes("NaN"), false);
  }
});
