/**
 * The fixed pieces of a rule's counter key, made once when the rule is loaded.
 *
 * @module
 */

import { type CounterKeyFormat, CounterKeyWriter } from "./counter_key.ts";
import type { KeyPart } from "./snapshot.ts";
import type { LimitUnit } from "./unit.ts";

/** One level of a rule, as far as its counter key goes. */
export interface KeyLevel {
  /** The key. */
  readonly key: string;
  /** The value that is part of the key; undefined when the request gives it. */
  readonly fixedValue: string | undefined;
}

/** Collects the pieces from the domain's beginning to the end of the rule. */
export function keyPartsOf(
  levels: readonly KeyLevel[],
  options: {
    readonly domainPrefix: Uint8Array;
    readonly format: CounterKeyFormat;
    /** The unit of the rule's limit; undefined when it has none to count. */
    readonly unit: LimitUnit | undefined;
  },
): KeyPart[] {
  const encoder = new TextEncoder();
  const parts: KeyPart[] = [];
  let writer = new CounterKeyWriter(options.format);
  writer.raw(options.domainPrefix);
  for (const [index, level] of levels.entries()) {
    const key = encoder.encode(level.key);
    writer.text(key, 0, key.length);
    writer.separator();
    if (level.fixedValue === undefined) {
      parts.push({ bytes: written(writer), valueOfEntry: index });
      writer = new CounterKeyWriter(options.format);
    } else {
      const value = encoder.encode(level.fixedValue);
      writer.text(value, 0, value.length);
    }
    writer.separator();
  }
  if (options.unit !== undefined) writer.unit(options.unit);
  parts.push({ bytes: written(writer), valueOfEntry: -1 });
  return parts;
}

/** What every counter key of a domain begins with. */
export function domainKeyPrefix(
  domain: string,
  options: { readonly prefix: string; readonly format: CounterKeyFormat },
): Uint8Array {
  const encoder = new TextEncoder();
  const writer = new CounterKeyWriter(options.format);
  writer.raw(encoder.encode(options.prefix));
  const bytes = encoder.encode(domain);
  writer.text(bytes, 0, bytes.length);
  writer.separator();
  return written(writer);
}

function written(writer: CounterKeyWriter): Uint8Array {
  return writer.bytes.slice(0, writer.length);
}
