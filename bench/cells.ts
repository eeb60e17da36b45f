/** How figures read in a table. */
import type { Spread } from './statistics.ts';

export const BYTES_PER_MB = 1_048_576;

export function whole(value: number): string {
  return value.toFixed(0);
}
export function one(value: number): string {
  return value.toFixed(1);
}
export function two(value: number): string {
  return value.toFixed(2);
}
export function count(value: number): string {
  return value.toLocaleString('en');
}
export function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${one(Math.abs(value))}`;
}
export function megabytes(bytes: number): string {
  return one(bytes / BYTES_PER_MB);
}
export function ranged({ median, least, most }: Spread, show: (value: number) => string): string {
  return `**${show(median)}** (${show(least)} to ${show(most)})`;
}
export function times({ median, least, most }: Spread): string {
  return `**${two(median)} ×** (${two(least)} to ${two(most)})`;
}
