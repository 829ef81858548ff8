/**
 * Splits the text of a query into parameters, and has schemas that read
 * numbers, booleans and lists from text. They accept such values themselves
 * too, which is how defaults are written.
 *
 * @module
 */

import { MAX_FAULTS, refuse, reportKind } from "./fault.ts";
import { createSchema, type Schema } from "./schema.ts";
import { integer, type NumberOptions } from "./values.ts";

/** A whole number in decimal digits. */
export function integerText(options: NumberOptions = {}): Schema<number> {
  const schema = integer(options);
  return createSchema(schema.json, (value, at, faults) => {
    if (typeof value === "number") return schema.read(value, at, faults);
    if (typeof value === "string" && /^-?\d{1,16}$/.test(value)) {
      return schema.read(Number(value), at, faults);
    }
    const state = "it is not a whole number in decimal digits";
    return refuse({ at, faults }, "wrong_type", state);
  });
}

/** `true` or `false`; the name alone (`?count`) means true. */
export function booleanText(): Schema<boolean> {
  return createSchema({ type: "boolean" }, (value, at, faults) => {
    if (value === true || value === "true" || value === "") return true;
    if (value === false || value === "false") return false;
    const state = 'it is neither "true" nor "false"';
    return refuse({ at, faults }, "wrong_type", state);
  });
}

/**
 * One item or several, `maxItems` at most, with commas between them; an item
 * cannot have one.
 */
export function commaList<T>(
  item: Schema<T>,
  { maxItems = 100 }: { readonly maxItems?: number } = {},
): Schema<readonly T[]> {
  const json = {
    type: "array",
    items: item.json,
    minItems: 1,
    maxItems,
  } as const;
  return createSchema(json, (value, at, faults) => {
    const place = { at, faults };
    if (typeof value !== "string" && !Array.isArray(value)) {
      return reportKind(value, { ...place, wanted: "text" });
    }
    const texts: readonly unknown[] = typeof value === "string"
      ? value.split(",", maxItems + 1)
      : value;
    if (texts.length > maxItems) {
      return refuse(place, "too_many", `it has more than ${maxItems} items`);
    }
    const items: T[] = [];
    for (const text of texts) {
      const taken = text === ""
        ? refuse(place, "too_short", "an item of the list is empty")
        : item.read(text, at, faults);
      if (taken !== undefined) items.push(taken);
      else if (faults.length >= MAX_FAULTS) return undefined;
    }
    return items.length === texts.length ? items : undefined;
  }, [item]);
}

/** One parameter as it came. */
export interface RawParameter {
  /** The name, decoded; as it was written when it could not be. */
  readonly name: string;
  /** The value, decoded; absent when its percent-encoding is broken. */
  readonly value: string | undefined;
}

/** Most parameters of a query; more are a mistake or worse. */
const MAX_PARAMETERS = 100;

/**
 * Splits a query, without its question mark, as forms are encoded: `&` between
 * parameters, `+` for a space. Nothing between two `&` is no parameter.
 *
 * @returns `undefined` when there are more than {@linkcode MAX_PARAMETERS}.
 */
export function splitQuery(raw: string): readonly RawParameter[] | undefined {
  if (raw === "") return [];
  const parameters: RawParameter[] = [];
  let start = 0;
  while (start <= raw.length) {
    const end = raw.indexOf("&", start);
    const piece = raw.slice(start, end === -1 ? raw.length : end);
    if (piece !== "") {
      if (parameters.length === MAX_PARAMETERS) return undefined;
      parameters.push(readPiece(piece));
    }
    if (end === -1) break;
    start = end + 1;
  }
  return parameters;
}

function readPiece(piece: string): RawParameter {
  const equals = piece.indexOf("=");
  const name = equals === -1 ? piece : piece.slice(0, equals);
  const decodedName = decode(name);
  return {
    name: decodedName ?? name,
    value: decodedName === undefined
      ? undefined
      : equals === -1
      ? ""
      : decode(piece.slice(equals + 1)),
  };
}

function decode(text: string): string | undefined {
  if (!text.includes("%") && !text.includes("+")) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // A broken escape is the client's fault; the caller reports it.
    return undefined;
  }
}
