import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  delimited,
  joinedBytes,
  varintField,
} from "../../../proto/testing/hand_wire.ts";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { loadRules } from "./load.ts";
import {
  loadBesideDecisions,
  loadInThread,
  serveLoads,
} from "./load_thread.ts";
import type { ConfigText } from "./read_domain.ts";

type LoadThreadScope = Parameters<typeof serveLoads>[0];
type LoadInThreadOptions = Parameters<typeof loadInThread>[1];

/**
 * A worker without a thread; its messages are copied, as those of a thread are.
 */
class SameThread {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  /** Length of the longest list that came in one message. */
  longest = 0;
  terminated = 0;
  readonly #scope: LoadThreadScope;

  constructor() {
    const scope: LoadThreadScope = {
      onmessage: null,
      postMessage: (answer) => {
        if (answer.kind === "part") {
          this.longest = Math.max(this.longest, answer.descriptors.length);
        }
        const data = structuredClone(answer);
        queueMicrotask(() =>
          this.onmessage?.(new MessageEvent("message", { data }))
        );
      },
    };
    serveLoads(scope);
    this.#scope = scope;
  }

  postMessage(request: unknown): void {
    const event = new MessageEvent("message", {
      data: structuredClone(request),
    });
    queueMicrotask(() => this.#scope.onmessage?.(event as never));
  }

  terminate(): void {
    this.terminated += 1;
  }
}

function createOptions(
  thread: SameThread,
  more: Partial<LoadInThreadOptions> = {},
): LoadInThreadOptions {
  return {
    compile: {},
    startThread: () => thread as unknown as Worker,
    pausing: NEVER_PAUSING,
    clock: new FakeClock(),
    signal: new AbortController().signal,
    ...more,
  };
}

/** A configuration of several levels with all that a descriptor may have. */
function randomFile(random: SeededRandom, name: string): ConfigText {
  const descriptors = (depth: number): string =>
    `[${
      Array.from({ length: random.below(5) + 1 }, (_, at) => {
        const parts = [`key: k${at}`];
        if (random.chance(0.5)) parts.push(`value: "v*${at}"`);
        if (random.chance(0.7)) {
          parts.push(
            `rate_limit: {unit: hour, requests_per_unit: ${random.below(99)}}`,
            "metadata: {a: [1, {b: c}]}",
            `shadow_mode: ${random.chance(0.5)}`,
          );
        }
        if (depth < 3 && random.chance(0.5)) {
          parts.push(`descriptors: ${descriptors(depth + 1)}`);
        }
        return `{${parts.join(", ")}}`;
      }).join(", ")
    }]`;
  const text = `domain: ${name}\ndescriptors: ${descriptors(0)}\n`;
  return { name: `${name}.yaml`, text };
}

Deno.test("loadInThread() gives what loadRules() gives", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new SeededRandom(seed);
    const files = ["a", "b", "c"].map((name) => randomFile(random, name));
    const thread = new SameThread();
    const loaded = await loadInThread(files, createOptions(thread));
    const expected = loadRules(files);
    assertEquals(loaded.faults, []);
    assertEquals(loaded.warnings, expected.warnings);
    assertEquals(loaded.snapshot!.rules, expected.snapshot!.rules);
    assertEquals(loaded.snapshot!.domainNames, expected.snapshot!.domainNames);
    assertEquals(thread.terminated, 1);
  }
});

Deno.test("loadInThread() gives what loadRules() gives of resources, which share a buffer", async () => {
  const rule = (domain: string) =>
    joinedBytes(
      delimited(1, domain),
      delimited(2, domain),
      delimited(
        3,
        joinedBytes(delimited(1, "k"), delimited(3, varintField(1, 4))),
      ),
    );
  const [first, second] = [rule("a"), rule("b")];
  const buffer = joinedBytes("before", first, second, "after");
  const resources = [
    { name: "", bytes: buffer.subarray(6, 6 + first.length) },
    { name: "", bytes: buffer.subarray(6 + first.length, -5) },
  ];
  const loaded = await loadInThread(resources, createOptions(new SameThread()));
  const expected = loadRules(resources);
  assertEquals(loaded.snapshot!.rules, expected.snapshot!.rules);
  assertEquals(loaded.snapshot!.domainNames, ["a", "b"]);
});

Deno.test("loadInThread() tells the faults with their places, also those between files", async () => {
  const rule = "domain: a\ndescriptors:\n  - key: x\n";
  const files = [
    { name: "a.yaml", text: rule },
    { name: "b.yaml", text: rule },
    { name: "c.yaml", text: "domain: c\ndescriptors:\n  - kye: x\n" },
  ];
  const loaded = await loadInThread(files, createOptions(new SameThread()));
  assertEquals(loaded.snapshot, undefined);
  assertEquals(loaded.faults, loadRules(files).faults);
  assertEquals(loaded.faults.map(({ line }) => line), [3, 1]);
});

