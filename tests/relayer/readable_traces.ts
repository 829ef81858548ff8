/**
 * Searches files for secrets that must not be readable there: texts, their
 * words, and keys, as plain text or in a common encoding of it.
 *
 * @module
 */

import { Buffer } from "node:buffer";

const MIN_WORD_LETTERS = 5;
/**
 * Number of leading bytes by which candidates are found before all bytes are
 * compared.
 */
const HEAD_BYTES = 4;
const BUCKETS = 1 << 20;

/** A secret that was found in a file. */
export interface ReadableTrace {
  /** The path of the file. */
  readonly path: string;
  /** The secret that can be read in the file. */
  readonly secret: string;
  /** The encoding in which the file contains it. */
  readonly form: string;
}

/** Returns the words of texts that are long enough to reveal something. */
export function listWords(texts: readonly string[]): readonly string[] {
  const words = texts.flatMap((text) => text.split(/[^\p{L}\p{N}]+/u));
  return [...new Set(words)].filter((word) => word.length >= MIN_WORD_LETTERS);
}

/** Searches a file, or each file in a folder at any depth, for secrets. */
export async function readableTraces(
  folder: string,
  secrets: readonly string[],
): Promise<readonly ReadableTrace[]> {
  const search = new ByteSearch(secrets);
  const found: ReadableTrace[] = [];
  for (const path of await filesUnder(folder)) {
    const bytes = await Deno.readFile(path);
    for (const { secret, form } of search.in(bytes)) {
      found.push({ path: path.slice(folder.length + 1), secret, form });
    }
  }
  return found;
}

/** Returns the paths of all files in a folder, at any depth; a file's own. */
export async function filesUnder(folder: string): Promise<readonly string[]> {
  if ((await Deno.stat(folder)).isFile) return [folder];
  const paths: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) paths.push(...await filesUnder(path));
    else paths.push(path);
  }
  return paths;
}

interface Form {
  readonly secret: string;
  readonly form: string;
  readonly bytes: Uint8Array;
}

/** Searches for many byte strings in one pass, however many there are. */
class ByteSearch {
  readonly #marks = new Uint8Array(BUCKETS);
  readonly #forms = new Map<number, Form[]>();

  constructor(secrets: readonly string[]) {
    for (const form of new Set(secrets).values().flatMap(listForms)) {
      if (form.bytes.length < HEAD_BYTES) continue;
      const bucket = computeBucket(headAt(form.bytes, 0));
      this.#marks[bucket] = 1;
      const forms = this.#forms.get(bucket);
      if (forms === undefined) this.#forms.set(bucket, [form]);
      else forms.push(form);
    }
  }

  /** Returns the forms that occur in some bytes, each once. */
  in(bytes: Uint8Array): ReadonlySet<Form> {
    const found = new Set<Form>();
    // The head of the next position has three bytes of this one's.
    let head = headAt(bytes, -1);
    for (let at = 0; at + HEAD_BYTES <= bytes.length; at++) {
      head = (head >>> 8) | ((bytes[at + 3] ?? 0) << 24);
      const bucket = computeBucket(head);
      if (this.#marks[bucket] === 0) continue;
      for (const form of this.#forms.get(bucket) ?? []) {
        if (isAt(bytes, at, form.bytes)) found.add(form);
      }
    }
    return found;
  }
}

/** Returns the four bytes from a position on as a number. */
function headAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
}

function computeBucket(head: number): number {
  return Math.imul(head, 0x9e37_79b1) >>> 12;
}

function isAt(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  return wanted.every((byte, index) => bytes[at + index] === byte);
}

/** Returns the encodings in which a file may contain a text. */
function listForms(secret: string): readonly Form[] {
  const cases = new Set([secret, secret.toLowerCase(), secret.toUpperCase()]);
  return [...cases].flatMap((text): Form[] => {
    const plain = Buffer.from(text, "utf8");
    const hex = plain.toString("hex");
    const forms: readonly (readonly [string, Uint8Array])[] = [
      ["plain", plain],
      ["UTF-16LE", Buffer.from(text, "utf16le")],
      ["UTF-16BE", Buffer.from(text, "utf16le").swap16()],
      ["hex", Buffer.from(hex)],
      ["HEX", Buffer.from(hex.toUpperCase())],
      ...base64Forms(plain).map((form) =>
        ["base64", Buffer.from(form)] as const
      ),
    ];
    return forms.map(([form, bytes]) => ({ secret, form, bytes }));
  });
}

/**
 * Returns the base64 digits that a text is certain to have within a longer
 * text, for each of its three positions. The first and last digit may depend on
 * neighbouring bytes and are left out.
 */
function base64Forms(plain: Uint8Array): readonly string[] {
  const forms = [0, 1, 2].flatMap((before) => {
    const bits = 8 * (before + plain.length);
    const digits = Buffer.concat([new Uint8Array(before), plain])
      .toString("base64")
      .slice(Math.ceil(8 * before / 6), Math.floor(bits / 6));
    return [digits, digits.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [...new Set(forms)];
}
