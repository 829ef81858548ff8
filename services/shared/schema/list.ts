/**
 * Schemas of lists and of objects whose members' names clients choose.
 *
 * @module
 */

import {
  cannotTake,
  type Fault,
  MAX_FAULTS,
  pointerTo,
  report,
  reportKind,
} from "./fault.ts";
import { isJsonObject, type JsonSchema } from "./json_schema.ts";
import { jsonEquals } from "./read_only.ts";
import { definitionsOf, type Schema } from "./schema.ts";

/** The bounds of a list. */
export interface ListOptions {
  /** Most items. */
  readonly maxItems: number;
  /**
   * Fewest items.
   * @default {0}
   */
  readonly minItems?: number;
  /**
   * Whether equal items are refused. Objects are compared one with another, so
   * such a list is better short.
   * @default {false}
   */
  readonly isUnique?: boolean;
}

/** The bounds of a record. */
export interface RecordOptions {
  /** Most members. */
  readonly maxEntries: number;
  /**
   * What names have to be like.
   * @default any name
   */
  readonly names?: Schema<string>;
}

/** A list of items that are alike. */
export function list<T>(
  item: Schema<T>,
  options: ListOptions,
): Schema<readonly T[]> {
  const { maxItems, minItems = 0, isUnique = false } = options;

  function read(
    value: unknown,
    at: string,
    faults: Fault[],
  ): readonly T[] | undefined {
    if (!Array.isArray(value)) {
      return reportKind(value, { at, faults, wanted: "a list" });
    }
    if (value.length > maxItems) {
      return reportTooMany(`it has more than ${maxItems} items`, {
        at,
        faults,
      });
    }
    if (value.length < minItems) {
      return report(faults, {
        pointer: at,
        code: "too_few",
        detail: cannotTake(`it has fewer than ${minItems} items`),
      });
    }
    const items: T[] = [];
    let isGood = true;
    for (let index = 0; index < value.length; index++) {
      const taken = item.read(value[index], `${at}/${index}`, faults);
      if (taken !== undefined) items.push(taken);
      else isGood = false;
      // Nothing that follows could be reported.
      if (!isGood && faults.length >= MAX_FAULTS) return undefined;
    }
    // Of what is not good nothing is bounded, and to compare it might take long.
    if (!isGood) return undefined;
    return isUnique && !isAllDifferent(value, { at, faults })
      ? undefined
      : items;
  }

  const json: JsonSchema = {
    type: "array",
    items: item.json,
    ...minItems > 0 ? { minItems } : {},
    maxItems,
    ...isUnique ? { uniqueItems: true } : {},
  };
  return { read, json, definitions: definitionsOf([item]) };
}

/** An object whose members are alike and whose names the client chooses. */
export function record<T>(
  values: Schema<T>,
  options: RecordOptions,
): Schema<Readonly<Record<string, T>>> {
  const { maxEntries, names } = options;

  function read(
    value: unknown,
    at: string,
    faults: Fault[],
  ): Readonly<Record<string, T>> | undefined {
    if (!isJsonObject(value)) {
      return reportKind(value, { at, faults, wanted: "an object" });
    }
    const given = Object.keys(value);
    if (given.length > maxEntries) {
      return reportTooMany(`it has more than ${maxEntries} members`, {
        at,
        faults,
      });
    }
    const entries: [string, T][] = [];
    let isGood = true;
    for (const name of given) {
      const pointer = pointerTo(at, name.slice(0, 256));
      if (names !== undefined) {
        isGood = names.read(name, pointer, faults) !== undefined && isGood;
      }
      const taken = values.read(value[name], pointer, faults);
      if (taken === undefined) isGood = false;
      else entries.push([name, taken]);
    }
    // Defines members instead of assigning them, so "__proto__" is one of them.
    return isGood ? Object.fromEntries(entries) : undefined;
  }

  const json: JsonSchema = {
    type: "object",
    additionalProperties: values.json,
    ...names === undefined ? {} : { propertyNames: names.json },
    maxProperties: maxEntries,
  };
  const definitions = definitionsOf(
    names === undefined ? [values] : [values, names],
  );
  return { read, json, definitions };
}

interface Place {
  readonly at: string;
  readonly faults: Fault[];
}

function reportTooMany(state: string, { at, faults }: Place): undefined {
  return report(faults, {
    pointer: at,
    code: "too_many",
    detail: cannotTake(state),
  });
}

function isAllDifferent(
  items: readonly unknown[],
  { at, faults }: Place,
): boolean {
  const plain = new Set<unknown>();
  const others: unknown[] = [];
  for (const [index, item] of items.entries()) {
    const isPlain = typeof item !== "object" || item === null;
    const isRepeated = isPlain
      ? plain.has(item)
      : others.some((other) => jsonEquals(other, item));
    if (isRepeated) {
      report(faults, {
        pointer: pointerTo(at, index),
        code: "repeated",
        detail: cannotTake("an earlier item is the same"),
      });
      return false;
    }
    if (isPlain) plain.add(item);
    else others.push(item);
  }
  return true;
}
