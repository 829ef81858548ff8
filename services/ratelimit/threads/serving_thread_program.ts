/**
 * The program of a thread that serves beside the main thread.
 *
 * @module
 */

import { serveThread, type ThreadScope } from "./serving_thread.ts";

serveThread(globalThis as unknown as ThreadScope);
