/**
 * The program of a blob store process: prints its URL and serves until it is
 * killed.
 *
 * @module
 */

import { startBlobServers } from "../../services/relayer/blobs/testing/blob_servers.ts";

// In a variable, so that the servers are kept while the process runs.
const servers = startBlobServers();
await Deno.stdout.write(new TextEncoder().encode(`${servers.url}\n`));
