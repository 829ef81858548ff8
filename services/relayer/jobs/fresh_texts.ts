/**
 * Texts that were accepted a moment ago, to spare opening what was just sealed.
 *
 * @module
 */

/** Remembers texts in memory alone, up to a bound; those beyond it are opened. */
export class FreshTexts<Content extends { readonly text: string }> {
  readonly #maxChars: number;
  readonly #contents = new Map<string, Content>();
  #chars = 0;

  /** Remembers at most `maxChars` characters. */
  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** Remembers what a job holds, where there is room. */
  add(jobId: string, content: Content): void {
    this.forget(jobId);
    if (this.#chars + content.text.length > this.#maxChars) return;
    this.#contents.set(jobId, content);
    this.#chars += content.text.length;
  }

  /** What a job holds, if it is remembered. */
  get(jobId: string): Content | undefined {
    return this.#contents.get(jobId);
  }

  /** Forgets what a job holds. */
  forget(jobId: string): void {
    const content = this.#contents.get(jobId);
    if (content === undefined) return;
    this.#contents.delete(jobId);
    this.#chars -= content.text.length;
  }
}
