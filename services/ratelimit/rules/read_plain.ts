/**
 * Reads rule files that are plain and without faults, fast. Any other file is
 * left to `read_domain.ts`, which says what is wrong.
 *
 * @module
 */

import type {
  DescriptorConfig,
  DomainConfig,
  RateLimitConfig,
} from "./config.ts";
import { idleWords } from "./rule_checks.ts";
import { createLocator } from "./yaml_places.ts";
import {
  LINE_END,
  NotPlain,
  PLAIN_WORD,
  PlainCursor,
  plainItem,
} from "./yaml_plain.ts";
import {
  asBoolean,
  asCount,
  asText,
  metadataOf,
  type ScalarOutcome,
} from "./yaml_values.ts";

// Most rules have no nested descriptors and no names; one list serves all.
const NO_DESCRIPTORS: readonly DescriptorConfig[] = [];
const NO_NAMES: readonly string[] = [];

const UNIT = "second|minute|hour|day|week|month|year";
const COUNT = "0|[1-9][0-9]{0,8}";
/**
 * Matches a descriptor as most are written: key, value and limit in this order,
 * and nothing else. The captures are the key, its column, the value (plain, or
 * in quotes of either kind), then unit and requests of a limit in brackets,
 * then column, unit and requests of one in lines.
 */
const MOST_DESCRIPTORS = plainItem(
  `key: +(${PLAIN_WORD})`,
  `(?:value: +(?:(${PLAIN_WORD})|"([^"\\\\\\n]*)"|'([^'\\n]*)')${LINE_END}` +
    "\\2)?rate_limit:(?:" +
    ` +\\{ *unit: +(${UNIT}) *, *requests_per_unit: +(${COUNT}) *\\}|` +
    `${LINE_END}(\\2 +)unit: +(${UNIT})${LINE_END}` +
    `\\8requests_per_unit: +(${COUNT}))`,
);

/** Reads the domain of a plain file; undefined when the file is not plain. */
export function readPlainDomain(file: PlainFile): DomainConfig | undefined {
  return atOnce(plainDomainSteps(file));
}

