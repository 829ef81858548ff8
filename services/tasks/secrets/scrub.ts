/**
 * Removes secrets from what workers send back: results, errors and log lines.
 *
 * @module
 */

import { ByteMatcher } from "./byte_matcher.ts";
import { ByteView, unescapeJson, unescapePercent } from "./byte_view.ts";
import { BASE64, decodeRuns, decodeTail, HEX } from "./decoded_runs.ts";
import type { NamedSecret } from "./secret_rules.ts";

/**
 * Fewest characters of a value that is searched for; shorter ones occur by
 * chance.
 */
const MIN_SCRUBBED_CHARS = 8;

/**
 * Fewest bytes of a value's start that are removed at the end of a cut text.
 * Fewer bytes would often be there by chance, and the up to 3 that may be left
 * are less than half of the shortest value that is searched for.
 */
const MIN_CUT_BYTES = 4;

/** Options of {@linkcode Scrubber.scrubText}. */
interface ScrubTextOptions {
  /**
   * Whether the text was cut at its end. If the text then ends with the start
   * of a value, at least 4 bytes of it, that start is removed, too.
   *
   * @default {false}
   */
  readonly isCut?: boolean;
}

/** The encodings in which secrets are searched for. */
const ALPHABETS = [BASE64, HEX];

/** A number as JSON writes it. */
const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/**
 * Replaces values of secrets by `[secret NAME]` wherever they stand: as they
 * are, with JSON escapes (also twice), percent-encoded, in base64 or in
 * hexadecimal, alone or inside other text, as in Basic credentials. Of values
 * within one another the longest counts. Of values that overlap, nothing of
 * either is left.
 *
 * Scrub a text before it is shortened, or set `isCut`: without that option, the
 * start of a value at the end of a cut text is not found. A scrubbed text can
 * be longer than the original.
 */
export class Scrubber {
  readonly #names: readonly string[];
  readonly #matcher: ByteMatcher;
  readonly #minBytes: number;
  readonly #hasNumbers: boolean;
  readonly #hasSpaces: boolean;

