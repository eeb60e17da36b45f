import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../../src/app/config.ts';
import { POOLS } from '../../../src/queues/contract.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const OLDEST_POSTGRES = 15;
const OLDEST_REDIS = 7;
const read = (path: string) => readFile(join(ROOT, path), 'utf8');

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly ports?: readonly string[];
  readonly networks?: readonly string[];
  readonly stop_grace_period?: string;
}

let text: string;
let services: Readonly<Record<string, Service>>;
let networks: Readonly<Record<string, { readonly internal?: boolean }>>;

beforeAll(async () => {
  text = await read('docker-compose.yml');
  const compose = parse(text, { merge: true }) as { services: typeof services; networks: typeof networks };
  services = compose.services;
  networks = compose.networks;
});

function service(name: string): Service {
  const found = services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
}

/** `postgres:17-alpine` → 17. */
const majorOf = (image: string): number => Number(/:(\d+)/.exec(image)?.[1]);

describe('docker-compose.yml', () => {
  it('runs each pool as a service of its own, started as a user would start it', () => {
    for (const pool of POOLS) expect(service(pool).command).toEqual(['worker', '--pools', pool]);
  });

  it('has no service besides the database, the queue, the migration, the API and the pools', () => {
    expect(Object.keys(services).sort()).toEqual(['api', 'migrate', 'postgres', 'redis', ...POOLS].sort());
  });

  it('runs every process of ours from the one image that the Dockerfile builds', () => {
    for (const name of ['migrate', 'api', ...POOLS]) {
      expect([name, service(name).image, service(name).build]).toEqual([name, 'turnwright:local', '.']);
    }
    expect(service('migrate').command).toEqual(['migrate']);
    expect(service('api').command).toEqual(['api']);
  });

  it('names a version for every image it pulls, new enough for us', () => {
    for (const { image } of Object.values(services)) expect(image).toMatch(/:[^:]+$/);
    expect(text).not.toMatch(/:latest\b/);
    expect(majorOf(service('postgres').image)).toBeGreaterThanOrEqual(OLDEST_POSTGRES);
    expect(majorOf(service('redis').image)).toBeGreaterThanOrEqual(OLDEST_REDIS);
  });

  it('keeps Redis from evicting jobs, and from writing what Postgres holds anyway', () => {
    const command = service('redis').command ?? [];
    expect(command[command.indexOf('--maxmemory-policy') + 1]).toBe('noeviction');
    expect(command[command.indexOf('--save') + 1]).toBe('');
  });

  it('asks Postgres and Redis whether they answer, and the API by the check of its image', async () => {
    expect(service('postgres').healthcheck?.test).toContain('pg_isready');
    expect(service('redis').healthcheck?.test).toEqual(['CMD', 'redis-cli', 'ping']);
    expect(service('api').healthcheck).toBeUndefined();
    expect(await read('Dockerfile')).toMatch(/HEALTHCHECK[\s\S]*\/healthz/);
  });

  it('starts nothing before what it needs: database, then migration, then the rest', () => {
    expect(service('migrate').depends_on).toEqual({ postgres: { condition: 'service_healthy' } });
    for (const name of ['api', ...POOLS]) {
      expect(service(name).depends_on).toEqual({
        migrate: { condition: 'service_completed_successfully' },
        postgres: { condition: 'service_healthy' },
        redis: { condition: 'service_healthy' },
      });
    }
  });

  it('holds no password: the environment must give it, or compose refuses to start', () => {
    expect(service('postgres').environment?.POSTGRES_PASSWORD).toMatch(/^\$\{POSTGRES_PASSWORD:\?/);
    expect(service('api').environment?.DATABASE_URL).toMatch(
      /^postgres:\/\/turnwright:\$\{POSTGRES_PASSWORD:\?[^}]+\}@postgres:5432\/turnwright$/,
    );
    for (const { environment = {} } of Object.values(services)) {
      for (const [name, value] of Object.entries(environment)) {
        if (/PASSWORD|SECRET|KEY|TOKEN/.test(name))
          expect([name, value]).toEqual([name, expect.stringMatching(/^\$\{\w+:[?-][^}]*\}$/)]);
      }
    }
  });

  it('shows only the API to the machine, on loopback, and keeps the database and the queue inside', () => {
    for (const [name, { ports }] of Object.entries(services)) {
      if (name !== 'api') expect([name, ports]).toEqual([name, undefined]);
    }
    expect(service('api').ports?.every((port) => port.startsWith('127.0.0.1:'))).toBe(true);
    for (const name of ['postgres', 'redis']) expect(service(name).networks).toEqual(['inside']);
    expect(networks.inside?.internal).toBe(true);
  });

  it('gives a stopping process longer than its own drain limit', async () => {
    const { limits } = await loadConfig({ env: {}, cwd: join(ROOT, 'deploy', 'files') });
    for (const name of ['api', ...POOLS]) {
      const seconds = Number(/^(\d+)s$/.exec(service(name).stop_grace_period ?? '')?.[1]);
      expect(seconds * 1000).toBeGreaterThan(limits.drainMs);
    }
  });

  it('passes an environment that the configuration accepts, with the configuration file it mounts', async () => {
    const env = Object.fromEntries(
      Object.entries(service('step').environment ?? {}).map(([name, value]) => [name, interpolate(value)]),
    );
    const config = await loadConfig({ env, cwd: join(ROOT, 'deploy', 'config') });
    expect(config.databaseUrl).toBe('postgres://turnwright:given@postgres:5432/turnwright');
    expect(config.redisUrl).toBe('redis://redis:6379');
    expect(config.legs.map((leg) => leg.name)).toContain(config.defaultLeg);
  });
});

/** As compose does it, with every required variable given. */
function interpolate(value: string): string {
  return value.replace(/\$\{\w+:\?[^}]*\}/g, 'given').replace(/\$\{\w+:-([^}]*)\}/g, '$1');
}

describe('the image', () => {
  it('is built in stages and runs as an ordinary user', async () => {
    const lines = (await read('Dockerfile')).split('\n');
    const from = lines.filter((line) => line.startsWith('FROM '));
    const user = lines.filter((line) => line.startsWith('USER ')).at(-1);
    expect(from.length).toBeGreaterThan(1);
    expect(user).toBe('USER node');
    expect(lines.join('\n')).toMatch(/ARG NODE_IMAGE=node:20-slim/);
  });

  it('starts the built command line, and the API where no command is given', async () => {
    const dockerfile = await read('Dockerfile');
    const manifest = JSON.parse(await read('package.json')) as { bin: { turnwright: string } };
    expect(dockerfile).toContain(`ENTRYPOINT ["node", "/app/${manifest.bin.turnwright}"]`);
    expect(dockerfile).toMatch(/^CMD \["api"\]$/m);
  });

  it('takes in only what it copies, so that no secret of the folder gets into a layer', async () => {
    const [first, ...rest] = (await read('.dockerignore')).trim().split('\n');
    expect(first).toBe('*');
    const copied = [...(await read('Dockerfile')).matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap((match) =>
      (match[1] ?? '').split(' '),
    );
    expect(new Set(rest)).toEqual(new Set(copied.map((path) => `!${path}`)));
  });
});
