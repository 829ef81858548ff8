import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { hashSecret } from "../../access/credential_token.ts";
import { SERVICE_HOST } from "../../routes/testing/test_api.ts";
import {
  addTask,
  fieldsOf,
  openTestConsole,
  type TestConsole,
} from "../testing/test_console.ts";

const TOKEN = "operator-token-of-these-tests-0123456789";

async function openOperator(): Promise<TestConsole> {
  const browser = await openTestConsole({
    operatorDigests: [hashSecret(TOKEN)],
    limits: { workers: 3 },
  });
  browser.headers.host = `accounts.admin.${SERVICE_HOST}`;
  return browser;
}

async function signedIn(): Promise<TestConsole> {
  const browser = await openOperator();
  await browser.signIn(TOKEN);
  return browser;
}

Deno.test("the operator signs in with the operator's token alone", async () => {
  const browser = await openOperator();
  const first = await browser.read("");
  assertEquals(first.location, "/console/sign-in?next=%2Fconsole");
  const form = await browser.read("/sign-in");
  assertStringIncludes(form.html, "Operator token");
  const wrong = await browser.signIn(browser.api.ownerKey);
  assertEquals(wrong.status, 401);
  assert(!wrong.html.includes(browser.api.ownerKey));
  const right = await browser.signIn(TOKEN);
  assertEquals(right.location, "/console");
  assert(!String(right.headers["set-cookie"]).includes(TOKEN));
  const page = await browser.read("");
  assertEquals(page.status, 200);
  await browser.send("/sign-out", {});
  assertEquals((await browser.read("")).status, 303);
  await browser.api.close();
});

Deno.test("without an operator's token there is no operator's console", async () => {
  const browser = await openTestConsole();
  browser.headers.host = `accounts.admin.${SERVICE_HOST}`;
  assertEquals((await browser.read("/sign-in")).status, 404);
  await browser.api.close();
});

Deno.test("a session of the operator ends with the token, and is none of a tenant", async () => {
  const browser = await signedIn();
  const { cookie = "" } = browser.headers;
  browser.headers.host = `acme.${SERVICE_HOST}`;
  assertEquals((await browser.read("/tasks")).status, 303);
  const other = await openTestConsole({
    besides: browser.api,
    operatorDigests: [hashSecret(`${TOKEN}-new`)],
  });
  other.headers.host = `accounts.admin.${SERVICE_HOST}`;
  other.headers.cookie = cookie;
  assertEquals((await other.read("")).status, 303);
  await browser.api.close();
});

Deno.test("a tenant's session opens no page of the operator", async () => {
  const browser = await openTestConsole({
    operatorDigests: [hashSecret(TOKEN)],
  });
  await browser.signIn();
  assertEquals((await browser.read("/tenants")).status, 404);
  browser.headers.host = `accounts.admin.${SERVICE_HOST}`;
  assertEquals((await browser.read("/tenants")).status, 303);
  await browser.api.close();
});

Deno.test("the overview shows instances, the store's health and queues", async () => {
  const browser = await signedIn();
  await addTask(browser);
  await addTask(browser);
  const { html, status } = await browser.read("");
  assertEquals(status, 200);
  for (
    const text of [
      "store: works",
      '<a href="/console/tenants/acme">acme</a>',
      '<td data-name="waiting" class="number">2</td>',
    ]
  ) assertStringIncludes(html, text);
  await browser.api.close();
});

Deno.test("tenants are made, changed, suspended and removed by forms", async () => {
  const browser = await signedIn();
  await browser.read("/tenants");
  const wrong = await browser.send("/tenants", { domain: "console" });
  assertEquals(wrong.status, 422);
  const made = await browser.send("/tenants", {
    domain: "globex",
    plan: "test",
    timezone: "Europe/Berlin",
  });
  assert(/dk_\w{16}_\w+/.test(made.html), "the owner's key is shown once");
  const list = await browser.read("/tenants");
  assertStringIncludes(list.html, ">globex</a>");
  assertEquals(
    (await browser.read("/tenants?domain=Globex")).location,
    "/console/tenants/globex",
  );
  const { html } = await browser.read("/tenants/globex");
  const fields = fieldsOf(html, 'id="change"');
  assertEquals(fields.timezone, "Europe/Berlin");
  const saved = await browser.send("/tenants/globex", {
    ...fields,
    status: "suspended",
  });
  assertEquals(saved.location, "/console/tenants/globex?done=saved");
  assertStringIncludes(
    (await browser.read("/tenants/globex")).html,
    "suspended</span>",
  );
  const unsure = await browser.send("/tenants/globex", {
    action: "remove",
    confirm: "acme",
  });
  assertEquals(unsure.status, 422);
  const removed = await browser.send("/tenants/globex", {
    action: "remove",
    confirm: "globex",
  });
  assertEquals(removed.location, "/console/tenants?done=removed");
  await browser.api.close();
});

Deno.test("plans are shown with their limits side by side", async () => {
  const browser = await signedIn();
  const { html } = await browser.read("/plans");
  assertStringIncludes(html, ">test</th>");
  assertStringIncludes(html, '<td data-name="test" >3</td>');
  await browser.api.close();
});
