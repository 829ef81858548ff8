import { assert, assertEquals } from "@std/assert";
import { gzipSync } from "node:zlib";
import type { HttpResponse } from "../../shared/http/exchange.ts";
import { RelayerConsole } from "./console.tsx";

/** Most bytes, gzipped, that the first view takes in all. */
const MAX_FIRST_VIEW_BYTES = 60_000;

function ask(
  target: string,
  { method = "GET", pages = new RelayerConsole(undefined), coding = "" } = {},
): Promise<HttpResponse> {
  const headers = new Headers({ "accept-encoding": coding });
  return pages.answer({
    method,
    target,
    headers: { get: (name) => headers.get(name) ?? undefined, all: () => [] },
  });
}

async function textOf(target: string): Promise<string> {
  const { status, body } = await ask(target);
  assertEquals(status, 200, target);
  return typeof body === "string" ? body : new TextDecoder().decode(body);
}

Deno.test("RelayerConsole serves a page that says without scripts why it needs them", async () => {
  const html = await textOf("/console?from=mail");
  assert(/<noscript>.*needs JavaScript.*<\/noscript>/s.test(html));
  assert(!/<script(?![^>]* src=)|<style|style="/.test(html), html);
  const { headers } = await ask("/console");
  const policy = String(headers?.["content-security-policy"]);
  assert(!policy.includes("unsafe"));
  assert(policy.includes("connect-src 'self';"));
  assertEquals(headers?.["cache-control"], "no-store");
});

Deno.test("RelayerConsole lets the page reach a ledger elsewhere, and nothing else", async () => {
  const pages = new RelayerConsole("https://ledger.example:9000/rpc");
  const { headers } = await ask("/console", { pages });
  const policy = String(headers?.["content-security-policy"]);
  assert(policy.includes("connect-src 'self' https://ledger.example:9000;"));
});

Deno.test("RelayerConsole serves the first view in few bytes, its parts for good", async () => {
  const html = await textOf("/console");
  const links = [...html.matchAll(/(?:href|src)="(\/console\/assets\/[^"]+)"/g)]
    .map(([, path = ""]) => path);
  let bytes = gzipSync(html).length;
  for (const path of links) {
    const { status, headers, body } = await ask(path, { coding: "gzip" });
    assertEquals([status, headers?.["content-encoding"]], [200, "gzip"], path);
    assert(String(headers?.["cache-control"]).includes("immutable"));
    bytes += body?.length ?? 0;
  }
  assert(links.length > 2);
  assert(bytes <= MAX_FIRST_VIEW_BYTES, `the first view has ${bytes} bytes`);
  // Every module that another one names is there.
  for (const path of links.filter((one) => one.endsWith(".js"))) {
    const names = (await textOf(path)).matchAll(/"\.\/([\w-]+\.js)"/g);
    for (const [, name] of names) await textOf(`/console/assets/${name}`);
  }
});

Deno.test("RelayerConsole knows no other path, and no method but GET and HEAD", async () => {
  for (
    const path of ["/console/", "/console/x", "/console/assets/app.js"]
  ) {
    assertEquals((await ask(path)).status, 404, path);
  }
  const { status, headers } = await ask("/console", { method: "POST" });
  assertEquals([status, headers?.allow], [405, "GET, HEAD"]);
});
