import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { waitUntil } from "../../tests/support/wait_until.ts";
import { systemClock } from "./clock.ts";
import type { DirectoryEvents } from "./directory_watches.ts";
import type { Logger } from "./logger.ts";
import { createPathWatcher, type PathWatcherOptions } from "./watch.ts";

interface Lines {
  readonly logger: Logger;
  readonly warnings: string[];
  readonly errors: string[];
}

function recordingLogger(): Lines {
  const warnings: string[] = [];
  const errors: string[] = [];
  return {
    warnings,
    errors,
    logger: {
      debug: () => {},
      info: () => {},
      warn: (message) => warnings.push(message),
      error: (message, fields) => errors.push(`${message}: ${fields?.error}`),
    },
  };
}

interface Watched {
  /** The real path of a folder that is removed afterwards. */
  readonly base: string;
  /** How often `onChange` was called. */
  readonly calls: () => number;
  /** Does `step` and waits for the call it leads to, and for quiet. */
  readonly expectCall: (what: string, step: () => void) => Promise<void>;
}

/** Watches with the real clock, so every wait here is bounded. */
async function watching(
  paths: (base: string) => readonly string[],
  prepare: (base: string) => void,
  use: (watched: Watched) => Promise<void>,
): Promise<void> {
  const base = await Deno.realPath(await Deno.makeTempDir());
  prepare(base);
  let calls = 0;
  const { logger, warnings, errors } = recordingLogger();
  const watcher = createPathWatcher({
    paths: () => paths(base),
    onChange: () => {
      calls += 1;
    },
    clock: systemClock,
    logger,
    settleMs: 20,
    // No poll may do what an event should have done.
    pollMs: 3_600_000,
  });
  try {
    await watcher.start();
    await use({
      base,
      calls: () => calls,
      async expectCall(what, step) {
        const before = calls;
        step();
        await waitUntil(() => calls > before, { what });
        await quiet(() => calls);
      },
    });
  } finally {
    await watcher.stop();
    await Deno.remove(base, { recursive: true });
  }
  assertEquals([warnings, errors], [[], []]);
}

/** Waits until a count has not changed for five times the settling time. */
async function quiet(count: () => number): Promise<void> {
  let last = count();
  let sinceMs = performance.now();
  await waitUntil(() => {
    if (count() !== last) {
      last = count();
      sinceMs = performance.now();
    }
    return performance.now() - sinceMs > 100;
  }, { what: "quiet" });
}

function swapLink(target: string, link: string): void {
  Deno.symlinkSync(target, `${link}.next`);
  Deno.renameSync(`${link}.next`, link);
}

Deno.test("createPathWatcher() notices each way to change a file", async () => {
  await watching(
    (base) => [base],
    (base) => Deno.writeTextFileSync(`${base}/a.yaml`, "1"),
    async ({ base, expectCall }) => {
      const file = `${base}/a.yaml`;
      await expectCall("write", () => Deno.writeTextFileSync(file, "2"));
      await expectCall("chmod", () => Deno.chmodSync(file, 0o600));
      await expectCall(
        "create",
        () => Deno.writeTextFileSync(`${base}/b.yaml`, ""),
      );
      await expectCall(
        "rename",
        () => Deno.renameSync(`${base}/b.yaml`, `${base}/c.yaml`),
      );
      await expectCall("remove", () => Deno.removeSync(file));
    },
  );
});

Deno.test("createPathWatcher() makes one call of a burst", async () => {
  await watching((base) => [base], () => {}, async ({ base, ...watched }) => {
    await watched.expectCall("burst", () => {
      for (let file = 0; file < 50; file++) {
        Deno.writeTextFileSync(`${base}/${file}.yaml`, "x");
      }
    });
    assertEquals(watched.calls(), 1);
  });
});

Deno.test("createPathWatcher() does not take reading for a change", async () => {
  await watching(
    (base) => [base],
    (base) => Deno.writeTextFileSync(`${base}/a.yaml`, "1"),
    async ({ base, calls }) => {
      for await (const entry of Deno.readDir(base)) {
        await Deno.readTextFile(`${base}/${entry.name}`);
      }
      await quiet(calls);
      assertEquals(calls(), 0);
    },
  );
});

