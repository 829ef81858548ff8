import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import {
  createTestAuthority,
  type TestCertificate,
} from "../../../tests/support/test_certificates.ts";
import { certificateFaults, CertificateFiles } from "./certificate_files.ts";

const authority = createTestAuthority();
const DAY_MS = 86_400_000;

interface FilesTest {
  readonly files: CertificateFiles;
  readonly logger: RecordingLogger;
  readonly clock: FakeClock;
  readonly paths: { readonly cert: string; readonly key: string };
  /** Has the files read five times, a second after each other. */
  readonly wait: () => Promise<void>;
  /** Puts a certificate and its key in place. */
  readonly write: (certificate: TestCertificate) => Promise<void>;
}

async function withFiles(
  first: TestCertificate,
  use: (test: FilesTest) => Promise<void>,
): Promise<void> {
  const path = await Deno.makeTempDir({ prefix: "certificate_files_" });
  const logger = new RecordingLogger();
  const clock = new FakeClock(Date.now());
  const paths = { cert: `${path}/cert.pem`, key: `${path}/key.pem` };
  const write = async ({ certPem, keyPem }: TestCertificate): Promise<void> => {
    await Deno.writeTextFile(paths.cert, certPem);
    await Deno.writeTextFile(paths.key, keyPem);
  };
  try {
    await write(first);
    const outcome = await CertificateFiles.open({ paths, logger, clock });
    assert(outcome.kind === "open");
    const { files } = outcome;
    await files.start();
    const wait = async (): Promise<void> => {
      for (let round = 0; round < 5; round++) {
        await files.runOnce();
        clock.advance(1_000);
      }
    };
    await use({ files, logger, clock, paths, wait, write });
    await files.stop();
  } finally {
    await Deno.remove(path, { recursive: true });
  }
}

Deno.test("CertificateFiles has the new certificate once both files are there", async () => {
  await withFiles(authority.issue("a.test"), async (test) => {
    const { files, logger, paths, write } = test;
    const next = authority.issue("b.test");
    await Deno.writeTextFile(paths.cert, next.certPem);
    await files.runOnce();
    assertEquals(files.current.cert === next.certPem, false);
    await write(next);
    await files.runOnce();
    await files.runOnce();
    assertEquals(files.current.cert, next.certPem);
    // The moment between the writes of the two files is not logged.
    assertEquals(logger.messages, ["Reloaded certificate"]);
  });
});

Deno.test("CertificateFiles tells once of files that stay useless and keeps the certificate", async () => {
  const first = authority.issue("a.test");
  await withFiles(first, async ({ files, logger, paths, wait, write }) => {
    const told = "Cannot use the new certificate files; the certificate " +
      "before them stays";
    await Deno.remove(paths.key);
    await wait();
    assertEquals(logger.messages, [told]);
    assertEquals(files.current.cert, first.certPem);

    // A further fault is logged too; restoring the old files is not.
    await Deno.writeTextFile(paths.key, "no key");
    await wait();
    await write(first);
    await files.runOnce();
    assertEquals(logger.messages, [told, told]);
    assertEquals(files.current.cert, first.certPem);

    // After that, the same fault is logged again.
    await Deno.writeTextFile(paths.key, "no key");
    await wait();
    assertEquals(logger.messages, [told, told, told]);
  });
});

Deno.test("CertificateFiles.reload() tells at once, and each time it is asked", async () => {
  await withFiles(
    authority.issue("a.test"),
    async ({ files, logger, paths, wait }) => {
      await Deno.writeTextFile(paths.cert, "no certificate");
      await files.reload();
      await wait();
      await files.reload();
      assertEquals(logger.listMessages("error").length, 2);
    },
  );
});

Deno.test("CertificateFiles doesn't read what is no file or too large", async () => {
  const first = authority.issue("a.test");
  await withFiles(first, async ({ files, logger, paths }) => {
    await Deno.remove(paths.cert);
    await Deno.mkdir(paths.cert);
    await files.reload();
    await Deno.remove(paths.cert);
    await Deno.writeTextFile(paths.cert, "x".repeat(1_048_577));
    await files.reload();
    assertEquals(logger.lines.map(({ fields }) => fields.error), [
      `Cannot read the file "${paths.cert}": it is not a file`,
      `Cannot read the file "${paths.cert}": it has more than 1048576 bytes`,
    ]);
    assertEquals(files.current.cert, first.certPem);
  });
});

Deno.test("certificateFaults() names the setting of each file that is of no use, and leaves out those not set", async () => {
  const settings = { cert: "CERT", key: "KEY", clientCa: "CA" };
  assertEquals(await certificateFaults({ cert: "", key: "" }, settings), []);
  assertEquals(
    await certificateFaults(
      { cert: "/none/c", key: "/none/k", clientCa: "/none/a" },
      settings,
    ),
    [
      'Cannot read the file "/none/c": there is no such file (CERT)',
      'Cannot read the file "/none/k": there is no such file (KEY)',
      'Cannot read the file "/none/a": there is no such file (CA)',
    ],
  );
  await withFiles(authority.issue("a.test"), async ({ paths }) => {
    assertEquals(await certificateFaults(paths, settings), []);
    const { cert, key } = paths;
    const pair = { cert: key, key };
    const authorities = { cert, key, clientCa: key };
    assertEquals(await certificateFaults(pair, settings), [
      "Cannot use certificate: it or its key is not readable as PEM " +
      "(CERT and KEY)",
    ]);
    assertEquals(await certificateFaults(authorities, settings), [
      "Cannot use certificate: the authorities of clients are not readable as " +
      "PEM (CA)",
    ]);
  });
});

Deno.test("CertificateFiles warns before the end of the certificate and at it", async () => {
  const nowMs = Date.now();
  // Of a hundred days, the last seven; of ten days, the last two.
  const long = { fromMs: nowMs, toMs: nowMs + 100 * DAY_MS };
  await withFiles(authority.issue("a.test", long), async (test) => {
    const { files, logger, clock, write } = test;
    const warnings = async (afterMs: number): Promise<readonly string[]> => {
      clock.advance(afterMs);
      await files.runOnce();
      await files.runOnce();
      return logger.listMessages("warning");
    };
    const soon = "The certificate expires soon";
    const passed = "The certificate has expired";
    assertEquals(await warnings(92.9 * DAY_MS), []);
    assertEquals(await warnings(0.2 * DAY_MS), [soon]);
    assertEquals(await warnings(6.8 * DAY_MS), [soon]);
    assertEquals(await warnings(0.2 * DAY_MS), [soon, passed]);

    const fromMs = clock.nowMs();
    const short = { fromMs, toMs: fromMs + 10 * DAY_MS };
    await write(authority.issue("b.test", short));
    assertEquals((await warnings(7.9 * DAY_MS)).slice(2), []);
    assertEquals((await warnings(0.2 * DAY_MS)).slice(2), [soon]);
  });
});
