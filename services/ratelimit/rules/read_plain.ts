/**
 * Reads rule files that are plain and without faults, fast. Any other file is
 * left to `read_domain.ts`, which says what is wrong.
 *
 * @module
 */

import type { DescriptorConfig, DomainConfig } from "./config.ts";
import { RuleReader } from "./rule_reader.ts";
import { createLocator } from "./yaml_places.ts";
import {
  LINE_END,
  NotPlain,
  PLAIN_WORD,
  PlainCursor,
  plainItem,
} from "./yaml_plain.ts";
import { scalar, type YamlMap, type YamlNode } from "./yaml_tree.ts";

// Most rules have no nested descriptors and no names; one list serves all.
const NO_DESCRIPTORS: readonly DescriptorConfig[] = [];
const NO_NAMES: readonly string[] = [];
/** Stands for descriptors that are read already. */
const NO_NODE = scalar(null, "");

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
  readonly #rules: RuleReader;
  /**
   * Words read so far: the same few stand in every rule, and each is kept once.
   */
  readonly #words = new Map<string, string>();

  constructor(cursor: PlainCursor) {
    this.#cursor = cursor;
    // A fault is told by the reader of all files, which knows its line.
    this.#rules = new RuleReader({
      name: "",
      text: "",
      findLine: () => undefined,
    });
  }

  *domain(name: string, text: string): Generator<void, DomainConfig> {
    const { map, descriptors } = yield* this.#map(0);
    if (!this.#cursor.isAtEnd) throw new NotPlain();
    const read = this.#rules.domain({ map, path: [] });
    this.#refuseFaults();
    return { name, ...read, descriptors, findLine: createLocator(text) };
  }

  /** Reads the entries of a map; its descriptors are read apart, in steps. */
  *#map(column: number): Generator<void, {
    readonly map: YamlMap;
    readonly descriptors: readonly DescriptorConfig[];
  }> {
    const cursor = this.#cursor;
    const entries = new Map<string, YamlNode>();
    let descriptors = NO_DESCRIPTORS;
    while (cursor.nextEntry(column)) {
      const { key } = cursor;
      if (entries.has(key)) throw new NotPlain();
      if (key === "descriptors") {
        descriptors = yield* this.#descriptors();
        entries.set(key, NO_NODE);
      } else entries.set(key, cursor.node());
    }
    return { map: { kind: "map", entries }, descriptors };
  }

  #refuseFaults(): void {
    const { faults, warnings } = this.#rules;
    if (faults.length + warnings.length > 0) throw new NotPlain();
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
    const column = cursor.enterItem();
    if (column === undefined) throw new NotPlain();
    const { map, descriptors } = yield* this.#map(column);
    cursor.leave(column, list);
    const read = this.#rules.descriptor({ map, path: [] });
    this.#refuseFaults();
    return { ...read, key: this.#known(read.key), descriptors, line };
  }

  #known(text: string): string {
    const known = this.#words.get(text);
    if (known !== undefined) return known;
    if (this.#words.size < MAX_WORDS) this.#words.set(text, text);
    return text;
  }
}

/** Most keys and units of which one copy is kept. */
const MAX_WORDS = 1_000;
