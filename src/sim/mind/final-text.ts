/** What is said when nothing more is called: an answer, an acknowledgement, a summary, or what a picture is. */
import { readImage } from '../images.ts';
import { answerText } from './answering.ts';
import type { Conversation } from './conversation.ts';
import { sentencesOf } from './evidence.ts';
import { mannered } from './manners.ts';
import { asks, type Situation } from './situation.ts';
import { askedWords, summarise } from './summary.ts';

const TAIL_SENTENCES = 3;
const TAIL_CHARS = 2_000;
const SUMMARY_WORDS = 120;
const ASKS_FOR_SUMMARY = /\b(?:summar|condens|compress|recap|hand-?off|digest)/i;
const ASKS_OF_IMAGE =
  /\b(?:images?|pictures?|photos?|screenshots?|dimensions?|width|height|pixels?|resolution|media type)\b/i;

export function finalText(situation: Situation): string {
  const { conversation } = situation;
  if (aboutImages(conversation)) return imageText(conversation);
  if (shortens(situation)) {
    const instruction = `${conversation.system}\n${conversation.directive}`;
    return summarise(textToShorten(conversation), askedWords(instruction) ?? SUMMARY_WORDS);
  }
  const text = asks(situation) ? answerText(situation) : acknowledge(conversation);
  return mannered(text, situation);
}

/** Without tools, a text is to be made shorter: no turn of anybody's. */
export function shortens({ conversation, tools }: Situation): boolean {
  return tools.length === 0 && ASKS_FOR_SUMMARY.test(`${conversation.system}\n${conversation.directive}`);
}

export function aboutImages({ images, directive }: Conversation): boolean {
  return images.length > 0 && ASKS_OF_IMAGE.test(directive);
}

/** What a model past its horizon does: goes on from the end of the text, whatever it was told. */
export function tailOf(conversation: Conversation): string {
  const last = conversation.outcomes.findLast((one) => one.current)?.content ?? conversation.lastNote;
  const sentences = last
    .slice(-TAIL_CHARS)
    .split('\n')
    .flatMap(sentencesOf)
    .filter((one) => one.trim() !== '');
  return `From the last lines: ${sentences.slice(-TAIL_SENTENCES).join(' ')}`;
}

function acknowledge({ directive }: Conversation): string {
  const [first] = sentencesOf(directive.replace(/\s+/g, ' ').trim());
  return first === undefined ? 'Nothing was asked.' : `Noted: ${first}`;
}

function textToShorten({ directive, said, outcomes }: Conversation): string {
  const [instruction = '', ...rest] = directive.split('\n');
  // An instruction on its own line, or none: the directive holds the text itself.
  if (rest.join('').trim() !== '') return ASKS_FOR_SUMMARY.test(instruction) ? rest.join('\n') : directive;
  const earlier = [...said.map((one) => one.text), ...outcomes.map((one) => one.content)].join('\n');
  return earlier.trim() === '' ? directive : earlier;
}

function imageText({ images }: Conversation): string {
  const lines = images.map((image, index) => {
    const facts = readImage(image.data);
    const name = images.length === 1 ? 'The image' : `Image ${index + 1}`;
    if (facts === null) return `${name} is sent as ${image.mediaType}; its header cannot be read.`;
    return `${name} is ${facts.mediaType}, ${facts.width} pixels wide and ${facts.height} pixels high.`;
  });
  return lines.join(' ');
}
