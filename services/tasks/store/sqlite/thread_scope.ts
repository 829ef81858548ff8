/**
 * What a thread knows of the one that started it.
 *
 * @module
 */

/** The global scope of a thread. */
export interface ThreadScope<Request, Answer> {
  /** Hears what is asked. */
  onmessage: ((event: MessageEvent<Request>) => void) | null;
  /** Answers. */
  postMessage(answer: Answer): void;
}
