import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { SCRIPT, STYLE } from "../../shared/console/assets.ts";
import { addTask, openTestConsole } from "./testing/test_console.ts";

Deno.test("every page asks for a sign-in without a session, and leads back after it", async () => {
  const browser = await openTestConsole();
  for (const path of ["", "/tasks", "/tasks/tsk_1?a=1", "/operations/opr_1"]) {
    const { status, location } = await browser.read(path);
    assertEquals(status, 303);
    const to = new URL(location, "http://acme");
    assertEquals(to.pathname, "/console/sign-in");
    assertEquals(to.searchParams.get("next"), `/console${path}`);
  }
  const form = await browser.read("/sign-in?next=/console/tasks");
  assertStringIncludes(
    form.html,
    'action="/console/sign-in?next=/console/tasks',
  );
  const signedIn = await browser.send("/sign-in?next=/console/tasks", {
    key: browser.api.ownerKey,
  });
  assertEquals(signedIn.location, "/console/tasks");
  assertEquals((await browser.read("/tasks")).status, 200);
  await browser.api.close();
});

Deno.test("signing in leads to pages of the console alone", async () => {
  const browser = await openTestConsole();
  for (
    const next of [
      "https://evil.example/console",
      "//evil.example/console",
      "/console@evil.example",
      "/consoles",
      "/console/\r\nx: y",
      "/console/\\evil.example",
    ].map(encodeURIComponent)
  ) {
    const { location } = await browser.send(`/sign-in?next=${next}`, {
      key: browser.api.ownerKey,
    });
    const isOwn = location === "/console" ||
      new URL(location, "http://acme.test").origin === "http://acme.test";
    assert(isOwn, location);
    delete browser.headers.cookie;
  }
  await browser.api.close();
});

Deno.test("the cookie names a session and is kept from scripts and other sites", async () => {
  const browser = await openTestConsole();
  const plain = await browser.signIn();
  const cookie = String(plain.headers["set-cookie"]);
  assertMatch(
    cookie,
    /^tercet_console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
  );
  const secret = browser.api.ownerKey.split("_")[2] ?? "";
  assert(!cookie.includes(secret.slice(0, 10)));
  const stored = await browser.api.store.records({
    kind: "service",
    tenantId: browser.api.tenant.id,
    parentId: "sessions",
    limit: 10,
  });
  assertEquals(stored.records.length, 1);
  const [{ id = "", text = "" } = {}] = stored.records;
  const token = cookie.slice("tercet_console=".length).split(";")[0] ?? "";
  assert(!`${id}${text}`.includes(token), "the cookie itself is not stored");
  await browser.api.close();
});

Deno.test("a key that is no key of the tenant does not sign in", async () => {
  const browser = await openTestConsole();
  const other = await browser.api.addTenant("globex");
  const viewer = await browser.api.addKey({ role: "viewer" });
  for (
    const key of ["", "dk_x", other.ownerKey, `${viewer}x`, "a b", "eyJ.e30.x"]
  ) {
    const answer = await browser.send("/sign-in", { key });
    assertEquals(answer.status, 401, key);
    assertEquals(answer.headers["set-cookie"], undefined);
    assertStringIncludes(answer.html, 'class="fault"');
    if (key.length > 9) assert(!answer.html.includes(key));
  }
  await browser.api.close();
});

Deno.test("a session ends with its key, at sign-out, and after the plan's time", async () => {
  const browser = await openTestConsole();
  const { api } = browser;
  const key = await api.addKey({ role: "admin" });
  await browser.signIn(key);
  assertEquals((await browser.read("/tasks")).status, 200);
  const removed = await api.call("DELETE", `/v1/keys/${key.slice(0, 19)}`);
  assertEquals(removed.status, 204);
  assertEquals((await browser.read("/tasks")).status, 303);

  await browser.signIn();
  const { cookie = "" } = browser.headers;
  assertEquals((await browser.read("")).status, 200);
  const left = await browser.send("/sign-out", {});
  assertEquals(left.location, "/console/sign-in?done=signed_out");
  assertMatch(String(left.headers["set-cookie"]), /=; .*Max-Age=0/);
  browser.headers.cookie = cookie;
  assertEquals((await browser.read("")).status, 303);

  await browser.signIn();
  await api.clock.advance(12 * 3_600_000 - 1);
  assertEquals((await browser.read("")).status, 200);
  await api.clock.advance(1);
  assertEquals((await browser.read("")).status, 303);
  await api.close();
});

