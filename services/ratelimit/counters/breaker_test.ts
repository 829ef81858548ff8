import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  Breaker,
  type BreakerEvent,
  type BreakerState,
  nextBreakerState,
  probeDelayMs,
  type ProbeOutcome,
} from "./breaker.ts";

const CLOSED = { kind: "closed", calmUntilMs: -Infinity } as BreakerState;
const SERVED: ProbeOutcome = { kind: "served" };
const FAILED: ProbeOutcome = { kind: "failed", reason: "OOM" };
const CUT: ProbeOutcome = { kind: "cut", reason: "refused" };

/** Returns the kinds of the states after events at times in milliseconds. */
function kindsAfter(
  ...events: readonly (readonly [number, BreakerEvent])[]
): readonly string[] {
  let state = CLOSED;
  return events.map(([nowMs, event]) => {
    state = nextBreakerState(state, event, nowMs);
    return state.kind;
  });
}

Deno.test("nextBreakerState() opens when probes after a doubt fail for a while", () => {
  assertEquals(
    kindsAfter(
      [1_000, { kind: "doubted" }],
      [1_001, FAILED],
      [1_049, FAILED],
      [1_050, FAILED],
      [9_000, FAILED],
      [9_500, SERVED],
    ),
    ["suspect", "suspect", "suspect", "open", "open", "closed"],
  );
});

Deno.test("nextBreakerState() stays closed, and calm for a while, when the server serves a probe", () => {
  assertEquals(
    kindsAfter(
      [0, { kind: "doubted", refusal: "WRONGTYPE" }],
      [100, SERVED],
      [349, { kind: "doubted" }],
      [350, { kind: "doubted" }],
    ),
    ["suspect", "closed", "closed", "suspect"],
  );
});

Deno.test("nextBreakerState() opens at once without a connection, and waits for one", () => {
  const cut = nextBreakerState(CLOSED, CUT, 0);
  assertEquals(cut.kind, "open");
  assertEquals(probeDelayMs(cut, () => 0), undefined);
  // A reply that was on its way proves nothing.
  assertEquals(nextBreakerState(cut, SERVED, 1), cut);
  const joined = nextBreakerState(cut, { kind: "joined" }, 2);
  assertEquals(joined.kind, "open");
  assertEquals(probeDelayMs(joined, () => 0), 0);
  assertEquals(nextBreakerState(joined, SERVED, 3).kind, "closed");
});

Deno.test("nextBreakerState() keeps to its rules in every order of events", () => {
  const random = new SeededRandom(11);
  const events: readonly BreakerEvent[] = [
    SERVED,
    FAILED,
    CUT,
    { kind: "joined" },
    { kind: "hoped" },
    { kind: "doubted" },
  ];
  let state = CLOSED;
  let nowMs = 0;
  for (let step = 0; step < 20_000; step++) {
    nowMs += random.below(100);
    const event = events[random.below(events.length)]!;
    const before = state;
    state = nextBreakerState(before, event, nowMs);
    const delayMs = probeDelayMs(state, () => random.below(100) / 100);
    // Only a probe or the loss of all connections opens, only a probe closes.
    if (state.kind === "open" && before.kind !== "open") {
      assert(event.kind === "failed" || event.kind === "cut");
    }
    if (state.kind === "closed") assert(before === state || event === SERVED);
    // An open breaker never waits for ever, except for a connection.
    if (state.kind === "open" && !state.isCut) {
      assert(delayMs !== undefined && delayMs <= 2_000);
    }
    if (state.kind === "suspect") assert(delayMs !== undefined);
    if (event.kind === "failed" && before.kind === "suspect") {
      assertEquals(state.kind === "open", nowMs - before.sinceMs >= 50);
    }
  }
});

interface Subject {
  readonly breaker: Breaker;
  readonly clock: FakeClock;
  /** What happened, with times in milliseconds since the start. */
  readonly seen: string[];
  /** What probes find from now on; they never end while it is undefined. */
  outcome: ProbeOutcome | undefined;
}

function makeSubject(outcome: ProbeOutcome): Subject {
  const clock = new FakeClock();
  const startMs = clock.nowMs();
  const seen: string[] = [];
  const see = (what: string): void => {
    seen.push(`${clock.nowMs() - startMs} ${what}`);
  };
  const subject: Subject = {
    clock,
    seen,
    outcome,
    breaker: new Breaker({
      clock,
      random: () => 0,
      probe: () => {
        see("probe");
        const { outcome } = subject;
        if (outcome?.kind === "cut") return outcome;
        return outcome === undefined
          ? new Promise(() => {})
          : Promise.resolve(outcome);
      },
      onOpen: (reason) => see(`open ${reason}`),
      onClose: () => see("close"),
      onCleared: (refusal) => see(`cleared ${refusal}`),
    }),
  };
  return subject;
}