  /**
   * Makes a scrubber of these secrets. Values with fewer than 8 characters are
   * left out. A scrubber takes some 12 bytes of memory for each byte of the
   * values.
   */
  constructor(secrets: Iterable<NamedSecret>) {
    const used = [...secrets]
      .filter(({ value }) => value.length >= MIN_SCRUBBED_CHARS);
    const patterns = used.map(({ value }) => ByteView.ofText(value).bytes);
    this.#names = used.map(({ name }) => name);
    this.#matcher = new ByteMatcher(patterns);
    this.#minBytes = patterns.reduce(
      (least, { length }) => Math.min(least, length),
      Infinity,
    );
    this.#hasNumbers = used.some(({ value }) => NUMBER.test(value));
    this.#hasSpaces = used.some(({ value }) => value.includes(" "));
  }

  /** The text without secrets; the same string when it has none. */
  scrubText(text: string, options: ScrubTextOptions = {}): string {
    if (this.#names.length === 0) return text;
    const isCut = options.isCut ?? false;
    const minBytes = isCut ? MIN_CUT_BYTES : this.#minBytes;
    // In UTF-8 a character takes three bytes at most for each code unit.
    if (text.length * 3 < minBytes) return text;
    const source = ByteView.ofText(text);
    if (source.bytes.length < minBytes) return text;
    const plain = this.#plainViews(source, isCut);
    const finds = [...plain, ...this.#decodedViews(plain)]
      .flatMap((view) => this.#search(view));
    if (isCut) finds.push(...this.#beginnings(plain, source.bytes.length));
    return finds.length === 0 ? text : replace(source.bytes, finds);
  }

  /**
   * A copy of a value as `JSON.parse` returns it, with secrets removed from its
   * strings and member names. A number that is a secret becomes a string. Names
   * that become the same are numbered. Any depth is fine.
   */
  scrubJson(value: unknown): unknown {
    // A list of pending work takes the place of recursion, so depth costs no
    // stack.
    const pending: Pending = [];
    const copy = this.#copy(value, pending);
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      next();
    }
    return copy;
  }

  #copy(value: unknown, pending: Pending): unknown {
    if (typeof value === "string") return this.scrubText(value);
    if (typeof value === "number" && this.#hasNumbers) {
      const text = String(value);
      const scrubbed = this.scrubText(text);
      return scrubbed === text ? value : scrubbed;
    }
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      pending.push(() => {
        for (const item of value) items.push(this.#copy(item, pending));
      });
      return items;
    }
    if (typeof value !== "object" || value === null) return value;
    const members = {};
    pending.push(() => this.#copyMembers(value, members, pending));
    return members;
  }

  #copyMembers(from: object, to: object, pending: Pending): void {
    const uses = new Map<string, number>();
    for (const [key, value] of Object.entries(from)) {
      const scrubbed = this.scrubText(key);
      const use = (uses.get(scrubbed) ?? 0) + 1;
      uses.set(scrubbed, use);
      // The member is defined rather than assigned, since "__proto__" must be a
      // name like others here.
      Object.defineProperty(to, use === 1 ? scrubbed : `${scrubbed} (${use})`, {
        value: this.#copy(value, pending),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
  }

  /** The text in each unescaped form that may show a secret. */
  #plainViews(source: ByteView, isCut: boolean): readonly ByteView[] {
    const views = [source];
    const unescaped = unescapeJson(source, { isCut });
    if (unescaped !== undefined) {
      views.push(unescaped);
      // Errors of other services often have JSON inside a JSON string.
      const twice = unescapeJson(unescaped, { isCut });
      if (twice !== undefined) views.push(twice);
    }
    for (const view of [...views]) {
      const plain = unescapePercent(view, { isCut });
      if (plain !== undefined) views.push(plain);
      if (!this.#hasSpaces) continue;
      const form = unescapePercent(view, { plusIsSpace: true, isCut });
      if (form !== undefined) views.push(form);
    }
    return views;
  }

  /** The decodings of base64 and hexadecimal in these views. */
  #decodedViews(plain: readonly ByteView[]): readonly ByteView[] {
    const minBytes = this.#minBytes;
    return plain.flatMap((view) =>
      ALPHABETS.map((alphabet) => decodeRuns(view, { alphabet, minBytes }))
    ).filter((view) => view !== undefined);
  }

  /** The values with whose start the text ends; at most one for each view. */
  #beginnings(plain: readonly ByteView[], end: number): readonly Find[] {
    const minBytes = MIN_CUT_BYTES;
    const views = plain.flatMap((view) => [
      view,
      ...ALPHABETS.flatMap((alphabet) =>
        decodeTail(view, { alphabet, minBytes })
      ),
    ]);
    return views.flatMap((view): readonly Find[] => {
      const beginning = this.#matcher.search(view.bytes, () => {});
      if (beginning === undefined || beginning.length < minBytes) return [];
      const name = this.#names[beginning.pattern] ?? "";
      const first = view.bytes.length - beginning.length;
      // The find ends at the end of the text: after it there is only the rest
      // of an escape or of encoding letters.
      return [{ name, start: view.findStart(first), end }];
    });
  }

  #search(view: ByteView): Find[] {
    const finds: Find[] = [];
    let last: { name: string; start: number; end: number } | undefined;
    this.#matcher.search(view.bytes, (match) => {
      const name = this.#names[match.pattern] ?? "";
      const start = view.findStart(match.start);
      const end = view.findEnd(match.end - 1);
      // A value that repeats itself overlaps itself; that is one find instead
      // of many.
      const isOneMore = last?.name === name && start >= last.start &&
        start < last.end;
      if (last !== undefined && isOneMore) last.end = Math.max(last.end, end);
      else finds.push(last = { name, start, end });
    });
    return finds;
  }
}

/** The work that is left to copy a JSON value. */
type Pending = (() => void)[];

/** Where a secret is in the source. */
interface Find {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Replaces the finds by the names of their secrets. A find inside another one
 * is not named.
 */
function replace(source: Uint8Array, finds: readonly Find[]): string {
  const ordered = finds.toSorted((left, right) =>
    left.start - right.start || right.end - left.end
  );
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const pieces: string[] = [];
  let position = 0;
  let name: string | undefined;
  for (const find of ordered) {
    if (find.end <= position) continue;
    const overlaps = find.start < position;
    if (find.start > position) {
      pieces.push(decoder.decode(source.subarray(position, find.start)));
    }
    if (!overlaps || find.name !== name) pieces.push(`[secret ${find.name}]`);
    name = find.name;
    position = find.end;
  }
  pieces.push(decoder.decode(source.subarray(position)));
  return pieces.join("");
}
