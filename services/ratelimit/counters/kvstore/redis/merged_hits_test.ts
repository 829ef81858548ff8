import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";
import { CommandWriter } from "./command_writer.ts";
import { Expiries } from "./expiries.ts";
import { type Hit, MergedHits, type ReplySink } from "./merged_hits.ts";
import type { RedisReply } from "./reply.ts";

const MOST = Number.MAX_SAFE_INTEGER;
const OVERFLOW = { refusal: "ERR increment or decrement would overflow" };

function hit(name: string, hits = 1, extra: Partial<Hit> = {}): Hit {
  const bytes = Buffer.from(name);
  return {
    ...{ index: 0, isPair: false, bytes, start: 0, end: bytes.length },
    ...{ hits, lifeSeconds: 60, ...extra },
  };
}

/** Notes the replies by index. */
class Replies implements ReplySink {
  readonly got: RedisReply[] = [];

  reply(index: number, reply: RedisReply): void {
    assertEquals(this.got[index], undefined, "a second reply");
    this.got[index] = reply;
  }
}

/** Merged hits, with what they ask for. */
class Subject {
  readonly expiries = new Expiries();
  /** The late expiries that were asked for. */
  readonly late: Array<
    {
      readonly name: string;
      readonly seconds: number;
      readonly sink: ReplySink;
    }
  > = [];
  answered = 0;
  readonly merged = new MergedHits({
    expiries: this.expiries,
    expire: (name, life) =>
      void this.late.push({ name: name.toString(), ...life }),
    onAnswered: () => void this.answered++,
  });

  add(...args: Parameters<typeof hit>): Replies {
    const sink = new Replies();
    this.merged.add(sink, hit(...args));
    return sink;
  }

  /** Writes the commands; returns them as texts. */
  write(): readonly string[] {
    const writer = new CommandWriter();
    const count = this.merged.writeTo(writer);
    const commands = readCommands(writer.take());
    assertEquals(commands.length, count);
    return commands;
  }

  reply(...replies: readonly RedisReply[]): void {
    for (const [i, reply] of replies.entries()) this.merged.reply(i, reply);
  }

  /** Adds a hit and has it answered, so that its counter is known. */
  teach(name: string): void {
    this.add(name);
    this.write();
    this.reply(1, 1);
    this.merged.clear();
    this.answered = 0;
  }
}

/** Reads commands whose arguments have no line ends. */
function readCommands(bytes: Uint8Array): readonly string[] {
  return Buffer.from(bytes).toString().split(/^\*\d+\r\n/m).slice(1)
    .map((command) => command.split("\r\n").filter((_, i) => i % 2).join(" "));
}

Deno.test("MergedHits.writeTo() writes one INCRBY for a counter, and EXPIRE while it is not known", () => {
  const subject = new Subject();
  const sinks = [subject.add("a", 3), subject.add("b"), subject.add("a", 2)];
  assertEquals(subject.write(), [
    "INCRBY a 5",
    "EXPIRE a 60",
    "INCRBY b 1",
    "EXPIRE b 60",
  ]);
  subject.reply(15, 1, 1, 1);
  assertEquals(sinks.map(({ got }) => got), [[13], [1], [15]]);
  assertEquals(subject.answered, 1);
  subject.merged.clear();
  const later = subject.add("a", 7);
  assertEquals(subject.write(), ["INCRBY a 7"]);
  subject.reply(22);
  assertEquals(later.got, [22]);
  assertEquals(subject.late, []);
});

Deno.test("MergedHits.reply() sends the EXPIRE of a known counter that is new, before it answers", () => {
  const subject = new Subject();
  subject.teach("a");
  const sinks = [subject.add("a", 2), subject.add("a", 3)];
  assertEquals(subject.write(), ["INCRBY a 5"]);
  subject.reply(5);
  assertEquals(sinks.map(({ got }) => got), [[], []]);
  const [late] = subject.late;
  assertEquals([late?.name, late?.seconds], ["a", 60]);
  late?.sink.reply(0, 1);
  assertEquals(sinks.map(({ got }) => got), [[2], [5]]);
  assertEquals(subject.answered, 1);
});

