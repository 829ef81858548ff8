/**
 * Deep equality by the rules of `@std/assert`: prototypes must be the same,
 * except that an object without one equals a plain object; 0 equals -0 and NaN
 * equals NaN; bytes are compared by content; anything else by every property it
 * has or inherits, so that two errors differ by where they were made.
 *
 * @module
 */

type Pairs = Map<object, object>;

/** Returns whether two values are deeply equal. */
export function equal(actual: unknown, expected: unknown): boolean {
  return compare(actual, expected, new Map());
}

function compare(a: unknown, b: unknown, seen: Pairs): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object") return false;
  if (a === null || b === null) return false;
  if (a instanceof Date && b instanceof Date) {
    return Object.is(a.getTime(), b.getTime());
  }
  if (!haveSamePrototype(a, b)) return false;
  const bytes = compareBytes(a, b);
  if (bytes !== undefined) return bytes;
  if (a instanceof WeakRef && b instanceof WeakRef) {
    return compare(a.deref(), b.deref(), seen);
  }
  if (a instanceof WeakMap || a instanceof WeakSet) {
    throw new TypeError(`Cannot compare ${a.constructor.name} instances`);
  }
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (Object.keys(a).length !== Object.keys(b).length) return false;
  if (a instanceof Set && b instanceof Set) {
    return compareEntries(pairUp(a), pairUp(b), seen);
  }
  if (a instanceof Map && b instanceof Map) {
    return compareEntries([...a], [...b], seen);
  }
  if (hasTellingText(a)) return String(a) === String(b);
  return compareProperties(a, b, seen);
}

function haveSamePrototype(a: object, b: object): boolean {
  return prototypeOf(a) === prototypeOf(b);
}

function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

/**
 * Compares bytes by content; returns `undefined` when the values hold no bytes.
 */
function compareBytes(a: object, b: object): boolean | undefined {
  if (isTypedArray(a) && isTypedArray(b)) return haveSameItems(a, b);
  if (isBuffer(a) && isBuffer(b)) {
    return haveSameItems(new Uint8Array(a), new Uint8Array(b));
  }
  return undefined;
}

type Items = ArrayLike<number | bigint>;

function isTypedArray(value: object): value is ArrayBufferView & Items {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function isBuffer(value: object): value is ArrayBuffer | SharedArrayBuffer {
  return value instanceof ArrayBuffer || value instanceof SharedArrayBuffer;
}

function haveSameItems(a: Items, b: Items): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) {
    if (a[index] !== b[index] && !Object.is(a[index], b[index])) return false;
  }
  return true;
}

function pairUp(set: Set<unknown>): readonly (readonly [unknown, unknown])[] {
  return [...set].map((item) => [item, item]);
}

/**
 * Compares sets or maps by their entries in any order; every entry needs a
 * partner of its own.
 */
function compareEntries(
  a: readonly (readonly [unknown, unknown])[],
  b: readonly (readonly [unknown, unknown])[],
  seen: Pairs,
): boolean {
  if (a.length !== b.length) return false;
  const free = [...b];
  return a.every(([key, value]) => {
    const index = free.findIndex(([otherKey, otherValue]) =>
      compare(key, otherKey, seen) && compare(value, otherValue, seen)
    );
    if (index < 0) return false;
    free.splice(index, 1);
    return true;
  });
}

const TELLING_TEXT = [RegExp, URL, URLSearchParams, Intl.Locale];

function hasTellingText(value: object): boolean {
  return TELLING_TEXT.some((type) =>
    Object.getPrototypeOf(value) === type.prototype
  );
}

function compareProperties(a: object, b: object, seen: Pairs): boolean {
  const keys = isBasic(a)
    ? Reflect.ownKeys({ ...a, ...b })
    : [...propertyNames(a).union(propertyNames(b))];
  return keys.every((key) =>
    key in a === key in b &&
    compare(Reflect.get(a, key), Reflect.get(b, key), seen)
  );
}

function isBasic(value: object): boolean {
  const prototype = prototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype;
}

/**
 * Returns the names of own and inherited properties, up to the prototype that
 * all objects share.
 */
function propertyNames(value: object): Set<string | symbol> {
  const names = new Set<string | symbol>();
  let current: object | null = value;
  while (current !== null && current !== Object.prototype) {
    for (const name of Reflect.ownKeys(current)) names.add(name);
    current = Object.getPrototypeOf(current);
  }
  return names;
}
