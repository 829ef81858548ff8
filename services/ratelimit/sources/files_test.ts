import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { makePipe } from "../../../tests/support/make_pipe.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { systemClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { readConfigDirectory } from "./config_directory.ts";
import type { ConfigFilesOutcome } from "./config_loader.ts";
import { FileSource } from "./files.ts";

interface Bench {
  /** A folder of its own for the test, by its real path. */
  readonly base: string;
  /** All that was delivered, one line each. */
  readonly delivered: readonly string[];
  readonly warnings: readonly string[];
  /** Starts a source. */
  readonly start: (
    options: Partial<ConstructorParameters<typeof FileSource>[0]> & {
      readonly root: string;
    },
  ) => Promise<FileSource>;
  /** Waits for exactly these deliveries, then for more that should not be. */
  readonly expect: (...lines: readonly string[]) => Promise<void>;
}

async function withBench(use: (bench: Bench) => Promise<void>): Promise<void> {
  const base = await Deno.realPath(await Deno.makeTempDir());
  const delivered: string[] = [];
  const warnings: string[] = [];
  const errors: string[] = [];
  const logger: Logger = {
    debug: () => {},
    info: () => {},
    warn: (message) => warnings.push(message),
    error: (message) => errors.push(message),
  };
  const sources: FileSource[] = [];
  try {
    await use({
      base,
      delivered,
      warnings,
      async start(options) {
        const source = new FileSource({
          subdirectory: "",
          appDirectory: "config",
          ignoreDotFiles: false,
          watchRoot: false,
          clock: systemClock,
          logger,
          onFiles: (outcome) => {
            delivered.push(formatLine(outcome));
            return outcome.kind === "files" &&
              !outcome.files.some(({ text }) => text.includes("refused"));
          },
          settleMs: 20,
          pollMs: 20,
          // Changes must be found by a look, not by the read after the quiet
          // time.
          maxQuietMs: 3_600_000,
          ...options,
        });
        sources.push(source);
        await source.start();
        return source;
      },
      async expect(...lines) {
        const what = `${lines}; there is ${delivered}`;
        await waitUntil(() => delivered.length >= lines.length, { what });
        await rest();
        assertEquals(delivered.splice(0), lines);
      },
    });
  } finally {
    for (const source of sources) await source.stop();
    await Deno.remove(base, { recursive: true });
  }
  assertEquals(errors, []);
}

/**
 * Waits for some settling times: long enough for a delivery that should not be.
 */
function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 150));
}

function formatLine(outcome: ConfigFilesOutcome): string {
  if (outcome.kind === "unreadable") return outcome.reason;
  return outcome.files.map(({ name, text }) => `${name}=${text}`).join(" ");
}

/**
 * Writes files, and a folder that is new, so that no look finds half of it,
 * however long it takes.
 */