Deno.test("MergedHits.reply() deals a refusal out to all hits, and tells whether they were counted", () => {
  const subject = new Subject();
  const oom = { refusal: "OOM" };
  const noperm = { refusal: "NOPERM" };
  const sinks = [
    subject.add("a"),
    subject.add("a", 1, { isPair: true }),
    subject.add("b"),
    subject.add("b", 1, { isPair: true }),
    subject.add("c", 1, { isPair: true }),
  ];
  subject.write();
  subject.reply(oom, oom, 9, noperm, 4, 1);
  assertEquals(sinks.map(({ got }) => got), [
    [oom],
    [oom, oom],
    [{ ...noperm, hasCounted: true }],
    [9, noperm],
    [4, 1],
  ]);
  subject.merged.clear();
  subject.add("b");
  assertEquals(subject.write(), ["INCRBY b 1", "EXPIRE b 60"]);
});

Deno.test("MergedHits.add() begins another command before a sum would not be exact", () => {
  const subject = new Subject();
  const sinks = [
    subject.add("a", MOST - 1),
    subject.add("a", 1),
    subject.add("a", 5),
    subject.add("a", 6),
  ];
  assertEquals(subject.write().filter((text) => text.startsWith("INCRBY")), [
    `INCRBY a ${MOST}`,
    "INCRBY a 11",
  ]);
  subject.reply(MOST, 1, OVERFLOW, 1);
  assertEquals(sinks.map(({ got }) => got), [
    [MOST - 1],
    [MOST],
    [OVERFLOW],
    [OVERFLOW],
  ]);
});

Deno.test("MergedHits.lose() owes the expiries of counters without a reply alone", () => {
  const subject = new Subject();
  subject.teach("b");
  subject.add("a", 1, { number: 17 });
  subject.add("b");
  subject.add("c");
  subject.write();
  subject.reply(1, 1, 1);
  assertEquals(subject.late.length, 1);
  subject.merged.lose();
  assertEquals(
    subject.expiries.takeOwed().map((command) => command.map(String)),
    [["EXPIRE", "b", "60"], ["EXPIRE", "c", "60"]],
  );
});

/** Counters as a server keeps them, with hits that come one by one. */
class Model {
  readonly counts = new Map<string, number>();
  readonly expiring = new Set<string>();

  add(name: string, hits: number): RedisReply {
    const count = (this.counts.get(name) ?? 0) + hits;
    this.counts.set(name, count);
    return count;
  }

  run(command: string): RedisReply {
    const [verb, name = "", number] = command.split(" ");
    if (verb === "INCRBY") return this.add(name, Number(number));
    assertEquals(verb, "EXPIRE");
    if (!this.counts.has(name)) return 0;
    this.expiring.add(name);
    return 1;
  }

  remove(name: string): void {
    this.counts.delete(name);
    this.expiring.delete(name);
  }
}

Deno.test("MergedHits give each hit the count of an INCRBY of its own, and every counter an expiry", () => {
  const random = new SeededRandom(23);
  const subject = new Subject();
  const server = new Model();
  const model = new Model();
  let merged = 0;
  for (let round = 0; round < 2_000; round++) {
    const names = Array.from({ length: 1 + random.below(200) }, () => {
      const number = random.below(3);
      // The same name, whether its end comes as a number or not.
      return [`k${random.below(40)}_`, number, random.below(2) === 0] as const;
    });
    const expected: RedisReply[] = [];
    const sinks = names.map(([key, number, isNumbered]) => {
      const hits = 1 + random.below(9);
      expected.push(model.add(`${key}${number}`, hits));
      return isNumbered
        ? subject.add(key, hits, { number })
        : subject.add(`${key}${number}`, hits);
    });
    merged += names.length - subject.merged.size;
    subject.reply(...subject.write().map((command) => server.run(command)));
    for (const { name, sink } of subject.late.splice(0)) {
      sink.reply(0, server.run(`EXPIRE ${name} 60`));
    }
    assertEquals(sinks.map(({ got }) => got[0]), expected);
    assertEquals(subject.answered, round + 1);
    assertEquals(new Set(server.counts.keys()), server.expiring);
    subject.merged.clear();
    // The server loses counters of which nobody tells.
    for (let i = random.below(4); i > 0; i--) {
      const name = `k${random.below(40)}_${random.below(3)}`;
      server.remove(name);
      model.remove(name);
    }
    if (random.below(50) === 0) subject.expiries.forget();
  }
  assert(merged > 10_000, `${merged} merged`);
});
