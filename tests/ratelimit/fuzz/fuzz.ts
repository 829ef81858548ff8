/**
 * The HTTP/2 fuzz test of the rate limit service: broken and hostile clients
 * against the real process, together with honest ones. `deno task fuzz:h2` runs
 * it.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { print, tell, toMessage } from "../../../scripts/terminal.ts";
import {
  type RatelimitProcess,
  startRatelimit,
} from "../../support/ratelimit_process.ts";
import { SeededRandom } from "../../support/seeded_random.ts";
import { residentMb } from "../../support/service_process.ts";
import { ConfigFolder } from "../config_folder.ts";
import { CODES, type GrpcCaller, grpcCaller } from "../grpc_caller.ts";
import { createRequest } from "../requests.ts";
import { type Conversation, createConversation } from "./conversations.ts";

const HELP =
  `Sends ratelimit what broken and hostile clients of HTTP/2 may send.

usage: deno task fuzz:h2 [options]

  --seconds=<n>   how long (60); memory is judged from the second minute on
  --seed=<n>      what chance begins with (drawn, and told)
  --rounds=<n>    so many conversations in place of a time; a fault names the seed
                  of its round, which is tried again with --rounds=1
  --json          the result as JSON
  --help          this text

Ends with 0 when every promise was kept, 1 when one was broken, 2 when it could not
be tried.
`;

/** Options of a fuzz run. */
export interface FuzzOptions {
  /**
   * The seed of the first conversation; each further one has the next number.
   */
  readonly seed: number;
  /** Returns whether another conversation follows after `rounds` of them. */
  readonly goesOn: (rounds: number) => boolean;
  /** Receives lines about the progress. */
  readonly tell: (line: string) => void;
  /**
   * Returns the memory of a process in MB; called every ten seconds.
   *
   * @default the memory is not measured
   */
  readonly rssMb?: (pid: number) => Promise<number>;
}

/** The result of a fuzz run. */
interface FuzzResult {
  /** Number of conversations. */
  readonly rounds: number;
  /** Number of honest calls. */
  readonly honestCalls: number;
  /** Number of HEADERS frames that hostile clients received. */
  readonly answers: number;
  /**
   * Number of conversations in which the server sent GOAWAY, which tells why it
   * closes the connection.
   */
  readonly goaways: number;
  /** Resident memory in MB, measured every ten seconds. */
  readonly rssMb: readonly number[];
  /** The violations, with the seeds of the conversations under way. */
  readonly faults: readonly string[];
}

/** Number of conversations at a time. */
const AT_ONCE = 8;
/** The longest that an honest call may take, in milliseconds. */
const HONEST_MS = 5_000;
const HONEST_PAUSE_MS = 20;
/**
 * How long a client waits for the server after its last action, in
 * milliseconds; then it closes the connection.
 */
const READ_MS = 50;
const TELL_MS = 10_000;
const LIMIT = 1_000_000_000;
const FAULT_LINES = /Cannot answer|internal error|uncaught|panicked/i;
const FRAME_HEAD = 9;
const MAX_FRAME_BYTES = 16_384;
const LAST_FRAME_TYPE = 9;
const HEADERS = 1;
const GOAWAY = 7;
/**
 * Number of memory measurements to skip, until code is compiled and buffers
 * have grown to their size.
 */
const WARM_LOOKS = 6;
/** The most that memory may grow after that, in MB. */
const MAX_GROWTH_MB = 100;
/**
 * Counters live for a second only, so that they do not account for growing
 * memory.
 */
