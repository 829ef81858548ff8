/**
 * A user of `tercet memory` in a test, with a mock of a relayer.
 *
 * @module
 */

import { MemMock } from "../../../../sdk/testing.ts";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { runTercet } from "../../main.ts";
import { readSecretFile } from "../../mcp/secret_file.ts";

type Texts = Readonly<Record<string, string>>;

/** What a command has written, and its exit code. */
interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A user, and what the user works with. */
interface MemoryUser {
  /** The time. A pause of a command is over at once. */
  readonly clock: FakeClock;
  /** The relayer. */
  readonly mock: MemMock;
  /** Files by their paths, beside those on the disk. */
  readonly files: Record<string, string>;
  /** The variables that name the relayer and the user's key. */
  readonly own: Texts;
  /** Runs `tercet`. */
  play(
    args: readonly string[],
    given?: {
      /**
       * The variables of the environment.
       *
       * @default {own}
       */
      readonly variables?: Texts;
      /**
       * Standard input.
       *
       * @default {""}
       */
      readonly input?: string;
    },
  ): Promise<Said>;
}

/** Makes a user whose relayer has no memories. */
export function openMemoryUser(): MemoryUser {
  const clock = new FakeClock(1_800_000_000_000);
  const mock = MemMock.create({ clock });
  const { key, accountId, serverUrl = "", fetch } = mock.config;
  const own: Texts = {
    TERCET_KEY: String(key),
    TERCET_ACCOUNT: accountId,
    TERCET_RELAYER: serverUrl,
  };
  const files: Record<string, string> = {};
  const readText = (path: string): Promise<string> =>
    files[path] === undefined
      ? Promise.reject(new Deno.errors.NotFound("no such file"))
      : Promise.resolve(files[path]);
  return {
    ...{ clock, mock, files, own },
    async play(args, { variables = own, input = "" } = {}) {
      const said = { out: "", err: "" };
      const code = await runTercet(args, {
        out: (text) => void (said.out += `${text}\n`),
        err: (text) => void (said.err += `${text}\n`),
        progress(text) {
          const [, seconds] = /^waiting (\d+) s/.exec(text) ?? [];
          if (seconds === undefined) return;
          // The pause that it tells of begins right after that.
          queueMicrotask(() => clock.advance(Number(seconds) * 1_000));
        },
        readVariable: (name) => variables[name],
        readText,
        // Files on the disk have modes.
        readSecret: (path, what) =>
          path.startsWith("/")
            ? readSecretFile(path, what)
            : readText(path).then((text) => text.trim()),
        writeSecret: (path, text) => {
          files[path] = text;
          return Promise.resolve();
        },
        readInput: () => Promise.resolve(input),
        fetch: (url, init) => fetch!(String(url), init ?? {}),
        clock,
      });
      return { code, ...said };
    },
  };
}