Deno.test("createPathWatcher() leaves out what is beside a watched file and below a directory", async () => {
  await watching(
    (base) => [`${base}/tls.crt`, `${base}/config`],
    (base) => Deno.mkdirSync(`${base}/config/below`, { recursive: true }),
    async ({ base, calls, expectCall }) => {
      await Deno.writeTextFile(`${base}/other`, "x");
      await Deno.writeTextFile(`${base}/config/below/other`, "x");
      await quiet(calls);
      assertEquals(calls(), 0);
      await expectCall(
        "the watched file",
        () => Deno.writeTextFileSync(`${base}/tls.crt`, "x"),
      );
    },
  );
});

Deno.test("createPathWatcher() notices every swap of a mounted ConfigMap", async () => {
  await watching(
    (base) => [base],
    (base) => {
      Deno.mkdirSync(`${base}/..v1`);
      Deno.writeTextFileSync(`${base}/..v1/a.yaml`, "1");
      Deno.symlinkSync("..v1", `${base}/..data`);
      Deno.symlinkSync("..data/a.yaml", `${base}/a.yaml`);
    },
    async ({ base, expectCall }) => {
      for (const version of [2, 3]) {
        await expectCall(`swap to ${version}`, () => {
          Deno.mkdirSync(`${base}/..v${version}`);
          Deno.writeTextFileSync(`${base}/..v${version}/a.yaml`, "x");
          swapLink(`..v${version}`, `${base}/..data`);
          Deno.removeSync(`${base}/..v${version - 1}`, { recursive: true });
        });
      }
    },
  );
});

Deno.test("createPathWatcher() follows a file through its links when they are swapped", async () => {
  await watching(
    (base) => [`${base}/mount/tls.crt`],
    (base) => {
      Deno.mkdirSync(`${base}/mount`);
      for (const version of ["v1", "v2", "v3"]) {
        Deno.mkdirSync(`${base}/${version}`);
        Deno.writeTextFileSync(`${base}/${version}/tls.crt`, "x");
      }
      Deno.symlinkSync("../v1", `${base}/mount/data`);
      Deno.symlinkSync("data/tls.crt", `${base}/mount/tls.crt`);
    },
    async ({ base, expectCall }) => {
      for (const version of ["v2", "v3"]) {
        await expectCall(
          `swap to ${version}`,
          () => swapLink(`../${version}`, `${base}/mount/data`),
        );
        await expectCall(
          `edit of ${version}`,
          () => Deno.writeTextFileSync(`${base}/${version}/tls.crt`, "y"),
        );
      }
    },
  );
});

Deno.test("createPathWatcher() looks behind a root link after each swap", async () => {
  await watching(
    (base) => [`${base}/current/config`],
    (base) => {
      for (const version of ["v1", "v2", "v3"]) {
        Deno.mkdirSync(`${base}/${version}/config`, { recursive: true });
      }
      Deno.symlinkSync("v1", `${base}/current`);
    },
    async ({ base, calls, expectCall }) => {
      for (const [before, version] of [["v1", "v2"], ["v2", "v3"]]) {
        await expectCall(
          `swap to ${version}`,
          () => swapLink(version ?? "", `${base}/current`),
        );
        await expectCall(
          `edit in ${version}`,
          () => Deno.writeTextFileSync(`${base}/${version}/config/a.yaml`, "x"),
        );
        const settled = calls();
        await Deno.writeTextFile(`${base}/${before}/config/a.yaml`, "x");
        await quiet(calls);
        assertEquals(calls(), settled, `edit in ${before}`);
      }
    },
  );
});

