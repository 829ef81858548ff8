import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { nodeFetch } from "../node_fetch.ts";
import { findMemorySocket, serveMemorySocket } from "./memory_socket.ts";

const TOOLS = { clock: new FakeClock(), logger: new RecordingLogger() };

async function withFolder(
  name: string,
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    await use(`${root}/${name}`);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** Asks at the socket of a folder, and returns the answer's text. */
async function ask(folder: string): Promise<string> {
  const socketPath = await findMemorySocket(folder) ?? "";
  const init = { method: "POST", body: new Uint8Array([0x61, 0x62]) };
  const answer = await nodeFetch(new URL("http://localhost/x?y=1"), init, {
    socketPath,
  });
  return `${answer.status} ${await answer.text()}`;
}

for (const name of ["memory", "m".repeat(120)]) {
  Deno.test(`serveMemorySocket() serves a handler at a socket for its owner alone when the folder's name has ${name.length} characters`, async () => {
    await withFolder(name, async (folder) => {
      const socket = await serveMemorySocket(async (request) => {
        const body = await request.body(10);
        assert(body.kind === "ok");
        const { method, target, peer } = request;
        const text = new TextDecoder().decode(body.bytes);
        return {
          status: 200,
          headers: {},
          body: `${method} ${target} ${text} ${peer.address}`,
        };
      }, { folder, ...TOOLS });
      assertEquals(await ask(folder), "200 POST /x?y=1 ab 127.0.0.1");
      const path = await findMemorySocket(folder) ?? "";
      const mode = async (of: string): Promise<number> =>
        ((await Deno.stat(of)).mode ?? 0) & 0o777;
      assertEquals(await mode(path), 0o600);
      assertEquals(await mode(path.replace(/\/[^/]*$/, "")), 0o700);
      await socket.stop(0);
      assertEquals(await findMemorySocket(folder), undefined);
    });
  });
}

Deno.test("serveMemorySocket() takes another folder when the one for long paths cannot be used", async () => {
  await withFolder("m".repeat(120), async (folder) => {
    const handler = () => ({ status: 204, headers: {} });
    const socket = await serveMemorySocket(handler, {
      ...{ folder, ...TOOLS, runtimeFolder: `${folder}/missing` },
    });
    assertEquals(await ask(folder), "204 ");
    await socket.stop(0);
  });
});

Deno.test("serveMemorySocket() takes the place of a socket that a killed process has left", async () => {
  for (const name of ["memory", "m".repeat(120)]) {
    await withFolder(name, async (folder) => {
      const serve = () =>
        serveMemorySocket(() => ({ status: 204, headers: {} }), {
          ...{ folder, ...TOOLS },
        });
      const left = await serve();
      const leftPath = await findMemorySocket(folder) ?? "";
      const socket = await serve();
      assertEquals(await ask(folder), "204 ");
      // A new folder has a new name, and the one that was left is gone.
      if (name.length > 100) {
        const folderOf = leftPath.replace(/\/[^/]*$/, "");
        const isThere = await Deno.stat(folderOf).then(() => true, () => false);
        assertEquals(isThere, false);
      }
      await socket.stop(0);
      await left.stop(0);
    });
  }
});
