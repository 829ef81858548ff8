import { assertEquals } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { ConfigFolder } from "./config_folder.ts";
import { CODES, grpcCaller } from "./grpc_caller.ts";
import { createRequest, dailyRule } from "./requests.ts";

const FILES = {
  "rules.yaml": dailyRule("hostile", { key: "user", limit: 1_000_000 }),
};
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS = 4;
const GOAWAY = 7;
/** The debug text that a GOAWAY may carry (RFC 9113, 6.8). */
const WORDS = new TextEncoder().encode("bye");
const CONNECTIONS = 100;
const STAY_MS = 5;

Deno.test("ratelimit outlives callers that break the rules of HTTP/2", async (t) => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root },
  });
  const { grpcTarget } = service;
  const goaway = (code: number): Uint8Array =>
    frame(GOAWAY, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, code, ...WORDS));
  const start = [new TextEncoder().encode(PREFACE), frame(SETTINGS)];
  for (
    const [name, parts] of [
      ["what is not HTTP/2", [
        new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"),
      ]],
      ["half a preface", [new TextEncoder().encode(PREFACE.slice(0, 9))]],
      ["a frame longer than its connection", [...start, Uint8Array.of(0, 9)]],
      ["a leave", [...start, goaway(0)]],
      ["a leave with an error", [...start, goaway(2)]],
      ["two leaves at once", [...start, goaway(0), goaway(0)]],
      ["two leaves with errors", [...start, goaway(2), goaway(1)]],
    ] as const
  ) {
    await t.step(name, async () => {
      for (let i = 0; i < CONNECTIONS; i++) await sendTo(grpcTarget, parts);
      await using caller = await grpcCaller(grpcTarget);
      const { overallCode, details } = await caller.decide(
        createRequest("hostile", { user: "honest" }),
      );
      assertEquals([overallCode, details], [CODES.OK, ""], service.stderr);
    });
  }
});

/** Sends all parts at once, reads for a moment and closes the connection. */
async function sendTo(
  target: string,
  parts: readonly Uint8Array[],
): Promise<void> {
  const [hostname = "", port] = target.split(":");
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const timer = setTimeout(() => connection.close(), STAY_MS);
  try {
    await connection.write(Uint8Array.from(parts.flatMap((part) => [...part])));
    const buffer = new Uint8Array(1_024);
    while (await connection.read(buffer) !== null);
    connection.close();
  } catch (error) {
    // Either side may have closed the connection first.
    const gone = error instanceof Deno.errors.ConnectionReset ||
      error instanceof Deno.errors.BrokenPipe ||
      error instanceof Deno.errors.BadResource ||
      error instanceof Deno.errors.Interrupted;
    if (!gone) throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns a frame on stream 0 (RFC 9113, 4.1). */
function frame(type: number, payload = new Uint8Array()): Uint8Array {
  const header = [0, 0, payload.length, type, 0, 0, 0, 0, 0];
  return Uint8Array.from([...header, ...payload]);
}
