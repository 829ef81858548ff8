import { assert, assertEquals } from "@std/assert";
import { connect } from "node:http2";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { CODES, grpcCaller } from "./grpc_caller.ts";
import { createRequest, dailyRule } from "./requests.ts";

const PATH = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const MAX_UNFINISHED = 1_048_576;
const MAX_REQUEST = 100_000;
/** The bytes that are sent of each unfinished request. */
const PART = 60_000;
const CONNECTIONS = 12;
const STREAMS = 8;
const RESOURCE_EXHAUSTED = "8";

Deno.test("ratelimit bounds what unfinished requests hold together by MAX_UNFINISHED_BYTES, and serves others", async () => {
  await using folder = await ConfigFolder.make({
    "rules.yaml": dailyRule("greedy", { key: "user", limit: 1_000_000 }),
  });
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      MAX_UNFINISHED_BYTES: String(MAX_UNFINISHED),
      MAX_REQUEST_BYTES: String(MAX_REQUEST),
    },
  });
  const statuses: string[] = [];
  const greedy = Array.from({ length: CONNECTIONS }, () => {
    const session = connect(`http://${service.grpcTarget}`);
    session.on("error", () => {});
    for (let i = 0; i < STREAMS; i++) {
      const call = session.request({
        ":method": "POST",
        ":path": PATH,
        "content-type": "application/grpc",
        "te": "trailers",
      });
      call.on("error", () => {});
      call.on("response", (head) => {
        const status = head["grpc-status"];
        if (typeof status === "string") statuses.push(status);
      });
      const message = new Uint8Array(5 + PART);
      new DataView(message.buffer).setUint32(1, MAX_REQUEST);
      call.write(message);
    }
    return session;
  });
  const held = Math.floor(MAX_UNFINISHED / PART);
  const least = CONNECTIONS * STREAMS - held;
  await waitUntil(() => statuses.length >= least, { what: "refusals" });
  assertEquals(new Set(statuses), new Set([RESOURCE_EXHAUSTED]));
  // Not all requests are refused: those that give way leave room in which the
  // others are still held.
  assert(statuses.length < CONNECTIONS * STREAMS, `${statuses.length}`);

  await using caller = await grpcCaller(service.grpcTarget);
  const { overallCode, details } = await caller.decide(
    createRequest("greedy", { user: "honest" }),
  );
  assertEquals([overallCode, details], [CODES.OK, ""]);

  const closed = greedy.map((session) =>
    new Promise((resolve) => {
      session.on("close", resolve);
      session.destroy();
    })
  );
  await Promise.all(closed);
});
