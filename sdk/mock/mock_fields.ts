/**
 * Reads and checks the bodies of requests to the mock, with the same limits as
 * the real relayer: a request that the relayer refuses is refused by the mock,
 * too.
 *
 * @module
 */

import { isObject } from "../memory/answer_reader.ts";
import type { Metadata } from "../memory/remember_types.ts";
import { quote } from "../memory/server_text.ts";

/** Thrown for a request that is answered with an error status. */
export class Refusal extends Error {
  /** Name of the class. */
  override readonly name: string = "Refusal";
  /** The status that is answered. */
  readonly status: number;

  /** A refusal; `message` becomes the answer's `error`. */
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Weights of the order of a recall, with defaults for those that are absent.
 */
export interface MockWeights {
  /** Weight of the similarity. */
  readonly semantic: number;
  /** Weight of newness. */
  readonly recency: number;
  /** Days in which the weight of newness halves. */
  readonly halfLifeDays: number;
  /** Weight of importance. */
  readonly importance: number;
}

/** Longest text that can be remembered, in bytes of UTF-8. */
export const MAX_TEXT_BYTES = 1_048_576;
/** Longest text that the language model accepts, in bytes of UTF-8. */
export const MAX_MODEL_TEXT_BYTES = 65_536;

const MAX_NAME_BYTES = 255;
const MAX_METADATA_MEMBERS = 32;
const MAX_METADATA_NAME_BYTES = 64;
const MAX_METADATA_VALUE_BYTES = 1_024;
const MAX_WEIGHT = 100;
const MAX_HALF_LIFE_DAYS = 36_500;
const MIN_HALF_LIFE_DAYS = 1e-6;
const DEFAULT_HALF_LIFE_DAYS = 30;
const WEIGHT_NAMES: readonly string[] = [
  "semantic",
  "recency",
  "recency_half_life_days",
  "importance",
];
const CONTROL = /\p{Cc}/u;
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const BASE64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const INSTANT =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** The place of fields, for error messages. */
interface FieldsPlace {
  /** The action that fails when a field is wrong, such as `remember text`. */
  readonly action: string;
  /**
   * Text before the fields' names.
   *
   * @default nothing
   */
  readonly prefix?: string | undefined;
}

/** Reads the members of a body. A null member counts as absent. */
export class Fields {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #action: string;
  readonly #prefix: string;

  /**
   * Reads the members of `json`.
   *
   * @throws {Refusal} When `json` is not an object.
   */
  constructor(json: unknown, { action, prefix = "" }: FieldsPlace) {
    this.#action = action;
    this.#prefix = prefix;
    if (!isObject(json)) throw this.#fault("", "is no object");
    this.#members = json;
  }

  /** Reads a text that is not blank, of at most `maxBytes` of UTF-8. */
  text(name: string, maxBytes: number): string {
    return this.#textOf(this.#get(name), { name, maxBytes });
  }

  /** Reads a short text without control characters, or undefined. */
  name(name: string): string | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    const text = this.#textOf(value, { name, maxBytes: MAX_NAME_BYTES });
    if (CONTROL.test(text)) throw this.#fault(name, "has a control character");
    return text;
  }

  /** Reads the namespace. */
  namespace(): string {
    return this.name("namespace") ?? "default";
  }