Deno.test("events are told to sessions alone", async () => {
  const browser = await openTestConsole();
  assertEquals((await browser.read("/events")).status, 401);
  await browser.signIn(
    await browser.api.addKey({ role: undefined, scopes: ["workers:read"] }),
  );
  assertEquals((await browser.read("/events")).status, 403);
  await browser.api.close();
});

Deno.test("a session may be used from the networks of its key alone", async () => {
  const browser = await openTestConsole();
  const { api } = browser;
  const key = await api.addKey({ networks: ["192.0.2.0/24"] });
  await browser.signIn(key);
  assertEquals((await browser.read("")).status, 200);
  const [stored] = await api.engine.parts.repositories.keys.all(api.tenant.id)
    .then((keys) => keys.filter(({ networks }) => networks !== undefined));
  assert(stored !== undefined);
  await api.write(api.engine.parts.repositories.keys.update(stored, {
    ...stored,
    version: stored.version + 1,
    networks: ["198.51.100.0/24"],
  }));
  assertEquals((await browser.read("")).status, 303);
  await api.close();
});

Deno.test("a form from elsewhere, or of another session, changes nothing", async () => {
  const browser = await openTestConsole();
  const id = await addTask(browser);
  await browser.signIn();
  await browser.read(`/tasks/${id}`);
  const cancel = { action: "cancel" };
  const status = async () =>
    (await browser.api.call("GET", `/v1/tasks/${id}`)).at("status");
  for (const csrf of ["", "x", "0".repeat(43)]) {
    const answer = await browser.send(`/tasks/${id}`, { ...cancel, csrf });
    assertEquals(answer.status, 403, csrf);
  }
  for (const site of ["cross-site", "same-site", "none"]) {
    browser.headers["sec-fetch-site"] = site;
    assertEquals((await browser.send(`/tasks/${id}`, cancel)).status, 403);
    assertEquals((await browser.signIn()).status, 403);
  }
  delete browser.headers["sec-fetch-site"];
  browser.headers.origin = "http://evil.example";
  assertEquals((await browser.send(`/tasks/${id}`, cancel)).status, 403);
  assertEquals(await status(), "waiting");

  browser.headers.origin = "http://acme.tercet.test";
  const done = await browser.send(`/tasks/${id}`, cancel);
  assertEquals(done.location, `/console/tasks/${id}?done=cancel`);
  assertEquals(await status(), "canceled");
  await browser.api.close();
});

Deno.test("a page shows and does what the key may, and no more", async () => {
  const browser = await openTestConsole();
  const id = await addTask(browser, { data: { secret_word: "plum" } });
  await browser.signIn(
    await browser.api.addKey({ role: "viewer", payloads: false }),
  );
  const page = await browser.read(`/tasks/${id}`);
  assertEquals(page.status, 200);
  assert(!page.html.includes("plum"), "data is hidden");
  assertStringIncludes(page.html, "Data and results are hidden");
  assert(!page.html.includes('value="cancel"'), "no action is offered");
  const list = await browser.read("/tasks");
  assert(!list.html.includes('name="ids"'));
  const refused = await browser.send(`/tasks/${id}`, { action: "cancel" });
  assertEquals(refused.status, 403);
  assertStringIncludes(refused.html, "tasks:write");

  await browser.signIn(
    await browser.api.addKey({ role: undefined, scopes: ["workers:read"] }),
  );
  const forbidden = await browser.read("/tasks");
  assertEquals(forbidden.status, 403);
  assertStringIncludes(forbidden.html, "tasks:read");
  assert(!forbidden.html.includes('href="/console/tasks"'));
  await browser.api.close();
});

