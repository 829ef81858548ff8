/**
 * Reads what is sent to the mock, within the same bounds as the real relayer: what that
 * refuses, the mock refuses too.
 *
 * @module
 */

import { isObject } from "../memory/answer_reader.ts";
import type { Metadata } from "../memory/remember_types.ts";
import { quote } from "../memory/server_text.ts";

/** A request that is not answered as it was meant. */
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

/** Weights of the order, completed. */
export interface MockWeights {
  /** Weight of the similarity. */
  readonly semantic: number;
  /** Weight of newness. */
  readonly recency: number;
  /** Days in which that halves. */
  readonly halfLifeDays: number;
  /** Weight of how much a memory matters. */
  readonly importance: number;
}

/** Longest text that is remembered, in bytes of UTF-8. */
export const MAX_TEXT_BYTES = 1_048_576;
/** Longest text that a model gets, in bytes of UTF-8. */
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

/** Where fields are read from, for messages. */
interface FieldsPlace {
  /** What cannot be done when they are wrong, such as `remember text`. */
  readonly action: string;
  /**
   * What stands before their names.
   *
   * @default nothing
   */
  readonly prefix?: string | undefined;
}

/** The members of a body. Null stands for what is absent. */
export class Fields {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #action: string;
  readonly #prefix: string;

  /**
   * Reads the members of `json`.
   *
   * @throws {Refusal} When it is no object.
   */
  constructor(json: unknown, { action, prefix = "" }: FieldsPlace) {
    this.#action = action;
    this.#prefix = prefix;
    if (!isObject(json)) throw this.#fault("", "is no object");
    this.#members = json;
  }

  /** A text that is not blank, of at most `maxBytes` of UTF-8. */
  text(name: string, maxBytes: number): string {
    return this.#textOf(this.#get(name), { name, maxBytes });
  }

  /** A short text without control characters, or undefined. */
  name(name: string): string | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    const text = this.#textOf(value, { name, maxBytes: MAX_NAME_BYTES });
    if (CONTROL.test(text)) throw this.#fault(name, "has a control character");
    return text;
  }

  /** The namespace. */
  namespace(): string {
    return this.name("namespace") ?? "default";
  }

  /** A number within bounds, or undefined. */
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

  /** A whole number from 1 on for which `max` is enough, or undefined. */
  count(name: string, max: number): number | undefined {
    const count = this.#whole(name);
    if (count !== undefined && count < 1) {
      throw this.#fault(name, "is less than 1");
    }
    return count === undefined ? undefined : Math.min(count, max);
  }

  /** A whole number, moved into 1 to `max`, or undefined. */
  movedCount(name: string, max: number): number | undefined {
    const count = this.#whole(name);
    return count === undefined ? undefined : Math.min(Math.max(count, 1), max);
  }

  /** One of some words, or undefined. */
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

  /** True or false; false where it is absent. */
  flag(name: string): boolean {
    const value = this.#get(name) ?? false;
    if (typeof value === "boolean") return value;
    throw this.#fault(name, "is neither true nor false");
  }

  /** The id of a memory, or undefined. */
  id(name: string): string | undefined {
    const value = this.#get(name);
    return value === undefined ? undefined : this.#idOf(value, name);
  }

  /** 1 to `max` ids of memories, or undefined. */
  ids(name: string, max: number): readonly string[] | undefined {
    return this.#get(name) === undefined
      ? undefined
      : this.#list(name, max).map((value) => this.#idOf(value, name));
  }

  /** 1 to `max` texts. */
  texts(name: string, max: number): readonly string[] {
    return this.#list(name, max).map((value) => {
      if (typeof value === "string") return value;
      throw this.#fault(name, "has a member that is no text");
    });
  }

  /** 1 to `max` objects. */
  items(name: string, max: number): readonly Fields[] {
    return this.#list(name, max).map((value, at) =>
      new Fields(value, { action: this.#action, prefix: `${name}[${at}].` })
    );
  }

  /** What is said of a memory, or undefined. */
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

  /** Weights, or undefined. */
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

  /** A vector of a width, with a direction. */
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

  /** Bytes in base64 with its padding, at least one. */
  base64(name: string): string {
    const value = this.#get(name);
    if (typeof value === "string" && value !== "" && BASE64.test(value)) {
      return value;
    }
    throw this.#fault(name, "is not base64");
  }

  /** Refuses what is no instant in RFC 3339, where there is one. */
  checkInstant(name: string): void {
    const value = this.#get(name);
    if (value === undefined) return;
    const match = typeof value === "string" ? INSTANT.exec(value) : null;
    const [text = "", year, month, day] = match ?? [];
    // The runtime takes the 30th of February for the 2nd of March.
    const lastDay = new Date(Date.UTC(Number(year), Number(month), 0));
    const isInstant = !Number.isNaN(Date.parse(text)) &&
      Number(day) <= lastDay.getUTCDate();
    if (isInstant) return;
    throw this.#fault(name, "is not a time such as 2030-01-31T12:00:00Z");
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

/** Whether a text has the form of an id of a memory. */
export function isRecordId(text: string): boolean {
  return ID.test(text);
}

/** How many bytes a text has in UTF-8. */
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
