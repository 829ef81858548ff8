/**
 * What retrieval is measured with: memories, and questions that some of them
 * answer.
 *
 * @module
 */

/** A memory. */
export interface CorpusMemory {
  /** Its id, unique in the namespace. */
  readonly id: string;
  /** Its text. */
  readonly text: string;
}

/** A question. */
export interface CorpusQuestion {
  /** The question as it is asked. */
  readonly text: string;
  /** What kind of question it is. */
  readonly category: string;
  /** The memories that answer it, one or more. */
  readonly gold: readonly string[];
}

/** The memories that are searched together. */
export interface CorpusNamespace {
  /** Its name. */
  readonly name: string;
  /** In the order they were written. */
  readonly memories: readonly CorpusMemory[];
  /** What is asked of them. */
  readonly questions: readonly CorpusQuestion[];
}