  /** Reads a number within bounds, or undefined. */
  number(
    name: string,
    { min, max = Infinity }: {
      readonly min: number;
      readonly max?: number | undefined;
    },
  ): number | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (typeof value !== "number") throw this.#fault(name, "is no number");
    if (value < min) throw this.#fault(name, `is less than ${min}`);
    if (value > max) throw this.#fault(name, `is greater than ${max}`);
    return value;
  }

  /** Reads a whole number from 1 on, reduced to `max`, or undefined. */
  count(name: string, max: number): number | undefined {
    const count = this.#whole(name);
    if (count !== undefined && count < 1) {
      throw this.#fault(name, "is less than 1");
    }
    return count === undefined ? undefined : Math.min(count, max);
  }

  /**
   * Reads a whole number, moved into the range from 1 to `max`, or undefined.
   */
  movedCount(name: string, max: number): number | undefined {
    const count = this.#whole(name);
    return count === undefined ? undefined : Math.min(Math.max(count, 1), max);
  }

  /** Reads one of the given words, or undefined. */
  choice<Word extends string>(
    name: string,
    words: readonly Word[],
  ): Word | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    const word = words.find((known) => known === value);
    if (word !== undefined) return word;
    throw this.#fault(name, `is not one of ${words.join(", ")}`);
  }

  /** Reads a boolean; false when the member is absent. */
  flag(name: string): boolean {
    const value = this.#get(name) ?? false;
    if (typeof value === "boolean") return value;
    throw this.#fault(name, "is neither true nor false");
  }

  /** Reads the id of a memory, or undefined. */
  id(name: string): string | undefined {
    const value = this.#get(name);
    return value === undefined ? undefined : this.#idOf(value, name);
  }

  /** Reads 1 to `max` ids of memories, or undefined. */
  ids(name: string, max: number): readonly string[] | undefined {
    return this.#get(name) === undefined
      ? undefined
      : this.#list(name, max).map((value) => this.#idOf(value, name));
  }

  /** Reads 1 to `max` texts. */
  texts(name: string, max: number): readonly string[] {
    return this.#list(name, max).map((value) => {
      if (typeof value === "string") return value;
      throw this.#fault(name, "has a member that is no text");
    });
  }

  /** Reads 1 to `max` objects. */
  items(name: string, max: number): readonly Fields[] {
    return this.#list(name, max).map((value, at) =>
      new Fields(value, { action: this.#action, prefix: `${name}[${at}].` })
    );
  }

  /** Reads the metadata of a memory, or undefined. */
  metadata(name: string): Metadata | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (!isObject(value)) throw this.#fault(name, "is no object");
    const members = Object.entries(value);
    if (members.length > MAX_METADATA_MEMBERS) {
      throw this.#fault(name, `has more than ${MAX_METADATA_MEMBERS} members`);
    }
    return Object.fromEntries(members.map(([key, member]) => {
      if (isMetadataName(key) && isMetadataValue(member)) return [key, member];
      throw this.#fault(name, `has a member ${quote(key)} that is not valid`);
    }));
  }

  /** Reads weights, or undefined. */
  weights(name: string): MockWeights | undefined {
    const json = this.#get(name);
    if (json === undefined) return undefined;
    const fields = new Fields(json, {
      action: this.#action,
      prefix: `${name}.`,
    });
    for (const weight of Object.keys(fields.#members)) {
      if (!WEIGHT_NAMES.includes(weight)) {
        throw this.#fault(name, `has no weight ${quote(weight)}`);
      }
    }
    const bounds = { min: 0, max: MAX_WEIGHT };
    const recency = fields.number("recency", bounds) ?? 0;
    const halfLifeDays = fields.number("recency_half_life_days", {
      min: recency > 0 ? MIN_HALF_LIFE_DAYS : 0,
      max: MAX_HALF_LIFE_DAYS,
    }) ?? DEFAULT_HALF_LIFE_DAYS;
    return {
      semantic: fields.number("semantic", bounds) ?? 1,
      recency,
      halfLifeDays,
      importance: fields.number("importance", bounds) ?? 0,
    };
  }

  /** Reads a vector with `width` numbers that are not all zero. */
  vector(name: string, width: number): readonly number[] {
    const values = this.#list(name, width);
    if (values.length !== width) {
      throw this.#fault(name, `has ${values.length} numbers, not ${width}`);
    }
    const numbers = values.map((value) => {
      if (typeof value === "number" && Number.isFinite(value)) return value;
      throw this.#fault(name, "has a member that is no finite number");
    });
    if (numbers.some((value) => value !== 0)) return numbers;
    throw this.#fault(name, "has no direction: all its numbers are 0");
  }

  /** Reads bytes in Base64 with padding, at least one byte. */
  base64(name: string): string {
    const value = this.#get(name);
    if (typeof value === "string" && value !== "" && BASE64.test(value)) {
      return value;
    }
    throw this.#fault(name, "is not base64");
  }

  /**
   * Refuses a text that is not a time in RFC 3339; an absent member is
   * accepted.
   */
  checkInstant(name: string): void {
    const value = this.#get(name);
    if (value === undefined) return;
    const match = typeof value === "string" ? INSTANT.exec(value) : null;
    const [text = "", year, month, day] = match ?? [];
    // `Date.parse` takes the 30th of February for the 2nd of March.
    const lastDay = new Date(Date.UTC(Number(year), Number(month), 0));
    const isInstant = !Number.isNaN(Date.parse(text)) &&
      Number(day) <= lastDay.getUTCDate();
    if (isInstant) return;
    throw this.#fault(name, "is not a time such as 2030-01-31T12:00:00Z");
  }

  /** Refuses any text but these; an absent member is accepted. */
  checkChoice(name: string, words: readonly string[]): void {
    const value = this.#get(name);
    if (value === undefined || words.some((word) => word === value)) return;
    throw this.#fault(name, `is not one of "${words.join('", "')}"`);
  }

  #get(name: string): unknown {
    const value = Object.hasOwn(this.#members, name)
      ? this.#members[name]
      : undefined;
    return value === null ? undefined : value;
  }

  #whole(name: string): number | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value)) return value;
    throw this.#fault(name, "is no whole number");
  }

  #list(name: string, max: number): readonly unknown[] {
    const value = this.#get(name);
    if (!Array.isArray(value)) throw this.#fault(name, "is no list");
    if (value.length === 0) throw this.#fault(name, "has fewer than 1 item");
    if (value.length <= max) return value;
    throw this.#fault(name, `has more than ${max} items`);
  }

  #idOf(value: unknown, name: string): string {
    if (typeof value === "string" && ID.test(value)) return value;
    throw this.#fault(name, "is not an id: 1 to 64 letters, digits, _ and -");
  }

  #textOf(
    value: unknown,
    { name, maxBytes }: { readonly name: string; readonly maxBytes: number },
  ): string {
    if (typeof value !== "string") throw this.#fault(name, "is no text");
    if (!hasUtf8(value)) throw this.#fault(name, "has half a surrogate pair");
    if (bytesOf(value) > maxBytes) {
      throw this.#fault(name, `has more than ${maxBytes} bytes`);
    }
    if (value.trim() === "") throw this.#fault(name, "is blank");
    return value;
  }

  #fault(name: string, state: string): Refusal {
    const subject = name === "" && this.#prefix === ""
      ? "the body"
      : quote(`${this.#prefix}${name}`);
    return new Refusal(400, `Cannot ${this.#action}: ${subject} ${state}`);
  }
}

/** Tells whether a text has the form of a memory's id. */
export function isRecordId(text: string): boolean {
  return ID.test(text);
}

/** Returns the number of bytes of a text in UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function hasUtf8(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

function isMetadataName(name: string): boolean {
  return name !== "" && hasUtf8(name) && !CONTROL.test(name) &&
    bytesOf(name) <= MAX_METADATA_NAME_BYTES;
}

function isMetadataValue(value: unknown): value is Metadata[string] {
  if (typeof value === "string") {
    return hasUtf8(value) && bytesOf(value) <= MAX_METADATA_VALUE_BYTES;
  }
  return typeof value === "boolean" ||
    (typeof value === "number" && Number.isFinite(value));
}
