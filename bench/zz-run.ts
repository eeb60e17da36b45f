import { probeReport, probeTable } from '/work/main/bench/probe.ts';
import { probingBench, probingTables } from '/work/main/bench/probing.ts';
import { startServers } from '/work/main/bench/servers.ts';
import { asText } from '/work/main/bench/tables.ts';
console.log(asText(probeTable(await probeReport())));
const servers = await startServers();
try { for (const t of probingTables(await probingBench(servers, { quick: false }))) console.log(asText(t)); } finally { await servers.close(); }
