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

/** What a step does beside going on; the low byte is the next state. */
const EMIT = 0x1_0000;
const FAIL = 0x2_0000;
/** The string may end here: only ones, fewer than eight, are left over. */
const MAY_END = 0x4_0000;

/** Codes by symbol: their bits, and how many. */
export interface HuffmanCodes {
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
 * The steps of a decoder that takes half a byte at a time: at 16 times the
 * state plus the four bits stand the next state, in the second byte the symbol
 * that is complete, if one is, and the flags. The shortest code has five bits,
 * so no step completes two.
 */
export type HuffmanSteps = Int32Array;

/** Makes the steps; one table serves all decoders. */
export function huffmanSteps(): HuffmanSteps {
  const nodes = tree();
  const steps = new Int32Array(nodes.length * 16);
  for (const [state] of nodes.entries()) {
    for (let bits = 0; bits < 16; bits++) {
      steps[state * 16 + bits] = step(nodes, state, bits);
    }
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
    let state = 0;
    let step = MAY_END;
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!;
      step = steps[state << 4 | byte >>> 4]!;
      if ((step & (EMIT | FAIL)) !== 0) {
        if ((step & FAIL) !== 0) return false;
        output[length++] = step >>> 8;
      }
      step = steps[(step & 0xff) << 4 | byte & 15]!;
      if ((step & (EMIT | FAIL)) !== 0) {
        if ((step & FAIL) !== 0) return false;
        output[length++] = step >>> 8;
      }
      state = step & 0xff;
    }
    if ((step & MAY_END) === 0) return false;
    span.bytes = output;
    span.start = 0;
    span.end = length;
    return true;
  }

  /** A byte holds one whole symbol and parts of two others at most. */
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

function step(nodes: readonly Node[], from: number, bits: number): number {
  let state = from;
  let emitted = 0;
  for (let shift = 3; shift >= 0; shift--) {
    const next = nodes[state]!.children[bits >>> shift & 1]!;
    if (next >= 0) {
      state = next;
      continue;
    }
    const symbol = -1 - next;
    if (symbol === END_OF_STRING) return FAIL;
    emitted = EMIT | symbol << 8;
    state = 0;
  }
  return state | emitted | (nodes[state]!.ones < 8 ? MAY_END : 0);
}
