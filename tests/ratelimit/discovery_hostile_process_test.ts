import { assertEquals } from "@std/assert";
import { loadSchema } from "../../proto/testing/schema.ts";
import { FLAG, FRAME_TYPE, PREFACE } from "../../services/shared/h2/frame.ts";
import {
  buildFrame,
  concat,
  dataFrame,
  encodeMessage,
  headersFrame,
  resetFrame,
  settingsFrame,
  windowUpdate,
} from "../support/h2_frames.ts";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { SeededRandom } from "../support/seeded_random.ts";
import { oneLimit, RULES_TYPE_URL } from "./discovery_server.ts";
import { waitForLimit } from "./rules_in_force.ts";

const schema = await loadSchema();

/** Returns a response with one limit, as a gRPC message. */
function response(version: string, limit: number): Uint8Array {
  const value = schema("ratelimit.config.ratelimit.v3.RateLimitConfig")
    .encode({ ...oneLimit("a", limit) });
  return encodeMessage(
    schema("envoy.service.discovery.v3.DiscoveryResponse").encode({
      versionInfo: version,
      nonce: version,
      typeUrl: RULES_TYPE_URL,
      resources: [{ type_url: RULES_TYPE_URL, value }],
    }),
  );
}

const HELLO = settingsFrame([]);

/** Returns the frames with which a server sends its first response. */
function framesWith(message: Uint8Array): readonly Uint8Array[] {
  return [
    buildFrame({ type: FRAME_TYPE.SETTINGS, flags: FLAG.ACK }),
    headersFrame(1, [
      [":status", "200"],
      ["content-type", "application/grpc"],
    ]),
    dataFrame(1, message.subarray(0, 3), 0),
    dataFrame(1, message.subarray(3, 20), 0),
    dataFrame(1, message.subarray(20), 0),
  ];
}

function goaway(lastStreamId: number, code: number): Uint8Array {
  const payload = new Uint8Array(8);
  const view = new DataView(payload.buffer);
  view.setUint32(0, lastStreamId);
  view.setUint32(4, code);
  return buildFrame({ type: FRAME_TYPE.GOAWAY, payload });
}

/** Frames that a script inserts between two valid ones, which then continue. */
const ATTACKS: Readonly<Record<string, Uint8Array>> = {
  "GOAWAY for all streams": goaway(0, 0),
  "GOAWAY for later streams": goaway(0x7fff_ffff, 0),
  "GOAWAY with an error": goaway(1, 11),
  "two GOAWAY": concat(goaway(0x7fff_ffff, 0), goaway(0, 2)),
  "RST_STREAM": resetFrame(1),
  "RST_STREAM of no stream": resetFrame(99),
  "WINDOW_UPDATE beyond the bound": windowUpdate(0, 0x7fff_ffff),
  "PUSH_PROMISE": buildFrame({
    type: FRAME_TYPE.PUSH_PROMISE,
    flags: FLAG.END_HEADERS,
    streamId: 1,
    payload: new Uint8Array(4),
  }),
  "a frame too large": Uint8Array.of(0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1),
};

Deno.test("ratelimit outlives a discovery server that says GOAWAY, resets or breaks the rules at every frame", async () => {
  const scripts: Uint8Array[][] = [];
  const frames = framesWith(response("bad", 1));
  for (const attack of Object.values(ATTACKS)) {
    for (let at = 0; at <= frames.length; at++) {
      scripts.push([...frames.slice(0, at), attack, ...frames.slice(at)]);
    }
  }
  const whole = concat(...frames);
  for (let at = 0; at < whole.length; at += 5) {
    scripts.push([whole.slice(0, at)]);
  }
  const random = new SeededRandom(91);
  for (let round = 0; round < 20; round++) {
    scripts.push([random.bytes(random.below(300))]);
  }
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using service = await startRatelimit({
    env: {
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${listener.addr.port}`,
      FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
      XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "10ms",
      XDS_CLIENT_BACKOFF_MAX_INTERVAL: "10ms",
    },
  });
  for (const attack of Object.values(ATTACKS)) {
    using connection = await listener.accept();
    await sent(connection, attack);
    await sent(connection, HELLO);
  }
  for (const script of scripts) {
    using connection = await listener.accept();
    await sent(connection, HELLO);
    await requested(connection);
    for (const frame of script) {
      if (!await sent(connection, frame)) break;
    }
  }
  assertEquals(service.exitCode, undefined);
  assertEquals(service.stderr.includes("internal error"), false);
  // After all scripts the service still accepts rules from a server that
  // follows the protocol.
  using connection = await listener.accept();
  await sent(connection, HELLO);
  await requested(connection);
  for (const frame of framesWith(response("good", 7))) {
    await sent(connection, frame);
  }
  await waitForLimit(service.httpUrl, { domain: "a", key: "user" }, 7);
  assertEquals(await service.stop(), 0);
});

/** Sends bytes; returns false when the client has closed the connection. */
async function sent(
  connection: Deno.Conn,
  bytes: Uint8Array,
): Promise<boolean> {
  try {
    for (let at = 0; at < bytes.length;) {
      at += await connection.write(bytes.subarray(at));
    }
    return true;
  } catch {
    return false;
  }
}

/**
 * Waits until the client has sent its first request or closed the connection.
 */
async function requested(connection: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(16_384);
  let bytes: Uint8Array = new Uint8Array();
  while (!hasRequest(bytes)) {
    const count = await connection.read(buffer);
    if (count === null) return;
    bytes = concat(bytes, buffer.subarray(0, count));
  }
}

/** Returns whether a DATA frame is among the bytes that the client has sent. */
function hasRequest(bytes: Uint8Array): boolean {
  for (let at = PREFACE.length; at + 9 <= bytes.length;) {
    if (bytes[at + 3] === FRAME_TYPE.DATA) return true;
    at += 9 + (bytes[at]! << 16 | bytes[at + 1]! << 8 | bytes[at + 2]!);
  }
  return false;
}