const RULES = `domain: fuzz
descriptors:
  - key: user
    rate_limit: {unit: second, requests_per_unit: ${LIMIT}}
`;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string", default: "60" },
      seed: { type: "string" },
      rounds: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const drawn = String(crypto.getRandomValues(new Uint32Array(1))[0]);
  const seed = parseCount("seed", values.seed ?? drawn);
  const endMs = performance.now() +
    1_000 * parseCount("seconds", values.seconds);
  const most = values.rounds === undefined
    ? undefined
    : parseCount("rounds", values.rounds);
  tell(`seed ${seed}`);
  const result = await fuzz({
    seed,
    goesOn: (rounds) =>
      most === undefined ? performance.now() < endMs : rounds < most,
    tell,
    rssMb: residentMb,
  });
  print(values.json ? JSON.stringify({ seed, ...result }) : formatText(result));
  return result.faults.length === 0 ? 0 : 1;
}

function parseCount(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value < 2 ** 32) return value;
  throw new RangeError(`Cannot take --${name} "${text}": it is not a count`);
}

function formatText(
  { rounds, answers, goaways, honestCalls, rssMb, faults }: FuzzResult,
): string {
  const told =
    `${rounds} conversations (${answers} answers, ${goaways} ended ` +
    `with a reason) beside ${honestCalls} honest calls, ${rssMb.join(", ")} MB`;
  return faults.length === 0
    ? `${told}: every promise was kept`
    : [`${told}:`, ...faults].join("\n");
}

/**
 * Runs conversations until the options say to stop, with honest calls at the
 * same time.
 */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  await using folder = await ConfigFolder.make({
    "rules.yaml": RULES,
  });
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, LOG_LEVEL: "warn" },
  });
  return await new Fuzz(service, options).run();
}

class Fuzz {
  readonly #service: RatelimitProcess;
  readonly #options: FuzzOptions;
  readonly #faults: string[] = [];
  readonly #underWay = new Set<number>();
  readonly #rssMb: number[] = [];
  #answers = 0;
  #goaways = 0;
  readonly #looks: Promise<void>[] = [];
  #rounds = 0;
  #honestCalls = 0;
  #isOver = false;

  constructor(service: RatelimitProcess, options: FuzzOptions) {
    this.#service = service;
    this.#options = options;
  }

  async run(): Promise<FuzzResult> {
    const timer = setInterval(
      () => {
        this.#options.tell(`  ${this.#rounds} conversations`);
        this.#looks.push(this.#lookAtMemory());
      },
      TELL_MS,
    );
    const honest = this.#honest();
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, () => this.#hostile()));
    } finally {
      this.#isOver = true;
      clearInterval(timer);
      await Promise.all([honest, ...this.#looks]);
    }
    const [warm = Infinity, ...later] = this.#rssMb.slice(WARM_LOOKS);
    const last = later.at(-1) ?? 0;
    if (last > warm + MAX_GROWTH_MB) {
      this.#fault(`the memory went from ${warm} to ${last} MB`);
    }
    const line = this.#service.stderr.split("\n").find((text) =>
      FAULT_LINES.test(text)
    );
    if (line !== undefined) this.#fault(`the log says: ${line}`);
    return {
      rounds: this.#rounds,
      honestCalls: this.#honestCalls,
      answers: this.#answers,
      goaways: this.#goaways,
      rssMb: this.#rssMb,
      faults: this.#faults,
    };
  }

  async #hostile(): Promise<void> {
    while (this.#faults.length === 0 && this.#options.goesOn(this.#rounds)) {
      const seed = this.#options.seed + this.#rounds++;
      this.#underWay.add(seed);
      const said = createConversation(new SeededRandom(seed));
      const heard = await converse(this.#service.grpcTarget, said);
      if (typeof heard === "string") this.#fault(`seed ${seed}: ${heard}`);
      else {
        this.#answers += heard.filter((type) => type === HEADERS).length;
        if (heard.includes(GOAWAY)) this.#goaways++;
      }
      this.#underWay.delete(seed);
    }
  }

