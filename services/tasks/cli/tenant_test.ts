import { assertEquals, assertStringIncludes } from "@std/assert";
import type { ServiceOutcome, ServiceRequest } from "./service_call.ts";
import { runTenant } from "./tenant.ts";

const MADE = JSON.stringify({
  domain: "acme",
  url: "http://acme.localhost:8070",
  plan: "free",
  owner_key: "dk_secret",
});

Deno.test("runTenant() asks the service and shows the key once", async () => {
  const { exitCode, out, sent } = await run(["create", "acme"], {
    kind: "ok",
    status: 201,
    text: MADE,
  });
  assertEquals(exitCode, 0);
  assertEquals(sent.map(({ url, body, token }) => [url.href, body, token]), [
    ["http://accounts.localhost:8070/", { domain: "acme" }, undefined],
  ]);
  assertStringIncludes(out.join("\n"), "owner key  dk_secret");
  assertStringIncludes(out.join("\n"), "http://acme.localhost:8070");
});

Deno.test("runTenant() sends the token of the flag or the file", async () => {
  const made: ServiceOutcome = { kind: "ok", status: 201, text: MADE };
  const byFlag = await run([
    "create",
    "acme",
    "--token",
    "t1",
    "--url=https://accounts.tasks.example.com",
    "--json",
  ], made);
  assertEquals(byFlag.sent[0]?.token, "t1");
  assertEquals(byFlag.sent[0]?.url.host, "accounts.tasks.example.com");
  assertEquals(byFlag.out, [MADE]);
  const byFile = await run(["create", "acme", "--token-file", "token"], made);
  assertEquals(byFile.sent[0]?.token, "from token");
  const missing = await run(["create", "acme", "--token-file", "none"], made);
  assertEquals([missing.exitCode, missing.sent], [1, []]);
});

Deno.test("runTenant() tells why there is no tenant", async () => {
  const taken = await run(["create", "acme"], {
    kind: "ok",
    status: 409,
    text: '{"detail":"Cannot create tenant: the domain \\"acme\\" is taken"}',
  });
  assertEquals([taken.exitCode, taken.out], [1, []]);
  assertEquals(taken.err, [
    'Cannot create tenant: the domain "acme" is taken',
  ]);
  const odd = await run(["create", "acme"], {
    kind: "ok",
    status: 502,
    text: "<html>",
  });
  assertStringIncludes(odd.err.join(), "answered 502");
  const away = await run(["create", "acme"], {
    kind: "failed",
    reason: "connection refused",
  });
  assertEquals(away.exitCode, 1);
  assertStringIncludes(away.err.join(), "connection refused");
});

Deno.test("runTenant() exits with 2 for wrong arguments and sends nothing", async () => {
  const cases = [
    [],
    ["create"],
    ["remove", "acme"],
    ["create", "acme", "more"],
    ["create", "acme", "--url", "ftp://x"],
    ["create", "acme", "--url", "accounts"],
    ["create", "acme", "--token", "a", "--token-file", "b"],
  ];
  for (const args of cases) {
    const { exitCode, sent, err } = await run(args);
    assertEquals([exitCode, sent], [2, []], args.join(" "));
    assertStringIncludes(err.join("\n"), "usage: tasks tenant");
  }
});

interface Run {
  readonly exitCode: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
  readonly sent: readonly ServiceRequest[];
}

async function run(
  args: readonly string[],
  outcome: ServiceOutcome = { kind: "failed", reason: "" },
): Promise<Run> {
  const out: string[] = [];
  const err: string[] = [];
  const sent: ServiceRequest[] = [];
  const exitCode = await runTenant(args, {
    io: {
      out: (text) => {
        out.push(text);
      },
      err: (text) => {
        err.push(text);
      },
    },
    call: (request) => {
      sent.push(request);
      return Promise.resolve(outcome);
    },
    readText: (path) =>
      path === "none"
        ? Promise.reject(new Error("there is no such file"))
        : Promise.resolve(`from ${path}\n`),
  });
  return { exitCode, out, err, sent };
}
