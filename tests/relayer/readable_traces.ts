/**
 * Looks whether files hold what nobody may read from them: texts, their words,
 * and keys, in the clear or in the ways that clear text is written down.
 *
 * @module
 */

import { Buffer } from "node:buffer";

const MIN_WORD_LETTERS = 5;
/** Bytes that a form is looked up by before it is compared. */
const HEAD_BYTES = 4;
const BUCKETS = 1 << 20;

/** What was found where. */
export interface ReadableTrace {
  /** The file. */
  readonly path: string;
  /** What can be read in it. */
  readonly secret: string;
  /** How it is written there. */
  readonly form: string;
}

/** The words of texts that are long enough to tell something. */
export function wordsOf(texts: readonly string[]): readonly string[] {
  const words = texts.flatMap((text) => text.split(/[^\p{L}\p{N}]+/u));
  return [...new Set(words)].filter((word) => word.length >= MIN_WORD_LETTERS);
}

/** Searches each file of a folder, at any depth. */
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

/** All files of a folder, at any depth. */
export async function filesUnder(folder: string): Promise<readonly string[]> {
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

/** Many byte strings at once: one pass of a file, however many there are. */
class ByteSearch {
  readonly #marks = new Uint8Array(BUCKETS);
  readonly #forms = new Map<number, Form[]>();

  constructor(secrets: readonly string[]) {
    for (const form of new Set(secrets).values().flatMap(formsOf)) {
      if (form.bytes.length < HEAD_BYTES) continue;
      const bucket = bucketAt(form.bytes, 0);
      this.#marks[bucket] = 1;
      const forms = this.#forms.get(bucket);
      if (forms === undefined) this.#forms.set(bucket, [form]);
      else forms.push(form);
    }
  }

  /** What is in these bytes, each form once. */
  in(bytes: Uint8Array): ReadonlySet<Form> {
    const found = new Set<Form>();
    for (let at = 0; at + HEAD_BYTES <= bytes.length; at++) {
      const bucket = bucketAt(bytes, at);
      if (this.#marks[bucket] === 0) continue;
      for (const form of this.#forms.get(bucket) ?? []) {
        if (isAt(bytes, at, form.bytes)) found.add(form);
      }
    }
    return found;
  }
}

function bucketAt(bytes: Uint8Array, at: number): number {
  const head = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
  return Math.imul(head, 0x9e37_79b1) >>> 12;
}

function isAt(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  return wanted.every((byte, index) => bytes[at + index] === byte);
}

/** The ways in which a text may stand in a file. */
function formsOf(secret: string): readonly Form[] {
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
 * The digits that a text has for sure wherever it stands in a longer one: what
 * stands beside it has a part in the first and last digit.
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
