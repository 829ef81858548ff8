/**
 * Views of a text as bytes: the text itself, and the text with escapes undone
 * in which a secret may be hidden: those of JSON, `\xHH` of other languages,
 * and percent-encoding. Each byte of a view knows its place in the text.
 *
 * The functions accept every spelling (upper or lower case, more escaped than
 * needed), so there is no list of spellings that could be incomplete.
 *
 * @module
 */

const UTF8 = new TextEncoder();

/** How a view is derived from another one. */
interface Derivation {
  readonly base: ByteView;
  /** Most bytes that the view can have. */
  readonly capacity: number;
  /** Writes the bytes; called a second time when places are asked for. */
  readonly write: (writer: ByteWriter) => void;
}

/** Bytes that each stand for a part of a source text. */
export class ByteView {
  /** The bytes. */
  readonly bytes: Uint8Array;
  readonly #derivation: Derivation | undefined;
  #places: Places | undefined;

  private constructor(bytes: Uint8Array, derivation?: Derivation) {
    this.bytes = bytes;
    this.#derivation = derivation;
  }

  /** The UTF-8 bytes of a text. */
  static ofText(text: string): ByteView {
    return new ByteView(UTF8.encode(text));
  }

  /**
   * Derives a view from the bytes of another one. The places of the bytes are
   * recorded only when they are asked for, which happens when a secret is
   * found.
   */
  static derive(derivation: Derivation): ByteView {
    const writer = new ByteWriter(derivation.capacity);
    derivation.write(writer);
    return new ByteView(writer.written(), derivation);
  }

