/** Cards: how a kind of card is declared, and which there are. */
export { BUILTIN_CARDS } from './builtin.ts';
export { type CardDefinition, type CardSpec, defineCard } from './define.ts';
export { type Cards, createCards } from './registry.ts';
