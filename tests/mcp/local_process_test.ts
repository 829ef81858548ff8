import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Mem } from "../../mod.ts";
import { runTercet } from "../../services/cli/main.ts";
import { LocalMemory } from "../../services/cli/mcp/local_memory.ts";
import { systemClock } from "../../services/shared/clock.ts";
import { RecordingLogger } from "../support/recording_logger.ts";
import { StdioMcp } from "./stdio_client.ts";

/** A folder for a memory, which is removed at the end. */
async function withFolder(
  use: (folder: string) => Promise<void>,
  { depth = 0 }: { readonly depth?: number } = {},
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "tercet-local-" });
  try {
    await use(`${root}/${"deep/".repeat(depth)}memory`);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** All texts in a folder, sorted, as another process reads them. */
async function textsIn(folder: string): Promise<readonly string[]> {
  const local = new LocalMemory({
    folder,
    readVariable: () => undefined,
    clock: systemClock,
    logger: new RecordingLogger(),
  });
  const { key, accountId } = await local.credentials();
  const serverUrl = "http://localhost";
  const mem = Mem.create({ key, accountId, serverUrl, fetch: local.fetch });
  try {
    const { results } = await mem.recall({ query: "number", limit: 100 });
    return results.map(({ text }) => text).sort();
  } finally {
    mem.destroy();
    await local.close();
  }
}

Deno.test("tercet mcp --local recalls in one process what another one has remembered, without a port", async () => {
  await withFolder(async (folder) => {
    // It may not open a port, and fails if it tries to.
    const only = { onlySocket: `${folder}/run/relayer.sock` };
    {
      await using first = new StdioMcp(["--local", folder], only);
      const { result } = await first.open();
      assertEquals(result.serverInfo.name, "tercet-memory");
      await first.call("memwal_remember", { text: "Ada drinks tea" });
      await using guest = new StdioMcp(["--local", folder], only);
      const shared = await guest.call("memwal_recall", { query: "tea" });
      assertStringIncludes(shared, "Ada drinks tea");
      assertEquals(await guest.end(), 0);
      assertEquals(await first.end(), 0);
      assertEquals(first.log, "");
    }
    await using second = new StdioMcp(["--local", folder], only);
    await second.open();
    const args = { query: "What does Ada drink?" };
    const found = await second.call("memwal_recall", args);
    assertStringIncludes(found, "Ada drinks tea");
    for (const name of ["client.json", "master.key", "relayer.db"]) {
      const { mode } = await Deno.stat(`${folder}/${name}`);
      assertEquals((mode ?? 0) & 0o777, 0o600, name);
    }
    const { mode } = await Deno.stat(folder);
    assertEquals((mode ?? 0) & 0o777, 0o700);
    const socket = await Deno.stat(`${folder}/run/relayer.sock`);
    assertEquals((socket.mode ?? 0) & 0o777, 0o600);
    assertEquals(await second.end(), 0);
    assertEquals(await Array.fromAsync(Deno.readDir(`${folder}/run`)), []);
  });
});

Deno.test("tercet mcp --local shares a folder whose path is too long for a socket", async () => {
  await withFolder(async (folder) => {
    await using first = new StdioMcp(["--local", folder]);
    await using second = new StdioMcp(["--local", folder]);
    await first.call("memwal_remember", { text: "Ada drinks tea" });
    const found = await second.call("memwal_recall", { query: "tea" });
    assertStringIncludes(found, "Ada drinks tea");
    const link = `${folder}/run/relayer.sock`;
    assert((await Deno.lstat(link)).isSymlink);
    const place = (await Deno.readLink(link)).replace(/\/[^/]+$/, "");
    const { mode } = await Deno.stat(place);
    assertEquals((mode ?? 0) & 0o777, 0o700);
    assertEquals(await first.end(), 0);
    assertEquals(await second.end(), 0);
    await assertMissing(place);
  }, { depth: 25 });
});

Deno.test("tercet mcp --local loses no memory and stores none twice when its processes are killed one after another", async () => {
  await withFolder(async (folder) => {
    const processes: StdioMcp[] = [];
    const start = async (): Promise<StdioMcp> => {
      const started = new StdioMcp(["--local", folder]);
      processes.push(started);
      await started.open();
      return started;
    };
    try {
      const owner = await start();
      await owner.call("memwal_recall", { query: "nothing" });
      const guests = [await start(), await start()];
      const wanted: string[] = [];
      const remember = async (guest: StdioMcp): Promise<void> => {
        const text = `The number is ${wanted.length}`;
        wanted.push(text);
        await guest.call("memwal_remember", { text });
      };
      const work = (): Promise<unknown> =>
        Promise.all(guests.flatMap((guest) => [
          ...Array.from({ length: 6 }, () => remember(guest)),
          guest.call("memwal_recall", { query: "number" }),
        ]));
      await work();
      // Requests are under way when the owner ends: it has taken some of them,
      // and others wait in its socket.
      const first = work();
      await Promise.all(guests.map((guest) => guest.ask("ping")));
      owner.halt();
      const second = work();
      for (let round = 0; round < 10; round++) {
        await Promise.all(guests.map((guest) => guest.ask("ping")));
      }
      await owner.kill();
      await Promise.all([first, second]);
      await Promise.all(guests.map((guest) => guest.kill()));
      assertEquals(await textsIn(folder), wanted.sort());
    } finally {
      await Promise.all(processes.map((one) => one.kill()));
    }
  });
});

Deno.test("tercet mcp --local shares a new folder among processes that start at once, whichever ends first", async () => {
  await withFolder(async (folder) => {
    const processes = Array.from(
      { length: 4 },
      () => new StdioMcp(["--local", folder]),
    );
    try {
      const wanted = await Promise.all(processes.map(async (one, index) => {
        const text = `The number is ${index}`;
        await one.call("memwal_remember", { text });
        return text;
      }));
      // One after the other ends while the others go on.
      for (const [index, one] of processes.entries()) {
        const found = await one.call("memwal_recall", { query: "number" });
        for (const text of wanted) assertStringIncludes(found, text);
        const others = processes.slice(index + 1).map((other) =>
          other.call("memwal_recall", { query: "number" })
        );
        assertEquals(await one.end(), 0);
        await Promise.all(others);
        assertEquals(one.log, "");
      }
      assertEquals(await textsIn(folder), wanted);
    } finally {
      await Promise.all(processes.map((one) => one.kill()));
    }
  });
});

Deno.test("tercet memory --local uses the folder that an agent has open", async () => {
  await withFolder(async (folder) => {
    const play = async (...args: readonly string[]): Promise<string> => {
      let text = "";
      const write = (written: string): void => void (text += `${written}\n`);
      const never = () => Promise.reject(new Error("not asked for"));
      const code = await runTercet(["memory", ...args], {
        ...{ out: write, err: write, readVariable: () => undefined },
        ...{ readText: never, readInput: never, writeSecret: never },
      });
      assertEquals(code, 0, text);
      return text;
    };
    await play("remember", `--local=${folder}`, "Ada drinks tea");
    await using agent = new StdioMcp(["--local", folder]);
    const found = await agent.call("memwal_recall", { query: "tea" });
    assertStringIncludes(found, "Ada drinks tea");
    const question = ["recall", `--local=${folder}`, "What does Ada drink?"];
    assertStringIncludes(await play(...question), "Ada drinks tea");
  });
});

Deno.test("tercet mcp answers initialize, and says with a call why the folder cannot be used", async () => {
  await withFolder(async (folder) => {
    await using broken = new StdioMcp(["--local", folder]);
    await broken.open();
    await broken.call("memwal_recall", { query: "nothing" });
    assertEquals(await broken.end(), 0);
    await Deno.writeTextFile(`${folder}/master.key`, "no key");
    await using next = new StdioMcp(["--local", folder]);
    await next.open();
    const { result } = await next.ask("tools/call", {
      name: "memwal_recall",
      arguments: { query: "nothing" },
    });
    assertEquals(result.isError, true);
    assertStringIncludes(next.log, "master.key");
  });
});

Deno.test("tercet mcp --local serves its own client when the folder has no place for a socket", async () => {
  await withFolder(async (folder) => {
    await Deno.mkdir(folder, { mode: 0o700 });
    await Deno.writeTextFile(`${folder}/run`, "in the way");
    await using alone = new StdioMcp(["--local", folder]);
    await alone.call("memwal_remember", { text: "Ada drinks tea" });
    assertEquals(await alone.end(), 0);
    assertStringIncludes(alone.log, "Cannot share the memory");
  });
});

async function assertMissing(path: string): Promise<void> {
  const found = await Deno.lstat(path).then(() => true, () => false);
  assertEquals(found, false, `${path} was left`);
}
