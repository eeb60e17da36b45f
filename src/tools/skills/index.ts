/** Skills: instructions a deployment keeps at hand, listed by a line each and read in whole on demand. */
export { activateSkillTool } from './activate.ts';
export { NO_SKILLS, type SkillSet } from './contract.ts';
export { loadSkills } from './load.ts';