Deno.test("createPathWatcher() survives removal and making again, twice", async () => {
  await watching(
    (base) => [`${base}/a/config`],
    (base) => Deno.mkdirSync(`${base}/a/config`, { recursive: true }),
    async ({ base, expectCall }) => {
      const config = `${base}/a/config`;
      for (const gone of [config, `${base}/a`]) {
        await expectCall(
          `removal of ${gone}`,
          () => Deno.removeSync(gone, { recursive: true }),
        );
        await expectCall(
          "making again",
          () => Deno.mkdirSync(config, { recursive: true }),
        );
        await expectCall(
          "a file in it",
          () => Deno.writeTextFileSync(`${config}/a.yaml`, "x"),
        );
      }
      await expectCall("removal and making in one go", () => {
        Deno.removeSync(config, { recursive: true });
        Deno.mkdirSync(config);
      });
      await expectCall(
        "a file in it",
        () => Deno.writeTextFileSync(`${config}/b.yaml`, "x"),
      );
      await expectCall("another directory in its place", () => {
        Deno.mkdirSync(`${base}/a/next`);
        Deno.renameSync(config, `${base}/a/old`);
        Deno.renameSync(`${base}/a/next`, config);
      });
      await expectCall(
        "a file in it",
        () => Deno.writeTextFileSync(`${config}/c.yaml`, "x"),
      );
    },
  );
});

Deno.test("createPathWatcher() does not disturb another one of the same directory", async () => {
  await watching(
    (base) => [`${base}/config`],
    (base) => Deno.mkdirSync(`${base}/config`),
    async ({ base, expectCall }) => {
      let calls = 0;
      const second = createPathWatcher({
        paths: () => [`${base}/config`, `${base}/config`, base],
        onChange: () => {
          calls += 1;
        },
        clock: systemClock,
        logger: recordingLogger().logger,
        settleMs: 20,
        pollMs: 3_600_000,
      });
      await second.start();
      await expectCall("making again", () => {
        Deno.removeSync(`${base}/config`, { recursive: true });
        Deno.mkdirSync(`${base}/config`);
      });
      await quiet(() => calls);
      const before = calls;
      await expectCall(
        "a file, for the first",
        () => Deno.writeTextFileSync(`${base}/config/a.yaml`, "x"),
      );
      await waitUntil(() => calls > before, { what: "a file, for the second" });
      await second.stop();
      await expectCall(
        "a file, after the second has stopped",
        () => Deno.writeTextFileSync(`${base}/config/b.yaml`, "x"),
      );
    },
  );
});

/** Watches that a test feeds by hand. */
class HandFed {
  readonly open = (directory: string): DirectoryEvents => {
    if (this.fault !== undefined) throw this.fault;
    const stream = new TransformStream<Deno.FsEvent, Deno.FsEvent>();
    this.#writers.set(directory, stream.writable.getWriter());
    const close = () => {
      // A stream that was broken cannot be closed, and need not be.
      this.#writers.get(directory)?.close().catch(() => {});
      this.#writers.delete(directory);
    };
    return { close, [Symbol.asyncIterator]: () => stream.readable.values() };
  };
  readonly #writers = new Map<
    string,
    WritableStreamDefaultWriter<Deno.FsEvent>
  >();
  fault: Error | undefined;

  get directories(): number {
    return this.#writers.size;
  }

  async touch(path: string, kind: Deno.FsEvent["kind"]): Promise<void> {
    for (const writer of this.#writers.values()) {
      await writer.write({ kind, paths: [path] });
    }
  }

