/** What a fault is made from: the sound reply it replaces, and all that the request holds. */
import type { SimReply } from '../reply.ts';
import type { Situation } from '../situation.ts';

export interface Temptation {
  readonly sound: SimReply;
  readonly situation: Situation;
  readonly seed: number;
  readonly key: string;
}
