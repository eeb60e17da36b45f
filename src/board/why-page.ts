/** The page a job of the board links to: why its turn stands where it stands. Pure. */
import type { Why } from '../api/why-schema.ts';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}pre{overflow:auto;background:#f3f4f6;padding:1rem;font-size:13px}';

export function whyPage({ turn, sentences, facts }: Why, boardPath: string): string {
  const lines = sentences.map((sentence) => `<li>${escaped(sentence)}</li>`).join('\n');
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Why T${facts.number}: ${escaped(facts.phase)}</title><style>${STYLE}</style></head>
<body>
<h1>T${facts.number} of session ${escaped(facts.session)}</h1>
<p>Turn ${escaped(turn)}. <a href="${escaped(boardPath)}">Back to the board</a></p>
<ul>
${lines}
</ul>
<h2>Facts</h2>
<pre>${escaped(JSON.stringify(facts, null, 2))}</pre>
</body>
</html>
`;
}

/** Texts of providers, tools and machines stand in it as text only. */
function escaped(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/gu, (character) => entities[character] ?? '');
}
