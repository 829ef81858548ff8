/**
 * A program that does nothing, by which the start of the runtime is measured.
 *
 * @module
 */

export {};
