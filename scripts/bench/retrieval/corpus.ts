/**
 * The data that retrieval is measured with: memories, and questions that some
 * of the memories answer.
 *
 * @module
 */

/** A memory of the corpus. */
export interface CorpusMemory {
  /** The id of the memory, unique in its namespace. */
  readonly id: string;
  /** The text of the memory. */
  readonly text: string;
}

/** A question about the memories of its namespace. */
export interface CorpusQuestion {
  /** The question as it is asked. */
  readonly text: string;
  /** The kind of the question; each corpus has its own kinds. */
  readonly category: string;
  /** The ids of the memories that answer the question, one or more. */
  readonly gold: readonly string[];
}

/**
 * A set of memories that are searched together, and the questions about them.
 */
export interface CorpusNamespace {
  /** The name of the namespace. */
  readonly name: string;
  /** The memories, in the order in which they are written. */
  readonly memories: readonly CorpusMemory[];
  /** The questions about the memories. */
  readonly questions: readonly CorpusQuestion[];
}

/** A namespace of `shapes/`, in the form in which it is written down. */
export interface ShapeNamespace {
  /** The name of the namespace. */
  readonly name: string;
  /** The memories, in the order in which they are written. */
  readonly memories: readonly string[];
  /**
   * The questions: kind, text, and the positions, from 1, of the memories that
   * answer it.
   */
  readonly questions: readonly (readonly [string, string, ...number[]])[];
}

/** A chat of `chats/`, in the form in which it is written down. */
export interface ChatNamespace {
  /** The name of the chat. */
  readonly name: string;
  /**
   * A line for each time that one of them writes, with slashes between messages;
   * `#3` marks a message that tells fact 3.
   */
  readonly messages: string;
  /**
   * A line for each question, with the number of the fact it asks for before
   * it; of people who were there, and speak of things by their usual names.
   */
  readonly usual: string;
  /** The same, of people who avoid the words of the chat. */
  readonly other: string;
}
