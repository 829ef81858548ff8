/**
 * gRPC conformance cases about addresses: ports, Unix sockets, and addresses
 * that are already in use.
 *
 * @module
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { GrpcClient } from "../support/grpc_js_client.ts";
import type {
  GrpcAddress,
  GrpcMethods,
} from "../../services/shared/grpc/method.ts";
import { RecordingLogger } from "../support/recording_logger.ts";
import {
  ANY_PORT,
  formatTarget,
  getPort,
  type GrpcServer,
  listErrors,
  LONG_MS,
  type Suite,
  withServer,
} from "./harness.ts";

const PATH = "/conformance.Test/Echo";
const METHODS: GrpcMethods = {
  [PATH]: { kind: "unary", handle: (request) => request },
};

/** Registers the cases about addresses. */
export function addressCases(suite: Suite): void {
  const title = (text: string): string => `${suite.name} ${text}`;

  Deno.test(title("tells the real port where 0 was asked"), async () => {
    await withServer(suite, { methods: METHODS }, async ({ address }) => {
      assert(address.kind === "tcp");
      assertEquals(address.host, "127.0.0.1");
      assert(address.port > 0);
      await assertAnswers(address);
    });
  });

  Deno.test({
    name: title("listens on IPv6"),
    ignore: !hasIpv6(),
    async fn() {
      for (const host of ["::1", "::"]) {
        const address: GrpcAddress = { kind: "tcp", host, port: 0 };
        const options = { methods: METHODS, address };
        await withServer(suite, options, async (running) => {
          const port = getPort(running.address);
          await assertAnswers({ kind: "tcp", host: "::1", port });
        });
      }
    },
  });

  Deno.test(title("reports a taken port as AddrInUse"), async () => {
    await withServer(suite, { methods: METHODS }, async ({ address, log }) => {
      const second = make(suite, address);
      await assertRejects(
        () => second.start(),
        Deno.errors.AddrInUse,
        String(getPort(address)),
      );
      await second.stop(0);
      await assertAnswers(address);
      assertEquals(listErrors(log), []);
    });
  });

  Deno.test(title("frees its port at its stop"), async () => {
    const first = make(suite, ANY_PORT);
    const address = await first.start();
    await assertAnswers(address);
    await first.stop(LONG_MS);
    const second = make(suite, address);
    assertEquals(await second.start(), address);
    await assertAnswers(address);
    await second.stop(LONG_MS);
  });

  Deno.test(
    title("listens on a Unix socket and removes its file"),
    async () => {
      await withFolder(async (folder) => {
        const path = `${folder}/grpc.sock`;
        const address: GrpcAddress = { kind: "unix", path };
        await withServer(
          suite,
          { methods: METHODS, address },
          async (running) => {
            assertEquals(running.address, address);
            await assertAnswers(address);
          },
        );
        await assertRejects(() => Deno.lstat(path), Deno.errors.NotFound);
      });
    },
  );

  Deno.test(
    title("takes the place of a Unix socket nobody answers on"),
    async () => {
      await withFolder(async (folder) => {
        const path = `${folder}/grpc.sock`;
        // A socket file that was renamed is not removed by its listener, like
        // the file of a killed process.
        const dead = Deno.listen({ transport: "unix", path: `${path}.dead` });
        await Deno.rename(`${path}.dead`, path);
        dead.close();
        assertEquals((await Deno.lstat(path)).isSocket, true);
        const address: GrpcAddress = { kind: "unix", path };
        await withServer(suite, { methods: METHODS, address }, async () => {
          await assertAnswers(address);
        });
      });
    },
  );

  Deno.test(
    title("leaves a Unix socket alone that somebody answers on"),
    async () => {
      await withFolder(async (folder) => {
        const address: GrpcAddress = {
          kind: "unix",
          path: `${folder}/grpc.sock`,
        };
        await withServer(suite, { methods: METHODS, address }, async () => {
          const second = make(suite, address);
          await assertRejects(
            () => second.start(),
            Deno.errors.AddrInUse,
            address.path,
          );
          await second.stop(0);
          await assertAnswers(address);
        });
      });
    },
  );

  Deno.test(
    title("leaves a path alone that is not a Unix socket"),
    async () => {
      await withFolder(async (folder) => {
        const path = `${folder}/precious.txt`;
        await Deno.writeTextFile(path, "keep me");
        const server = make(suite, { kind: "unix", path });
        await assertRejects(
          () => server.start(),
          Deno.errors.AlreadyExists,
          "not a socket",
        );
        await server.stop(0);
        assertEquals(await Deno.readTextFile(path), "keep me");
      });
    },
  );
}

function make(suite: Suite, address: GrpcAddress): GrpcServer {
  const logger = new RecordingLogger();
  return suite.makeServer({ methods: METHODS, address, logger });
}

async function assertAnswers(address: GrpcAddress): Promise<void> {
  const client = new GrpcClient({ target: formatTarget(address) });
  const request = Uint8Array.of(1, 2, 3);
  try {
    const answer = await client.unary(PATH, request, { deadlineMs: LONG_MS });
    assertEquals(answer, request);
  } finally {
    client.close();
  }
}

async function withFolder(
  body: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function hasIpv6(): boolean {
  try {
    Deno.listen({ hostname: "::1", port: 0 }).close();
    return true;
  } catch {
    return false;
  }
}
