import { assert, assertEquals } from "@std/assert";
import { connect as connectTls } from "node:tls";
import { H2GrpcChannel } from "../../services/shared/grpc/h2_channel.ts";
import {
  type RatelimitProcess,
  startRatelimit,
} from "../support/ratelimit_process.ts";
import { eachRound } from "../support/rounds.ts";
import { ConfigFolder } from "./config_folder.ts";
import { TLS_SERVER_NAME } from "./grpc_caller.ts";
import { GrpcTlsFiles } from "./grpc_tls_files.ts";
import { encodeHealthCheckRequest } from "../../proto/testing/health_client.ts";

const CHECK = "/grpc.health.v1.Health/Check";

interface HostileTest {
  readonly service: RatelimitProcess;
  readonly connect: () => Promise<Deno.TcpConn>;
  readonly serves: () => Promise<boolean>;
}

async function withService(
  use: (test: HostileTest) => Promise<void>,
): Promise<void> {
  await using folder = await ConfigFolder.make();
  await using files = await GrpcTlsFiles.make();
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
      ...files.env,
    },
  });
  const [host = "", port = ""] = service.grpcTarget.split(":");
  const connect = (): Promise<Deno.TcpConn> =>
    Deno.connect({ hostname: host, port: Number(port) });
  const serves = async (): Promise<boolean> => {
    const tls = {
      caPem: files.authority.caPem,
      serverName: TLS_SERVER_NAME,
    };
    const channel = new H2GrpcChannel({
      target: { kind: "tcp", host, port: Number(port), tls },
    });
    const request = encodeHealthCheckRequest({ service: "" });
    const answer = await channel.unary(CHECK, request, { deadlineMs: 10_000 });
    channel.close();
    return answer instanceof Uint8Array;
  };
  await use({ service, connect, serves });
  assertEquals(await serves(), true);
  assertEquals(await service.stop(), 0);
  const errors = service.lines.filter((line) => line.includes("level=error"));
  assertEquals(errors, []);
}

/** Returns the first bytes that a real TLS client sends. */
async function clientHello(): Promise<Uint8Array> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const socket = connectTls({
    host: "127.0.0.1",
    port: listener.addr.port,
    servername: TLS_SERVER_NAME,
    ALPNProtocols: ["h2"],
  });
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  using connection = await listener.accept();
  const buffer = new Uint8Array(4_096);
  const length = await connection.read(buffer);
  socket.destroy();
  await closed;
  assert(length !== null && length > 100);
  return buffer.slice(0, length);
}

/**
 * Sends bytes and half-closes the connection; returns true once the service has
 * closed it.
 */
async function isEnded(
  connection: Deno.TcpConn,
  bytes: Uint8Array,
): Promise<boolean> {
  const buffer = new Uint8Array(16_384);
  try {
    for (let sent = 0; sent < bytes.length;) {
      sent += await connection.write(bytes.subarray(sent));
    }
    await connection.closeWrite();
    while (await connection.read(buffer) !== null);
  } catch (error) {
    // The service may reset the connection while bytes are still being sent.
    if (!(error instanceof Error)) throw error;
  } finally {
    connection.close();
  }
  return true;
}

Deno.test("ratelimit serves on whatever comes on its TLS listener", async (t) => {
  await withService(async ({ connect, serves }) => {
    await t.step(
      "ratelimit ends TLS connections on which garbage comes, and serves the others",
      async () => {
        await eachRound({ rounds: 100 }, async ({ random, seed }) => {
          const bytes = Uint8Array.from(
            { length: 1 + Math.floor(random.next() * 3_000) },
            () => Math.floor(random.next() * 256),
          );
          // Half of the inputs begin like a record of a TLS handshake.
          if (seed % 2 === 0) bytes.set([0x16, 3, 1].slice(0, bytes.length));
          assertEquals(await isEnded(await connect(), bytes), true);
        });
        assertEquals(await serves(), true);
      },
    );
    await t.step(
      "ratelimit ends TLS handshakes that are cut or damaged, and serves the others",
      async () => {
        const hello = await clientHello();
        for (let length = 0; length <= hello.length; length += 7) {
          assertEquals(
            await isEnded(await connect(), hello.subarray(0, length)),
            true,
          );
        }
        await eachRound({ rounds: 100 }, async ({ random }) => {
          const bytes = hello.slice();
          for (let count = 0; count <= random.next() * 4; count++) {
            bytes[Math.floor(random.next() * bytes.length)] = Math.floor(
              random.next() * 256,
            );
          }
          assertEquals(await isEnded(await connect(), bytes), true);
        });
        // A valid beginning, followed by garbage.
        const junk = new Uint8Array(2 * hello.length);
        junk.set(hello);
        junk.fill(0xff, hello.length);
        assertEquals(await isEnded(await connect(), junk), true);
        assertEquals(await serves(), true);
      },
    );
    await t.step(
      "ratelimit serves others while hundreds of TLS handshakes stall",
      async () => {
        const hello = await clientHello();
        const stalled: Deno.TcpConn[] = [];
        try {
          for (let count = 0; count < 300; count++) {
            const connection = await connect();
            stalled.push(connection);
            await connection.write(hello.subarray(0, count % hello.length));
          }
          assertEquals(await serves(), true);
        } finally {
          for (const connection of stalled) connection.close();
        }
      },
    );
  });
});