  /** Where in the source the byte at `index` begins. */
  findStart(index: number): number {
    if (this.#derivation === undefined) return index;
    return this.#derivation.base.findStart(this.#getPlaces().starts[index]!);
  }

  /** Where in the source the byte at `index` ends. */
  findEnd(index: number): number {
    if (this.#derivation === undefined) return index + 1;
    return this.#derivation.base.findEnd(this.#getPlaces().ends[index]! - 1);
  }

  #getPlaces(): Places {
    const derivation = this.#derivation;
    if (this.#places !== undefined) return this.#places;
    const places = placesFor(this.bytes.length);
    derivation?.write(new ByteWriter(derivation.capacity, places));
    this.#places = places;
    return places;
  }
}

/**
 * For each byte of a view, the range of bytes of the base that it stands for.
 */
interface Places {
  /** The first byte of the range. */
  readonly starts: Uint32Array;
  /** The byte after the range. */
  readonly ends: Uint32Array;
}

function placesFor(length: number): Places {
  return { starts: new Uint32Array(length), ends: new Uint32Array(length) };
}

/** Collects the bytes of a derived view. */
export class ByteWriter {
  readonly #bytes: Uint8Array;
  readonly #places: Places | undefined;
  #length = 0;

  /** A writer of at most `capacity` bytes. */
  constructor(capacity: number, places?: Places) {
    this.#bytes = new Uint8Array(capacity);
    this.#places = places;
  }

  /**
   * Adds a byte that stands for the bytes of the base from `from` to before
   * `to`.
   */
  add(byte: number, from: number, to: number): void {
    const length = this.#length++;
    this.#bytes[length] = byte;
    if (this.#places === undefined) return;
    this.#places.starts[length] = from;
    this.#places.ends[length] = to;
  }

  /**
   * Adds a character in UTF-8; all of its bytes stand for the same range. Half
   * a surrogate pair becomes U+FFFD, as everywhere.
   */
  addCodePoint(codePoint: number, from: number, to: number): void {
    for (const byte of UTF8.encode(String.fromCodePoint(codePoint))) {
      this.add(byte, from, to);
    }
  }

  /** All bytes that were added. */
  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** Options of {@linkcode unescapeJson} and {@linkcode unescapePercent}. */
interface UnescapeOptions {
  /**
   * Whether the text was cut at its end. Then an escape that was cut is left
   * out instead of being taken literally.
   *
   * @default {false}
   */
  readonly isCut?: boolean;
}

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const PLUS = 0x2b;
const SPACE = 0x20;
const LOWER_U = 0x75;
const LOWER_X = 0x78;

/**
 * Each letter after a backslash, with the character that both stand for (RFC
 * 8259, section 7).
 */
const JSON_ESCAPES: Readonly<Record<number, number>> = {
  0x22: 0x22,
  0x2f: 0x2f,
  0x5c: 0x5c,
  0x62: 0x08,
  0x66: 0x0c,
  0x6e: 0x0a,
  0x72: 0x0d,
  0x74: 0x09,
};

/** The start of an escape of JSON whose end was cut off. */
const JSON_REST: Rest = {
  // The first half of a surrogate pair is no character yet.
  pattern:
    /^\\(?:x[0-9a-f]?|u[0-9a-f]{0,3}|ud[89ab][0-9a-f]{2}(?:\\(?:u[0-9a-f]{0,3})?)?)?$/i,
  maxLength: 11,
};

/** The start of a percent-encoded byte whose end was cut off. */
const PERCENT_REST: Rest = { pattern: /^%[0-9a-f]?$/i, maxLength: 2 };

/** Recognizes the start of an escape whose end was cut off. */
interface Rest {
  readonly pattern: RegExp;
  readonly maxLength: number;
}

/**
 * The bytes with the escapes of JSON strings undone (RFC 8259, section 7), and
 * with `\xHH`, which Python and JavaScript write for a byte; `undefined` when
 * there are none.
 */
export function unescapeJson(
  view: ByteView,
  { isCut = false }: UnescapeOptions = {},
): ByteView | undefined {
  const { bytes } = view;
  if (!bytes.includes(BACKSLASH)) return undefined;
  return ByteView.derive({ base: view, capacity: bytes.length, write });

  function write(writer: ByteWriter): void {
    for (let from = 0; from < bytes.length;) {
      const byte = bytes[from]!;
      if (isCut && isRest(bytes, from, JSON_REST)) break;
      const next = byte === BACKSLASH ? bytes[from + 1] : undefined;
      const simple = next === undefined ? undefined : JSON_ESCAPES[next];
      const unit = next === LOWER_U ? readUnit(bytes, from) : undefined;
      const byHex = next === LOWER_X ? readHex(bytes, from + 2, 2) : undefined;
      if (simple !== undefined) {
        writer.add(simple, from, from + 2);
        from += 2;
      } else if (byHex !== undefined) {
        writer.add(byHex, from, from + 4);
        from += 4;
      } else if (unit !== undefined) {
        const low = readLowSurrogate(bytes, from + 6, unit);
        const to = from + (low === undefined ? 6 : 12);
        const codePoint = low === undefined
          ? unit
          : 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        writer.addCodePoint(codePoint, from, to);
        from = to;
      } else {
        writer.add(byte, from, from + 1);
        from++;
      }
    }
  }
}

/**
 * The bytes with percent-encoding undone (RFC 3986, section 2.1); `undefined`
 * when there is none.
 */
export function unescapePercent(
  view: ByteView,
  { isCut = false, plusIsSpace = false }: UnescapeOptions & {
    /**
     * Whether "+" is a space, as in forms.
     *
     * @default {false}
     */
    readonly plusIsSpace?: boolean;
  } = {},
): ByteView | undefined {
  const { bytes } = view;
  if (!bytes.includes(PERCENT) && !(plusIsSpace && bytes.includes(PLUS))) {
    return undefined;
  }
  return ByteView.derive({ base: view, capacity: bytes.length, write });

  function write(writer: ByteWriter): void {
    for (let from = 0; from < bytes.length;) {
      const byte = bytes[from]!;
      if (isCut && isRest(bytes, from, PERCENT_REST)) break;
      const decoded = byte === PERCENT
        ? readHex(bytes, from + 1, 2)
        : undefined;
      const to = from + (decoded === undefined ? 1 : 3);
      const plain = plusIsSpace && byte === PLUS ? SPACE : byte;
      writer.add(decoded ?? plain, from, to);
      from = to;
    }
  }
}

/** Whether the rest of the bytes is the start of an escape. */
function isRest(bytes: Uint8Array, from: number, rest: Rest): boolean {
  return bytes.length - from <= rest.maxLength &&
    rest.pattern.test(String.fromCharCode(...bytes.subarray(from)));
}

/** The code unit of an escape `\uXXXX` at `from`. */
function readUnit(bytes: Uint8Array, from: number): number | undefined {
  if (bytes[from] !== BACKSLASH || bytes[from + 1] !== LOWER_U) {
    return undefined;
  }
  return readHex(bytes, from + 2, 4);
}

/** The second half of a surrogate pair whose first is `high`. */
function readLowSurrogate(
  bytes: Uint8Array,
  from: number,
  high: number,
): number | undefined {
  if (high < 0xd800 || high > 0xdbff) return undefined;
  const low = readUnit(bytes, from);
  return low !== undefined && low >= 0xdc00 && low <= 0xdfff ? low : undefined;
}

function readHex(
  bytes: Uint8Array,
  from: number,
  digits: number,
): number | undefined {
  let value = 0;
  for (let position = from; position < from + digits; position++) {
    const digit = hexDigit(bytes[position] ?? 0);
    if (digit === undefined) return undefined;
    value = value << 4 | digit;
  }
  return value;
}

/** The four bits of a hexadecimal digit in either case. */
function hexDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : undefined;
}
