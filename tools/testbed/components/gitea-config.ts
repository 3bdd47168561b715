export interface GiteaPlaces {
  readonly dataDir: string;
  readonly port: number;
  readonly sshPort: number;
  /** Where `templates` and `options` are; absent for a release, which has them inside. */
  readonly staticRoot: string | undefined;
}

/**
 * The app.ini of a Gitea that is there for its API and its SSH server: closed to whoever has no account, on 127.0.0.1 only, and
 * without whatever would dial out, run hooks or work by itself.
 */
export function giteaConfig({ dataDir, port, sshPort, staticRoot }: GiteaPlaces): string {
  return ini({
    '': { APP_NAME: 'fairlead testbed', RUN_MODE: 'prod', WORK_PATH: dataDir },
    server: {
      PROTOCOL: 'https',
      HTTP_ADDR: '127.0.0.1',
      HTTP_PORT: port,
      DOMAIN: '127.0.0.1',
      ROOT_URL: `https://127.0.0.1:${port}/`,
      CERT_FILE: `${dataDir}/pki/serving.crt`,
      KEY_FILE: `${dataDir}/pki/serving.key`,
      SSL_MIN_VERSION: 'TLSv1.2',
      ...(staticRoot === undefined ? {} : { STATIC_ROOT_PATH: staticRoot }),
      START_SSH_SERVER: true,
      BUILTIN_SSH_SERVER_USER: 'git',
      SSH_USER: 'git',
      SSH_DOMAIN: '127.0.0.1',
      SSH_PORT: sshPort,
      SSH_LISTEN_HOST: '127.0.0.1',
      SSH_LISTEN_PORT: sshPort,
      SSH_SERVER_HOST_KEYS: `${dataDir}/pki/ssh-host-key`,
      OFFLINE_MODE: true,
      LFS_START_SERVER: false,
      ALLOW_GRACEFUL_RESTARTS: false,
      GRACEFUL_HAMMER_TIME: '5s',
    },
    database: {
      DB_TYPE: 'sqlite3',
      PATH: `${dataDir}/gitea.db`,
      // By default whoever writes beside somebody else has half a second on the disk, and is then answered with 500.
      SQLITE_TIMEOUT: 20_000,
      SQLITE_JOURNAL_MODE: 'WAL',
    },
    security: {
      INSTALL_LOCK: true,
      SECRET_KEY_URI: `file:${dataDir}/pki/secret-key`,
      INTERNAL_TOKEN_URI: `file:${dataDir}/pki/internal-token`,
      DISABLE_GIT_HOOKS: true,
      DISABLE_WEBHOOKS: true,
      DISABLE_QUERY_AUTH_TOKEN: true,
    },
    service: { DISABLE_REGISTRATION: true, REQUIRE_SIGNIN_VIEW: true, ENABLE_NOTIFY_MAIL: false },
    repository: { DEFAULT_PRIVATE: 'private', DISABLE_MIGRATIONS: true, DEFAULT_BRANCH: 'main' },
    session: { PROVIDER: 'memory' },
    cache: { ADAPTER: 'memory' },
    queue: { TYPE: 'channel' },
    indexer: { ISSUE_INDEXER_TYPE: 'db', REPO_INDEXER_ENABLED: false },
    log: { MODE: 'console', LEVEL: 'Info' },
    picture: { DISABLE_GRAVATAR: true },
    ...off('oauth2', 'mailer', 'packages', 'actions', 'federation', 'mirror', 'cron', 'metrics', 'webauthn'),
    openid: { ENABLE_OPENID_SIGNIN: false, ENABLE_OPENID_SIGNUP: false },
    'cron.update_checker': { ENABLED: false },
    api: { ENABLE_SWAGGER: true },
  });
}

type Section = Readonly<Record<string, string | number | boolean>>;

const off = (...names: string[]): Record<string, Section> =>
  Object.fromEntries(names.map((name) => [name, { ENABLED: false }]));

function ini(sections: Readonly<Record<string, Section>>): string {
  return Object.entries(sections)
    .map(([name, values]) => {
      // Backquotes keep a # or ; of a path what it is.
      const lines = Object.entries(values).map(([key, value]) => `${key} = \`${value}\``);
      return [...(name === '' ? [] : [`[${name}]`]), ...lines, ''].join('\n');
    })
    .join('\n');
}
