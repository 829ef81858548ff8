import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { makePipe } from "../../../tests/support/make_pipe.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import type {
  ChangeReports,
  ReportSubscriber,
  ReportSubscription,
} from "./change_reports.ts";
import { PathWatcher } from "./path_watcher.ts";

interface Watched {
  /** The real path of a folder that is removed afterwards. */
  readonly base: string;
  readonly clock: FakeClock;
  /** Lets the watcher look; returns how often `onChange` was called. */
  readonly look: () => Promise<number>;
  /** Does `step` and expects that the next look leads to one call. */
  readonly expectCall: (what: string, step: () => void) => Promise<void>;
}

interface Watching {
  readonly paths?: (base: string) => readonly string[];
  readonly prepare?: (base: string) => void;
}

async function watching(
  { paths = (base) => [base], prepare }: Watching,
  use: (watched: Watched) => Promise<void>,
): Promise<void> {
  const base = await Deno.realPath(await Deno.makeTempDir());
  prepare?.(base);
  const clock = new FakeClock();
  let calls = 0;
  const watcher = new PathWatcher({
    paths: () => paths(base),
    onChange: () => {
      calls += 1;
    },
    clock,
    logger: new RecordingLogger(),
  });
  const look = async (): Promise<number> => {
    const before = calls;
    await watcher.runOnce();
    return calls - before;
  };
  try {
    await watcher.start();
    await use({
      base,
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
  await watching({}, async ({ clock, look }) => {
    const calls: number[] = [];
    for (let turn = 0; turn < 6; turn++) {
      calls.push(await look());
      clock.advance(15_000);
    }
    assertEquals(calls, [0, 0, 1, 0, 1, 0]);
  });
});

/** A watcher of one path whose state a test sets. */
interface Imagined {
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly watcher: PathWatcher;
  readonly reports: FakeReports;
  /** What the next look sees; a promise that does not end is a look that hangs. */
  state: string | Promise<string>;
  /** How often it was looked, and `onChange` called. */
  readonly counts: () => { readonly looks: number; readonly calls: number };
}

/** Reports that a test makes. */
class FakeReports implements ChangeReports {
  isReporting = true;
  readonly asked: string[] = [];
  #onReport = (): void => {};

  subscribe({ onReport }: ReportSubscriber): ReportSubscription {
    this.#onReport = onReport;
    return {
      refresh: () => this.asked.push("refresh"),
      missed: () => this.asked.push("missed"),
      end: () => this.asked.push("end"),
    };
  }

  report(): void {
    this.#onReport();
  }
}

async function imagining(
  use: (imagined: Imagined) => Promise<void>,
  onChange: () => void | Promise<void> = () => {},
): Promise<void> {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const reports = new FakeReports();
  let looks = 0;
  let calls = 0;
  const imagined: Imagined = {
    clock,
    logger,
    reports,
    state: "1",
    counts: () => ({ looks, calls }),
    watcher: new PathWatcher({
      paths: () => ["/a"],
      onChange() {
        calls++;
        return onChange();
      },
      readState() {
        looks++;
        return Promise.resolve(imagined.state);
      },
      reports,
      clock,
      logger,
    }),
  };
  await imagined.watcher.start();
  await use(imagined);
  imagined.state = "";
  await imagined.watcher.stop();
  assertEquals(clock.pendingTimers, 0);
}

Deno.test("PathWatcher looks as soon as a change is reported, and twice as rarely while reports come", async () => {
  await imagining(async (test) => {
    const { clock, reports, counts } = test;
    assertEquals(counts(), { looks: 1, calls: 0 });
    test.state = "2";
    reports.report();
    await clock.advanceAsync(0);
    assertEquals(counts(), { looks: 2, calls: 1 });
    assertEquals(reports.asked, ["refresh"]);
    // Nothing has changed, so nobody is called.
    reports.report();
    await clock.advanceAsync(0);
    assertEquals(counts(), { looks: 3, calls: 1 });
    await clock.advanceAsync(1_999);
    assertEquals(counts().looks, 3);
    await clock.advanceAsync(1);
    assertEquals(counts().looks, 4);
    reports.isReporting = false;
    await clock.advanceAsync(2_000);
    assertEquals(counts().looks, 5);
    await clock.advanceAsync(10_000);
    assertEquals(counts().looks, 15);
  });
});

Deno.test("PathWatcher tells that a change was missed when no report comes until the look after it", async () => {
  await imagining(async (test) => {
    const { clock, reports } = test;
    const missed = () =>
      reports.asked.filter((asked) => asked === "missed").length;
    test.state = "2";
    await clock.advanceAsync(2_000);
    assertEquals(missed(), 0);
    // It was on its way.
    reports.report();
    await clock.advanceAsync(10_000);
    assertEquals(missed(), 0);
    test.state = "3";
    await clock.advanceAsync(4_000);
    assertEquals(missed(), 1);
    await clock.advanceAsync(60_000);
    assertEquals(missed(), 1);
    // Who promises nothing misses nothing.
    reports.isReporting = false;
    test.state = "4";
    await clock.advanceAsync(10_000);
    assertEquals(missed(), 1);
  });
});

Deno.test("PathWatcher makes two calls of a thousand changes that are reported during the first", async () => {
  const gates: PromiseWithResolvers<void>[] = [];
  await imagining(async (test) => {
    const { clock, reports, counts } = test;
    for (let change = 0; change < 1_000; change++) {
      test.state = `change ${change}`;
      reports.report();
      if (change === 0) await clock.advanceAsync(0);
      else clock.advance(1);
    }
    assertEquals(counts(), { looks: 2, calls: 1 });
    gates[0]?.resolve();
    await clock.advanceAsync(0);
    assertEquals(counts(), { looks: 3, calls: 2 });
    gates[1]?.resolve();
    await clock.advanceAsync(0);
    assertEquals(counts(), { looks: 3, calls: 2 });
  }, () => {
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    return gate.promise;
  });
});

Deno.test("PathWatcher looks for a quarter of the time at most when reports come one after the other", async () => {
  await imagining(async (test) => {
    const { clock, reports, counts } = test;
    const slow = async (): Promise<void> => {
      const look = Promise.withResolvers<string>();
      test.state = look.promise;
      await clock.advanceAsync(100);
      look.resolve("1");
      await clock.advanceAsync(0);
    };
    reports.report();
    await slow();
    for (let ms = 0; ms < 299; ms += 13) {
      reports.report();
      await clock.advanceAsync(13);
    }
    assertEquals(counts().looks, 2);
    reports.report();
    await clock.advanceAsync(1);
    assertEquals(counts().looks, 3);
  });
});

Deno.test("PathWatcher tells once of a look that hangs, begins no other one and stops all the same", async () => {
  await imagining(async (test) => {
    const { clock, reports, watcher, logger, counts } = test;
    test.state = new Promise(() => {});
    reports.report();
    await clock.advanceAsync(9_999);
    assertEquals(logger.messages, []);
    await clock.advanceAsync(60_000);
    reports.report();
    await clock.advanceAsync(60_000);
    assertEquals(logger.messages, [
      "Cannot check for changes of files: a check does not end; does a file " +
      "system hang?",
    ]);
    assertEquals(counts(), { looks: 2, calls: 0 });
    let isStopped = false;
    const stopped = watcher.stop().then(() => {
      isStopped = true;
    });
    await clock.advanceAsync(499);
    assertEquals(isStopped, false);
    await clock.advanceAsync(1);
    await stopped;
  });
});

Deno.test("PathWatcher goes on when onChange fails", async () => {
  await imagining(async ({ clock, logger }) => {
    for (const expected of [1, 2]) {
      await clock.advanceAsync(30_000);
      assertEquals(logger.lines.length, expected);
    }
    assertEquals(logger.lines[0], {
      level: "error",
      message: "Cannot apply a change of files",
      fields: { error: "no such thing" },
    });
  }, () => {
    throw new Error("no such thing");
  });
});

Deno.test("PathWatcher tolerates double stop, stop before start and start after stop", async () => {
  const clock = new FakeClock();
  const watcher = new PathWatcher({
    paths: () => ["/"],
    onChange: () => {},
    clock,
    logger: new RecordingLogger(),
  });
  await watcher.stop();
  await watcher.start();
  await watcher.stop();
  assertEquals(clock.pendingTimers, 0);
});
