import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { createTestAuthority } from "../../../tests/support/test_certificates.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { prepareServerTls, type ServerTls } from "../tls/server_tls.ts";
import { H2GrpcChannel } from "./h2_channel.ts";
import { H2GrpcServer } from "./h2_server.ts";

const ECHO = "/test.Test/Echo";
const authority = createTestAuthority();

function prepareTls(): ServerTls {
  const { certPem: cert, keyPem: key } = authority.issue("localhost");
  const outcome = prepareServerTls({ cert, key });
  assert(outcome.kind === "usable");
  return outcome.tls;
}

interface TlsTest {
  readonly port: number;
  readonly server: H2GrpcServer;
  readonly log: RecordingLogger;
  readonly clock: FakeClock;
  /** A connection on which nothing is said; closed with the test. */
  readonly silent: () => Promise<Deno.TcpConn>;
  /** Whether a new client is served. */
  readonly serves: () => Promise<boolean>;
}

async function withTls(
  options: {
    readonly maxHandshakes?: number;
    readonly maxConnections?: number;
  },
  use: (test: TlsTest) => Promise<void>,
): Promise<void> {
  const { maxHandshakes, ...rest } = options;
  const log = new RecordingLogger();
  const clock = new FakeClock();
  const tls = prepareTls();
  const server = new H2GrpcServer({
    methods: { [ECHO]: { kind: "unary", handle: (request) => request } },
    address: { kind: "tcp", host: "127.0.0.1", port: 0 },
    tls: { current: () => tls, maxHandshakes },
    logger: log,
    clock,
    ...rest,
  });
  const address = await server.start();
  assert(address.kind === "tcp");
  const { port } = address;
  const opened: Deno.TcpConn[] = [];
  const silent = async (): Promise<Deno.TcpConn> => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    opened.push(connection);
    return connection;
  };
  const serves = async (): Promise<boolean> => {
    const channel = new H2GrpcChannel({
      target: {
        kind: "tcp",
        host: "127.0.0.1",
        port,
        tls: { caPem: authority.caPem, serverName: "localhost" },
      },
    });
    const request = Uint8Array.of(1, 2);
    const answer = await channel.unary(ECHO, request, { deadlineMs: 10_000 });
    channel.close();
    return answer instanceof Uint8Array && answer.length === 2;
  };
  try {
    await use({ port, server, log, clock, silent, serves });
  } finally {
    for (const connection of opened) connection.close();
    await server.stop(1_000);
  }
}

/** Null once the other side has closed it, in whichever way. */
function read(connection: Deno.Conn): Promise<number | null> {
  return connection.read(new Uint8Array(64)).catch(() => null);
}

Deno.test("H2GrpcServer ends a handshake that takes longer than ten seconds", async () => {
  await withTls({}, async ({ silent, serves, clock, log }) => {
    const nothing = await silent();
    const half = await silent();
    // The beginning of a handshake that announces 512 bytes.
    await half.write(Uint8Array.of(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3));
    assertEquals(await serves(), true);
    await clock.advanceAsync(9_900);
    assertEquals(await serves(), true);
    await clock.advanceAsync(200);
    assertEquals([await read(nothing), await read(half)], [null, null]);
    assertEquals(log.listMessages("warning"), ["A TLS handshake failed"]);
    assertEquals(await serves(), true);
  });
});

Deno.test("H2GrpcServer gives up the oldest handshake for one more than it may have", async () => {
  await withTls({ maxHandshakes: 3 }, async ({ silent, serves }) => {
    const [first, ...others] = await all(4, silent);
    assert(first !== undefined);
    assertEquals(await read(first), null);
    assertEquals(await serves(), true);
    // That one took the place of the second.
    const [second] = others;
    assert(second !== undefined);
    assertEquals(await read(second), null);
  });
});

Deno.test("H2GrpcServer counts handshakes as connections", async () => {
  await withTls({ maxConnections: 2 }, async ({ silent, log }) => {
    await all(2, silent);
    const third = await silent();
    assertEquals(await read(third), null);
    assertEquals(log.listMessages("warning"), [
      "Refusing connections: as many as allowed are open",
    ]);
  });
});

Deno.test("H2GrpcServer.stop() ends handshakes at once", async () => {
  await withTls({}, async ({ silent, serves, server }) => {
    const waiting = await all(3, silent);
    assertEquals(await serves(), true);
    await server.stop(3_600_000);
    for (const one of waiting) assertEquals(await read(one), null);
  });
});

Deno.test("H2GrpcServer says nothing of who only looks whether the port is open", async () => {
  await withTls({}, async ({ port, log, serves }) => {
    for (let count = 0; count < 5; count++) {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    }
    await waitUntil(
      () =>
        log.messages.filter((one) => one.includes("was aborted")).length === 5,
      { what: "the ends" },
    );
    assertEquals(await serves(), true);
    assertEquals(log.listMessages("warning"), []);
  });
});

async function all<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let one = 0; one < count; one++) made.push(await make());
  return made;
}
