/**
 * Says which PostgreSQL a service uses, and how it gets there.
 *
 * @module
 */

/** Where a server listens. */
export interface ServerAddress {
  /** Its name or IP address. */
  readonly host: string;
  /** Its TCP port. */
  readonly port: number;
}

/** How the connection is encrypted. */
export interface DatabaseTls {
  /**
   * What of the server's certificate is checked: nothing, that an authority
   * signed it, or that it also names the host.
   */
  readonly verify: "none" | "ca" | "full";
}

/** Which database is used, and as whom. */
export interface DatabaseConnection {
  /** The servers; one of them is the primary. */
  readonly hosts: readonly ServerAddress[];
  /** The database's name. */
  readonly database: string;
  /** The role. */
  readonly user: string;
  /** The role's password; "" where it needs none. */
  readonly password: string;
  /** The file that holds the password, which is read at each connection. */
  readonly passwordFile?: string | undefined;
  /** Without it connections are not encrypted. */
  readonly tls?: DatabaseTls | undefined;
  /** The file of the authorities, read at each connection. */
  readonly caFile?: string | undefined;
  /** The name that the server shows for the connections. */
  readonly applicationName: string;
}
