import { describe, expect, it } from 'vitest';
import { apiRoutes } from '../../../src/api/app.ts';
import { openApiDocument } from '../../../src/api/openapi.ts';

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly summary: string;
            readonly security: readonly unknown[];
            readonly parameters: readonly {
              readonly name: string;
              readonly in: string;
              readonly required: boolean;
              readonly schema: { readonly format?: string; readonly pattern?: string };
            }[];
            readonly responses: Readonly<Record<string, { readonly description: string }>>;
          }
        >
      >
    >
  >;
}

describe('the OpenAPI document', () => {
  const document = openApiDocument(apiRoutes()) as unknown as Document;
  const operations = Object.entries(document.paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => ({ path, method, operation })),
  );

  it('gives every operation a summary, a success and a failure', () => {
    for (const { path, operation } of operations) {
      expect([path, operation.summary.length > 5]).toEqual([path, true]);
      const statuses = Object.keys(operation.responses);
      expect([path, statuses.some((status) => status.startsWith('2'))]).toEqual([path, true]);
      expect(statuses).toContain('500');
    }
  });

  it('names every parameter of a path, and 401, 403 and 429 wherever a key is needed', () => {
    for (const { path, operation } of operations) {
      const named = operation.parameters.filter((each) => each.in === 'path').map((each) => `{${each.name}}`);
      expect(named).toEqual(path.match(/\{\w+\}/gu) ?? []);
      const keyed = operation.security.length > 0;
      for (const status of ['401', '403', '429'])
        expect([path, status, status in operation.responses]).toEqual([path, status, keyed]);
    }
  });

  it('says of a card in a path that it is no UUID, and of a query which member must be there', () => {
    const parameter = (path: string, method: string, name: string) =>
      document.paths[path]?.[method]?.parameters.find((each) => each.name === name);
    const feedback = '/v1/sessions/{id}/presentations/{p}/feedback';
    expect(parameter(feedback, 'post', 'id')?.schema.format).toBe('uuid');
    expect(parameter(feedback, 'post', 'p')?.schema).toMatchObject({
      type: 'string',
      pattern: '^p[1-9]\\d*$',
    });
    expect(parameter('/v1/turns/{id}/request', 'get', 'step')?.required).toBe(true);
    expect(parameter('/v1/sessions/{id}/plan', 'get', 'leg')?.required).toBe(false);
    expect(parameter('/v1/sessions/{id}/plan', 'get', 'policy')?.required).toBe(false);
  });

  it('CAP-10 says that a path to a leg there is not is 404, and a body that names it 400', () => {
    const failures = (path: string, method: string, status: string) =>
      document.paths[path]?.[method]?.responses[status]?.description ?? '';
    expect(failures('/v1/legs/{leg}/profile', 'get', '404')).toContain('unknown_leg');
    expect(failures('/v1/legs/{leg}/profile', 'get', '400')).not.toContain('unknown_leg');
    expect(failures('/v1/sessions', 'post', '400')).toContain('unknown_leg');
  });

  it('asks for a key on every route but those that probes need', () => {
    const open = operations
      .filter(({ operation }) => operation.security.length === 0)
      .map(({ path }) => path);
    expect(open.sort()).toEqual(['/healthz', '/openapi.json', '/readyz']);
  });

  it('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  });
});
