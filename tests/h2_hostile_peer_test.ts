import { assert, assertEquals } from "@std/assert";
import { GrpcClient } from "./support/grpc_js_client.ts";
import { H2GrpcServer } from "../services/shared/grpc/h2_server.ts";
import {
  FLAG,
  FRAME_TYPE,
  H2_ERROR,
  read32Bits,
} from "../services/shared/h2/frame.ts";
import {
  buildFrame,
  buildRequest,
  concat,
  dataFrame,
  encodeMessage,
  headersFrame,
  hello,
  KNOWN_PATH,
  pingFrame,
  requestFields,
  resetFrame,
  settingsFrame,
  splitFrames,
  windowUpdate,
} from "./support/h2_frames.ts";
import { RecordingLogger } from "./support/recording_logger.ts";
import { within } from "./grpc_conformance/waiting.ts";

const { PROTOCOL_ERROR, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR } = H2_ERROR;
const { COMPRESSION_ERROR, ENHANCE_YOUR_CALM } = H2_ERROR;
const bytes = (length: number): Uint8Array => new Uint8Array(length);

/**
 * For each case: a name, the error code of the GOAWAY that the peer gets, and
 * what the peer sends.
 */
const CASES: readonly (readonly [string, number, () => Uint8Array[]])[] = [
  ["what is not HTTP/2", PROTOCOL_ERROR, () => [
    new TextEncoder().encode("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
  ]],
  ["a preface that goes wrong", PROTOCOL_ERROR, () => [
    hello().subarray(0, 20),
    bytes(10),
  ]],
  ["a frame too large", FRAME_SIZE_ERROR, () => [
    hello(),
    Uint8Array.of(0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1),
  ]],
  ["padding longer than its frame", PROTOCOL_ERROR, () => [
    hello(),
    headersFrame(1),
    dataFrame(1, Uint8Array.of(200, 0), FLAG.PADDED),
  ]],
  ["headers that cannot be decoded", COMPRESSION_ERROR, () => [
    hello(),
    buildFrame({
      type: FRAME_TYPE.HEADERS,
      flags: FLAG.END_HEADERS,
      streamId: 1,
      payload: bytes(9).fill(0xff),
    }),
  ]],
  ["a window that overflows", FLOW_CONTROL_ERROR, () => [
    hello(),
    windowUpdate(0, 0x7fff_ffff),
  ]],
  ["headers without end", ENHANCE_YOUR_CALM, () => [
    hello(),
    headersFrame(1, requestFields(), 0),
    ...repeat(
      5_000,
      () => buildFrame({ type: FRAME_TYPE.CONTINUATION, streamId: 1 }),
    ),
  ]],
  ["rapid resets", ENHANCE_YOUR_CALM, () => [
    hello(),
    ...repeat(
      7_000,
      (at) => concat(headersFrame(at * 2 + 1), resetFrame(at * 2 + 1)),
    ),
  ]],
  ["a flood of PING", ENHANCE_YOUR_CALM, () => [
    hello(),
    ...repeat(20_000, () => pingFrame()),
  ]],
  ["a flood of SETTINGS", ENHANCE_YOUR_CALM, () => [
    hello(),
    ...repeat(20_000, () => settingsFrame([[4, 7]])),
  ]],
  ["a flood of empty DATA", ENHANCE_YOUR_CALM, () => [
    hello(),
    headersFrame(1),
    ...repeat(20_000, () => dataFrame(1, bytes(0), 0)),
  ]],
  ["a flood of leaves", ENHANCE_YOUR_CALM, () => [
    hello(),
    ...repeat(20_000, () => goaway(0)),
  ]],
];

Deno.test("H2GrpcServer tells peers that break the rules, and serves the others", async (t) => {
  await withServer(async ({ port, client, log }) => {
    for (const [name, code, parts] of CASES) {
      await t.step(name, async () => {
        const received = await talk(port, concat(...parts()));
        const goaway = wholeFrames(received)
          .find(({ type }) => type === FRAME_TYPE.GOAWAY);
        assert(goaway !== undefined, "no GOAWAY came");
        assertEquals(read32Bits(goaway.payload, 4), code);
        await assertServes(client);
      });
    }
    assertEquals(log.listMessages("error"), []);
  });
});

Deno.test("H2GrpcServer outlives peers that leave as they like", async (t) => {
  await withServer(async ({ port, client, log }) => {
    for (
      const [name, sent] of [
        ["nothing", bytes(0)],
        ["half a preface", hello().subarray(0, 9)],
        ["half a frame", concat(hello(), Uint8Array.of(0, 9))],
        ["half a request", concat(hello(), headersFrame(1))],
        ["a leave", concat(hello(), goaway(0))],
        ["two leaves", concat(hello(), goaway(0), goaway(0))],
        ["two leaves with errors", concat(hello(), goaway(2), goaway(1))],
        [
          "two leaves around requests",
          concat(
            hello(),
            buildRequest(1),
            goaway(0),
            buildRequest(3),
            goaway(11),
          ),
        ],
      ] as const
    ) {
      await t.step(name, async () => {
        for (let count = 0; count < 20; count++) {
          await talk(port, sent, { leavesFirst: true });
        }
        await assertServes(client);
      });
    }
    assertEquals(log.listMessages("error"), []);
  });
});

Deno.test("H2GrpcServer answers a bomb of headers with 431 and goes on", async () => {
  await withServer(async ({ port }) => {
    const block = concat(
      Uint8Array.of(0x40, 1, 0x78, 0x7f, 0xa1, 0x1e),
      bytes(4_000).fill(0x76),
      bytes(12_000).fill(0xbe),
    );
    const received = await talk(
      port,
      concat(
        hello(),
        buildFrame({
          type: FRAME_TYPE.HEADERS,
          flags: FLAG.END_HEADERS | FLAG.END_STREAM,
          streamId: 1,
          payload: block,
        }),
        buildRequest(3),
        // An invalid frame, which makes the server end the connection.
        windowUpdate(0, 0),
      ),
    );
    const frames = wholeFrames(received).filter(({ streamId }) => streamId > 0);
    assertEquals(
      frames.map(({ type, streamId }) => [type, streamId]),
      [[1, 1], [1, 3], [0, 3], [1, 3]],
    );
    assertEquals(frames[0]?.payload, Uint8Array.of(8, 3, 0x34, 0x33, 0x31));
  });
});

Deno.test("H2GrpcServer does not answer on and on for a peer that never reads", async () => {
  await withServer(async ({ port, client, handled }) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    try {
      await writeAll(
        connection,
        concat(
          hello([[4, 0x7fff_ffff]]),
          windowUpdate(0, 0x7000_0000),
          ...repeat(4_000, (at) => buildRequest(at * 2 + 1, bytes(10_000))),
        ),
      ).catch(gone);
      // All answers together are 40 MB, of which the socket buffers of both
      // sides hold only some.
      assert(handled() < 2_000, `${handled()} were answered`);
      await assertServes(client);
    } finally {
      connection.close();
    }
  });
});

