/**
 * Schemas of numbers.
 *
 * @module
 */

import { cannotTake, type Fault, report, reportKind } from "./fault.ts";
import type { JsonSchema } from "./json_schema.ts";
import { definitionsOf, type Schema } from "./schema.ts";

/** The bounds of a number. */
export interface NumberOptions {
  /**
   * The least number.
   * @default no bound; of whole numbers the least that is exact
   */
  readonly minimum?: number;
  /**
   * The greatest number.
   * @default no bound; of whole numbers the greatest that is exact
   */
  readonly maximum?: number;
}

/** A whole number; 1.0 is one, and all are exact (at most 2^53 - 1). */
export function integer(options: NumberOptions = {}): Schema<number> {
  const minimum = options.minimum ?? Number.MIN_SAFE_INTEGER;
  const maximum = options.maximum ?? Number.MAX_SAFE_INTEGER;
  const read = (
    value: unknown,
    at: string,
    faults: Fault[],
  ): number | undefined => {
    if (typeof value !== "number" || !Number.isInteger(value)) {
      return typeof value === "number"
        ? report(faults, {
          pointer: at,
          code: "wrong_type",
          detail: cannotTake("it is no whole number"),
        })
        : reportKind(value, { at, faults, wanted: "a whole number" });
    }
    // Adding zero turns -0, which is written "0" again, into 0.
    return inBounds(value, { at, faults, minimum, maximum })
      ? value + 0
      : undefined;
  };
  const json: JsonSchema = { type: "integer", minimum, maximum };
  return { read, json, definitions: definitionsOf([]) };
}

/** A number. */
export function number(options: NumberOptions = {}): Schema<number> {
  const { minimum, maximum } = options;
  const bounds = {
    minimum: minimum ?? -Number.MAX_VALUE,
    maximum: maximum ?? Number.MAX_VALUE,
  };
  const read = (
    value: unknown,
    at: string,
    faults: Fault[],
  ): number | undefined => {
    if (typeof value !== "number" || Number.isNaN(value)) {
      return reportKind(value, { at, faults, wanted: "a number" });
    }
    return inBounds(value, { at, faults, ...bounds }) ? value : undefined;
  };
  const json: JsonSchema = {
    type: "number",
    ...minimum === undefined ? {} : { minimum },
    ...maximum === undefined ? {} : { maximum },
  };
  return { read, json, definitions: definitionsOf([]) };
}

interface Bounds {
  readonly at: string;
  readonly faults: Fault[];
  readonly minimum: number;
  readonly maximum: number;
}

function inBounds(value: number, bounds: Bounds): boolean {
  const { at, faults, minimum, maximum } = bounds;
  if (value < minimum) {
    report(faults, {
      pointer: at,
      code: "too_small",
      detail: cannotTake(`it is less than ${minimum}`),
    });
    return false;
  }
  if (value > maximum) {
    report(faults, {
      pointer: at,
      code: "too_large",
      detail: cannotTake(`it is greater than ${maximum}`),
    });
    return false;
  }
  return true;
}
