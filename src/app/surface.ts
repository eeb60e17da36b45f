/** The tools of a deployment: what is built in, one for each card, for skills and servers, and what is configured. */
import type { Cards } from '../context/cards/index.ts';
import { builtinTools } from '../tools/builtins/index.ts';
import { cardTool } from '../tools/cards.ts';
import { createMcpBroker, type McpBroker, mcpTool } from '../tools/mcp/index.ts';
import { activateSkillTool, loadSkills } from '../tools/skills/index.ts';
import { createToolSurface, type ToolSurface } from '../tools/surface.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import type { Logger } from './logger.ts';

export interface OpenSurface {
  readonly surface: ToolSurface;
  /** Stops what calls have started. */
  close(): Promise<void>;
}

export function openSurface(cards: Cards, config: Config, logger: Logger): OpenSurface {
  const broker = openBroker(config, logger);
  return {
    surface: toolsOf(cards, config, broker),
    close: async () => {
      await broker?.close();
    },
  };
}

/** null where no server is configured. Servers are started by the first call that needs them, never here. */
function openBroker({ mcp }: Config, logger: Logger): McpBroker | null {
  if (mcp === undefined) return null;
  return createMcpBroker({
    servers: mcp.servers,
    lookup: (name) => process.env[name],
    clock: systemClock,
    onNote: ({ server, text }) => logger.debug({ server, text }, 'an MCP server says'),
  });
}

function toolsOf(
  { all }: Cards,
  { tools, skills: { dirs } = { dirs: [] }, mcp }: Config,
  broker: McpBroker | null,
): ToolSurface {
  const skills = loadSkills(dirs);
  const reaching = [
    ...(skills.all.length === 0 ? [] : [activateSkillTool(skills)]),
    ...(broker === null || mcp === undefined ? [] : [mcpTool(broker, mcp.servers)]),
  ];
  const given = [...builtinTools(), ...all.map(cardTool), ...reaching, ...tools];
  return createToolSurface(given, { skills, servers: broker?.servers ?? [] });
}
