/** What is known of a deployment's skills. */

export interface Skill {
  readonly name: string;
  /** One line. */
  readonly description: string;
}

export interface SkillSet {
  /** By name. */
  readonly all: readonly Skill[];
  /** The whole instructions; null when there is no such skill. */
  body(name: string): string | null;
}

export const NO_SKILLS: SkillSet = { all: [], body: () => null };
