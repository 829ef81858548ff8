/**
 * Deep equality by the rules of `@std/assert`: prototypes must be the same,
 * except that an object without one equals a plain object; 0 equals -0 and NaN
 * equals NaN; bytes are compared by content; anything else by every property it
 * has or inherits, so that two errors differ by where they were made.
 *
 * @module
 */

/** Returns whether two values are deeply equal. */
export function equal(actual: unknown, expected: unknown): boolean {
  return compare(actual, expected, new Map());
}

/** Values that are compared by their texts. */
const BY_TEXT = [RegExp, URL, URLSearchParams];

function compare(a: unknown, b: unknown, seen: Map<object, object>): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object") return false;
  if (a === null || b === null) return false;
  if (getPrototype(a) !== getPrototype(b)) return false;
  if (a instanceof Date) return Object.is(Number(a), Number(b));
  if (BY_TEXT.some((type) => a instanceof type)) return String(a) === String(b);
  const [numbers, others] = [findNumbers(a), findNumbers(b)];
  if (numbers !== undefined && others !== undefined) {
    return haveSameNumbers(numbers, others);
  }
  if (a instanceof WeakMap || a instanceof WeakSet) {
    throw new TypeError(`Cannot compare ${a.constructor.name} instances`);
  }
  // A circle is followed once.
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (a instanceof Set && b instanceof Set) {
    return haveSameItems([...a], [...b], seen);
  }
  if (a instanceof Map && b instanceof Map) {
    return haveSameItems([...a], [...b], seen);
  }
  return [...propertyNames(a).union(propertyNames(b))].every((name) =>
    name in a === name in b &&
    compare(Reflect.get(a, name), Reflect.get(b, name), seen)
  );
}

function getPrototype(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

type Numbers = ArrayLike<number | bigint>;

/** The numbers of a buffer or a typed array; `undefined` for other values. */
function findNumbers(value: object): Numbers | undefined {
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) {
    return new Uint8Array(value);
  }
  return ArrayBuffer.isView(value) && !(value instanceof DataView)
    ? value as ArrayBufferView & Numbers
    : undefined;
}

function haveSameNumbers(a: Numbers, b: Numbers): boolean {
  let at = 0;
  while (at < a.length && (a[at] === b[at] || Object.is(a[at], b[at]))) at++;
  return at === a.length && at === b.length;
}

/** Compares items in any order; every item needs a partner of its own. */
function haveSameItems(
  a: readonly unknown[],
  b: readonly unknown[],
  seen: Map<object, object>,
): boolean {
  const free = [...b];
  return a.length === b.length && a.every((item) => {
    const index = free.findIndex((other) => compare(item, other, seen));
    if (index >= 0) free.splice(index, 1);
    return index >= 0;
  });
}

/**
 * Returns the names of own and inherited properties, up to the prototype that
 * all objects, or all arrays, share.
 */
function propertyNames(value: object): Set<string | symbol> {
  const names = new Set<string | symbol>();
  for (
    let current: object | null = value;
    current !== null && current !== Object.prototype &&
    current !== Array.prototype;
    current = Object.getPrototypeOf(current)
  ) {
    for (const name of Reflect.ownKeys(current)) names.add(name);
  }
  return names;
}