  /**
   * Makes honest calls, alternately on one lasting connection and on a new one.
   */
  async #honest(): Promise<void> {
    await using lasting = await grpcCaller(this.#service.grpcTarget);
    while (!this.#isOver && this.#faults.length === 0) {
      await using fresh = await grpcCaller(this.#service.grpcTarget);
      for (const caller of [lasting, fresh]) await this.#honestCall(caller);
      await new Promise((resolve) => setTimeout(resolve, HONEST_PAUSE_MS));
    }
  }

  async #honestCall(caller: GrpcCaller): Promise<void> {
    const user = `honest ${this.#honestCalls++}`;
    const sinceMs = performance.now();
    const { status, details, overallCode, statuses } = await caller.decide(
      createRequest("fuzz", { user }),
    );
    const tookMs = performance.now() - sinceMs;
    const left = statuses[0]?.limitRemaining;
    if (status !== 0 || overallCode !== CODES.OK || left !== LIMIT - 1) {
      const told = JSON.stringify({ status, details, overallCode, left });
      this.#fault(`an honest call was answered with ${told}`);
    } else if (tookMs > HONEST_MS) {
      this.#fault(`an honest call took ${Math.round(tookMs)} ms`);
    }
  }

  async #lookAtMemory(): Promise<void> {
    const rssMb = await this.#options.rssMb?.(this.#service.pid);
    if (rssMb !== undefined) this.#rssMb.push(Math.round(rssMb));
  }

  #fault(text: string): void {
    const seeds = [...this.#underWay].join(", ");
    this.#faults.push(seeds === "" ? text : `${text} (under way: ${seeds})`);
  }
}

/**
 * Performs a conversation; returns the types of the frames received, or a text
 * that says what is wrong with them.
 */
async function converse(
  target: string,
  said: Conversation,
): Promise<readonly number[] | string> {
  const [hostname = "", port] = target.split(":");
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const heard = hear(connection);
  try {
    for (const act of said) {
      if (act.kind === "half_close") await connection.closeWrite();
      else if (act.kind === "stall") await pause(act.ms);
      else await sendAll(connection, act.bytes);
    }
  } catch (error) {
    if (!isGone(error)) throw error;
  }
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, READ_MS);
  await Promise.race([heard, over]);
  clearTimeout(timer);
  try {
    connection.close();
  } catch (error) {
    if (!isGone(error)) throw error;
  }
  return frameTypes(await heard);
}

async function sendAll(
  connection: Deno.TcpConn,
  bytes: Uint8Array,
): Promise<void> {
  for (let sent = 0; sent < bytes.length;) {
    sent += await connection.write(bytes.subarray(sent));
  }
}

async function hear(connection: Deno.TcpConn): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const buffer = new Uint8Array(65_536);
  try {
    for (;;) {
      const length = await connection.read(buffer);
      if (length === null) break;
      pieces.push(buffer.slice(0, length));
    }
  } catch (error) {
    if (!isGone(error)) throw error;
  }
  return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}

/**
 * Returns the types of the received frames. Whatever the client sent, the
 * server must send only valid frames, and none longer than the limit; otherwise
 * returns a text that says what is wrong.
 */
function frameTypes(bytes: Uint8Array): readonly number[] | string {
  const types: number[] = [];
  const view = new DataView(bytes.buffer);
  for (let at = 0; at + FRAME_HEAD <= bytes.length;) {
    const head = view.getUint32(at);
    const length = head >>> 8;
    const type = head & 0xff;
    if (length > MAX_FRAME_BYTES || type > LAST_FRAME_TYPE) {
      return `the server sent a frame of type ${type} and ${length} bytes`;
    }
    types.push(type);
    at += FRAME_HEAD + length;
  }
  return types;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Returns whether an error means that the connection is closed; either side may
 * have closed it first.
 */
function isGone(error: unknown): boolean {
  return error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.BrokenPipe ||
    error instanceof Deno.errors.NotConnected ||
    error instanceof Deno.errors.BadResource ||
    error instanceof Deno.errors.Interrupted;
}

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    tell(`Cannot fuzz: ${toMessage(error)}`);
    Deno.exit(2);
  }
}