interface Running {
  readonly port: number;
  readonly client: GrpcClient;
  readonly log: RecordingLogger;
  /** Number of requests that have been answered. */
  handled(): number;
}

async function withServer(
  body: (running: Running) => Promise<void>,
): Promise<void> {
  const log = new RecordingLogger();
  let count = 0;
  const server = new H2GrpcServer({
    methods: {
      [KNOWN_PATH]: {
        kind: "unary",
        handle(request) {
          count++;
          return request;
        },
      },
    },
    address: { kind: "tcp", host: "127.0.0.1", port: 0 },
    logger: log,
  });
  const address = await server.start();
  assert(address.kind === "tcp");
  const { port } = address;
  const client = new GrpcClient({ target: `127.0.0.1:${port}` });
  try {
    await body({ port, client, log, handled: () => count });
  } finally {
    client.close();
    await within(server.stop(0), "the server's stop");
  }
}

async function assertServes(client: GrpcClient): Promise<void> {
  const message = Uint8Array.of(1, 2, 3);
  const call = { deadlineMs: 10_000 };
  assertEquals(await client.unary(KNOWN_PATH, message, call), message);
}

/** Sends all bytes, and reads until the server ends the connection. */
async function talk(
  port: number,
  sent: Uint8Array,
  options: { readonly leavesFirst?: boolean } = {},
): Promise<Uint8Array> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const received: Uint8Array[] = [];
  const reading = (async () => {
    const buffer = bytes(65_536);
    while (true) {
      const length = await connection.read(buffer).catch(gone);
      if (length === null) return;
      received.push(buffer.slice(0, length));
    }
  })();
  try {
    await writeAll(connection, sent).catch(gone);
    if (options.leavesFirst === true) await connection.closeWrite().catch(gone);
    await within(reading, "the end of a connection");
  } finally {
    connection.close();
  }
  return concat(...received);
}

async function writeAll(
  connection: Deno.Conn,
  sent: Uint8Array,
): Promise<void> {
  for (let at = 0; at < sent.length;) {
    at += await connection.write(sent.subarray(at, at + 65_536));
  }
}

/**
 * Ignores that the server closes the connection while bytes are still being
 * sent.
 */
function gone(error: unknown): null {
  if (
    error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.BrokenPipe ||
    error instanceof Deno.errors.NotConnected
  ) return null;
  throw error;
}

/** Returns only complete frames, since a reset may cut off the last one. */
function wholeFrames(received: Uint8Array): ReturnType<typeof splitFrames> {
  let end = 0;
  while (end + 9 <= received.length) {
    const next = end + 9 + (read32Bits(received, end) >>> 8);
    if (next > received.length) break;
    end = next;
  }
  return splitFrames(received.subarray(0, end));
}

function repeat(
  count: number,
  make: (at: number) => Uint8Array,
): Uint8Array[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

function goaway(code: number): Uint8Array {
  const payload = concat(
    bytes(7),
    Uint8Array.of(code),
    encodeMessage(bytes(3)),
  );
  return buildFrame({ type: FRAME_TYPE.GOAWAY, payload });
}
