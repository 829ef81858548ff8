/**
 * Tests what every service publishes about its HTTP API: an OpenAPI document, a
 * page that shows it, and a start page that links to it. The services run from
 * source, which other tests leave to a bundle.
 *
 * @module
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { makeKey, startKeyServer } from "./support/keyserver_process.ts";
import { startRatelimit } from "./support/ratelimit_process.ts";
import { startRelayer } from "./support/relayer_process.ts";
import { startTasks } from "./support/tasks_process.ts";

/** The most bytes of a document or its page, as they are sent. */
const MAX_BYTES = 76_000;

/** A running service, and an operation that its document must contain. */
interface Told {
  readonly url: string;
  readonly title: string;
  readonly route: readonly [path: string, method: string];
}

async function checkDocuments({ url, title, route }: Told): Promise<void> {
  const json = await fetch(`${url}/openapi.json`);
  assertEquals(json.status, 200);
  assertEquals(json.headers.get("content-type"), "application/json");
  checkSent(json);
  const document = await json.json();
  assertEquals(document.info.title, title);
  const [path, method] = route;
  assert(document.paths[path][method] !== undefined, path);
  const page = await fetch(`${url}/docs`);
  assertEquals(page.status, 200);
  assertStringIncludes(page.headers.get("content-type") ?? "", "text/html");
  checkSent(page);
  assertStringIncludes(await page.text(), `<h1>${title}</h1>`);
  const first = await fetch(url, { headers: { accept: "text/html" } });
  const html = await first.text();
  for (const link of ["/docs", "/openapi.json"]) {
    assertStringIncludes(html, `href="${link}"`);
  }
}

/**
 * Checks that a response is compressed and small; `fetch` asks for compression
 * by default.
 */
function checkSent({ headers }: Response): void {
  assertEquals(headers.get("content-encoding"), "gzip");
  const bytes = Number(headers.get("content-length"));
  assert(bytes > 0 && bytes <= MAX_BYTES, `${bytes} bytes`);
}

Deno.test("ratelimit tells its API", async () => {
  const folder = await Deno.makeTempDir({ prefix: "documents_test_" });
  try {
    await using service = await startRatelimit({
      fromSource: true,
      env: {
        RUNTIME_ROOT: folder,
        FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
      },
    });
    await checkDocuments({
      url: service.httpUrl,
      title: "Tercet ratelimit",
      route: ["/json", "post"],
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("tasks tells its API", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "documents_test_" });
  try {
    await using service = await startTasks({ fromSource: true, dataDir });
    await checkDocuments({
      url: service.url,
      title: "Tercet tasks",
      route: ["/v1/tasks", "post"],
    });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("relayer tells its API", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "documents_test_" });
  try {
    await using service = await startRelayer({ fromSource: true, dataDir });
    await checkDocuments({
      url: service.url,
      title: "Tercet relayer",
      route: ["/api/recall", "post"],
    });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("keyserver tells its API", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "documents_test_" });
  try {
    await makeKey(dataDir);
    await using service = await startKeyServer({
      fromSource: true,
      dataDir,
      env: { LEDGER_RPC_URL: "http://127.0.0.1:1" },
    });
    await checkDocuments({
      url: service.url,
      title: "Tercet keyserver",
      route: ["/v1/fetch_key", "post"],
    });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
