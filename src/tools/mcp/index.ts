/** Tools of other programs over the Model Context Protocol: one broker a process, one tool for the model. */
export { createMcpBroker, type McpBroker } from './broker.ts';
export { mcpTool } from './tool.ts';