Deno.test("Breaker probes at once after a doubt, then ever more slowly until the server serves", async () => {
  const subject = makeSubject(FAILED);
  const { breaker, clock, seen } = subject;
  breaker.doubt("OOM");
  breaker.doubt("OOM");
  await clock.advanceAsync(24);
  assertEquals([breaker.isOpen, breaker.isClosed], [false, false]);
  await clock.advanceAsync(1_976);
  assertEquals([breaker.isOpen, breaker.reason], [true, "OOM"]);
  assertEquals(seen.splice(0), [
    "0 probe",
    "25 probe",
    "75 probe",
    "75 open OOM",
    "175 probe",
    "375 probe",
    "775 probe",
    "1575 probe",
  ]);
  subject.outcome = SERVED;
  await clock.advanceAsync(1_000);
  assertEquals(seen, ["2575 probe", "2575 close"]);
  assertEquals([breaker.isOpen, breaker.reason], [false, ""]);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("Breaker has one probe at a time, and tells what did not concern the server", async () => {
  const subject = makeSubject(SERVED);
  const { breaker, clock, seen } = subject;
  for (let i = 0; i < 10; i++) breaker.doubt("WRONGTYPE");
  await clock.advanceAsync(0);
  assertEquals(seen, ["0 probe", "0 cleared WRONGTYPE"]);
  breaker.doubt("WRONGTYPE");
  assertEquals(breaker.isClosed, true);
  await clock.advanceAsync(250);
  breaker.doubt();
  await clock.advanceAsync(0);
  assertEquals(seen.slice(2), ["250 probe"]);
});

Deno.test("Breaker waits for a connection and probes over it at once", async () => {
  const subject = makeSubject(CUT);
  const { breaker, clock, seen } = subject;
  breaker.doubt();
  assertEquals(seen, ["0 probe", "0 open refused"]);
  await clock.advanceAsync(60_000);
  assertEquals(seen.length, 2);
  subject.outcome = SERVED;
  breaker.join();
  await clock.advanceAsync(0);
  assertEquals(seen.slice(2), ["60000 probe", "60000 close"]);
});

Deno.test("Breaker.hope() probes a server that is out, and no other one", async () => {
  const subject = makeSubject(FAILED);
  const { breaker, clock, seen } = subject;
  breaker.hope();
  assertEquals(seen, []);
  breaker.doubt();
  await clock.advanceAsync(1_600);
  seen.length = 0;
  subject.outcome = SERVED;
  breaker.hope();
  await clock.advanceAsync(0);
  assertEquals(seen, ["1600 probe", "1600 close"]);
});

Deno.test("Breaker.stop() forgets what was held against the server", async () => {
  const subject = makeSubject(FAILED);
  const { breaker, clock, seen } = subject;
  breaker.doubt();
  await clock.advanceAsync(100);
  breaker.stop();
  assertEquals([breaker.isClosed, clock.pendingTimers], [true, 0]);
  await clock.advanceAsync(60_000);
  assertEquals(seen.at(-1), "75 open OOM");
});

Deno.test("Breaker sends calls again within two seconds and one probe, whatever happened before", async () => {
  const random = new SeededRandom(5);
  const clock = new FakeClock();
  let inFlight = 0;
  let isServing = false;
  const breaker = new Breaker({
    clock,
    random: () => random.next(),
    probe: () => {
      inFlight++;
      assertEquals(inFlight, 1);
      return new Promise((resolve) =>
        clock.setTimer(() => {
          inFlight--;
          resolve(isServing ? SERVED : FAILED);
        }, random.below(300))
      );
    },
    onOpen: () => {},
    onClose: () => {},
  });
  for (let round = 0; round < 12; round++) {
    isServing = false;
    for (let step = 0; step < 20; step++) {
      random.pick([
        () => breaker.doubt("OOM"),
        () => breaker.cut("refused"),
        () => breaker.join(),
        () => breaker.hope(),
      ])();
      await clock.advanceAsync(random.below(400));
    }
    isServing = true;
    breaker.join();
    // A probe in progress may fail yet, and the next one be served.
    await clock.advanceAsync(300 + 2_000 + 300);
    assertEquals(breaker.isClosed, true);
  }
});