/** Runs all steps, one right after the other; returns their result. */
export function atOnce<T>(steps: Generator<void, T>): T {
  while (true) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Reads the domain of a plain file in steps of one descriptor; undefined when
 * the file is not plain.
 */
export function* plainDomainSteps(
  { name, text }: PlainFile,
): Generator<void, DomainConfig | undefined> {
  try {
    return yield* new PlainReader(new PlainCursor(text)).domain(name, text);
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

/** A file that may be plain. */
interface PlainFile {
  readonly name: string;
  readonly text: string;
}

class PlainReader {
  readonly #cursor: PlainCursor;
  /**
   * Words read so far: the same few stand in every rule, and each is kept once.
   */
  readonly #words = new Map<string, string>();

  constructor(cursor: PlainCursor) {
    this.#cursor = cursor;
  }

  *domain(name: string, text: string): Generator<void, DomainConfig> {
    const cursor = this.#cursor;
    let domain = "";
    let descriptors = NO_DESCRIPTORS;
    let countWhenLimited = true;
    const seen = new Seen();
    while (cursor.nextEntry(0)) {
      switch (cursor.key) {
        case "domain":
          seen.first(0);
          domain = this.#text();
          break;
        case "descriptors":
          seen.first(1);
          descriptors = yield* this.#descriptors();
          break;
        case "count_when_limited":
          seen.first(2);
          countWhenLimited = this.#boolean(true);
          break;
        default:
          throw new NotPlain();
      }
    }
    if (!cursor.isAtEnd || domain === "") throw new NotPlain();
    const lineOf = createLocator(text);
    return { name, domain, descriptors, countWhenLimited, lineOf };
  }

  *#descriptors(): Generator<void, readonly DescriptorConfig[]> {
    const cursor = this.#cursor;
    const list = cursor.enterList();
    if (list === undefined) return NO_DESCRIPTORS;
    const descriptors: DescriptorConfig[] = [];
    while (cursor.nextItem(list)) {
      descriptors.push(this.#leaf() ?? (yield* this.#descriptor(list)));
      yield;
    }
    return descriptors;
  }

  /**
   * Reads a descriptor that is written as most are; undefined for any other.
   */
  #leaf(): DescriptorConfig | undefined {
    const { line } = this.#cursor;
    const found = this.#cursor.takeItem(MOST_DESCRIPTORS);
    return found && {
      key: this.#known(found[1]!),
      value: found[3] ?? found[4] ?? found[5] ?? "",
      rateLimit: {
        unit: this.#known(found[6] ?? found[9]!),
        window: undefined,
        requestsPerUnit: Number(found[7] ?? found[10]!),
        algorithm: "",
        burst: undefined,
        unlimited: false,
        name: "",
        replaces: NO_NAMES,
        shadowMode: false,
      },
      rateLimits: undefined,
      shadowMode: false,
      quotaMode: false,
      detailedMetric: false,
      valueToMetric: false,
      shareThreshold: false,
      metadata: undefined,
      descriptors: NO_DESCRIPTORS,
      line,
    };
  }

  *#descriptor(list: number): Generator<void, DescriptorConfig> {
    const cursor = this.#cursor;
    const { line } = cursor;
    const map = cursor.enterItem();
    if (map === undefined) throw new NotPlain();
    let key = "";
    let value = "";
    let rateLimit: RateLimitConfig | undefined;
    let rateLimits: readonly RateLimitConfig[] | undefined;
    let shadowMode = false;
    let quotaMode = false;
    let detailedMetric = false;
    let valueToMetric = false;
    let shareThreshold = false;
    let metadata: DescriptorConfig["metadata"];
    let descriptors = NO_DESCRIPTORS;
    const seen = new Seen();
    while (cursor.nextEntry(map)) {
      switch (cursor.key) {
        case "key":
          seen.first(0);
          key = this.#word();
          break;
        case "value":
          seen.first(1);
          value = this.#text();
          break;
        case "rate_limit":
          seen.first(2);
          rateLimit = this.#rateLimit(map);
          break;
        case "shadow_mode":
          seen.first(3);
          shadowMode = this.#boolean();
          break;
        case "quota_mode":
          seen.first(4);
          quotaMode = this.#boolean();
          break;
        case "detailed_metric":
          seen.first(5);
          detailedMetric = this.#boolean();
          break;
        case "value_to_metric":
          seen.first(6);
          valueToMetric = this.#boolean();
          break;
        case "share_threshold":
          seen.first(7);
          shareThreshold = this.#boolean();
          break;
        case "metadata":
          seen.first(8);
          metadata = this.#metadata();
          break;
        case "descriptors":
          seen.first(9);
          descriptors = yield* this.#descriptors();
          break;
        case "rate_limits":
          seen.first(10);
          rateLimits = this.#rateLimits();
          break;
        default:
          throw new NotPlain();
      }
    }
    cursor.leave(map, list);
    const descriptor = {
      key,
      value,
      rateLimit,
      rateLimits,
      shadowMode,
      quotaMode,
      detailedMetric,
      valueToMetric,
      shareThreshold,
      metadata,
      descriptors,
      line,
    };
    // Such a rule gets warnings, which only the reader of all files gives.
    if (idleWords(descriptor).length > 0) throw new NotPlain();
    return descriptor;
  }

  #rateLimit(descriptor: number): RateLimitConfig | undefined {
    const cursor = this.#cursor;
    const map = cursor.enterMap();
    if (map === undefined) return undefined;
    const limit = this.#limit(map, { isItem: false });
    cursor.leave(map, descriptor);
    return limit;
  }

  #rateLimits(): readonly RateLimitConfig[] | undefined {
    const cursor = this.#cursor;
    const list = cursor.enterList();
    if (list === undefined) return undefined;
    const limits: RateLimitConfig[] = [];
    while (cursor.nextItem(list)) {
      const map = cursor.enterItem();
      if (map === undefined) throw new NotPlain();
      limits.push(this.#limit(map, { isItem: true }));
      cursor.leave(map, list);
    }
    return limits.length === 0 ? undefined : limits;
  }

  #limit(
    map: number,
    { isItem }: {
      /** True for an item of `rate_limits`, which has other words. */
      readonly isItem: boolean;
    },
  ): RateLimitConfig {
    const cursor = this.#cursor;
    let unit = "";
    let window: string | undefined;
    let shadowMode = false;
    let requestsPerUnit: number | undefined;
    let algorithm = "";
    let burst: number | undefined;
    let unlimited = false;
    let name = "";
    let replaces = NO_NAMES;
    const seen = new Seen();
    while (cursor.nextEntry(map)) {
      switch (cursor.key) {
        case "unit":
          seen.first(0);
          unit = this.#word();
          break;
        case "requests_per_unit":
          seen.first(1);
          requestsPerUnit = this.#count();
          break;
        case "algorithm":
          seen.first(2);
          algorithm = this.#word();
          break;
        case "burst":
          seen.first(3);
          burst = this.#count();
          break;
        case "unlimited":
          if (isItem) throw new NotPlain();
          seen.first(4);
          unlimited = this.#boolean();
          break;
        case "name":
          seen.first(5);
          name = this.#text();
          break;
        case "replaces":
          seen.first(6);
          replaces = this.#replaces();
          break;
        case "window":
          seen.first(7);
          window = this.#text() || undefined;
          break;
        case "shadow_mode":
          if (!isItem) throw new NotPlain();
          seen.first(8);
          shadowMode = this.#boolean();
          break;
        default:
          throw new NotPlain();
      }
    }
    // Such a rule gets a warning, which only the reader of all files gives.
    if (requestsPerUnit === undefined && !unlimited) throw new NotPlain();
    return {
      unit,
      window,
      requestsPerUnit: requestsPerUnit ?? 0,
      algorithm,
      burst,
      unlimited,
      name,
      replaces,
      shadowMode,
    };
  }

  #replaces(): readonly string[] {
    const cursor = this.#cursor;
    const list = cursor.enterList();
    if (list === undefined) return NO_NAMES;
    const names: string[] = [];
    while (cursor.nextItem(list)) {
      const map = cursor.enterItem();
      if (map === undefined) throw new NotPlain();
      let name = "";
      const seen = new Seen();
      while (cursor.nextEntry(map)) {
        if (cursor.key !== "name") throw new NotPlain();
        seen.first(0);
        name = this.#text();
      }
      cursor.leave(map, list);
      names.push(name);
    }
    return names;
  }

  #metadata(): DescriptorConfig["metadata"] {
    const metadata = metadataOf(this.#cursor.node());
    if (metadata.kind === "fault") throw new NotPlain();
    return metadata.kind === "metadata" ? metadata.value : undefined;
  }

  #text(): string {
    return this.#cursor.text() ?? this.#scalar(asText) ?? "";
  }

  #word(): string {
    return this.#known(this.#text());
  }

  #known(text: string): string {
    const known = this.#words.get(text);
    if (known !== undefined) return known;
    if (this.#words.size < MAX_WORDS) this.#words.set(text, text);
    return text;
  }

  #count(): number | undefined {
    return this.#cursor.count() ?? this.#scalar(asCount);
  }

  #boolean(missing = false): boolean {
    return this.#scalar(asBoolean, { isPlain: true }) ?? missing;
  }

  #scalar<T>(
    read: (node: ReturnType<PlainCursor["scalar"]>) => ScalarOutcome<T>,
    { isPlain = false }: {
      /** True when quotes around the scalar are a fault. */
      readonly isPlain?: boolean;
    } = {},
  ): T | undefined {
    const node = this.#cursor.scalar();
    if (node.type === "null") return undefined;
    if (isPlain && this.#cursor.isQuoted) throw new NotPlain();
    const outcome = read(node);
    if (outcome.kind === "fault") throw new NotPlain();
    return outcome.value;
  }
}

/** Most keys and units of which one copy is kept. */
const MAX_WORDS = 1_000;

/** The words of a map that were read; a word that is repeated is a fault. */
class Seen {
  #bits = 0;

  first(word: number): void {
    const bit = 1 << word;
    if ((this.#bits & bit) !== 0) throw new NotPlain();
    this.#bits |= bit;
  }
}
