/**
 * JSON that is kept as text and shown as a part of other JSON. To parse a long
 * text only to write it again would hold up everything else, the more so when
 * its owner has chosen a shape that parses slowly.
 *
 * @module
 */

/** A text that is no longer is as quickly parsed as put in its place. */
const SHORT_CHARS = 2_048;

/** Texts that take the places of their marks when the JSON around them is written. */
export class EmbeddedJson {
  /** It cannot be guessed, so no text of a client passes for a mark. */
  #mark = "";
  readonly #texts: string[] = [];

  /** The placeholder of a JSON text in a value that {@linkcode stringify} writes. */
  place(json: string): unknown {
    if (json.length <= SHORT_CHARS) return JSON.parse(json);
    if (this.#mark === "") this.#mark = crypto.randomUUID();
    return this.#mark + (this.#texts.push(json) - 1);
  }

  /** Writes a value as JSON, with the texts in their places. */
  stringify(value: unknown): string {
    const text = JSON.stringify(value);
    if (this.#texts.length === 0) return text;
    const [first = "", ...pieces] = text.split(`"${this.#mark}`);
    return first + pieces.map((piece) => {
      const end = piece.indexOf('"');
      return this.#texts[Number(piece.slice(0, end))] + piece.slice(end + 1);
    }).join("");
  }
}
