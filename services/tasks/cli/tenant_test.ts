import { createServer, type IncomingMessage, type Server } from "node:http";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { postJson, runTenant } from "./tenant.ts";

type PostRequest = Parameters<typeof postJson>[0];
type PostOutcome = Awaited<ReturnType<typeof postJson>>;

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
  const made: PostOutcome = { kind: "ok", status: 201, text: MADE };
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
  readonly sent: readonly PostRequest[];
}

async function run(
  args: readonly string[],
  outcome: PostOutcome = { kind: "failed", reason: "" },
): Promise<Run> {
  const out: string[] = [];
  const err: string[] = [];
  const sent: PostRequest[] = [];
  const exitCode = await runTenant(args, {
    io: {
      out: (text) => {
        out.push(text);
      },
      err: (text) => {
        err.push(text);
      },
    },
    post: (request) => {
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

Deno.test("postJson() reaches names below localhost with their Host header", async () => {
  const { server, url } = await listen((request, text) => ({
    status: 201,
    text: JSON.stringify({
      host: request.headers.host,
      path: request.url,
      token: request.headers.authorization,
      text,
    }),
  }));
  const outcome = await postJson({
    url: new URL("/x?y=1", url),
    body: { domain: "ä" },
    token: "t1",
  });
  assert(outcome.kind === "ok");
  assertEquals(outcome.status, 201);
  assertEquals(JSON.parse(outcome.text), {
    host: url.host,
    path: "/x?y=1",
    token: "Bearer t1",
    text: '{"domain":"ä"}',
  });
  await close(server);
});

Deno.test("postJson() does not wait for ever, nor read without end", async () => {
  const { server, url } = await listen((request) =>
    request.url === "/silent"
      ? undefined
      : { status: 200, text: "x".repeat(2_000_000) }
  );
  const silent = await postJson({
    url: new URL("/silent", url),
    body: {},
    timeoutMs: 100,
  });
  assertEquals(silent, { kind: "failed", reason: "it did not answer in time" });
  const large = await postJson({ url, body: {} });
  assertEquals(large, { kind: "failed", reason: "its answer is too large" });
  await close(server);
  const away: PostOutcome = await postJson({ url, body: {} });
  assertEquals(away.kind, "failed");
});

interface Reply {
  readonly status: number;
  readonly text: string;
}

async function listen(
  answer: (request: IncomingMessage, text: string) => Reply | undefined,
): Promise<{ readonly server: Server; readonly url: URL }> {
  const server = createServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => {
      chunks.push(chunk);
    });
    request.on("end", () => {
      const bytes = new Uint8Array(chunks.flatMap((chunk) => [...chunk]));
      const reply = answer(request, new TextDecoder().decode(bytes));
      if (reply === undefined) return;
      response.writeHead(reply.status).end(reply.text);
    });
  });
  const ready = Promise.withResolvers<void>();
  server.listen(0, "localhost", () => ready.resolve());
  await ready.promise;
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  return { server, url: new URL(`http://accounts.localhost:${address.port}/`) };
}

async function close(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeAllConnections();
  await closed.promise;
}