async function writeAll(
  directory: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const parent = directory.slice(0, directory.lastIndexOf("/"));
  await Deno.mkdir(parent, { recursive: true });
  const made = await Deno.makeTempDir();
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${made}/${name}`, text);
  }
  try {
    await Deno.rename(made, directory);
  } catch {
    // The directory exists already, with files in it.
    for (const name of Object.keys(files)) {
      await Deno.rename(`${made}/${name}`, `${directory}/${name}`);
    }
    await Deno.remove(made);
  }
}

async function swapLink(target: string, link: string): Promise<void> {
  await Deno.symlink(target, `${link}.next`);
  await Deno.rename(`${link}.next`, link);
}

Deno.test("FileSource delivers what lies below root, subdirectory and app directory", async () => {
  await withBench(async ({ base, start, expect }) => {
    await writeAll(`${base}/root/sub/app`, { "b.yaml": "2", "a.yaml": "1" });
    await start({
      root: `${base}/root`,
      subdirectory: "sub",
      appDirectory: "app",
    });
    await expect("a.yaml=1 b.yaml=2");
    await writeAll(`${base}/flat`, { "c.yaml": "3" });
    await start({ root: `${base}/flat`, appDirectory: "" });
    await expect("c.yaml=3");
  });
});

Deno.test("FileSource takes the first read at the start when the files are old", async () => {
  await withBench(async ({ base, start, delivered }) => {
    const directory = `${base}/config`;
    await writeAll(directory, { "a.yaml": "1" });
    await Deno.utime(`${directory}/a.yaml`, 100, 100);
    await Deno.utime(directory, 100, 100);
    // The clock has no timers: a second read would never come.
    const clock = {
      nowMs: () => 101_000,
      setTimer: () => ({ cancel: () => {} }),
    };
    await start({ root: base, clock });
    assertEquals(delivered, ["a.yaml=1"]);
  });
});

Deno.test("FileSource delivers that there is nothing to read, and waits", async () => {
  for (const watchRoot of [true, false]) {
    await withBench(async ({ base, start, expect }) => {
      await start({
        root: `${base}/current`,
        watchRoot,
        whenMissing: "name another",
      });
      await expect(
        `Cannot read configuration directory "${base}/current/config": ` +
          "it does not exist; name another",
      );
      await Deno.mkdir(`${base}/current`);
      await rest();
      await writeAll(`${base}/current/config.next`, { "a.yaml": "1" });
      await Deno.rename(
        `${base}/current/config.next`,
        `${base}/current/config`,
      );
      await expect("a.yaml=1");
    });
  }
});

Deno.test("FileSource reloads after each direct change", async () => {
  await withBench(async ({ base, start, expect }) => {
    const directory = `${base}/config`;
    await writeAll(directory, { "a.yaml": "1" });
    await start({ root: base });
    await expect("a.yaml=1");
    await Deno.writeTextFile(`${directory}/a.yaml`, "2");
    await expect("a.yaml=2");
    await Deno.writeTextFile(`${directory}/b.yaml`, "3");
    await expect("a.yaml=2 b.yaml=3");
    await Deno.rename(`${directory}/b.yaml`, `${base}/away`);
    await expect("a.yaml=2");
    await Deno.rename(`${base}/away`, `${directory}/c.yaml`);
    await expect("a.yaml=2 c.yaml=3");
    await Deno.remove(`${directory}/a.yaml`);
    await expect("c.yaml=3");
    await Deno.remove(`${directory}/c.yaml`);
    await expect("");
  });
});

Deno.test("FileSource delivers nothing when the content is the same", async () => {
  await withBench(async ({ base, start, expect }) => {
    const directory = `${base}/config`;
    await writeAll(directory, { "a.yaml": "1" });
    await start({ root: base });
    await expect("a.yaml=1");
    await Deno.chmod(`${directory}/a.yaml`, 0o600);
    await Deno.writeTextFile(`${directory}/a.yaml`, "1");
    await Deno.writeTextFile(`${directory}/other.txt`, "x");
    await expect();
  });
});

Deno.test("FileSource delivers on a reload even what is the same", async () => {
  for (const watchRoot of [true, false]) {
    await withBench(async ({ base, start, expect }) => {
      await writeAll(`${base}/config`, { "a.yaml": "1" });
      // A look by the source itself could come between a change and its reload.
      const source = await start({ root: base, watchRoot, pollMs: 3_600_000 });
      await expect("a.yaml=1");
      await source.reload();
      await expect("a.yaml=1");
      await Deno.remove(`${base}/config`, { recursive: true });
      await source.reload();
      await rest();
      await writeAll(`${base}/config`, { "a.yaml": "2" });
      await source.reload();
      await expect(
        `Cannot read configuration directory "${base}/config": ` +
          "it does not exist",
        "a.yaml=2",
      );
    });
  }
});

Deno.test("FileSource makes one delivery of a file written in two halves", async () => {
  await withBench(async ({ base, start, expect }) => {
    const directory = `${base}/config`;
    await writeAll(directory, { "a.yaml": "1" });
    await start({ root: base, settleMs: 150 });
    await expect("a.yaml=1");
    // The first half ends within a character, so alone it would be a fault.
    const bytes = new TextEncoder().encode("first ü second");
    using file = await Deno.open(`${directory}/a.yaml`, {
      write: true,
      truncate: true,
    });
    await file.write(bytes.subarray(0, 7));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await file.write(bytes.subarray(7));
    await expect("a.yaml=first ü second");
  });
});

Deno.test("FileSource reloads each time a mounted ConfigMap is swapped", async () => {
  await withBench(async ({ base, start, expect }) => {
    const directory = `${base}/config`;
    await writeAll(`${directory}/..v1`, { "a.yaml": "1" });
    await Deno.symlink("..v1", `${directory}/..data`);
    await Deno.symlink("..data/a.yaml", `${directory}/a.yaml`);
    await start({ root: base });
    await expect("a.yaml=1");
    for (const version of [2, 3]) {
      await writeAll(`${directory}/..v${version}`, { "a.yaml": `${version}` });
      await swapLink(`..v${version}`, `${directory}/..data`);
      await Deno.remove(`${directory}/..v${version - 1}`, { recursive: true });
      await expect(`a.yaml=${version}`);
    }
  });
});

Deno.test("FileSource reloads when a link on the way is swapped", async () => {
  for (const watchRoot of [true, false]) {
    await withBench(async ({ base, start, expect }) => {
      for (const version of [1, 2, 3]) {
        await writeAll(`${base}/releases/v${version}/config`, {
          "a.yaml": `${version}`,
        });
      }
      await writeAll(`${base}/other/current/config`, { "a.yaml": "other" });
      await Deno.symlink("v1", `${base}/releases/current`);
      await Deno.symlink("releases", `${base}/link`);
      await start({ root: `${base}/link/current`, watchRoot });
      await expect("a.yaml=1");
      await swapLink("v2", `${base}/releases/current`);
      await expect("a.yaml=2");
      await swapLink("v3", `${base}/releases/current`);
      await expect("a.yaml=3");
      await swapLink("other", `${base}/link`);
      await expect("a.yaml=other");
    });
  }
});

Deno.test("FileSource with watchRoot passes over edits until the root is swapped", async () => {
  await withBench(async ({ base, start, expect }) => {
    for (const version of ["v1", "v2"]) {
      await writeAll(`${base}/${version}/config`, { "a.yaml": version });
    }
    await Deno.symlink("v1", `${base}/current`);
    await start({ root: `${base}/current`, watchRoot: true });
    await expect("a.yaml=v1");
    await writeAll(`${base}/v1/config`, { "a.yaml": "edited" });
    await writeAll(`${base}/v1/config`, { "b.yaml": "new" });
    await Deno.writeTextFile(`${base}/v1/beside`, "x");
    await Deno.writeTextFile(`${base}/beside`, "x");
    await expect();
    await swapLink("v2", `${base}/current`);
    await expect("a.yaml=v2");
    await swapLink("v1", `${base}/current`);
    await expect("a.yaml=edited b.yaml=new");
  });
});

Deno.test("FileSource with watchRoot warns once of edits that it passes over, until the next delivery", async () => {
  await withBench(async ({ base, start, expect, warnings }) => {
    await writeAll(`${base}/v1/config`, { "a.yaml": "1" });
    await Deno.symlink("v1", `${base}/current`);
    const root = `${base}/current`;
    const source = await start({ root, watchRoot: true, maxQuietMs: 20 });
    await expect("a.yaml=1");
    assertEquals(warnings, []);
    for (const round of [1, 2]) {
      for (const edit of ["a", "b"]) {
        const text = `${edit}${round}`;
        await writeAll(`${base}/v1/config`, { "a.yaml": text });
        const what = `warning ${round}`;
        await waitUntil(() => warnings.length === round, { what });
        await expect();
      }
      assertEquals(warnings.length, round);
      assertStringIncludes(warnings.at(-1)!, "set RUNTIME_WATCH_ROOT=false");
      await source.reload();
      await expect(`a.yaml=b${round}`);
    }
  });
});

Deno.test("FileSource with watchRoot sees files mended in place while what they hold is refused", async () => {
  await withBench(async ({ base, start, expect }) => {
    await writeAll(`${base}/v1/config`, { "a.yaml": "refused" });
    await Deno.symlink("v1", `${base}/current`);
    await start({ root: `${base}/current`, watchRoot: true });
    await expect("a.yaml=refused");
    await writeAll(`${base}/v1/config`, { "a.yaml": "mended" });
    await expect("a.yaml=mended");
    await writeAll(`${base}/v1/config`, { "a.yaml": "edited" });
    await expect();
  });
});

Deno.test("FileSource with watchRoot reloads when the root is made again with the same target", async () => {
  await withBench(async ({ base, start, expect }) => {
    await writeAll(`${base}/v1/config`, { "a.yaml": "1" });
    await Deno.symlink("v1", `${base}/current`);
    await start({ root: `${base}/current`, watchRoot: true });
    await expect("a.yaml=1");
    await writeAll(`${base}/v1/config`, { "a.yaml": "edited" });
    await expect();
    await swapLink("v1", `${base}/current`);
    await expect("a.yaml=edited");
  });
});

Deno.test("FileSource survives removal of the directory", async () => {
  await withBench(async ({ base, start, expect }) => {
    const directory = `${base}/config`;
    await writeAll(directory, { "a.yaml": "1" });
    await start({ root: base });
    await expect("a.yaml=1");
    await Deno.remove(directory, { recursive: true });
    await expect(
      `Cannot read configuration directory "${directory}": it does not exist`,
    );
    await writeAll(directory, { "a.yaml": "1" });
    await expect("a.yaml=1");
    await writeAll(directory, { "a.yaml": "2" });
    await expect("a.yaml=2");
  });
});

Deno.test("FileSource delivers a lasting fault once and its repair", async () => {
  await withBench(async ({ base, start, expect }) => {
    const directory = `${base}/config`;
    await writeAll(directory, { "a.yaml": "1" });
    await Deno.writeFile(`${directory}/b.yaml`, new Uint8Array([0xff]));
    await start({ root: base });
    await expect(
      'Cannot read configuration file "b.yaml": it is not valid UTF-8',
    );
    await Deno.chmod(`${directory}/a.yaml`, 0o600);
    await expect();
    await Deno.remove(`${directory}/b.yaml`);
    await Deno.symlink("nowhere", `${directory}/b.yaml`);
    await expect(
      'Cannot read configuration file "b.yaml": ' +
        "it is listed but is not there, or is a link that leads nowhere",
    );
    await Deno.writeTextFile(`${base}/config/nowhere`, "2");
    await expect("a.yaml=1 b.yaml=2");
  });
});

Deno.test("FileSource warns of each misnamed file once", async () => {
  await withBench(async ({ base, start, expect, warnings }) => {
    await writeAll(`${base}/config`, { "a.yaml": "1", "b.yml": "2" });
    const source = await start({ root: base });
    await source.reload();
    await expect("a.yaml=1", "a.yaml=1");
    assertEquals(warnings.length, 1);
    assertStringIncludes(warnings[0] ?? "", 'Ignored file "b.yml"');
    assertStringIncludes(warnings[0] ?? "", "rename it");
  });
});

Deno.test("FileSource sees edits of the file that a link leads to", async () => {
  await withBench(async ({ base, start, expect }) => {
    await writeAll(`${base}/config`, {});
    await Deno.writeTextFile(`${base}/target`, "1");
    await Deno.symlink("../target", `${base}/config/a.yaml`);
    await start({ root: base });
    await expect("a.yaml=1");
    await Deno.writeTextFile(`${base}/target`, "22");
    await expect("a.yaml=22");
  });
});

Deno.test("FileSource passes over pipes, devices and directories with one warning each", async () => {
  await withBench(async ({ base, start, expect, warnings }) => {
    const config = `${base}/config`;
    await writeAll(config, { "a.yaml": "1" });
    makePipe(`${config}/pipe.yaml`);
    await Deno.symlink("pipe.yaml", `${config}/link.yaml`);
    await Deno.symlink("/dev/zero", `${config}/zero.yaml`);
    await Deno.mkdir(`${config}/folder.yaml`);
    await start({ root: base });
    await expect("a.yaml=1");
    makePipe(`${config}/later`);
    await writeAll(config, { "a.yaml": "22" });
    await expect("a.yaml=22");
    assertEquals(
      [...warnings].sort(),
      [
        "folder.yaml",
        "link.yaml",
        "pipe.yaml",
        "zero.yaml",
      ].map((name) =>
        `Ignored file "${name}": it is not a regular file; put a file or a ` +
        "link to one in its place"
      ),
    );
  });
});

Deno.test("FileSource says that a read hangs, begins no other one, and goes on when it ends", async () => {
  await withBench(async ({ base, start, expect }) => {
    await writeAll(`${base}/config`, { "a.yaml": "1" });
    const hang = Promise.withResolvers<void>();
    let reads = 0;
    await start({
      root: base,
      maxReadMs: 50,
      async readDirectory(directory, options) {
        reads += 1;
        await hang.promise;
        return await readConfigDirectory(directory, options);
      },
    });
    await expect(
      `Cannot read configuration directory "${base}/config": a read has not ` +
        "ended within 50 ms; is one of its files a pipe or on a file system " +
        "that hangs?",
    );
    await writeAll(`${base}/config`, { "a.yaml": "22" });
    await expect();
    assertEquals(reads, 1);
    hang.resolve();
    await writeAll(`${base}/config`, { "a.yaml": "333" });
    await expect("a.yaml=333");
  });
});

Deno.test("FileSource.stop() waits for a read under way", async () => {
  await withBench(async ({ base, start }) => {
    await writeAll(`${base}/config`, { "a.yaml": "1" });
    const held = Promise.withResolvers<void>();
    let holds = false;
    const events: string[] = [];
    const source = await start({
      root: base,
      async readDirectory(directory, options) {
        if (holds) {
          events.push("reads");
          await held.promise;
        }
        const read = await readConfigDirectory(directory, options);
        if (holds) events.push("has read");
        return read;
      },
    });
    holds = true;
    const reload = source.reload();
    await waitUntil(() => events.length === 1, { what: "the read" });
    const stopped = source.stop().then(() => events.push("stopped"));
    await reload;
    held.resolve();
    await stopped;
    assertEquals(events, ["reads", "has read", "stopped"]);
  });
});

Deno.test("FileSource.stop() leaves no read under way, whenever it comes", async () => {
  for (let ticks = 0; ticks < 12; ticks++) {
    await withBench(async ({ base, start }) => {
      await writeAll(`${base}/config`, { "a.yaml": "1" });
      let [begun, ended] = [0, 0];
      const source = await start({
        root: base,
        async readDirectory(directory, options) {
          begun++;
          const read = await readConfigDirectory(directory, options);
          ended++;
          return read;
        },
      });
      const reload = source.reload();
      // The look is still waiting for the file system after these microtasks.
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      await source.stop();
      const underWay = begun - ended;
      await reload;
      assertEquals(underWay, 0);
    });
  }
});

Deno.test("FileSource stops while a read hangs", async () => {
  await withBench(async ({ base, start }) => {
    await writeAll(`${base}/config`, { "a.yaml": "1" });
    const hang = Promise.withResolvers<never>();
    let hanging = false;
    let hung = 0;
    const source = await start({
      root: base,
      maxReadMs: 3_600_000,
      readDirectory(directory, options) {
        if (!hanging) return readConfigDirectory(directory, options);
        hung += 1;
        return hang.promise;
      },
    });
    hanging = true;
    const reload = source.reload();
    await waitUntil(() => hung === 1, { what: "the read that hangs" });
    await source.stop();
    await reload;
  });
});

Deno.test("FileSource delivers nothing after stop, and stops in the middle of a read", async () => {
  await withBench(async ({ base, start, delivered }) => {
    await writeAll(`${base}/config`, { "a.yaml": "1" });
    const source = await start({ root: base });
    const reload = source.reload();
    const again = source.reload();
    await source.stop();
    await source.stop();
    await reload;
    await again;
    await source.reload();
    await writeAll(`${base}/config`, { "a.yaml": "2" });
    await rest();
    assertEquals(delivered, ["a.yaml=1"]);
  });
});

Deno.test("FileSource tolerates stop before start", async () => {
  const directory = await Deno.makeTempDir();
  let delivered = 0;
  const source = new FileSource({
    root: directory,
    subdirectory: "",
    appDirectory: "",
    ignoreDotFiles: false,
    watchRoot: true,
    clock: systemClock,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    onFiles: () => {
      delivered += 1;
      return true;
    },
  });
  await source.stop();
  await source.start();
  assert(delivered === 0);
  await Deno.remove(directory);
});
