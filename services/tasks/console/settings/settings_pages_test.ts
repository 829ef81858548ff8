import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openTestConsole, type TestConsole } from "../testing/test_console.ts";

async function signedIn(
  options: Parameters<typeof openTestConsole>[0] = {},
): Promise<TestConsole> {
  const browser = await openTestConsole(options);
  await browser.signIn();
  return browser;
}

Deno.test("users are added, changed and removed by forms", async () => {
  const browser = await signedIn();
  await browser.read("/users");
  const wrong = await browser.send("/users", { email: "ada", role: "member" });
  assertEquals(wrong.status, 422);
  assertStringIncludes(wrong.html, 'id="email-fault"');
  const added = await browser.send("/users", {
    email: "ada@example.com",
    name: "Ada",
    role: "member",
  });
  assertEquals(added.location, "/console/users?done=created");
  const list = await browser.read("/users");
  const path = /href="\/console(\/users\/usr_\w+)"/.exec(list.html)?.[1] ?? "";
  const page = await browser.read(path);
  assertStringIncludes(page.html, "ada@example.com");
  await browser.send(path, {
    name: "Ada L.",
    role: "admin",
    status: "",
    payloads: "true",
  });
  const user = await browser.api.call("GET", `/v1${path}`);
  assertEquals(user.at("role"), "admin");
  assertEquals(user.at("status"), "invited");
  assertEquals(user.at("payloads"), true);
  const removed = await browser.send(path, { action: "remove" });
  assertEquals(removed.location, "/console/users?done=removed");
  assertEquals((await browser.read(path)).status, 404);
  await browser.api.close();
});

Deno.test("keys are made, replaced and revoked, and each is shown once", async () => {
  const browser = await signedIn();
  await browser.read("/keys");
  const wrong = await browser.send("/keys", { name: "ci" });
  assertEquals(wrong.status, 422);
  const made = await browser.send("/keys", {
    name: "ci",
    scopes: ["tasks:read", "tasks:write"],
    networks: "10.0.0.0/8",
  });
  const text = /dk_\w{16}_\w+/.exec(made.html)?.[0] ?? "";
  const list = await browser.read("/keys");
  assertStringIncludes(list.html, "tasks:read, tasks:write");
  assertStringIncludes(list.html, "10.0.0.0/8");
  assert(text !== "" && !list.html.includes(text), "shown once");
  const id = /dk_\w{16}/.exec(text)?.[0] ?? "";
  const next = await browser.send(`/keys/${id}`, {
    action: "rotate",
    overlap: "PT1H",
  });
  assert(/dk_\w{16}_\w+/.test(next.html), "the new key is shown");
  const revoked = await browser.send(`/keys/${id}`, { action: "revoke" });
  assertEquals(revoked.location, "/console/keys?done=revoked");
  assert(!(await browser.read("/keys")).html.includes(id));
  await browser.api.close();
});

Deno.test("a key without the right to see data cannot give it away", async () => {
  const browser = await openTestConsole();
  await browser.signIn(
    await browser.api.addKey({ role: "admin", payloads: false }),
  );
  await browser.read("/keys");
  const sent = await browser.send("/keys", {
    name: "more",
    role: "viewer",
    payloads: "true",
  });
  assertEquals(sent.status, 422);
  assertStringIncludes(sent.html, 'role="alert"');
  await browser.api.close();
});

Deno.test("the use of the plan is shown against its limits", async () => {
  const browser = await signedIn({ limits: { workers: 2, keys: 1 } });
  await browser.api.addWorker({ name: "one" });
  const { html } = await browser.read("/usage");
  assertStringIncludes(html, "1 of 2");
  assertStringIncludes(html, "1 of 1: none is left");
  const wrong = await browser.send("/usage", { timezone: "Mars" });
  assertEquals(wrong.status, 422);
  await browser.send("/usage", { timezone: "Europe/Berlin" });
  const account = await browser.api.call("GET", "/v1/account");
  assertEquals(account.at("timezone"), "Europe/Berlin");
  await browser.api.close();
});

Deno.test("the audit log tells who did what, with links to what it was", async () => {
  const browser = await signedIn();
  const made = await browser.api.call("POST", "/v1/workers", {
    body: { name: "mailer" },
  });
  const { html } = await browser.read("/audit");
  assertStringIncludes(html, ">worker.created</span>");
  assertStringIncludes(html, `/console/workers/${made.textAt("id")}"`);
  assertStringIncludes(html, "name: mailer");
  await browser.api.close();
});
