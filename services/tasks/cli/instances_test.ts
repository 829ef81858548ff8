import { assertEquals, assertStringIncludes } from "@std/assert";
import { runInstances } from "./instances.ts";
import type { ServiceOutcome, ServiceRequest } from "./service_call.ts";

const LISTED = JSON.stringify({
  data: [
    {
      id: "boot_a",
      epoch: 1,
      version: "0.1.0",
      address: "10.0.0.7:8070",
      joined_at: "2027-01-15T08:00:00.000Z",
      seen_at: "2027-01-15T09:30:00.000Z",
      duties: ["recover", "wake"],
      is_answering: true,
    },
    {
      id: "boot_longer",
      epoch: 2,
      version: "0.1.0",
      address: "",
      joined_at: "2027-01-15T08:00:01.000Z",
      seen_at: "2027-01-15T09:30:01.000Z",
      duties: [],
      is_answering: false,
    },
  ],
});

Deno.test("runInstances() asks the operator's host and lists the instances", async () => {
  const { exitCode, out, sent } = await run(["--token", "t1"], {
    kind: "ok",
    status: 200,
    text: LISTED,
  });
  assertEquals(exitCode, 0);
  assertEquals(sent.map(({ url, token, body }) => [url.href, token, body]), [
    ["http://accounts.admin.localhost:8070/v1/instances", "t1", undefined],
  ]);
  assertEquals(out.join("\n").split("\n").map((line) => line.split(/ {2,}/)), [
    ["instance", "version", "address", "joined", "seen", "duties"],
    [
      "boot_a *",
      "0.1.0",
      "10.0.0.7:8070",
      "2027-01-15T08:00:00.000Z",
      "2027-01-15T09:30:00.000Z",
      "recover wake",
    ],
    [
      "boot_longer",
      "0.1.0",
      "2027-01-15T08:00:01.000Z",
      "2027-01-15T09:30:01.000Z",
    ],
    [""],
    ["* answers"],
  ]);
});

Deno.test("runInstances() writes the answer as it is with --json", async () => {
  const { out, sent } = await run(["--json", "--token-file=token"], {
    kind: "ok",
    status: 200,
    text: LISTED,
  });
  assertEquals([out, sent[0]?.token], [[LISTED], "from token"]);
});

Deno.test("runInstances() tells why it cannot list them", async () => {
  const refused = await run([], {
    kind: "ok",
    status: 401,
    text: '{"detail":"Cannot let you in: no token"}',
  });
  assertEquals([refused.exitCode, refused.err], [1, [
    "Cannot let you in: no token",
  ]]);
  const odd = await run([], { kind: "ok", status: 200, text: "[]" });
  assertEquals([odd.exitCode, odd.out], [1, []]);
  const away = await run([]);
  assertEquals(away.exitCode, 1);
  assertStringIncludes(away.err.join(), "Cannot reach http://accounts.admin");
  assertEquals((await run(["--url=ftp://x"])).exitCode, 2);
  assertEquals((await run(["--token-file=none"])).exitCode, 1);
});

async function run(
  args: readonly string[],
  outcome: ServiceOutcome = { kind: "failed", reason: "it is away" },
) {
  const out: string[] = [];
  const err: string[] = [];
  const sent: ServiceRequest[] = [];
  const exitCode = await runInstances(args, {
    io: {
      out: (text) => void out.push(text),
      err: (text) => void err.push(text),
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
