/**
 * The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B).
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";

/**
 * Lengths of the codes in bits, from symbol 0 to 255 and the end of string;
 * `n*k` stands for k symbols with length n. The codes follow from the lengths:
 * they are given out by length, then by symbol.
 */
const CODE_LENGTHS = [
  "13 23 28*7 24 30 28*2 30 28*8 30 28*9",
  "6 10*2 12 13 6 8 11 10*2 8 11 8 6*3 5*3 6*7 7 8 15 6 12 10",
  "13 6 7*22 8 7 8 13 19 13 14 6",
  "15 5 6 5 6 5 6*3 5 7*2 6*3 5 6 7 6 5*2 6 7*5 15 11 14 13 28",
  "20 22 20*2 22*3 23 22 23*5 24 23 24*2 22 23 24 23*4 21 22 23 22 23*2 24",
  "22 21 20 22*2 23*2 21 23 22*2 24 21 22 23*2 21*2 22 21 23 22 23*2 20",
  "22*3 23 22*2 23 26*2 20 19 22 23 22 25 26*3 27*2 26 24 25 19 21 26 27*2",
  "26 27 24 21*2 26*2 28 27*3 20 24 20 21 22 21*2 23 22*2 25*2 24*2 26 23",
  "26 27 26*2 27*5 28 27*5 26 30",
].join(" ");

const END_OF_STRING = 256;

// A step of the decoder as one number: the next state in the lowest byte, up
// to two decoded symbols above it, then their count, and these two flags.
const COUNT_SHIFT = 24;
const FAIL = 1 << 26;
/** The string may end here: the bits left over are valid padding, all ones. */
const MAY_END = 1 << 27;

/** The bits and the length of each symbol's code, by symbol. */
interface HuffmanCodes {
  /** Codes, aligned to the right. */
  readonly codes: readonly number[];
  /** Their lengths in bits. */
  readonly lengths: readonly number[];
}

/** The codes of all symbols; number 256 is the end of string. */
export function huffmanCodes(): HuffmanCodes {
  const lengths = CODE_LENGTHS.split(" ").flatMap((part) => {
    const [length, count = "1"] = part.split("*");
    return Array<number>(Number(count)).fill(Number(length));
  });
  const symbols = [...lengths.keys()].sort((a, b) =>
    lengths[a]! - lengths[b]! || a - b
  );
  const codes = Array<number>(lengths.length).fill(0);
  let code = 0;
  let length = 0;
  for (const symbol of symbols) {
    code *= 2 ** (lengths[symbol]! - length);
    length = lengths[symbol]!;
    codes[symbol] = code++;
  }
  return { codes, lengths };
}

/** Deeper than any node of the code's tree. */
const NOT_ONLY_ONES = 100;

/** Number of states a decoder can have between two bytes. */
const STATES = 256;

/**
 * The steps of a decoder that reads a byte at a time; the index of a step is
 * 256 times the state plus the byte. The shortest code has five bits, so a byte
 * completes two symbols at most. The steps of a state are made when it is first
 * entered, since most states never are.
 */
export class HuffmanSteps {
  /** The steps of the states {@linkcode HuffmanSteps.make} was called with. */
  readonly table = new Int32Array(STATES << 8);
  /** 1 for each state whose steps have been made, else 0. */
  readonly isMade = new Uint8Array(STATES);
  readonly #tree = codeTree();

  /** Makes the steps from a state. */
  make(state: number): void {
    for (let high = 0; high < 16; high++) {
      const first = halfStep(this.#tree, state, high);
      for (let low = 0; low < 16; low++) {
        const second = halfStep(this.#tree, first & 0xff, low);
        this.table[state << 8 | high << 4 | low] = joined(first, second);
      }
    }
    this.isMade[state] = 1;
  }
}

/** Decodes strings into a buffer that the next string overwrites. */
export class HuffmanDecoder {
  readonly #steps: HuffmanSteps;
  #output = new Uint8Array(256);

  /** A decoder that shares its steps with others. */
  constructor(steps: HuffmanSteps) {
    this.#steps = steps;
  }

  /**
   * Decodes the bytes of `span` and lets it point to the result, which lasts
   * up to the next call.
   *
   * @returns False when the bytes are not valid: they hold the code for the end
   * of string, or padding that is too long or not all ones.
   */
  decode(span: ByteSpan): boolean {
    const { bytes, start, end } = span;
    const { table, isMade } = this.#steps;
    const output = this.#room((end - start) * 2);
    let length = 0;
    let step = MAY_END;
    let flags = 0;
    for (let at = start; at < end; at++) {
      const state = step & 0xff;
      if (isMade[state] === 0) this.#steps.make(state);
      step = table[state << 8 | bytes[at]!]!;
      // Always write two symbols; only `length` says how many are valid.
      output[length] = step >>> 8;
      output[length + 1] = step >>> 16;
      length += step >>> COUNT_SHIFT & 3;
      flags |= step;
    }
    if ((flags & FAIL) !== 0 || (step & MAY_END) === 0) return false;
    span.bytes = output;
    span.start = 0;
    span.end = length;
    return true;
  }

  /** The output buffer, enlarged to hold `bytes` if needed. */
  #room(bytes: number): Uint8Array {
    if (this.#output.length < bytes) this.#output = new Uint8Array(bytes);
    return this.#output;
  }
}

/** The code as a tree; its nodes are the states of a decoder. */
interface CodeTree {
  /**
   * The children of node n at 2n and 2n + 1: another node's number, or
   * `-1 - symbol`.
   */
  readonly children: Int16Array;
  /** Depth of a node that only ones lead to; more than 8 for other nodes. */
  readonly ones: Uint8Array;
}

function codeTree(): CodeTree {
  const { codes, lengths } = huffmanCodes();
  const children = new Int16Array(2 * STATES);
  const ones = new Uint8Array(STATES);
  let nodes = 1;
  for (let symbol = 0; symbol < codes.length; symbol++) {
    let node = 0;
    for (let shift = lengths[symbol]! - 1; shift > 0; shift--) {
      const bit = codes[symbol]! >>> shift & 1;
      const at = 2 * node + bit;
      if (children[at] === 0) {
        children[at] = nodes;
        ones[nodes++] = bit === 1 ? ones[node]! + 1 : NOT_ONLY_ONES;
      }
      node = children[at]!;
    }
    children[2 * node + (codes[symbol]! & 1)] = -1 - symbol;
  }
  return { children, ones };
}

/** Computes a step of four bits, which complete one symbol at most. */
function halfStep(
  { children, ones }: CodeTree,
  from: number,
  bits: number,
): number {
  let state = from;
  let completed = 0;
  for (let shift = 3; shift >= 0; shift--) {
    const next = children[2 * state + (bits >>> shift & 1)]!;
    if (next >= 0) {
      state = next;
      continue;
    }
    const symbol = -1 - next;
    if (symbol === END_OF_STRING) return FAIL;
    completed = 1 << COUNT_SHIFT | symbol << 8;
    state = 0;
  }
  return state | completed | (ones[state]! < 8 ? MAY_END : 0);
}

/** Joins the steps of two times four bits to that of a byte. */
function joined(first: number, second: number): number {
  if (((first | second) & FAIL) !== 0) return FAIL;
  const end = second & (0xff | MAY_END);
  const firstCount = first >>> COUNT_SHIFT & 3;
  const secondCount = second >>> COUNT_SHIFT & 3;
  const symbols = firstCount === 0
    ? second & 0xff00
    : first & 0xff00 | (second & 0xff00) << 8;
  return end | symbols | (firstCount + secondCount) << COUNT_SHIFT;
}
