import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { makePipe } from "../../../tests/support/make_pipe.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { Logger } from "../../shared/logger.ts";
import { PathWatcher } from "./watch.ts";

interface Watched {
  /** The real path of a folder that is removed afterwards. */
  readonly base: string;
  /** The errors that were logged. */
  readonly errors: readonly string[];
  readonly clock: FakeClock;
  /** Lets the watcher look; returns how often `onChange` was called. */
  readonly look: () => Promise<number>;
  /** Does `step` and expects that the next look leads to one call. */
  readonly expectCall: (what: string, step: () => void) => Promise<void>;
}

interface Watching {
  readonly paths?: (base: string) => readonly string[];
  readonly prepare?: (base: string) => void;
  readonly onChange?: () => void | Promise<void>;
}

async function watching(
  { paths = (base) => [base], prepare, onChange }: Watching,
  use: (watched: Watched) => Promise<void>,
): Promise<void> {
  const base = await Deno.realPath(await Deno.makeTempDir());
  prepare?.(base);
  const clock = new FakeClock();
  const errors: string[] = [];
  const logger: Logger = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (message, fields) => errors.push(`${message}: ${fields?.error}`),
  };
  let calls = 0;
  const watcher = new PathWatcher({
    paths: () => paths(base),
    onChange() {
      calls += 1;
      return onChange?.();
    },
    clock,
    logger,
  });
  const look = async (): Promise<number> => {
    const before = calls;
    clock.advance(1_000);
    await waitUntil(() => clock.pendingTimers === 1, { what: "a look" });
    return calls - before;
  };
  try {
    await watcher.start();
    await use({
      base,
      errors,
      clock,
      look,
      async expectCall(what, step) {
        step();
        assertEquals(await look(), 1, what);
        assertEquals(await look(), 0, `nothing after ${what}`);
      },
    });
  } finally {
    await watcher.stop();
    await Deno.remove(base, { recursive: true });
  }
  assertEquals(clock.pendingTimers, 0);
}

function swapLink(target: string, link: string): void {
  Deno.symlinkSync(target, `${link}.next`);
  Deno.renameSync(`${link}.next`, link);
}

