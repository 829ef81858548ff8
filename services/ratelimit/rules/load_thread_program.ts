/**
 * The program of the thread that loads rules.
 *
 * @module
 */

import { type LoadThreadScope, serveLoads } from "./load_thread.ts";

serveLoads(globalThis as unknown as LoadThreadScope);
