import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { type ClientHttp2Session, connect } from "node:http2";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { H2GrpcServer } from "./h2_server.ts";

const PATH = "/test.Test/Wait";
/** The age is a tenth more at most, and the wheel a tick late. */
const PAST_AGE = 1.2;

Deno.test("H2GrpcServer tells how many calls a connection may have open", async () => {
  for (const [asked, told] of [[undefined, 1_000], [7, 7]] as const) {
    const options = asked === undefined ? {} : { maxConcurrentStreams: asked };
    await withServer(options, async ({ session }) => {
      const client = session();
      const settings = await once<{ maxConcurrentStreams?: number }>(
        client,
        "remoteSettings",
      );
      assertEquals(settings.maxConcurrentStreams, told);
    });
  }
});

Deno.test("H2GrpcServer closes a connection at its age and lets its calls finish", async () => {
  const clock = new FakeClock();
  const options = { maxConnectionAgeMs: 1_000, clock };
  await withServer(options, async ({ session, gate }) => {
    const client = session();
    const status = callOn(client);
    await gate.entered;
    const goaway = once<number>(client, "goaway");
    clock.advance(PAST_AGE * options.maxConnectionAgeMs);
    assertEquals(await goaway, 0);
    gate.release();
    assertEquals(await status, "0");
    await once(client, "close");
  });
});

Deno.test("H2GrpcServer closes a connection at its age that has no call", async () => {
  const clock = new FakeClock();
  const options = { maxConnectionAgeMs: 1_000, clock };
  await withServer(options, async ({ session, gate }) => {
    gate.release();
    const client = session();
    await once(client, "remoteSettings");
    clock.advance(PAST_AGE * options.maxConnectionAgeMs);
    await once(client, "close");
    assertEquals(await callOn(session()), "0");
  });
});

Deno.test("H2GrpcServer breaks a connection when the grace past its age is over", async () => {
  const clock = new FakeClock();
  const options = {
    maxConnectionAgeMs: 1_000,
    maxConnectionAgeGraceMs: 1_000,
    clock,
  };
  await withServer(options, async ({ session, gate }) => {
    const client = session();
    const status = callOn(client);
    await gate.entered;
    const goaway = once<number>(client, "goaway");
    clock.advance(PAST_AGE * options.maxConnectionAgeMs);
    assertEquals(await goaway, 0);
    clock.advance(2 * options.maxConnectionAgeGraceMs);
    await once(client, "close");
    assert(await status !== "0");
  });
});

Deno.test("GrpcServer.stop() waits for the calls of a connection past its age", async () => {
  const clock = new FakeClock();
  const options = { maxConnectionAgeMs: 1_000, clock };
  await withServer(options, async (opened) => {
    const client = opened.session();
    const status = callOn(client);
    await opened.gate.entered;
    const goaway = once<number>(client, "goaway");
    clock.advance(PAST_AGE * options.maxConnectionAgeMs);
    await goaway;
    let over = false;
    const stopped = opened.server.stop(10_000).then(() => over = true);
    // Far more turns than a stop without anything to wait for takes.
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    assertEquals(over, false);
    opened.gate.release();
    assertEquals(await status, "0");
    await stopped;
  });
});

Deno.test("H2GrpcServer.stop() answers the calls that were sent before their callers heard of it", async () => {
  await withServer({}, async ({ server, session, gate }) => {
    gate.release();
    const client = session();
    assertEquals(await callOn(client), "0");
    const stopped = server.stop(60_000);
    // The stop has sent its GOAWAY, which the client has not read yet.
    const statuses = await Promise.all([callOn(client), callOn(client)]);
    assertEquals(statuses, ["0", "0"]);
    await stopped;
  });
});

Deno.test("H2GrpcServer.stop() ends the streams that were opened before their callers heard of it", async () => {
  const handle = async function* (
    _: unknown,
    { signal }: { readonly signal: AbortSignal },
  ) {
    yield Uint8Array.of(1);
    if (signal.aborted) return;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  };
  for (const kind of ["server_stream", "bidi_stream"] as const) {
    // Its time stands still, so that the grace of the stop never ends.
    const options = {
      clock: new FakeClock(),
      methods: { [PATH]: { kind, handle } },
    };
    await withServer(options, async ({ server, session }) => {
      const client = session();
      await once(client, "remoteSettings");
      const stopped = server.stop(60_000);
      // The stop has sent its GOAWAY, which the client has not read yet.
      assertEquals(await callOn(client), "14");
      await stopped;
    });
  }
});

