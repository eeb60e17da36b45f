/** What an incident does to a world. */
import { type Incident, type IncidentKind, stepMs } from './faults.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

type Strike = (world: World, incident: Incident, untilMs: number) => void;

const STRIKES: Readonly<Record<IncidentKind, Strike>> = {
  crash: onProcess(({ deployment }, process) => deployment.crash(process)),
  drain: onProcess(({ deployment }, process) => deployment.drain(process)),
  pause: onProcess(({ deployment }, process, _, untilMs) => deployment.pause(process, untilMs)),
  'database-away': (world, _, untilMs) => world.goAway('database', untilMs),
  'database-crash': (world, { choice }, untilMs) => {
    world.database.crash(choice);
    world.witness.trouble(null, 'database crash', world.scheduler.nowMs, world.scheduler.nowMs);
    world.goAway('database', untilMs);
  },
  'queue-away': (world, _, untilMs) => world.goAway('queue', untilMs),
  'queue-lost': ({ queue }) => queue.lose(),
  'job-vanishes': ({ delivery }, { choice }) => delivery.drop(choice),
  'job-delivered-again': ({ delivery }, { choice }) => delivery.repeat(choice, 'delivered'),
  'job-added-again': ({ delivery }, { choice }) => delivery.repeat(choice, 'added'),
  'wall-clock-steps': onProcess((_, process, incident) => {
    process.wallStepMs += stepMs(incident);
  }),
  'database-clock-steps': (world, incident) => world.stepDatabaseClock(stepMs(incident)),
};

export function strike(world: World, incident: Incident): void {
  const { kind, forMs } = incident;
  world.note('!', `${kind}, ${Math.round(forMs)} ms`);
  world.witness.count(kind);
  STRIKES[kind](world, incident, world.scheduler.nowMs + forMs);
}

function onProcess(
  act: (world: World, process: Process, incident: Incident, untilMs: number) => void,
): Strike {
  return (world, incident, untilMs) => {
    const living = world.living();
    const process = living[Math.floor(incident.choice * living.length)];
    if (process !== undefined) act(world, process, incident, untilMs);
  };
}
