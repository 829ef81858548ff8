/**
 * A program that does nothing, which measures how long the runtime itself takes
 * to start.
 *
 * @module
 */

export {};
