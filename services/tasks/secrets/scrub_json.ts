/**
 * Scrubbing the texts of a JSON value.
 *
 * @module
 */

/** Options of {@linkcode scrubJson}. */
export interface ScrubJsonOptions {
  /** Takes the secrets out of a text. */
  readonly scrubText: (text: string) => string;
  /** Whether numbers can be secrets. */
  readonly scrubsNumbers: boolean;
}

/**
 * A copy of a value as `JSON.parse` gives it, with its strings and the names of
 * its members scrubbed; a number that is a secret becomes a string. Names that
 * become the same are numbered. Any depth is fine.
 */
export function scrubJson(value: unknown, options: ScrubJsonOptions): unknown {
  return new Copier(options).copy(value);
}

/** What is to be copied, and into what. */
type Pending =
  | {
    readonly kind: "array";
    readonly from: readonly unknown[];
    readonly to: unknown[];
  }
  | {
    readonly kind: "object";
    readonly from: object;
    readonly to: Record<string, unknown>;
  };

/** Copies with a list of what is left to do: depth costs no stack. */
class Copier {
  readonly #options: ScrubJsonOptions;
  readonly #pending: Pending[] = [];

  constructor(options: ScrubJsonOptions) {
    this.#options = options;
  }

  copy(value: unknown): unknown {
    const result = this.#convert(value);
    for (;;) {
      const next = this.#pending.pop();
      if (next === undefined) return result;
      if (next.kind === "object") this.#fill(next.to, next.from);
      else for (const item of next.from) next.to.push(this.#convert(item));
    }
  }

  #convert(value: unknown): unknown {
    if (typeof value === "string") return this.#options.scrubText(value);
    if (typeof value === "number") return this.#number(value);
    if (Array.isArray(value)) {
      const to: unknown[] = [];
      this.#pending.push({ kind: "array", from: value, to });
      return to;
    }
    if (typeof value !== "object" || value === null) return value;
    const to: Record<string, unknown> = {};
    this.#pending.push({ kind: "object", from: value, to });
    return to;
  }

  #number(value: number): unknown {
    if (!this.#options.scrubsNumbers) return value;
    const text = String(value);
    const scrubbed = this.#options.scrubText(text);
    return scrubbed === text ? value : scrubbed;
  }

  #fill(to: Record<string, unknown>, from: object): void {
    const uses = new Map<string, number>();
    for (const [key, value] of Object.entries(from)) {
      const scrubbed = this.#options.scrubText(key);
      const use = (uses.get(scrubbed) ?? 0) + 1;
      uses.set(scrubbed, use);
      // Defined rather than assigned: "__proto__" is a name like others here.
      Object.defineProperty(to, use === 1 ? scrubbed : `${scrubbed} (${use})`, {
        value: this.#convert(value),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
  }
}
