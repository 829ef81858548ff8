/**
 * The program of the store's threads, for who has none of their own.
 *
 * @module
 */

import { serveThread } from "./thread.ts";

serveThread(globalThis);