Deno.test("PathWatcher notices each way to change a file", async () => {
  await watching(
    { prepare: (base) => Deno.writeTextFileSync(`${base}/a.yaml`, "1") },
    async ({ base, expectCall }) => {
      const file = `${base}/a.yaml`;
      await expectCall("write", () => Deno.writeTextFileSync(file, "22"));
      await expectCall(
        "the same length",
        () => Deno.utimeSync(file, 100, 200),
      );
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

Deno.test("PathWatcher makes one call of a burst", async () => {
  await watching({}, async ({ base, expectCall }) => {
    await expectCall("burst", () => {
      for (let file = 0; file < 50; file++) {
        Deno.writeTextFileSync(`${base}/${file}.yaml`, "x");
      }
    });
  });
});

Deno.test("PathWatcher opens nothing that a directory holds", async () => {
  await watching({
    prepare: (base) => {
      makePipe(`${base}/before.yaml`);
      Deno.symlinkSync("before.yaml", `${base}/link.yaml`);
      Deno.symlinkSync("/dev/zero", `${base}/zero.yaml`);
      Deno.symlinkSync("nowhere", `${base}/nowhere.yaml`);
    },
  }, async ({ base, expectCall }) => {
    await expectCall("a pipe", () => makePipe(`${base}/pipe`));
    await expectCall(
      "a file beside it",
      () => Deno.writeTextFileSync(`${base}/a.yaml`, "1"),
    );
    await expectCall(
      "chmod of it",
      () => Deno.chmodSync(`${base}/pipe`, 0o600),
    );
    await expectCall("its end", () => Deno.removeSync(`${base}/pipe`));
  });
});

Deno.test("PathWatcher does not take reading for a change", async () => {
  await watching(
    { prepare: (base) => Deno.writeTextFileSync(`${base}/a.yaml`, "1") },
    async ({ base, look }) => {
      await Deno.readTextFile(`${base}/a.yaml`);
      assertEquals(await look(), 0);
    },
  );
});

Deno.test("PathWatcher leaves out what is beside a watched file and below a directory", async () => {
  await watching({
    paths: (base) => [`${base}/tls.crt`, `${base}/config`],
    prepare: (base) =>
      Deno.mkdirSync(`${base}/config/below`, { recursive: true }),
  }, async ({ base, look, expectCall }) => {
    await Deno.writeTextFile(`${base}/other`, "x");
    await Deno.writeTextFile(`${base}/config/below/other`, "x");
    assertEquals(await look(), 0);
    await expectCall(
      "the watched file",
      () => Deno.writeTextFileSync(`${base}/tls.crt`, "x"),
    );
  });
});

Deno.test("PathWatcher notices every swap of a mounted ConfigMap", async () => {
  await watching({
    paths: (base) => [base],
    prepare: (base) => {
      Deno.mkdirSync(`${base}/..v1`);
      Deno.writeTextFileSync(`${base}/..v1/a.yaml`, "1");
      Deno.symlinkSync("..v1", `${base}/..data`);
      Deno.symlinkSync("..data/a.yaml", `${base}/a.yaml`);
    },
  }, async ({ base, expectCall }) => {
    for (const version of [2, 3]) {
      await expectCall(`swap to ${version}`, () => {
        Deno.mkdirSync(`${base}/..v${version}`);
        Deno.writeTextFileSync(`${base}/..v${version}/a.yaml`, "x");
        swapLink(`..v${version}`, `${base}/..data`);
        Deno.removeSync(`${base}/..v${version - 1}`, { recursive: true });
      });
    }
  });
});

Deno.test("PathWatcher follows a file through its links when they are swapped", async () => {
  await watching({
    paths: (base) => [`${base}/mount/tls.crt`],
    prepare: (base) => {
      Deno.mkdirSync(`${base}/mount`);
      for (const version of ["v1", "v2", "v3"]) {
        Deno.mkdirSync(`${base}/${version}`);
        Deno.writeTextFileSync(`${base}/${version}/tls.crt`, "x");
      }
      Deno.symlinkSync("../v1", `${base}/mount/data`);
      Deno.symlinkSync("data/tls.crt", `${base}/mount/tls.crt`);
    },
  }, async ({ base, expectCall }) => {
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
  });
});

Deno.test("PathWatcher looks behind a root link after each swap", async () => {
  await watching({
    paths: (base) => [`${base}/current/config`],
    prepare: (base) => {
      for (const version of ["v1", "v2", "v3"]) {
        Deno.mkdirSync(`${base}/${version}/config`, { recursive: true });
      }
      Deno.symlinkSync("v1", `${base}/current`);
    },
  }, async ({ base, look, expectCall }) => {
    for (const [before, version] of [["v1", "v2"], ["v2", "v3"]]) {
      await expectCall(
        `swap to ${version}`,
        () => swapLink(version ?? "", `${base}/current`),
      );
      await expectCall(
        `edit in ${version}`,
        () => Deno.writeTextFileSync(`${base}/${version}/config/a.yaml`, "x"),
      );
      await Deno.writeTextFile(`${base}/${before}/config/a.yaml`, "x");
      assertEquals(await look(), 0, `edit in ${before}`);
    }
  });
});

Deno.test("PathWatcher survives removal and making again, twice", async () => {
  await watching({
    paths: (base) => [`${base}/a/config`],
    prepare: (base) => Deno.mkdirSync(`${base}/a/config`, { recursive: true }),
  }, async ({ base, expectCall }) => {
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
  });
});

Deno.test("PathWatcher calls now and then although nothing has changed", async () => {
  await watching({}, async ({ look }) => {
    let calls = 0;
    for (let second = 0; second < 90; second++) calls += await look();
    assertEquals(calls, 3);
  });
});

Deno.test("PathWatcher sees a change during onChange, and never calls twice at once", async () => {
  const gates: PromiseWithResolvers<void>[] = [];
  await watching({
    onChange() {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      return gate.promise;
    },
  }, async ({ base, clock, look }) => {
    await Deno.writeTextFile(`${base}/a.yaml`, "1");
    clock.advance(1_000);
    await waitUntil(() => gates.length === 1, { what: "the first call" });
    await Deno.writeTextFile(`${base}/b.yaml`, "1");
    clock.advance(60_000);
    assertEquals([clock.pendingTimers, gates.length], [0, 1]);
    gates[0]!.resolve();
    await waitUntil(() => clock.pendingTimers === 1, { what: "the end" });
    clock.advance(1_000);
    await waitUntil(() => gates.length === 2, { what: "the second call" });
    gates[1]!.resolve();
    await waitUntil(() => clock.pendingTimers === 1, { what: "the end" });
    assertEquals(await look(), 0);
  });
});

Deno.test("PathWatcher goes on when onChange fails", async () => {
  await watching({
    onChange() {
      throw new Error("no such thing");
    },
  }, async ({ errors, look }) => {
    for (const expected of [1, 2]) {
      for (let second = 0; second < 30; second++) await look();
      assertEquals(errors.length, expected);
    }
    assertEquals(
      errors[0],
      "Cannot take up a change of files: no such thing",
    );
  });
});

Deno.test("PathWatcher tolerates double stop, stop before start and start after stop", async () => {
  const clock = new FakeClock();
  const watcher = new PathWatcher({
    paths: () => ["/"],
    onChange: () => {},
    clock,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  await watcher.stop();
  await watcher.start();
  await watcher.stop();
  assertEquals(clock.pendingTimers, 0);
});