Deno.test("loadInThread() takes over and compiles some descriptors at a time", async () => {
  const rules = Array.from(
    { length: 1_000 },
    (_, at) => `  - {key: a, value: v${at}}\n`,
  );
  const text = `domain: d\ndescriptors:\n${rules.join("")}`;
  const thread = new SameThread();
  let pauses = 0;
  const pausing = {
    pause: () => {
      pauses += 1;
      return undefined;
    },
  };
  await loadInThread(
    [{ name: "a.yaml", text }],
    createOptions(thread, { pausing }),
  );
  assertEquals(thread.longest, 100);
  assert(pauses >= 1_010, `${pauses} chances to give way`);
});

Deno.test("loadInThread() ends the thread when it fails, takes too long or the service stops", async () => {
  const cases: Readonly<
    Record<string, (thread: SameThread, clock: FakeClock) => void>
  > = {
    "no memory": (thread) =>
      thread.onerror?.(
        new ErrorEvent("error", { message: "no memory", cancelable: true }),
      ),
    "it takes longer than 60000 ms": (_, clock) => clock.advance(60_000),
  };
  for (const [why, happen] of Object.entries(cases)) {
    const thread = new SameThread();
    thread.postMessage = () => {};
    const clock = new FakeClock();
    const loading = loadInThread([], createOptions(thread, { clock }));
    happen(thread, clock);
    await assertRejects(() => loading, Error, why);
    assertEquals([thread.terminated, clock.pendingTimers], [1, 0]);
  }
  const stop = new AbortController();
  const thread = new SameThread();
  thread.postMessage = () => {};
  const loading = loadInThread(
    [],
    createOptions(thread, { signal: stop.signal }),
  );
  stop.abort();
  await assertRejects(() => loading, Error, "the service stops");
  assertEquals(thread.terminated, 1);
});

const PLAIN = {
  name: "plain.yaml",
  text: `domain: a
descriptors:
  - key: k
    value: v*
    rate_limit: {unit: hour, requests_per_unit: 3, replaces: }
    descriptors:
      - key: l
        rate_limit:
          unlimited: yes
  - key: k
    value: vv*
  - key: k
`,
} as const;
const OTHER = { name: "other.yaml", text: "{domain: b, descriptors: []}" };

Deno.test("loadBesideDecisions() gives what loadRules() gives for plain files, without a thread", async () => {
  const thread = new SameThread();
  let pauses = 0;
  const pausing = { pause: () => void pauses++ };
  const plain = { ...PLAIN, text: PLAIN.text.replace(", replaces: ", "") };
  const options = createOptions(thread, { pausing });
  const loaded = await loadBesideDecisions([plain], options);
  const expected = loadRules([plain]);
  assertEquals(loaded.faults, []);
  assertEquals(loaded.warnings, expected.warnings);
  assertEquals(loaded.warnings.length, 1);
  assertEquals(loaded.snapshot!.rules, expected.snapshot!.rules);
  assertEquals(thread.terminated, 0);
  // It pauses while it reads and while it compiles.
  assert(pauses >= 8, `${pauses} chances to give way`);
});

Deno.test("loadBesideDecisions() gives way while it looks for rules that can't be reached", async () => {
  const count = 300;
  const text = `domain: d\ndescriptors:\n` + Array.from(
    { length: count },
    (_, at) => `  - key: path\n    value: /service_${at}/*\n`,
  ).join("");
  let pauses = 0;
  const options = createOptions(new SameThread(), {
    pausing: { pause: () => void pauses++ },
  });
  const loaded = await loadBesideDecisions([{ name: "a", text }], options);
  assertEquals(loaded.snapshot?.descriptors.length, count);
  // It pauses while it reads, while it looks, and while it compiles.
  assert(pauses >= 3 * count, `${pauses} chances to give way`);
});

Deno.test("loadBesideDecisions() tells the faults between plain files", async () => {
  const thread = new SameThread();
  const file = { name: "a.yaml", text: "domain: a\n" };
  const twice = [file, { ...file, name: "b.yaml" }];
  const loaded = await loadBesideDecisions(twice, createOptions(thread));
  assertEquals(loaded, loadRules(twice));
  assertEquals(loaded.snapshot, undefined);
  assertEquals(thread.terminated, 0);
});

Deno.test("loadBesideDecisions() loads in a thread when a document is not plain", async () => {
  for (
    const others of [[OTHER], [PLAIN], [{ name: "c", bytes: new Uint8Array() }]]
  ) {
    const thread = new SameThread();
    const documents = [{ name: "a.yaml", text: "domain: a\n" }, ...others];
    const loaded = await loadBesideDecisions(documents, createOptions(thread));
    const expected = loadRules(documents);
    assertEquals(loaded.faults, expected.faults);
    assertEquals(loaded.snapshot?.rules, expected.snapshot?.rules);
    assertEquals(thread.terminated, 1);
  }
});

Deno.test("loadBesideDecisions() ends when the service stops", async () => {
  const stop = new AbortController();
  const pausing = {
    pause() {
      stop.abort();
      return Promise.resolve();
    },
  };
  const options = createOptions(new SameThread(), {
    pausing,
    signal: stop.signal,
  });
  const text = PLAIN.text.replace(", replaces: ", "");
  await assertRejects(
    () => loadBesideDecisions([{ name: "a.yaml", text }], options),
    Error,
    "the service stops",
  );
});
