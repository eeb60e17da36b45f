/** A session's stable prefix. Built once a process: settings and tools do not change under a running process. */
import { buildPrefix, type Prefix } from '../context/assemble/prefix.ts';
import type { ToolSurface } from '../tools/surface.ts';
import type { SessionConfig } from './sessions.ts';

const known = new WeakMap<SessionConfig, Prefix>();

export function sessionPrefix(config: SessionConfig, surface: ToolSurface): Prefix {
  const found = known.get(config);
  if (found !== undefined) return found;
  const allowed = config.tools;
  const tools = surface.definitions('all').filter((tool) => allowed === null || allowed.includes(tool.name));
  const prefix = buildPrefix(config.system, tools);
  known.set(config, prefix);
  return prefix;
}
