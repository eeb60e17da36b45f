/** Draws a machine from itself: a Mermaid state diagram and a table of what each state is. */
import type { AnyStateMachine } from 'xstate';

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

interface Transition {
  readonly eventType: string;
  readonly target: readonly { readonly key: string }[] | undefined;
  readonly guard: unknown;
}

interface Node {
  readonly key: string;
  readonly type: string;
  readonly description: string | undefined;
  readonly transitions: ReadonlyMap<string, readonly Transition[]>;
  readonly always: readonly Transition[] | undefined;
}

export function lifecyclePage(title: string, intro: string, machine: AnyStateMachine): string {
  const states = Object.values(machine.root.states) as unknown as readonly Node[];
  const root = machine.root as unknown as Node;
  const initial = String((machine.config as { initial?: unknown }).initial);
  const edges = states.flatMap((state) => edgesOf(state));
  const anywhere = transitionsOf(root).map(({ to, label }) => ({ to, label }));
  return [
    `# ${title}`,
    '',
    intro,
    '',
    '```mermaid',
    'stateDiagram-v2',
    `  [*] --> ${initial}`,
    ...edges.map(({ from, to, label }) => `  ${from} --> ${to}: ${label}`),
    ...states.filter((state) => state.type === 'final').map((state) => `  ${state.key} --> [*]`),
    '```',
    '',
    '| state | what it is |',
    '|---|---|',
    ...states.map(
      (state) =>
        `| ${state.type === 'final' ? `*${state.key}*` : `\`${state.key}\``} | ${state.description ?? ''} |`,
    ),
    '',
    anywhere.length > 0 ? 'From any state that is not final:' : '',
    '',
    ...anywhere.map(({ to, label }) => `* ${label} → \`${to}\``),
    '',
  ]
    .join('\n')
    .replaceAll(/\n{3,}/gu, '\n\n');
}

function edgesOf(state: Node): readonly Edge[] {
  return transitionsOf(state).map(({ to, label }) => ({ from: state.key, to, label }));
}

function transitionsOf(node: Node): readonly { readonly to: string; readonly label: string }[] {
  const onEvents = [...node.transitions.values()].flat();
  const all = [...onEvents, ...(node.always ?? [])];
  return all.flatMap((transition) =>
    (transition.target ?? []).map((target) => ({ to: target.key, label: labelOf(transition) })),
  );
}

function labelOf({ eventType, guard }: Transition): string {
  const event = eventType === '' ? '' : eventName(eventType);
  const condition = typeof guard === 'string' ? words(guard) : '';
  return [event, condition].filter((part) => part !== '').join(', ') || 'at once';
}

function eventName(eventType: string): string {
  if (eventType.startsWith('xstate.done.actor')) return 'side call done';
  if (eventType.startsWith('xstate.error.actor')) return 'side call failed';
  return eventType.replace('turn.', '');
}

function words(name: string): string {
  return name.replaceAll(/[A-Z]/gu, (letter) => ` ${letter.toLowerCase()}`);
}