  async break(error: Error): Promise<void> {
    for (const writer of this.#writers.values()) await writer.abort(error);
  }
}

interface Bench extends Lines {
  readonly clock: FakeClock;
  readonly fed: HandFed;
  readonly base: string;
  readonly start: (
    options: Pick<PathWatcherOptions, "onChange">,
  ) => Promise<void>;
}

/** A watcher of an empty folder on a clock that stands still. */
async function withFakeClock(
  use: (bench: Bench) => Promise<void>,
): Promise<void> {
  const base = await Deno.realPath(await Deno.makeTempDir());
  const clock = new FakeClock();
  const fed = new HandFed();
  const lines = recordingLogger();
  let stop = () => Promise.resolve();
  try {
    await use({
      ...lines,
      clock,
      fed,
      base,
      start({ onChange }) {
        const watcher = createPathWatcher({
          paths: () => [base],
          onChange,
          clock,
          logger: lines.logger,
          open: fed.open,
        });
        stop = () => watcher.stop();
        return watcher.start();
      },
    });
  } finally {
    await stop();
    await Deno.remove(base, { recursive: true });
  }
  assertEquals(clock.pendingTimers, 0);
  assertEquals(fed.directories, 0);
}

Deno.test("createPathWatcher() calls again after a change during onChange, never twice at once", async () => {
  await withFakeClock(async ({ clock, fed, base, start }) => {
    const entered: PromiseWithResolvers<void>[] = [];
    let running = 0;
    await start({
      async onChange() {
        assertEquals(++running, 1);
        const gate = Promise.withResolvers<void>();
        entered.push(gate);
        await gate.promise;
        running -= 1;
      },
    });
    await fed.touch(`${base}/a.yaml`, "modify");
    await clock.advanceAsync(150);
    await waitUntil(() => entered.length === 1, { what: "the first call" });
    for (const file of ["b.yaml", "c.yaml"]) {
      await fed.touch(`${base}/${file}`, "modify");
      await clock.advanceAsync(150);
    }
    assertEquals(entered.length, 1);
    entered[0]?.resolve();
    await waitUntil(() => entered.length === 2, { what: "the second call" });
    entered[1]?.resolve();
    await waitUntil(() => running === 0, { what: "the end" });
    await clock.advanceAsync(2000);
    assertEquals(entered.length, 2);
  });
});

Deno.test("createPathWatcher() looks at each poll without an event", async () => {
  await withFakeClock(async ({ clock, start }) => {
    let calls = 0;
    await start({ onChange: () => void (calls += 1) });
    for (const expected of [1, 2]) {
      clock.advance(29_999);
      assertEquals(calls, expected - 1);
      clock.advance(1);
      await waitUntil(() => calls === expected, { what: "the poll" });
    }
  });
});

Deno.test("createPathWatcher() goes on when onChange fails", async () => {
  await withFakeClock(async ({ clock, start, errors }) => {
    let calls = 0;
    await start({
      onChange() {
        calls += 1;
        throw new Error("no such thing");
      },
    });
    for (const expected of [1, 2]) {
      clock.advance(30_000);
      await waitUntil(() => errors.length === expected, { what: "the error" });
      assertEquals(calls, expected);
    }
    assertEquals(
      errors[0],
      "Cannot take up a change of files: Error: no such thing",
    );
  });
});

Deno.test("createPathWatcher() polls faster with one warning while it cannot watch", async () => {
  await withFakeClock(async ({ clock, fed, base, start, warnings }) => {
    fed.fault = new Error("OS file watch limit reached");
    let calls = 0;
    await start({ onChange: () => void (calls += 1) });
    for (const expected of [1, 2, 3]) {
      clock.advance(5000);
      await waitUntil(() => calls === expected, { what: "the poll" });
    }
    assertEquals(warnings.length, 1);
    assert(warnings[0]?.startsWith("Cannot watch directory"), warnings[0]);

    fed.fault = undefined;
    clock.advance(5000);
    await waitUntil(() => calls === 4 && fed.directories === 2, {
      what: "the watch",
    });
    await fed.touch(`${base}/a.yaml`, "create");
    await clock.advanceAsync(150);
    await waitUntil(() => calls === 5, { what: "the event" });
    assertEquals(warnings.length, 1);
  });
});

Deno.test("createPathWatcher() opens a watch that broke at the next poll", async () => {
  await withFakeClock(async ({ clock, fed, start, warnings }) => {
    let calls = 0;
    await start({ onChange: () => void (calls += 1) });
    await fed.break(new Error("broken"));
    await waitUntil(() => clock.pendingTimers === 2, { what: "the fault" });
    await clock.advanceAsync(150);
    await waitUntil(() => calls === 1 && warnings.length === 1, {
      what: "the look",
    });
    clock.advance(5000);
    await waitUntil(() => calls === 2, { what: "the poll" });
  });
});

Deno.test("createPathWatcher() tolerates double stop, stop before start and start after stop", async () => {
  const clock = new FakeClock();
  const watcher = createPathWatcher({
    paths: () => ["/"],
    onChange: () => {},
    clock,
    logger: recordingLogger().logger,
  });
  await watcher.stop();
  await watcher.start();
  await watcher.stop();
  assertEquals(clock.pendingTimers, 0);
});