Deno.test("a page of another tenant's task is not found", async () => {
  const browser = await openTestConsole();
  const other = await browser.api.addTenant("globex");
  const made = await browser.api.call("POST", "/v1/workers", {
    host: "globex.tercet.test",
    key: other.ownerKey,
    body: { name: "mailer", kind: "pull" },
  });
  assertEquals(made.status, 201);
  const task = await browser.api.call("POST", "/v1/tasks", {
    host: "globex.tercet.test",
    key: other.ownerKey,
    body: { worker: "mailer" },
  });
  await browser.signIn();
  const page = await browser.read(`/tasks/${task.textAt("id")}`);
  assertEquals(page.status, 404);
  browser.headers.host = "globex.tercet.test";
  assertEquals((await browser.read("/tasks")).status, 303);
  await browser.api.close();
});

Deno.test("pages show what tenants write as text", async () => {
  const browser = await openTestConsole();
  const evil = `"><script>alert(1)</script>`;
  const id = await addTask(browser, {
    data: { evil },
    key: evil,
    group: evil,
    tags: [evil],
    metadata: { evil },
  });
  await browser.signIn();
  for (
    const path of [
      "/tasks",
      `/tasks/${id}`,
      `/tasks?key=${encodeURIComponent(evil)}`,
      `/tasks?metadata=${encodeURIComponent(`evil=${evil}`)}`,
      `/tasks?status=${encodeURIComponent(evil)}`,
      `/tasks?done=${encodeURIComponent(evil)}`,
      `/operations/${encodeURIComponent(evil)}`,
    ]
  ) {
    const { html } = await browser.read(path);
    assert(!html.includes("<script>alert"), path);
    assert(!/\son[a-z]+=/.test(html.replaceAll(/"[^"]*"/g, "")), path);
  }
  await browser.api.close();
});

Deno.test("pages load their own style and script, and have none within", async () => {
  const browser = await openTestConsole();
  const id = await addTask(browser);
  await browser.signIn();
  for (const path of ["", "/tasks", `/tasks/${id}`, "/tasks/tsk_1"]) {
    const { html, headers } = await browser.read(path);
    const policy = String(headers["content-security-policy"]);
    assertStringIncludes(policy, "default-src 'none'");
    assertStringIncludes(policy, "frame-ancestors 'none'");
    assert(!policy.includes("unsafe"));
    assertEquals(headers["cache-control"], "no-store");
    assert(!/<style|\sstyle=/.test(html), path);
    const scripts = [...html.matchAll(/<script[^>]*>([^<]*)/g)];
    assertEquals(scripts.map(([, text]) => text), [""]);
    for (const [, url = ""] of html.matchAll(/(?:src|href)="([^"]*)"/g)) {
      assertMatch(url, /^(?:\/console(?:$|[/?])|#|data:,$)/);
    }
  }
  await browser.api.close();
});

Deno.test("the style and the script are small, and kept for good", async () => {
  const browser = await openTestConsole();
  for (const { name, text } of [STYLE, SCRIPT]) {
    const { headers, status, html } = await browser.read(`/assets/${name}`);
    assertEquals(status, 200);
    assertStringIncludes(String(headers["cache-control"]), "immutable");
    assert(html.length <= 15_000, `${name}: ${html.length} bytes`);
    assert((await text.formFor("gzip")).bytes.length <= 5_000);
  }
  assertEquals((await browser.read("/assets/console-0.css")).status, 404);
  await browser.api.close();
});

Deno.test("the first view is at most 60 kB when compressed", async () => {
  const browser = await openTestConsole();
  for (let index = 0; index < 60; index++) {
    await addTask(browser, { key: `key-${index}`, tags: ["a", "b"] });
  }
  await browser.signIn();
  browser.headers["accept-encoding"] = "gzip";
  const assets = await Promise.all(
    [STYLE, SCRIPT].map(({ text }) => text.formFor("gzip")),
  );
  const shared = assets.reduce((sum, { bytes }) => sum + bytes.length, 0);
  for (const path of ["", "/tasks"]) {
    const { headers, bytes } = await browser.read(path);
    assertEquals(headers["content-encoding"], "gzip");
    assert(shared + bytes <= 60_000, `${path}: ${shared + bytes} bytes`);
  }
  await browser.api.close();
});
