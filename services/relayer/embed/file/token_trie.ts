/**
 * Finds the tokens that begin at a place of a text. The vocabulary is a tree of
 * UTF-16 units in typed arrays, about 12 bytes a node, since a vocabulary may
 * have half a million tokens.
 *
 * The nodes are numbered level by level and the children of a node are sorted,
 * so that those of node n lie from `first[n]` up to `first[n + 1]`.
 *
 * @module
 */

/** The node of a text that no token begins with. */
export const NO_NODE: number = -1;
/** The node of the empty text. */
export const ROOT: number = 0;
/** Where no token ends. */
export const NO_TOKEN: number = -1;

const UNITS = 65_536;

/** A tree of tokens. */
export class TokenTrie {
  readonly #units: Uint16Array;
  readonly #first: Uint32Array;
  readonly #tokens: Int32Array;
  /** The root's children by their unit, since each search begins there. */
  readonly #fromRoot = new Int32Array(UNITS).fill(NO_NODE);

  /** A tree of texts with their ids; an empty text is never found. */
  constructor(ids: ReadonlyMap<string, number>) {
    const texts = [...ids.keys()].sort();
    const count = countNodes(texts);
    this.#units = new Uint16Array(count);
    this.#first = new Uint32Array(count + 1);
    this.#tokens = new Int32Array(count).fill(NO_TOKEN);
    // The texts that begin with a node's text lie from `from` up to `to`.
    const from = new Uint32Array(count);
    const to = new Uint32Array(count);
    const depths = new Uint32Array(count);
    to[ROOT] = texts.length;
    let made = 1;
    for (let node = 0; node < count; node++) {
      this.#first[node] = made;
      const depth = depths[node]!;
      const end = to[node]!;
      let at = from[node]!;
      if (at < end && texts[at]!.length === depth) {
        if (node !== ROOT) this.#tokens[node] = ids.get(texts[at]!)!;
        at++;
      }
      while (at < end) {
        const unit = texts[at]!.charCodeAt(depth);
        const begin = at++;
        while (at < end && texts[at]!.charCodeAt(depth) === unit) at++;
        this.#units[made] = unit;
        from[made] = begin;
        to[made] = at;
        depths[made] = depth + 1;
        if (node === ROOT) this.#fromRoot[unit] = made;
        made++;
      }
    }
    this.#first[count] = made;
  }

  /** The node of the node's text and one more unit. */
  step(node: number, unit: number): number {
    if (node === ROOT) return this.#fromRoot[unit]!;
    const units = this.#units;
    let low = this.#first[node]!;
    const end = this.#first[node + 1]!;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (units[middle]! < unit) low = middle + 1;
      else high = middle;
    }
    return low < end && units[low] === unit ? low : NO_NODE;
  }

  /** The id of the token that the node's text is, or {@linkcode NO_TOKEN}. */
  tokenAt(node: number): number {
    return this.#tokens[node]!;
  }

  /** The node of a text. */
  walk(text: string): number {
    let node = ROOT;
    for (let at = 0; at < text.length && node !== NO_NODE; at++) {
      node = this.step(node, text.charCodeAt(at));
    }
    return node;
  }
}

/** How many beginnings the sorted texts have, the empty one included. */
function countNodes(texts: readonly string[]): number {
  let count = 1;
  let before = "";
  for (const text of texts) {
    let shared = 0;
    while (
      shared < before.length &&
      before.charCodeAt(shared) === text.charCodeAt(shared)
    ) shared++;
    count += text.length - shared;
    before = text;
  }
  return count;
}
