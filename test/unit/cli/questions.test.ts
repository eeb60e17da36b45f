import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Folder, TextFile } from '../../../src/cli/demo/folder.ts';
import { chooseQuestions } from '../../../src/cli/demo/questions.ts';

const word = fc.stringMatching(/^[a-z]{7,12}$/);
const file: fc.Arbitrary<TextFile> = fc.record({
  path: fc.tuple(word, fc.constantFrom('.md', '.ts', '.json', '.txt')).map(([name, end]) => `${name}${end}`),
  text: fc
    .tuple(fc.array(word, { minLength: 40, maxLength: 80 }), word, word)
    .map(([words, title, heading]) => `# ${title}\n\n## ${heading}\n\n${words.join(' ')}\n`),
});
const folder: fc.Arbitrary<Folder> = fc
  .tuple(fc.uniqueArray(file, { minLength: 1, maxLength: 12, selector: ({ path }) => path }), fc.boolean())
  .map(([files, isLarge]) => ({ root: '/anywhere', files, isLarge }));

describe('questions about a folder nobody has seen', () => {
  it('name only files and phrases that stand in it', () => {
    let asked = 0;
    fc.assert(
      fc.property(folder, (given) => {
        const questions = chooseQuestions(given, 'recall');
        const all = [...(questions?.first ?? []), ...(questions?.more ?? []), questions?.last ?? ''];
        asked += all.length;
        for (const question of all) {
          for (const [name] of question.matchAll(/[a-z]+\.(?:md|ts|json|txt)\b/g)) {
            expect(given.files.map(({ path }) => path)).toContain(name);
          }
          for (const [, phrase = ''] of question.matchAll(/"([^"]+)"/g)) {
            const stands = given.files.some(({ text }) => text.includes(phrase));
            expect(stands, `${phrase} in ${question}`).toBe(true);
          }
        }
      }),
    );
    expect(asked).toBeGreaterThan(500);
  });

  it('are at least six for any folder that holds something to read', () => {
    fc.assert(
      fc.property(folder, (given) => {
        const questions = chooseQuestions(given, 'recall');
        expect((questions?.first.length ?? 0) + 1).toBeGreaterThanOrEqual(6);
      }),
    );
  });

  it('do not search a folder with too many files to search while somebody watches', () => {
    const files = [
      { path: 'a.md', text: `# One\n\n## Two things\n\n${'several readable sentences '.repeat(20)}` },
    ];
    const all = (isLarge: boolean): string =>
      JSON.stringify(chooseQuestions({ root: '/', files, isLarge }, 'recall') ?? '');
    expect(all(false)).toContain('Find every line');
    expect(all(true)).not.toContain('Find every line');
  });

  it('are none where nothing can be read', () => {
    expect(chooseQuestions({ root: '/', files: [], isLarge: false }, 'recall')).toBeNull();
    expect(
      chooseQuestions({ root: '/', files: [{ path: 'a.md', text: 'x' }], isLarge: false }, 'recall'),
    ).toBeNull();
  });
});