Deno.test("H2GrpcServer turns connections away beyond its limit, with one line", async () => {
  await withServer({ maxConnections: 2 }, async ({ session, gate, log }) => {
    gate.release();
    const first = session();
    assertEquals(await callOn(first), "0");
    const second = session();
    assertEquals(await callOn(second), "0");
    for (let count = 0; count < 3; count++) {
      const third = session();
      await once(third, "close");
    }
    assertEquals(log.listMessages("warning").length, 1);
    // The others go on, and a client that disconnects makes room.
    assertEquals(await callOn(first), "0");
    const closed = once(second, "close");
    second.destroy();
    await closed;
    await waitUntil(async () => await callOn(session()) === "0", {
      what: "room for another connection",
    });
  });
});

Deno.test("H2GrpcServer answers a message larger than all windows", async () => {
  const big = new Uint8Array(3_000_000).map((_, at) => at % 251);
  const methods = {
    [PATH]: { kind: "unary", handle: () => big },
  } as const;
  await withServer({ methods }, async ({ session }) => {
    const client = session();
    const stream = client.request(HEADERS);
    stream.end(Buffer.alloc(5));
    const parts: Uint8Array[] = [];
    stream.on("data", (part: Uint8Array) => parts.push(part));
    await new Promise((resolve) => stream.once("close", resolve));
    const body = new Uint8Array(Buffer.concat(parts));
    assertEquals(body.length, 3_000_005);
    assert(body.subarray(5).every((byte, at) => byte === at % 251));
  });
});

const HEADERS = {
  ":method": "POST",
  ":path": PATH,
  "content-type": "application/grpc",
};

interface Opened {
  readonly server: H2GrpcServer;
  readonly log: RecordingLogger;
  readonly gate: { readonly entered: Promise<void>; release(): void };
  /** Opens a further connection, which is closed at the end. */
  session(): ClientHttp2Session;
}

async function withServer(
  options: Partial<ConstructorParameters<typeof H2GrpcServer>[0]>,
  body: (opened: Opened) => Promise<void>,
): Promise<void> {
  const entered = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  const log = new RecordingLogger();
  const server = new H2GrpcServer({
    address: { kind: "tcp", host: "127.0.0.1", port: 0 },
    logger: log,
    methods: {
      [PATH]: {
        kind: "unary",
        async handle(request) {
          entered.resolve();
          await open.promise;
          return request;
        },
      },
    },
    ...options,
  });
  const address = await server.start();
  assert(address.kind === "tcp");
  const sessions: ClientHttp2Session[] = [];
  try {
    await body({
      server,
      log,
      gate: { entered: entered.promise, release: open.resolve },
      session() {
        const session = connect(`http://127.0.0.1:${address.port}`);
        session.on("error", () => {});
        sessions.push(session);
        return session;
      },
    });
  } finally {
    open.resolve();
    for (const session of sessions.filter(({ destroyed }) => !destroyed)) {
      const closed = once(session, "close");
      session.destroy();
      await closed;
    }
    await server.stop(0);
  }
}

/** `grpc-status`, or undefined when the call was broken. */
function callOn(session: ClientHttp2Session): Promise<string | undefined> {
  const stream = session.request(HEADERS);
  let status: string | undefined;
  // The status of an answer without a message is among its headers.
  for (const event of ["response", "trailers"]) {
    stream.on(event, (fields) => status = fields["grpc-status"]);
  }
  stream.on("error", () => {});
  stream.resume();
  stream.end(Buffer.alloc(5));
  return new Promise((resolve) => stream.once("close", () => resolve(status)));
}

function once<T>(session: ClientHttp2Session, event: string): Promise<T> {
  return new Promise((resolve) => {
    if (event === "close" && session.destroyed && session.closed) {
      resolve(undefined as T);
    } else session.once(event, resolve);
  });
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
