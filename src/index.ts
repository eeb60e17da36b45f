/** What users of the package import. */

export { type Config, type ConfigInput, defineConfig } from './app/config.ts';
export * from './client/index.ts';
export { type CardDefinition, type CardSpec, defineCard } from './context/cards/index.ts';
export type { Domain } from './ledger/domains.ts';
export type { Leg } from './providers/contract.ts';
export type { Tool, ToolContext, ToolEffect, ToolOutput } from './tools/contract.ts';
export { type ClientToolSpec, defineClientTool, defineTool, type ToolSpec } from './tools/define.ts';
export { type HttpToolSpec, httpTool } from './tools/http/http-tool.ts';
export { verifySignature } from './tools/http/signature.ts';
export type { Ending, StopCondition } from './tools/stop-condition.ts';
