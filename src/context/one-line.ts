/** Line breaks and runs of white space become one space each. */
export function oneLine(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}
