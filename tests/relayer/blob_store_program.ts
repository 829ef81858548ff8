/**
 * A blob store as a program of its own: prints where it is and serves until it is ended.
 *
 * @module
 */

import { startBlobServers } from "../../services/relayer/blobs/testing/blob_servers.ts";

// Kept as long as the process runs.
const servers = startBlobServers();
await Deno.stdout.write(new TextEncoder().encode(`${servers.url}\n`));
