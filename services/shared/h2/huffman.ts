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

// A step as one number: the next state in the lowest byte, above it up to two
// symbols that are complete, above them how many, and these two flags.
const COUNT_SHIFT = 24;
const FAIL = 1 << 26;
/** The string may end here: only ones, fewer than eight, are left over. */
const MAY_END = 1 << 27;

/** Codes by symbol: their bits, and how many. */
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

/**
 * The steps of a decoder that takes a byte at a time, at 256 times the state
 * plus the byte. The shortest code has five bits, so no byte completes three.
 */
export type HuffmanSteps = Int32Array;

/** Makes the steps; one table serves all decoders. */
export function huffmanSteps(): HuffmanSteps {
  const nodes = tree();
  const halves = new Int32Array(nodes.length * 16);
  for (let at = 0; at < halves.length; at++) {
    halves[at] = halfStep(nodes, at >> 4, at & 15);
  }
  const steps = new Int32Array(nodes.length * 256);
  for (let at = 0; at < steps.length; at++) {
    const first = halves[at >> 4]!;
    const second = halves[(first & 0xff) << 4 | at & 15]!;
    steps[at] = joined(first, second);
  }
  return steps;
}

/** Decodes strings, one after the other, into memory of its own. */
export class HuffmanDecoder {
  readonly #steps: HuffmanSteps;
  #output = new Uint8Array(256);

  /** A decoder with the steps of {@linkcode huffmanSteps}. */
  constructor(steps: HuffmanSteps) {
    this.#steps = steps;
  }

  /**
   * Decodes the bytes of `span` and lets it point to the result, which lasts
   * up to the next call.
   *
   * @returns False when the bytes are no such string: a code for the end of
   * string, or padding that is too long or not of ones.
   */
  decode(span: ByteSpan): boolean {
    const { bytes, start, end } = span;
    const steps = this.#steps;
    const output = this.#room((end - start) * 2);
    let length = 0;
    let step = MAY_END;
    let flags = 0;
    for (let at = start; at < end; at++) {
      step = steps[(step & 0xff) << 8 | bytes[at]!]!;
      // Both places are written; what counts is how far they move on.
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

  /** A byte completes two symbols at most. */
  #room(bytes: number): Uint8Array {
    if (this.#output.length < bytes) this.#output = new Uint8Array(bytes);
    return this.#output;
  }
}

/** A node's children: another node's number, or `-1 - symbol`. */
interface Node {
  readonly children: (number | undefined)[];
  /** How deep it is when only ones lead to it; Infinity otherwise. */
  readonly ones: number;
}

function tree(): readonly Node[] {
  const { codes, lengths } = huffmanCodes();
  const nodes: Node[] = [{ children: [], ones: 0 }];
  for (const [symbol, code] of codes.entries()) {
    let at = 0;
    for (let shift = lengths[symbol]! - 1; shift >= 0; shift--) {
      const bit = Math.floor(code / 2 ** shift) % 2;
      const node = nodes[at]!;
      if (shift === 0) {
        node.children[bit] = -1 - symbol;
        break;
      }
      let next = node.children[bit];
      if (next === undefined) {
        next = nodes.length;
        node.children[bit] = next;
        nodes.push({
          children: [],
          ones: bit === 1 ? node.ones + 1 : Infinity,
        });
      }
      at = next;
    }
  }
  return nodes;
}

/** A step of four bits, which complete one symbol at most. */
function halfStep(nodes: readonly Node[], from: number, bits: number): number {
  let state = from;
  let completed = 0;
  for (let shift = 3; shift >= 0; shift--) {
    const next = nodes[state]!.children[bits >>> shift & 1]!;
    if (next >= 0) {
      state = next;
      continue;
    }
    const symbol = -1 - next;
    if (symbol === END_OF_STRING) return FAIL;
    completed = 1 << COUNT_SHIFT | symbol << 8;
    state = 0;
  }
  return state | completed | (nodes[state]!.ones < 8 ? MAY_END : 0);
}

/** Two halves as one step. */
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
