/**
 * Finds many byte patterns in one pass over a text (Aho-Corasick).
 *
 * @module
 */

/** Where a pattern was found. */
interface PatternMatch {
  /** Which pattern, counted from 0. */
  readonly pattern: number;
  /** Where it begins. */
  readonly start: number;
  /** Where it ends; the byte there is no part of it. */
  readonly end: number;
}

/** The pattern that a text ends with a part of. */
interface PatternBeginning {
  /** Which pattern, counted from 0. */
  readonly pattern: number;
  /** How many bytes of the pattern's start the text ends with. */
  readonly length: number;
}

const NONE = -1;

/**
 * The automaton of Aho and Corasick. The time of a search depends on the length
 * of the searched bytes alone, however many, long or similar the patterns are.
 * It takes 11 bytes of memory for each byte of the patterns, since most nodes
 * have one child, which is stored right after them.
 */
export class ByteMatcher {
  readonly #lengths: readonly number[];
  /** For each pattern, the end of the nodes that were added for it. */
  readonly #nodeEnds: number[] = [];
  /** The children of the root, by byte. */
  readonly #root = new Int32Array(256);
  /** For each node the byte that leads to the node after it, or none. */
  readonly #nextByte: Int16Array;
  /** For each node the next one to try when no child fits. */
  readonly #fallback: Int32Array;
  /** For each node the longest pattern that ends there, or none. */
  readonly #longest: Int32Array;
  /** Whether a node has children in `#branches`. */
  readonly #isBranching: Uint8Array;
  /** Children other than the node after it, by node, then by byte. */
  readonly #branches = new Map<number, Map<number, number>>();

  /**
   * Builds a matcher for these patterns; of equal ones the first is reported.
   */
  constructor(patterns: readonly Uint8Array[]) {
    this.#lengths = patterns.map((pattern) => pattern.length);
    const nodes = this.#lengths.reduce((sum, length) => sum + length, 1);
    this.#nextByte = new Int16Array(nodes).fill(NONE);
    this.#fallback = new Int32Array(nodes);
    this.#longest = new Int32Array(nodes).fill(NONE);
    this.#isBranching = new Uint8Array(nodes);
    let used = 1;
    for (const [index, pattern] of patterns.entries()) {
      used = this.#insert(pattern, index, used);
      this.#nodeEnds.push(used);
    }
    this.#connect(used);
  }

  /**
   * Reports the longest pattern at each place where patterns end, from the
   * first place to the last. Returns the longest start of a pattern that the
   * bytes end with; undefined if there is no such start.
   */
  search(
    bytes: Uint8Array,
    report: (match: PatternMatch) => void,
  ): PatternBeginning | undefined {
    const longest = this.#longest;
    let node = 0;
    for (let position = 0; position < bytes.length; position++) {
      node = this.#step(node, bytes[position]!);
      const pattern = longest[node]!;
      if (pattern === NONE) continue;
      const end = position + 1;
      report({ pattern, start: end - this.#lengths[pattern]!, end });
    }
    return this.#beginningAt(node);
  }

  /**
   * The pattern and the length of the part that leads to a node; undefined for
   * the root.
   */
  #beginningAt(node: number): PatternBeginning | undefined {
    const pattern = this.#nodeEnds.findIndex((end) => node < end);
    if (node === 0 || pattern === NONE) return undefined;
    // The nodes made for a pattern follow one another up to its last byte.
    const left = this.#nodeEnds[pattern]! - 1 - node;
    return { pattern, length: this.#lengths[pattern]! - left };
  }

  /** The node for the longest start of a pattern that continues with `byte`. */
  #step(from: number, byte: number): number {
    let node = from;
    while (node !== 0) {
      const child = this.#child(node, byte);
      if (child !== 0) return child;
      node = this.#fallback[node]!;
    }
    return this.#root[byte]!;
  }

  /** The child of a node for a byte; 0 if there is no such child. */
  #child(node: number, byte: number): number {
    if (node === 0) return this.#root[byte]!;
    if (this.#nextByte[node] === byte) return node + 1;
    if (this.#isBranching[node] === 0) return 0;
    return this.#branches.get(node)?.get(byte) ?? 0;
  }

  /** Adds a pattern; returns the number of nodes that are used by then. */
  #insert(pattern: Uint8Array, index: number, used: number): number {
    let node = 0;
    let next = used;
    for (const byte of pattern) {
      let child = this.#child(node, byte);
      if (child === 0) {
        child = next++;
        this.#addChild(node, byte, child);
      }
      node = child;
    }
    if (node !== 0 && this.#longest[node] === NONE) this.#longest[node] = index;
    return next;
  }

  #addChild(node: number, byte: number, child: number): void {
    if (node === 0) {
      this.#root[byte] = child;
    } else if (child === node + 1) {
      this.#nextByte[node] = byte;
    } else {
      const children = this.#branches.get(node) ?? new Map<number, number>();
      this.#branches.set(node, children.set(byte, child));
      this.#isBranching[node] = 1;
    }
  }

  /** Sets the fallback of each node, the nodes nearest to the root first. */
  #connect(used: number): void {
    const queue = new Int32Array(used);
    let queued = 0;
    for (const child of this.#root) {
      if (child !== 0) queue[queued++] = child;
    }
    for (let done = 0; done < queued; done++) {
      const node = queue[done]!;
      const byte = this.#nextByte[node]!;
      if (byte !== NONE) {
        this.#link(node, byte, node + 1);
        queue[queued++] = node + 1;
      }
      for (const [byte, child] of this.#branches.get(node) ?? []) {
        this.#link(node, byte, child);
        queue[queued++] = child;
      }
    }
  }

  #link(parent: number, byte: number, child: number): void {
    const fallback = this.#step(this.#fallback[parent]!, byte);
    this.#fallback[child] = fallback;
    if (this.#longest[child] === NONE) {
      this.#longest[child] = this.#longest[fallback]!;
    }
  }
}
