/** What tools reach beyond the process: MCP servers, by starting each and listing its tools; skills, by reading them. */
import { systemClock } from '../../app/clock.ts';
import type { Config, Environment } from '../../app/config.ts';
import { createMcpBroker, type McpBroker } from '../../tools/mcp/index.ts';
import { loadSkills } from '../../tools/skills/index.ts';
import { type Check, check, reasonOf } from './check.ts';

export async function reachChecks(
  { mcp, skills }: Pick<Config, 'mcp' | 'skills'>,
  env: Environment,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const read = skills === undefined ? [] : [skillCheck(skills.dirs)];
  if (mcp === undefined) return read;
  const { servers } = mcp;
  const broker = createMcpBroker({ servers, lookup: (name) => env[name], clock: systemClock });
  try {
    const listed = await Promise.all(broker.servers.map((name) => serverCheck(broker, name, signal)));
    return [...listed, ...read];
  } finally {
    await broker.close();
  }
}

async function serverCheck(broker: McpBroker, server: string, signal: AbortSignal): Promise<Check> {
  const name = `mcp ${server}`;
  try {
    const { tools } = await broker.list(server, signal);
    return check(name, 'ok', `lists ${tools.length} tools`);
  } catch (error) {
    return check(name, 'fail', reasonOf(error));
  }
}

function skillCheck(dirs: readonly string[]): Check {
  try {
    return check('skills', 'ok', `${loadSkills(dirs).all.length} skills`);
  } catch (error) {
    return check('skills', 'fail', reasonOf(error));
  }
}
