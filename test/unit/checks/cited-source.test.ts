import { describe, expect, it } from 'vitest';
import { givenIn, uncitedSources } from '../../../src/checks/cited-source.ts';

function uncited(url: string, ...texts: readonly string[]): readonly string[] {
  return uncitedSources({ sources: [{ title: 'A source', url }] }, givenIn(texts));
}

describe('cited sources', () => {
  it('CHK-04 F37 an invented address is named', () => {
    expect(uncited('https://b.example/made-up', 'found at https://a.example/news')).toEqual([
      'https://b.example/made-up',
    ]);
  });

  it('CHK-04 F37 another page of a known site is invented too, as is the beginning of a longer address', () => {
    expect(uncited('https://a.example/other', 'https://a.example/news')).toHaveLength(1);
    expect(uncited('https://a.example/news', 'https://a.example/news-2024')).toHaveLength(1);
    expect(uncited('https://a.example/news?id=9', 'https://a.example/news')).toHaveLength(1);
  });

  it.each([
    ['as it stands', 'https://a.example/news', 'https://a.example/news'],
    ['with a slash', 'https://a.example/news/', '(https://a.example/news).'],
    ['with a fragment', 'https://a.example/news#top', 'https://a.example/news'],
    ['in Markdown', 'https://a.example/news', '[News](https://a.example/news), and more'],
    ['with another scheme', 'http://www.a.example/news', 'https://a.example/news'],
    ['without a scheme', 'https://a.example/news', 'see a.example/news'],
    ['escaped in JSON', 'https://a.example/n?a=1&b=2', '{"u":"https:\\/\\/a.example\\/n?a=1\\u0026b=2"}'],
    ['with a query more', 'https://a.example/news', 'https://a.example/news?utm_source=x'],
    ['as a host', 'https://a.example', 'https://a.example/news/1'],
    [
      'behind an archive',
      'https://w.example/web/https://b.example/x',
      'https://w.example/web/https://b.example/x',
    ],
    ['in brackets', 'https://a.example/Foo_(bar)', 'https://a.example/Foo_(bar)'],
  ])('CHK-04 an address is given %s', (_, url, text) => {
    expect(uncited(url, 'nothing here', text)).toEqual([]);
  });

  it('CHK-04 F33 an address is found wherever it stands in a long text', () => {
    expect(uncited('https://a.example/news', `${'x '.repeat(50_000)}https://a.example/news`)).toEqual([]);
  });

  it('CHK-04 addresses are found in every text of the card, each named once and in order', () => {
    const args = { body: 'From https://b.example/2, https://a.example/1.', url: 'https://b.example/2' };
    expect(uncitedSources(args, () => false)).toEqual(['https://b.example/2', 'https://a.example/1']);
    expect(uncitedSources({ title: 'No address' }, () => false)).toEqual([]);
  });

  it('CHK-04 an address is asked for without its fragment and what trails', () => {
    const isGiven = (sought: string) => sought === 'https://a.example/x';
    expect(uncitedSources({ body: 'See https://a.example/x/#top.' }, isGiven)).toEqual([]);
  });

  it('CHK-04 a plain search for the text of an address will do', () => {
    const text = 'https://a.example/News/ and http://b.example';
    const isGiven = (sought: string) => text.includes(sought);
    expect(uncitedSources(['https://a.example/News/#x', 'https://www.b.example/'], isGiven)).toEqual([]);
    expect(uncitedSources(['https://c.example/'], isGiven)).toEqual(['https://c.example']);
  });
});
